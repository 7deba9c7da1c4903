"""Merges and splits of an earlier run on the clusters of a later one, on planted labels."""

from types import SimpleNamespace

import numpy as np

from coterie.base.edited import Merge, Split
from coterie.editing.repeat import Repeated

BEFORE = np.array([1, 1, 1, 1, 4, 4, 4, 7, 7, 7, -1])  # 1 was merged, 4 and 7 are parts of a split


def test_clusters_mostly_inside_a_merged_one_are_merged_into_it() -> None:
    now = np.array([1, 1, 8, 8, 9, 9, 9, 8, 7, 7, -1])  # two of the three texts of 8 were in 1
    again = Repeated()
    again.merge([1, 5], [8, 9], BEFORE, now)
    assert now.tolist() == [1, 1, 1, 1, 9, 9, 9, 1, 7, 7, -1]
    assert again.steps == [Merge((1, 8), 1)] and again.merged == [1] and again.lost == [5]


def test_a_cluster_that_holds_parts_of_a_split_is_divided_by_their_centers() -> None:
    # Texts lie on a line: those of 4 around 0, those of 7 around 10; the last is new, near 7.
    x = np.array([[50], [51], [52], [53], [0], [1], [2], [9], [10], [11], [8]], dtype=np.float32)
    model = SimpleNamespace(vectors_=x, seed_=0)
    now = np.array([1, 1, 1, 1, 4, 4, 4, 4, 4, 4, 4])
    again = Repeated()
    again.part([[4, 7]], [], BEFORE, now, model)
    assert now.tolist() == [1, 1, 1, 1, 4, 4, 4, 7, 7, 7, 7] and again.split == [4, 7]
    (step,) = again.steps
    assert isinstance(step, Split) and (step.cluster, step.into) == (4, (4, 7))
    assert step.assigner.centers.ravel().tolist() == [1, 10]
    for number, free in ((9, []), (9, [9])):  # one that carries another cluster on stays whole
        now = np.array([1, 1, 1, 1, *[number] * 7])
        again = Repeated()
        again.part([[4, 7]], free, BEFORE, now, model)
        assert again.lost == ([] if free else [4, 7]) and len(again.steps) == len(free)
    apart = np.array([1, 1, 1, 1, 4, 4, 4, 7, 7, 7, 7])
    again = Repeated()
    again.part([[4, 7]], [], BEFORE, apart, model)
    assert not again.steps and not again.lost  # they are apart already
