"""Edits put into a saved model, so that new texts go where they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coterie._errors import DataError
from coterie._types import Bools, Floats, Ints
from coterie.base.edited import Merge, Step, correct, edited
from coterie.blocks.assign import probabilities
from coterie.editing.run import EditableRun
from coterie.editing.state import State
from coterie.outliers import OutlierLimit

ODD = 0.05  # share of rows on which table and model may differ by rounding


def edit_model(run: EditableRun, state: State) -> Floats:
    """Put the edits into the model of the run; returns the probabilities of all rows.

    Where the model on this machine would put a text elsewhere than the table does, by another
    rounding, the table is right: the text is bound to its cluster.
    """
    model = run.model
    model.assigner_ = edited(model.assigner_, model.n_clusters_).then(*state.steps)
    model.n_clusters_ = len(state.names)
    filled = np.array([text != "" for text in state.texts])
    p = np.zeros((len(filled), model.assigner_.width))
    p[filled] = probabilities(model.assigner_.logits(run.vectors[filled]))
    model.outlier_limit_ = edited_limit(model.outlier_limit_, state.steps)
    wrong = _unlike(state, p) | _wrongly_odd(model, run, state, filled)
    if wrong.sum() > max(1, ODD * filled.sum()):
        raise DataError(
            f"{run.folder}: the model puts {int(wrong.sum()):,} of {int(filled.sum()):,} rows "
            "elsewhere than assignments.csv does; the two do not belong together. Undo what was "
            "changed in the table, or run coterie cluster again."
        )
    for row in np.flatnonzero(wrong):
        state.correct(np.array([row]), int(state.labels[row]))
    model.corrections_ = state.corrections
    model.corrected_rows_ = dict(state.bound_rows())
    p = np.asarray(correct(model, p))
    left = np.flatnonzero((state.labels >= 0) & (p.argmax(axis=1) != state.labels))
    if len(left):
        raise DataError(
            f"{run.folder}: row {left[0] + 1} of assignments.csv is in cluster "
            f"{state.labels[left[0]]}, but a row with the same text is in another one; identical "
            "texts share a cluster. Undo what was changed in the table."
        )
    return p


def edited_limit(limit: OutlierLimit | None, steps: Sequence[Step]) -> OutlierLimit | None:
    """The limit for outliers after merges and splits.

    Clusters that would have lost all their texts have a limit of their own. The parts of a split
    inherit it; a merged cluster has the common one, as it is no such cluster any more.
    """
    if limit is None:
        return None
    kept = dict(limit.kept)
    for step in steps:
        if isinstance(step, Merge):
            kept = {c: value for c, value in kept.items() if c not in step.clusters}
        elif step.cluster in kept:
            kept |= dict.fromkeys(step.into, kept[step.cluster])
    return replace(limit, kept=kept)


def _unlike(state: State, p: Floats) -> Bools:
    """Rows that the assigner puts elsewhere than the table, and no correction does."""
    bound = [row for row, _ in state.bound_rows()]
    out = (state.labels >= 0) & (p.argmax(axis=1) != state.labels)
    out[bound] = False
    return np.asarray(out)


def _wrongly_odd(model: Any, run: EditableRun, state: State, filled: Bools) -> Bools:
    """Rows that the limit would call outliers, and the table does not."""
    out = np.zeros(len(filled), dtype=bool)
    if model.outlier_limit_ is None or model._neighbor_index is None:
        return out
    scores = model._outlier_index().scores(run.vectors[filled])
    out[filled] = model.outlier_limit_.marks(scores, np.asarray(state.labels[filled]))
    out[[row for row, _ in state.bound_rows()]] = False
    return np.asarray(out & ~state.outliers)


def marked_labels(state: State) -> Ints:
    """Cluster of each row, -1 for outliers."""
    return np.where(state.outliers, -1, state.labels)
