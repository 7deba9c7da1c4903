"""Texts keep their places on the map over edits, unless clusters are what is placed."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from coterie.editing.run import _write_map
from coterie.report.folder import make_map, write_map


@pytest.mark.parametrize(("n", "layout"), [(240, "neighbors"), (60, "discs")])
def test_edits_move_discs_and_nothing_else(n: int, layout: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    vectors = (5 * np.eye(8)[labels] + rng.normal(size=(n, 8))).astype(np.float32)
    file, merged = tmp_path / "map.json", np.minimum(labels, 1)
    write_map(file, vectors, labels, seed=0)
    saved = json.loads(file.read_text())
    assert saved["layout"] == layout
    saved["x"][0] += 1  # a map that was laid out by another version
    file.write_text(json.dumps(saved))
    state = SimpleNamespace(labels=merged, seed=0, outliers=np.zeros(n, dtype=bool))
    texts = [f"{row:03}" for row in range(n)]
    _write_map(SimpleNamespace(vectors=vectors, map=saved, texts=texts), state, merged, file)
    found, anew = json.loads(file.read_text()), make_map(vectors, merged, 0)
    assert found["silhouette"] == anew["silhouette"] != saved["silhouette"]
    kept = saved if layout == "neighbors" else anew
    assert found == {**kept, "silhouette": anew["silhouette"]}
