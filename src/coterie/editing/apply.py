"""What each edit does to a clustering, and when it is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from coterie._random import derive_seed
from coterie._types import Floats
from coterie.base.edited import Merge, Split
from coterie.editing.parse import Edit
from coterie.editing.select import select_rows
from coterie.editing.state import State


def apply_edits(edits: Sequence[Edit], state: State) -> None:
    """Do all edits in their order, on the working copy."""
    for edit in edits:
        for cluster in edit.clusters:
            if cluster not in state.names:
                known = ", ".join(map(str, sorted(state.names)))
                raise edit.wrong(f"there is no cluster {cluster}; there are {known}.")
        _EDITS[edit.kind](edit, state)


def _merge(edit: Edit, state: State) -> None:
    """The first cluster named takes the rows of the others, whose numbers are retired."""
    _refuse_locked(edit, state, edit.clusters)
    into, *others = edit.clusters
    said = ", ".join(state.shown(cluster) for cluster in others)
    before = state.shown(into)
    for cluster in others:
        state.retire(cluster)
    if edit.names:
        _check_free(edit, state, edit.names[0], into)
    state.rename(into, edit.names[0] if edit.names else None)
    state.labels[np.isin(state.labels, others)] = into
    state.corrections.update({m: into for m, c in state.corrections.items() if c in others})
    state.steps.append(Merge(edit.clusters, into))
    state.moved = True
    named = f", now {edit.names[0]}" if edit.names else ""
    state.done.append(f"merged {said} into {before}{named}: {state.size(into):,} rows")


def _split(edit: Edit, state: State) -> None:
    """K-means on the vectors of the cluster; the largest part keeps the number."""
    from coterie.blocks.kmeans import KMeans

    (cluster,) = edit.clusters
    _refuse_locked(edit, state, edit.clusters)
    vectors = state.get_vectors()[state.rows(cluster)]
    distinct = len(np.unique(vectors, axis=0))
    if distinct < edit.into:
        raise edit.wrong(
            f"cluster {cluster} has {distinct} different texts, too few for {edit.into} parts; "
            f"ask for at most {distinct}."
        )
    seed = derive_seed(state.seed, "split", cluster, len(state.steps))
    found = KMeans(n_clusters=edit.into, seed=seed)(vectors)
    sizes = np.bincount(found.labels, minlength=edit.into)
    if not sizes.all():
        raise edit.wrong(f"no {edit.into} parts were found in cluster {cluster}; ask for fewer.")
    order = np.argsort(-sizes, kind="stable")
    ids = (cluster, *range(state.next_id, state.next_id + edit.into - 1))
    for i, wanted in enumerate(edit.names):
        _check_free(edit, state, wanted, cluster, edit.names[:i])
    said, state.next_id = state.shown(cluster), state.next_id + edit.into - 1
    step = Split(cluster, ids, _sure(found.centers[order], vectors, seed))
    rows = np.flatnonzero(state.labels == cluster)
    state.labels[rows] = np.array(ids)[
        step.assigner.logits(state.get_vectors()[rows]).argmax(axis=1)
    ]
    for part, name in zip(ids, edit.names or [None] * edit.into, strict=True):
        state.rename(part, name)
    state.follow_corrections({cluster})
    state.steps.append(step)
    state.moved = True
    parts = ", ".join(f"{i}: {state.size(i):,}" for i in ids)
    state.done.append(f"split {said} into {edit.into} parts ({parts} rows)")


def _sure(centers: Floats, vectors: Floats, seed: int) -> Any:
    """The assigner of the parts, as sure of itself as two halves of the texts agree."""
    import torch

    from coterie.base.confidence import calibrate
    from coterie.blocks.assign import CenterAssigner

    return calibrate(CenterAssigner(centers), vectors, seed, torch.device("cpu"))


def _rename(edit: Edit, state: State) -> None:
    _refuse_locked(edit, state, edit.clusters)
    new = dict(zip(edit.clusters, edit.names, strict=True))
    said = [f"renamed {state.shown(cluster)} to {name}" for cluster, name in new.items()]
    state.names |= dict.fromkeys(new)  # two clusters may exchange their names
    for cluster, name in new.items():
        _check_free(edit, state, name, cluster)
        state.rename(cluster, name)
    state.done += said


def _move(edit: Edit, state: State) -> None:
    """Rows and their texts go to another cluster, in later predictions, too."""
    (to,) = edit.clusters
    rows = select_rows(edit, state)
    _refuse_locked(edit, state, {to, *state.labels[rows[~state.outliers[rows]]].tolist()})
    leaving = rows[(state.labels[rows] != to) | state.outliers[rows]]
    if not len(leaving):
        raise edit.wrong(f"all {len(rows)} rows are in cluster {to} already; leave the edit out.")
    for cluster in {*state.labels[leaving].tolist()} - {to}:
        if not len(np.setdiff1d(state.rows(cluster), leaving)):
            raise edit.wrong(
                f"it would leave cluster {cluster} without a row; merge it instead: "
                f"'merge: [{to}, {cluster}]'."
            )
    state.correct(rows, to)
    state.done.append(f"moved {len(leaving):,} rows to {state.shown(to)}")


def _lock(edit: Edit, state: State) -> None:
    state.locked |= set(edit.clusters)
    state.done.append(f"locked {', '.join(map(state.shown, edit.clusters))}")


def _unlock(edit: Edit, state: State) -> None:
    for cluster in edit.clusters:
        if cluster not in state.locked:
            raise edit.wrong(f"cluster {cluster} is not locked; leave it out.")
    state.locked -= set(edit.clusters)
    state.done.append(f"unlocked {', '.join(map(state.shown, edit.clusters))}")


_EDITS = {"merge": _merge, "split": _split, "rename": _rename, "move": _move, "lock": _lock,
          "unlock": _unlock}  # fmt: skip


def _refuse_locked(edit: Edit, state: State, clusters: Iterable[int]) -> None:
    locked = sorted(state.locked & set(clusters))
    if locked:
        raise edit.wrong(
            f"cluster {state.shown(locked[0])} is locked: it keeps its rows and its name; put "
            f"'unlock: [{locked[0]}]' before this edit if you mean it."
        )


def _check_free(
    edit: Edit, state: State, name: str, cluster: int, more: Sequence[str] = ()
) -> None:
    for other, taken in state.names.items():
        if other != cluster and taken is not None and taken.casefold() == name.casefold():
            raise edit.wrong(
                f"cluster {other} has the name {taken!r} already; choose another one, or merge the "
                f"two: 'merge: [{other}, {cluster}]'."
            )
    if name.casefold() in [given.casefold() for given in more]:
        raise edit.wrong(f"the name {name!r} is given twice; every part needs its own.")
