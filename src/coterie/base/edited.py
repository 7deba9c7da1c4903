"""A clustering that a person has edited: merges, splits and corrections of another assigner.

Edits never change what they do not name. A merge takes the texts of its clusters and no others;
a split divides the texts of its cluster and moves none of another. So probabilities are added and
divided as they should be, but the lead of a text's cluster is never lost to a sum elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from coterie._trust import Count, check_shape
from coterie._types import Array, Arrays, Bools, Floats, Json
from coterie.base.inputs import Inputs
from coterie.blocks.assign import Assigner, CenterAssigner, make_assigner
from coterie.errors import DataError

EDGE = 1e-3  # lead of a text's own cluster, in logits, where an edit would change it
FLOOR = -700.0  # exp of it is still a number: clusters in use stay ahead of those retired
SHAPE = {
    "inner": {"kind": str},
    "place": [Count],
    "extra": [Count],
    "steps": [
        ({"merge": [Count], "into": Count}, {"split": Count, "into": [Count], "scale": float})
    ],
}
SURE = 1e-9  # what a corrected text leaves to the other clusters, in the order they had


@dataclass(frozen=True)
class Merge:
    """All clusters of ``clusters`` become ``into``, which is one of them."""

    clusters: tuple[int, ...]
    into: int


@dataclass(frozen=True)
class Split:
    """The texts of ``cluster`` go to the nearest center; part ``i`` becomes ``into[i]``."""

    cluster: int
    into: tuple[int, ...]
    assigner: CenterAssigner


Step = Merge | Split


@dataclass(frozen=True)
class EditedAssigner:
    """Another assigner with its clusters renumbered, merged and split.

    The logits have a column for every number up to the highest; those of numbers that no cluster
    has (any more) are minus infinity, so that the column of a cluster is always its number.

    Parameters
    ----------
    inner : Assigner
    place : tuple of int
        Number of the cluster that each column of the inner assigner stands for.
    steps : tuple of Merge or Split
        In the order in which they were made.
    extra : tuple of int
        Clusters that only corrections lead to.
    """

    kind: ClassVar[str] = "edited"
    inner: Assigner | EditedAssigner
    place: tuple[int, ...]
    steps: tuple[Step, ...] = ()
    extra: tuple[int, ...] = field(default=())

    @property
    def clusters(self) -> list[int]:
        """Numbers of the clusters in use."""
        alive = {*self.place, *self.extra}
        for step in self.steps:
            alive -= set(step.clusters) if isinstance(step, Merge) else {step.cluster}
            alive |= {step.into} if isinstance(step, Merge) else set(step.into)
        return sorted(alive)

    @property
    def width(self) -> int:
        """Columns of the logits: one more than the highest number ever used."""
        used = [*self.place, *self.extra]
        for step in self.steps:
            used += [step.into] if isinstance(step, Merge) else step.into
        return max(used) + 1

    @property
    def untouched(self) -> dict[int, int]:
        """Clusters that no step has changed, and the columns of the inner assigner they are."""
        out = {cluster: column for column, cluster in enumerate(self.place)}
        for step in self.steps:
            for cluster in step.clusters if isinstance(step, Merge) else (step.cluster,):
                out.pop(cluster, None)
        return out

    def then(self, *steps: Step) -> EditedAssigner:
        """The same assigner with further steps."""
        return replace(self, steps=(*self.steps, *steps))

    def logits(self, vectors: Floats) -> Floats:
        """Log probabilities of every number; minus infinity for those no cluster has."""
        out = np.full((len(vectors), self.width), -np.inf)
        out[:, list(self.place)] = _log_softmax(self.inner.logits(vectors))
        out[:, list(self.extra)] = FLOOR
        for step in self.steps:
            if isinstance(step, Merge):
                _merge(out, step)
            else:
                _split(out, step, vectors)
        alive = self.clusters
        out[:, alive] = np.maximum(out[:, alive], FLOOR)
        return out

    def arrays(self) -> dict[str, Any]:
        splits = [step for step in self.steps if isinstance(step, Split)]
        own = {f"split_{i}": step.assigner.centers for i, step in enumerate(splits)}
        return {**{f"inner.{name}": a for name, a in self.inner.arrays().items()}, **own}

    def numbers(self) -> dict[str, Any]:
        steps: list[dict[str, Any]] = []
        for step in self.steps:
            if isinstance(step, Merge):
                steps.append({"merge": list(step.clusters), "into": step.into})
            else:
                scale = float(step.assigner.scale)
                steps.append({"split": step.cluster, "into": list(step.into), "scale": scale})
        inner = {"kind": self.inner.kind, **self.inner.numbers()}
        return {
            "inner": inner,
            "place": list(self.place),
            "extra": list(self.extra),
            "steps": steps,
        }


def restore_assigner(
    arrays: Arrays, numbers: Json, more: dict[str, type[Assigner]]
) -> Assigner | EditedAssigner:
    """The assigner that gave these arrays and numbers, edited or not."""
    if numbers["kind"] != EditedAssigner.kind:
        return make_assigner(dict(arrays), dict(numbers), more)
    check_shape(numbers, SHAPE, "config.json.rule")
    steps: list[Step] = []
    for saved in numbers["steps"]:
        if "merge" in saved:
            steps.append(Merge(tuple(saved["merge"]), saved["into"]))
            continue
        centers = arrays[f"split_{sum(isinstance(step, Split) for step in steps)}"]
        assigner = CenterAssigner(centers, saved["scale"])
        steps.append(Split(saved["split"], tuple(saved["into"]), assigner))
    own = {n.removeprefix("inner."): a for n, a in arrays.items() if n.startswith("inner.")}
    inner = make_assigner(own, numbers["inner"], more)
    made = EditedAssigner(inner, tuple(numbers["place"]), tuple(steps), tuple(numbers["extra"]))
    alive = {*made.place, *made.extra}
    if len(set(made.place)) != len(made.place):
        raise DataError("config.json.rule.place is damaged: it names a cluster twice.")
    for step in steps:
        before = set(step.clusters) if isinstance(step, Merge) else {step.cluster}
        after = {step.into} if isinstance(step, Merge) else set(step.into)
        parts = 1 if isinstance(step, Merge) else len(step.assigner.centers)
        if not before or before - alive or len(after) != parts:
            raise DataError(
                "config.json.rule.steps is damaged: a step changes a cluster that does not exist."
            )
        alive = alive - before | after
    return made


def check_labels(arrays: Arrays, assigner: Json, n_clusters: int) -> None:
    """Refuse labels of training texts that are no clusters of the assigner that was saved."""
    place = assigner.get("place")
    k = len(place) if isinstance(place, list) else n_clusters
    for name, array in arrays.items():
        if name.rpartition(".")[2] == "labels" and (
            array.dtype.kind != "i" or not len(array) or array.min() < 0 or array.max() >= k
        ):
            raise DataError(f"model.safetensors is damaged: {name!r} has other clusters than {k}.")


def edited(assigner: Assigner | EditedAssigner, n_clusters: int) -> EditedAssigner:
    """The assigner itself if it has edits, else the same assigner with none yet."""
    if isinstance(assigner, EditedAssigner):
        return assigner
    return EditedAssigner(assigner, tuple(range(n_clusters)))


def fingerprint(text: str) -> str:
    """What a corrected text is recognised by: a model keeps no text in the clear."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class Correctable(Protocol):
    """A model that a person may have corrected."""

    corrections_: dict[str, int]
    corrected_rows_: dict[int, int]


def correct(model: Correctable, values: Array, inputs: Inputs | None = None) -> Array:
    """Labels or probabilities of all rows, with the corrections that a person made.

    Parameters
    ----------
    model : TextClusterer
        Its ``corrections_`` are clusters of texts by their :func:`fingerprint`, and its
        ``corrected_rows_`` those of the rows it was fitted on; both may be missing.
    values : ndarray of shape (n,) or (n, k)
        Changed in place.
    inputs : Inputs, optional
        The rows; without them, they are those the model was fitted on.
    """
    if inputs is None:
        found = dict(getattr(model, "corrected_rows_", {}))
    else:
        found = _known(inputs, getattr(model, "corrections_", {}))
    for row, cluster in found.items():
        if values.ndim == 1:
            values[row] = cluster
        else:
            values[row] *= SURE
            values[row, cluster] += 1 - SURE
    return values


def _known(inputs: Inputs, corrections: Mapping[str, int]) -> dict[int, int]:
    """Rows whose text was corrected, and the clusters they belong to."""
    if not corrections or inputs.texts is None:
        return {}
    marks = map(fingerprint, inputs.texts)
    rows = zip(inputs.rows.tolist(), marks, strict=True)
    return {row: corrections[mark] for row, mark in rows if mark in corrections}


def _merge(logits: Floats, step: Merge) -> None:
    columns = list(step.clusters)
    total = np.logaddexp.reduce(logits[:, columns], axis=1)
    inside, lead = _lead(logits, columns)
    logits[:, columns] = -np.inf
    logits[:, step.into] = np.where(inside, np.maximum(total, lead), np.minimum(total, lead))


def _split(logits: Floats, step: Split, vectors: Floats) -> None:
    share = _log_softmax(step.assigner.logits(vectors))
    parts = logits[:, [step.cluster]] + share
    inside, lead = _lead(logits, [step.cluster])
    best = share.argmax(axis=1)
    rows = np.flatnonzero(inside)
    parts[rows, best[rows]] = np.maximum(parts[rows, best[rows]], lead[rows])
    logits[:, step.cluster] = -np.inf
    logits[:, list(step.into)] = parts


def _lead(logits: Floats, columns: Sequence[int]) -> tuple[Bools, Floats]:
    """Whether each text is in one of the clusters; what keeps it there, or where it is."""
    inside = np.isin(logits.argmax(axis=1), columns)
    others = np.delete(logits, columns, axis=1).max(axis=1, initial=-np.inf)
    return inside, np.where(inside, others + EDGE, others - EDGE)


def _log_softmax(logits: Floats) -> Floats:
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.logaddexp.reduce(shifted, axis=1, keepdims=True))
