"""Nested levels: nested indeed, by Ward's rule, numbered by size."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from coterie.arrays.metrics import nmi
from coterie.describe import describe_clusters
from coterie.describe.hierarchy import (
    build_hierarchy,
    nest,
)
from coterie.errors import UsageError
from said import raises


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """300 points in 30 clusters; ten of them have no cluster."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(30, 6)) * 3
    labels = np.concatenate([np.arange(30), rng.integers(0, 30, 270)])
    x = centers[labels] + rng.normal(size=(300, 6)) * 0.1
    labels[-10:] = -1
    return x, labels


def test_every_text_is_in_one_cluster_per_level_and_levels_are_nested(data) -> None:
    x, labels = data
    levels = nest(x, labels, levels=[3, 10, 30])
    assert [level.n_clusters for level in levels] == [3, 10, 30]
    for level in levels:
        assert set(level.labels[:-10]) == set(range(level.n_clusters))
        assert (level.labels[-10:] == -1).all()
        assert level.sizes == np.bincount(level.labels[:-10]).tolist()
        np.testing.assert_array_equal(level.labels[:-10], level.of_given[labels[:-10]])
    assert levels[0].parents is None
    for coarse, fine in pairwise(levels):
        for text in range(290):
            assert fine.parents[fine.labels[text]] == coarse.labels[text]


def test_equals_ward_on_repeated_means(data) -> None:
    x, labels = data
    x, labels = x[:-10], labels[:-10]
    means = np.array([x[labels == i].mean(axis=0) for i in range(30)])
    tree = linkage(means[labels], "ward")  # each mean as often as it has texts
    for level in nest(x, labels, levels=[3, 7, 15]):
        expected = fcluster(tree, level.n_clusters, "maxclust")
        assert nmi(expected, level.labels) == pytest.approx(1)


def test_means_with_sizes_give_the_same(data) -> None:
    x, labels = data
    placed = labels >= 0
    means = np.array([x[labels == i].mean(axis=0) for i in range(30)])
    sizes = np.bincount(labels[placed])
    for a, b in zip(
        nest(x, labels, levels=[5, 20]), nest(means, labels, sizes, levels=[5, 20]), strict=True
    ):
        np.testing.assert_array_equal(a.labels, b.labels)
        assert a.parents == b.parents
    assert len(nest(means, sizes=sizes, levels=[5])[0].labels) == 0


def test_clusters_without_texts_are_in_no_level() -> None:
    x = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    coarse, fine = nest(x, [0, 0, 2, 2, 4], levels=[2, 3])
    assert fine.of_given.tolist() == [0, -1, 1, -1, 2]
    assert fine.sizes == [2, 2, 1] and coarse.sizes == [3, 2]
    with raises(UsageError, "levels", "1 to 3"):
        nest(x, [0, 0, 2, 2, 4], levels=[4])


@pytest.mark.parametrize(
    ("levels", "said"),
    [([20, 5], "20, 5"), ([5, 5], "5, 5"), ([5, 31], "1 to 30"), ([], "[]"), ([0, 5], "0, 5"),
     ([2.5], "whole numbers")],
)  # fmt: skip
def test_levels_that_cannot_be_are_refused(data, levels, said) -> None:
    with raises(UsageError, "levels", said):
        nest(*data, levels=levels)


def test_what_does_not_fit_is_refused(data) -> None:
    x, labels = data
    with raises(UsageError, "labels; give one label for each vector", "300", "3"):
        nest(x, labels[:3], levels=[2])
    with raises(UsageError, "means; give one for", "2", "300"):
        nest(x, labels, [1, 2], levels=[2])
    with raises(UsageError, "has no mean; there"):
        nest(x[:3], labels, [1, 1, 1], levels=[2])


def test_no_level_repeats_the_name_of_one_of_several_parts() -> None:
    """The large part would give its name to every level above it."""
    kinds = ["fridge freezer"] * 30 + ["larder fridge"] * 3 + ["wine fridge"] * 3
    texts = [*kinds, *["credit card"] * 6, *["gift card"] * 3]
    labels = np.repeat([0, 1, 2, 3, 4], [30, 3, 3, 6, 3])
    x = np.repeat([[0.0], [1.0], [2.0], [50.0], [51.0]], [30, 3, 3, 6, 3], axis=0)
    clusters = describe_clusters(texts, labels, x)
    assert clusters[0].name == "Fridge freezer"
    hierarchy, finest = build_hierarchy(texts, labels, x, clusters, [2, 3])
    levels = [*hierarchy.levels, finest]
    for coarse, fine in pairwise(levels):
        for group in coarse:
            inside = [c.name for c in fine if c.parent == group.id]
            assert inside and ((group.name in inside) == (len(inside) == 1)), group.name


def test_a_cluster_that_stays_alone_keeps_its_name() -> None:
    texts = ["lost parcel", "late parcel", "blue card", "red card", "green card", "tax form"]
    x = np.array([[0.0], [0.2], [5.0], [5.2], [5.4], [50.0]])
    labels = np.array([0, 1, 2, 3, 3, 4])
    clusters = describe_clusters(texts, labels, x)
    clusters[4] = replace(clusters[4], name="Taxes")
    hierarchy, finest = build_hierarchy(texts, labels, x, clusters, [2, 3])
    for level in hierarchy.levels:
        (alone,) = [c for c in level if c.size == 1]
        assert alone.name == finest[4].name == "Taxes"
        names = {c.id: c.name for c in level}
        assert all(near.name == names[near.id] for c in level for near in c.near)


def test_levels_of_numbers_with_gaps_and_beyond_the_clusters() -> None:
    """Edited runs have gaps in their numbers; a level of all clusters is the clustering."""
    texts, x = ["a b", "a c", "d e", "d f"], np.array([[0.0], [0.1], [9.0], [9.1]])
    labels = np.array([0, 2, 5, 7])
    compact = describe_clusters(texts, [0, 1, 2, 3], x)
    clusters = [replace(c, id=i) for c, i in zip(compact, [0, 2, 5, 7], strict=True)]
    hierarchy, finest = build_hierarchy(texts, labels, x, clusters, [2, 4, 9])
    assert [c.parent for c in finest] == [0, 0, 1, 1]
    assert len(hierarchy.levels) == 1 and hierarchy.above[0] == {0: 0, 2: 0, 5: 1, 7: 1}
    assert hierarchy.columns([5, -1, 3], ["x", "-", "?"])["level_1"] == [1, -1, -1]
