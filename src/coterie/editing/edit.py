"""Edits on a run folder or on a fitted model."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie._folders import held
from coterie._validation import check_path, checked
from coterie.base import TextClusterer
from coterie.base.edited import edited
from coterie.clustering import check_version, opened, save
from coterie.corpus import texts_from
from coterie.editing.apply import Draft, apply_edits
from coterie.editing.parse import Edit, read_edits
from coterie.editing.rows import take_edits
from coterie.errors import UsageError
from coterie.run_files import RunFiles
from coterie.run_history import undo_run


@dataclass(frozen=True)
class Edited:
    """What edits did to a run.

    Attributes
    ----------
    run : Path
    done : tuple of str
        In sentences, one for each edit.
    clusters : dict of int to str
        Names of the clusters there are now.
    notes : tuple of str
        What else changed by them, in sentences: descriptions that were dropped, and clusters that
        are not marked as done any more.
    """

    run: Path
    done: tuple[str, ...]
    clusters: dict[int, str]
    notes: tuple[str, ...] = ()


@checked
def edit(
    target: Any,
    edits: object,
    *,
    texts: Any = None,
    dry_run: bool = False,
    version: str | None = None,
) -> Any:
    """Merge, split, rename, move, lock or mark as done the clusters of a run or a fitted model.

    All edits are checked before anything changes. Numbers are stable: a merge keeps the number of
    the first cluster named, the largest part of a split keeps its number, and a number that is
    retired is never used again.

    Parameters
    ----------
    target : str, Path or TextClusterer
        The folder of a finished run, whose files are written anew and whose earlier state is kept
        for :func:`undo`; or a fitted model, which is copied.
    edits : str, Path, mapping or list of mappings
        A YAML or JSON file, or the same as values: ``[{"merge": [3, 7], "name": "Refunds"}]``.
    texts : sequence of str, optional
        Of a model, the texts it was fitted on: needed for "move".
    dry_run : bool, default=False
        Check the edits of a run and say what they would do, without writing.
    version : str, optional
        Edit the run only if this is its ``Run.version``: nobody has changed it since it was read.

    Returns
    -------
    Edited or TextClusterer
        For a run, what was done; for a model, the edited copy. Its labels are the stable numbers;
        ``predict_proba`` has a column for every number, zero for those that are retired.
    """
    wanted = read_edits(edits)
    if isinstance(target, TextClusterer):
        return _edit_model(target, wanted, texts)
    folder = check_path("target", target)
    with opened(folder, version=version, to_write=not dry_run) as run:
        draft = Draft.of(run)
        apply_edits(wanted, draft)
        names = {i: name or "" for i, name in sorted(draft.names.items())}
        if not dry_run:
            after = take_edits(run, draft)
            log = {"edits": [e.to_dict() for e in wanted], "done": draft.done}
            save(run, after, log={**log, **({"notes": draft.notes} if draft.notes else {})})
            names = after.names
    return Edited(folder, tuple(draft.done), names, tuple(draft.notes))


@checked
def undo(run: str | Path, *, version: str | None = None) -> int:
    """Put a run back into its state before the last edits; all its files but the log are the same.

    Parameters
    ----------
    run : str or Path
    version : str, optional
        Undo only if this is the ``Run.version`` of the run.

    Returns
    -------
    int
        Number of the change that was undone.
    """
    folder = check_path("run", run)
    RunFiles(folder).check()  # and no more: an undo may mend what else is damaged
    with held(folder):
        check_version(folder, version)
        return undo_run(folder)


def _edit_model(model: TextClusterer, wanted: Sequence[Edit], texts: Any) -> TextClusterer:
    if not hasattr(model, "distinct_vectors_"):
        raise UsageError(
            "edit: the model was loaded, so it does not know its training texts; edit the "
            "folder of its run, or a model fitted in this process."
        )
    if texts is None and any(e.kind == "move" for e in wanted):
        raise UsageError("texts: pass the texts the model was fitted on; 'move' looks them up.")
    labels = np.asarray(model.labels_).copy()
    assigner = edited(model.assigner_, model.n_clusters_)
    given = [f"{i}" if i >= 0 else "" for i in model.rows_] if texts is None else texts_from(texts)
    if len(given) != len(labels):
        raise UsageError(f"texts: {len(given)} for a model of {len(labels)} texts.")
    draft = Draft(
        texts=given,
        labels=labels,
        get_vectors=lambda: model.vectors_,
        names={i: None for i in assigner.clusters},
        next_id=assigner.width,
        corrections=dict(model.corrections_),
        seed=model.seed_,
    )
    apply_edits(wanted, draft)
    out = copy.copy(model)
    out.assigner_ = assigner.then(*draft.steps)
    out.labels_, out.n_clusters_ = draft.labels, len(draft.names)
    out.corrections_ = draft.corrections
    rows = dict(model.corrected_rows_) | dict(draft.bound_rows())
    out.corrected_rows_ = {row: int(draft.labels[row]) for row in rows}
    return out
