"""The result columns of ``assignments.csv`` after edits; columns of the input stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie._files import atomic_path
from coterie._types import Floats
from coterie.corpus.corpus import value_to_text
from coterie.corpus.write import CsvWriter
from coterie.description import Cluster
from coterie.editing.remodel import marked_labels
from coterie.editing.run import EditableRun
from coterie.editing.state import State
from coterie.hierarchy import LEVEL_COLUMN, Hierarchy
from coterie.report import NONE_OF_THESE


def write_table(
    folder: Path,
    run: EditableRun,
    state: State,
    clusters: Sequence[Cluster],
    p: Floats | None = None,
    hierarchy: Hierarchy | None = None,
) -> None:
    """Write the table with new results; without probabilities, with new names alone."""
    names = {c.id: c.name for c in clusters}
    labels = marked_labels(state)
    before = run.columns[run.own["name"]]
    fresh: dict[str, Sequence[Any]] = {} if p is None else result_values(state, p, sorted(names))
    fresh["name"] = [
        names.get(int(i), NONE_OF_THESE if odd else old)
        for i, odd, old in zip(labels, state.outliers, before, strict=True)
    ]
    columns: dict[str, Sequence[Any]] = dict(run.columns)
    for name, values in fresh.items():
        if name in run.own:
            columns[run.own[name]] = values
    if hierarchy is not None:
        for name, written in run.own.items():
            if LEVEL_COLUMN.fullmatch(name):
                del columns[written]
        for name, values in hierarchy.columns(labels, list(fresh["name"])).items():
            columns[_free(name, columns)] = values
    with (
        atomic_path(folder / "assignments.csv") as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = CsvWriter(file)
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([value_to_text(value) for value in row])


def result_values(state: State, p: Floats, ids: Sequence[int]) -> dict[str, Sequence[Any]]:
    """The result columns that edits change, by what they are.

    Parameters
    ----------
    state : State
    p : ndarray of shape (n, width)
        Probabilities, with a column for every number.
    ids : sequence of int
        Clusters there are.
    """
    rows, alive = np.arange(len(p)), p[:, list(ids)]
    order = np.argsort(-alive, axis=1, kind="stable")
    best = alive[rows, order[:, 0]]
    empty = best == 0
    runner: list[int | None] = [None] * len(p)
    margin = best
    if len(ids) > 1:
        margin = best - alive[rows, order[:, 1]]
        runner = [None if gone else ids[i] for i, gone in zip(order[:, 1], empty, strict=True)]
    nearest = [int(label) for label in state.labels]
    return {
        "cluster": [int(label) for label in marked_labels(state)],
        "confidence": [round(float(value), 4) for value in best],
        "runner_up": runner,
        "margin": [round(float(value), 4) for value in margin],
        "outlier": ["yes" if odd else "no" for odd in state.outliers],
        "nearest_cluster": [None if label < 0 else label for label in nearest],
    }


def _free(name: str, columns: Mapping[str, Any]) -> str:
    """As :func:`coterie.corpus.write.combine` names a column that the input has, too."""
    while name in columns:
        name = f"coterie_{name}"
    return name
