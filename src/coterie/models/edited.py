"""A clustering that a person has edited: merges, splits and corrections of another assigner.

Edits never change what they do not name. A merge takes the texts of its clusters and no others;
a split divides the texts of its cluster and moves none of another; a deletion moves those of its
cluster to their next best one. So probabilities are added and
divided as they should be, but the lead of a text's cluster is never lost to a sum elsewhere.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np

from coterie._util.trust import check_shape, is_count, is_finite
from coterie._util.types import Array, Arrays, Bools, Floats, Ints, Json
from coterie.arrays.assign import Assigner, CenterAssigner, make_assigner, probabilities
from coterie.errors import DataError
from coterie.models.inputs import Inputs

CALIBRATED = 2_000  # rows that the sharpness is found on
EDGE = 1e-3  # lead of a text's own cluster, in logits, where an edit would change it
FLOOR = -700.0  # exp of it is still a number: clusters in use stay ahead of those retired
SHAPE = {
    "inner": {"kind": str},
    "place": [is_count],
    "cut?": [[is_count]],
    "sharpness?": is_finite,
    "steps": [dict],
}
SHARPEST = math.log(1e3)  # sharpness is between this and its reciprocal
SURE = 1e-9  # what a corrected text leaves to the other clusters, in the order they had


@dataclass(frozen=True)
class Merge:
    """All clusters of ``clusters`` become ``into``: one of them, or a number of its own."""

    clusters: tuple[int, ...]
    into: int

    @property
    def before(self) -> set[int]:
        """Clusters that it takes."""
        return set(self.clusters)

    @property
    def after(self) -> set[int]:
        """Clusters that it makes of them."""
        return {self.into}


@dataclass(frozen=True)
class Split:
    """The texts of ``cluster`` go to the nearest center; part ``i`` becomes ``into[i]``."""

    cluster: int
    into: tuple[int, ...]
    assigner: CenterAssigner

    @property
    def before(self) -> set[int]:
        """The cluster that it takes."""
        return {self.cluster}

    @property
    def after(self) -> set[int]:
        """Clusters that it makes of it."""
        return set(self.into)


@dataclass(frozen=True)
class Delete:
    """The texts of ``cluster`` go to their next best one."""

    cluster: int

    @property
    def before(self) -> set[int]:
        """The cluster that it takes."""
        return {self.cluster}

    @property
    def after(self) -> set[int]:
        """None."""
        return set()


Step = Merge | Split | Delete


@dataclass(frozen=True)
class EditedAssigner:
    """Another assigner with its clusters renumbered, merged, split, and cut from a tree.

    The logits have a column for every number up to the highest; those of numbers that no cluster
    has (any more) are minus infinity, so that the column of a cluster is always its number.

    Parameters
    ----------
    inner : Assigner
    place : tuple of int
        Number of the cluster that each column of the inner assigner stands for.
    steps : tuple of Merge, Split or Delete
        In the order in which they were made.
    cut : mapping of int to int
        Of a run with a merge tree: the cluster that each of the finest is shown in. A text is in
        the cluster that holds its finest one, which has the sum of their probabilities.
    sharpness : float
        Factor of the inner logits.
    """

    kind: ClassVar[str] = "edited"
    inner: Assigner | EditedAssigner
    place: tuple[int, ...]
    steps: tuple[Step, ...] = ()
    cut: Mapping[int, int] = field(default_factory=dict)
    sharpness: float = 1.0

    @property
    def clusters(self) -> list[int]:
        """Numbers of the clusters in use."""
        return sorted(set(self.cut.values())) if self.cut else self.leaves

    @property
    def leaves(self) -> list[int]:
        """Numbers of the clusters before the cut: the finest ones."""
        alive = {*self.place}
        for step in self.steps:
            alive = alive - step.before | step.after
        return sorted(alive)

    @property
    def width(self) -> int:
        """Columns of the logits: one more than the highest number in use."""
        return max(self.cut.values()) + 1 if self.cut else self._finest_width

    @property
    def _finest_width(self) -> int:
        return max([*self.place, *(i for step in self.steps for i in step.after)]) + 1

    @property
    def untouched(self) -> dict[int, int]:
        """Clusters that no step has changed, and the columns of the inner assigner they are."""
        out = {cluster: column for column, cluster in enumerate(self.place)}
        if self.cut:
            out = {cluster: out[cluster] for cluster in out.keys() & self.cut.values()}
        for step in self.steps:
            for cluster in step.before:
                out.pop(cluster, None)
        return out

    def then(self, *steps: Step) -> EditedAssigner:
        """The same assigner with further steps."""
        return replace(self, steps=(*self.steps, *steps))

    def logits(self, vectors: Floats) -> Floats:
        """Log probabilities of every number; minus infinity for those no cluster has."""
        finest = self.finest_logits(vectors)
        return _shown(finest, self.cut) if self.cut else finest

    def finest_logits(self, vectors: Floats) -> Floats:
        """The same before the cut, for the finest clusters."""
        return self._edited(self.inner.logits(vectors), vectors)

    def _edited(self, inner: Floats, vectors: Floats) -> Floats:
        """Logits of the inner assigner with renumbering, merges and splits."""
        out = np.full((len(vectors), self._finest_width), -np.inf)
        out[:, list(self.place)] = _log_softmax(self.sharpness * inner)
        top: Ints | None = None  # cluster of each text, as long as steps tell it
        for step in self.steps:
            if isinstance(step, Merge):
                top = _merge(out, step, out.argmax(axis=1) if top is None else top)
                continue
            top = None
            if isinstance(step, Split):
                _split(out, step, vectors)
            else:
                out[:, step.cluster] = -np.inf
                out = _log_softmax(out)
        alive = self.leaves
        out[:, alive] = np.maximum(out[:, alive], FLOOR)
        return out

    def calibrated(self, vectors: Floats, confidence: float) -> EditedAssigner:
        """The same assigner, with ``confidence`` as the mean top probability of the vectors.

        The first 2,000 of them are asked.
        """
        from scipy.optimize import brentq

        some, wanted = vectors[:CALIBRATED], min(confidence, 1 - 1e-3)
        inner = self.inner.logits(some)

        @cache
        def beyond(sharpness: float) -> float:
            """How far the mean is above what is wanted; the sharpness is a logarithm."""
            found = replace(self, sharpness=math.exp(sharpness))._edited(inner, some)
            found = _shown(found, self.cut) if self.cut else found
            return float(probabilities(found).max(axis=1).mean()) - wanted

        low, high = -SHARPEST, SHARPEST
        if beyond(low) >= 0 or beyond(high) <= 0:
            best = low if beyond(low) >= 0 else high
        else:
            best = brentq(beyond, low, high, xtol=1e-7)
        return replace(self, sharpness=math.exp(best))

    def arrays(self) -> dict[str, Any]:
        splits = [step for step in self.steps if isinstance(step, Split)]
        own = {f"split_{i}": step.assigner.centers for i, step in enumerate(splits)}
        return {**{f"inner.{name}": a for name, a in self.inner.arrays().items()}, **own}

    def numbers(self) -> dict[str, Any]:
        steps: list[dict[str, Any]] = []
        for step in self.steps:
            if isinstance(step, Merge):
                steps.append({"merge": list(step.clusters), "into": step.into})
            elif isinstance(step, Delete):
                steps.append({"delete": step.cluster})
            else:
                scale = float(step.assigner.scale)
                steps.append({"split": step.cluster, "into": list(step.into), "scale": scale})
        inner = {"kind": self.inner.kind, **self.inner.numbers()}
        return {
            "inner": inner,
            "place": list(self.place),
            "steps": steps,
            **({"cut": sorted(map(list, self.cut.items()))} if self.cut else {}),
            **({"sharpness": self.sharpness} if self.sharpness != 1 else {}),
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
        if "delete" in saved:
            steps.append(Delete(saved["delete"]))
            continue
        centers = arrays[f"split_{sum(isinstance(step, Split) for step in steps)}"]
        assigner = CenterAssigner(centers, saved["scale"])
        steps.append(Split(saved["split"], tuple(saved["into"]), assigner))
    own = {n.removeprefix("inner."): a for n, a in arrays.items() if n.startswith("inner.")}
    inner = make_assigner(own, numbers["inner"], more)
    cut = {leaf: cluster for leaf, cluster in numbers.get("cut") or ()}
    sharpness = float(numbers.get("sharpness") or 1.0)
    made = EditedAssigner(inner, tuple(numbers["place"]), tuple(steps), cut, sharpness)
    alive = {*made.place}
    if len(set(made.place)) != len(made.place):
        raise DataError("config.json.rule.place is damaged: it names a cluster twice.")
    for step in steps:
        before, after = step.before, step.after
        parts = len(step.assigner.centers) if isinstance(step, Split) else len(after)
        left = alive - before | after
        if not before or before - alive or len(after) != parts or not left:
            raise DataError(
                "config.json.rule.steps is damaged: a step changes a cluster that does not exist."
            )
        alive = left
    if cut and cut.keys() != alive:
        raise DataError("config.json.rule.cut is damaged: it has other clusters than the model.")
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

    assigner_: Any
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
    shown = getattr(model.assigner_, "cut", {})  # corrections lead to the finest clusters
    for row, finest in found.items():
        cluster = shown.get(finest, finest)
        if values.ndim == 1:
            values[row] = cluster
        elif values[row].argmax() != cluster:  # else it is there anyway, as sure as it is
            values[row] *= SURE
            values[row, cluster] += 1 - SURE
    return values


def finest_labels(model: Correctable, vectors: Floats, inputs: Inputs) -> Ints | None:
    """The finest cluster of each row, -1 without a text; None of a model that shows no cut."""
    assigner = model.assigner_
    if not getattr(assigner, "cut", {}):
        return None
    found = assigner.finest_logits(vectors).argmax(axis=1)
    out = np.asarray(inputs.spread(found.astype(np.int64), -1))
    for row, leaf in _known(inputs, model.corrections_).items():
        out[row] = leaf
    return out


def _known(inputs: Inputs, corrections: Mapping[str, int]) -> dict[int, int]:
    """Rows whose text was corrected, and the clusters they belong to."""
    if not corrections or inputs.texts is None:
        return {}
    marks = map(fingerprint, inputs.texts)
    rows = zip(inputs.rows.tolist(), marks, strict=True)
    return {row: corrections[mark] for row, mark in rows if mark in corrections}


def _shown(finest: Floats, cut: Mapping[int, int]) -> Floats:
    """Log probabilities of the clusters of a cut: sums, in which a text's own one leads."""
    leaves, places = list(cut), np.array(list(cut.values()))
    numbers, place = np.unique(places, return_inverse=True)
    parts = finest[:, leaves]
    own = place[parts.argmax(axis=1)]
    high = parts.max(axis=1, keepdims=True)
    belongs = np.zeros((len(leaves), len(numbers)))
    belongs[np.arange(len(leaves)), place] = 1
    with np.errstate(divide="ignore"):
        sums = np.log(np.exp(parts - high) @ belongs) + high
    rows = np.arange(len(sums))
    lead = sums[rows, own]
    sums[rows, own] = -np.inf
    sums[rows, own] = np.maximum(lead, sums.max(axis=1, initial=-np.inf) + EDGE)
    out = np.full((len(sums), int(numbers[-1]) + 1), -np.inf)
    out[:, numbers] = np.maximum(sums, FLOOR)
    return out


def _merge(logits: Floats, step: Merge, top: Ints) -> Ints:
    """Merge columns of the logits; from the cluster of each text before to that after."""
    columns = list(step.clusters)
    total = np.logaddexp.reduce(logits[:, columns], axis=1)
    inside, lead = _lead(logits, columns, top)
    logits[:, step.into] = np.where(inside, np.maximum(total, lead), np.minimum(total, lead))
    return np.where(inside, step.into, top)


def _split(logits: Floats, step: Split, vectors: Floats) -> None:
    share = _log_softmax(step.assigner.logits(vectors))
    parts = logits[:, [step.cluster]] + share
    inside, lead = _lead(logits, [step.cluster], logits.argmax(axis=1))
    best = share.argmax(axis=1)
    rows = np.flatnonzero(inside)
    parts[rows, best[rows]] = np.maximum(parts[rows, best[rows]], lead[rows])
    logits[:, list(step.into)] = parts


def _lead(logits: Floats, columns: Sequence[int], top: Ints) -> tuple[Bools, Floats]:
    """Whether each text is in one of the clusters; what keeps it there, or where it is.

    The clusters are taken out of the logits. ``top`` is the cluster of each text.
    """
    inside = (top[:, None] == columns).any(axis=1)
    logits[:, columns] = -np.inf
    others = logits[np.arange(len(top)), top]
    others[inside] = logits[inside].max(axis=1)
    return inside, np.where(inside, others + EDGE, others - EDGE)


def _log_softmax(logits: Floats) -> Floats:
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.logaddexp.reduce(shifted, axis=1, keepdims=True))
