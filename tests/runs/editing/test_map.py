"""Texts keep their places on the map over edits, unless clusters are what is placed."""

from types import SimpleNamespace

import numpy as np
import pytest

from coterie.runs.editing.edit import remap
from coterie.runs.page_data import make_map


@pytest.mark.parametrize(("n", "layout"), [(240, "neighbors"), (60, "discs")])
def test_edits_move_discs_and_nothing_else(n: int, layout: str) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    vectors = (5 * np.eye(8)[labels] + rng.normal(size=(n, 8))).astype(np.float32)
    merged, texts = np.minimum(labels, 1), [f"{row:03}" for row in range(n)]
    saved = make_map(vectors, labels, seed=0)
    assert saved["layout"] == layout
    saved["x"][0] += 1  # a map that was laid out by another version
    run = SimpleNamespace(vectors=vectors, map=saved, texts=texts, seed=0)
    found = remap(run, SimpleNamespace(labels=merged, marked=merged, outliers=None))
    anew = make_map(vectors, merged, 0)
    assert found["silhouette"] == anew["silhouette"] != saved["silhouette"]
    kept = saved if layout == "neighbors" else anew
    assert found == {**kept, "silhouette": anew["silhouette"]}
