"""How a fitted model puts a vector into a cluster: by centers, by neighbours, or by a soft head.

Each assigner turns vectors into logits, one column per cluster; probabilities are their softmax and
the label is the largest probability, so the two can never disagree. An assigner is plain arrays and
numbers, saved as safetensors and JSON.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from coterie._util.types import Floats, Ints
from coterie.arrays.neighbors import row_blocks, unit_rows

CALIBRATED = 5_000  # rows that the scale of a linear head is found on
FEWEST_ROWS = 1_000  # of vectors whose distances are worth keeping


class Assigner(Protocol):
    """Turns vectors of shape (n, d) into logits of shape (n, k)."""

    kind: ClassVar[str]

    def logits(self, vectors: Floats) -> Floats:
        """Unnormalised log probabilities of every cluster."""

    def reordered(self, order: Ints) -> Assigner:
        """The same assigner with cluster ``order[j]`` now called ``j``."""

    def arrays(self) -> dict[str, Any]:
        """The arrays to save."""

    def numbers(self) -> dict[str, Any]:
        """The plain settings to save."""


@dataclass(frozen=True)
class ArrayAssigner:
    """What assigners share that are arrays, some with a row for each cluster, and plain numbers."""

    by_cluster: ClassVar[tuple[str, ...]] = ()

    def reordered(self, order: Ints) -> Self:
        return replace(self, **{name: getattr(self, name)[order] for name in self.by_cluster})

    def arrays(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def numbers(self) -> dict[str, Any]:
        return {n: v for n, v in vars(self).items() if isinstance(v, (bool, int, float))}


@dataclass(frozen=True)
class CenterAssigner(ArrayAssigner):
    """The nearest center wins; confidence falls with the squared distance over ``scale``."""

    kind: ClassVar[str] = "centers"
    by_cluster: ClassVar[tuple[str, ...]] = ("centers",)
    centers: Floats
    scale: float = 1.0
    normalize: bool = False

    def logits(self, vectors: Floats) -> Floats:
        return -squared_distances(self.seen(vectors), self.centers) / self.scale

    def calibrated(self, vectors: Floats, confidence: float) -> CenterAssigner:
        """The same assigner, with ``confidence`` as the mean top probability of the vectors."""
        distances = squared_distances(self.seen(vectors), self.centers)
        return replace(self, scale=scale_for(distances, confidence))

    def seen(self, vectors: Floats) -> Floats:
        """The vectors as the assigner looks at them: of unit length or as they are."""
        return unit_rows(vectors) if self.normalize else vectors


def _digest(x: Floats) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(x).view(np.uint8).reshape(-1).data).digest()


@dataclass(frozen=True)
class NeighborAssigner(ArrayAssigner):
    """The cluster of the nearest training text wins, for clusterings that have no centers.

    A training text keeps the label it was given; how sure that is, its neighbours decide: it is
    left out when the distances to the clusters are measured.
    """

    kind: ClassVar[str] = "neighbors"
    vectors: Floats
    labels: Ints
    scale: float = 1.0
    # Distances of the vectors that were last asked for, by their digest.
    seen: dict[bytes, tuple[Floats, Ints]] = field(default_factory=dict, repr=False, compare=False)

    def logits(self, vectors: Floats) -> Floats:
        distances, itself = self.distances(vectors)
        least = distances.min(axis=1, keepdims=True)  # from it: large numbers lose the lead below
        beyond = distances - np.where(np.isfinite(least), least, 0)
        logits = np.maximum(-beyond / self.scale, -1e6)  # a cluster of one has no distance
        known = np.flatnonzero(itself >= 0)
        own = self.labels[itself[known]]
        logits[known, own] = np.maximum(logits[known, own], logits[known].max(axis=1) + 1e-3)
        return np.asarray(logits)

    def distances(self, vectors: Floats) -> tuple[Floats, Ints]:
        """Squared distance to the nearest other text of each cluster; which text each one is.

        The first, of shape (n, k), is infinite for the cluster of a training text that has no other
        member; the second, of shape (n,), is -1 for a vector that is none of the training.
        """
        if len(vectors) < FEWEST_ROWS:
            return self._distances(vectors)
        key = _digest(vectors)
        found = self.seen.get(key)
        if found is None:
            found = self._distances(vectors)
            self.seen.clear()
            self.seen[key] = found
        return found

    def _distances(self, vectors: Floats) -> tuple[Floats, Ints]:
        order = np.argsort(self.labels, kind="stable")
        starts = np.searchsorted(self.labels[order], np.arange(self.labels.max() + 1))
        members = self.vectors[order]
        same = 1e-5 * float(np.square(members - members.mean(axis=0)).sum(axis=1).mean())
        nearest = np.empty((len(vectors), len(starts)), dtype=np.float32)
        itself = np.full(len(vectors), -1)
        for block in row_blocks(len(vectors), len(members)):
            distances = squared_distances(vectors[block], members)
            closest = distances.argmin(axis=1)
            known = np.flatnonzero(distances[np.arange(len(closest)), closest] <= same)
            itself[block][known] = order[closest[known]]
            distances[known, closest[known]] = np.inf
            nearest[block] = np.minimum.reduceat(distances, starts, axis=1)
        return nearest, itself

    def calibrated(self, rows: Ints) -> NeighborAssigner:
        """The same assigner, as sure of itself as it is right about training texts it leaves out.

        A text that is alone in its cluster has no other to be found by, and is not asked.
        """
        kept = self.seen.get(_digest(self.vectors)) if self.seen else None
        distances = kept[0][rows] if kept else self._distances(self.vectors[rows])[0]
        asked = np.isfinite(distances).all(axis=1)
        if not asked.any():
            return self
        right = distances[asked].argmin(axis=1) == self.labels[rows][asked]
        return replace(self, scale=scale_for(distances[asked], right.mean()), seen=self.seen)

    def reordered(self, order: Ints) -> NeighborAssigner:
        seen = {key: (distances[:, order], own) for key, (distances, own) in self.seen.items()}
        return replace(self, labels=np.argsort(order)[self.labels], seen=seen)


@dataclass(frozen=True)
class StudentTAssigner(ArrayAssigner):
    """The soft assignment of a trained clustering head, Eq. (1) of DEC."""

    kind: ClassVar[str] = "student-t"
    by_cluster: ClassVar[tuple[str, ...]] = ("centers",)
    centers: Floats
    alpha: float = 1.0

    def logits(self, vectors: Floats) -> Floats:
        distances = squared_distances(vectors, self.centers)
        return np.asarray(-(self.alpha + 1) / 2 * np.log1p(distances / self.alpha))


@dataclass(frozen=True)
class LinearAssigner(ArrayAssigner):
    """A trained linear head: softmax of ``weight @ x + bias``."""

    kind: ClassVar[str] = "linear"
    by_cluster: ClassVar[tuple[str, ...]] = ("weight", "bias")
    weight: Floats
    bias: Floats

    def logits(self, vectors: Floats) -> Floats:
        return np.asarray(vectors @ self.weight.T + self.bias)

    def calibrated(self, vectors: Floats, confidence: float) -> LinearAssigner:
        """The same assigner, with ``confidence`` as the mean top probability of the vectors.

        The first 5,000 of them are enough.
        """
        if len(self.bias) == 1 or len(vectors) == 0:
            return self
        scores = self.logits(vectors[:CALIBRATED])
        scale = np.float32(scale_for(scores.max() - scores, confidence))
        return LinearAssigner(self.weight / scale, self.bias / scale)


@dataclass(frozen=True)
class MappedAssigner:
    """An assigner on ``weight @ x + bias``, for methods that cluster a linear map of vectors."""

    kind: ClassVar[str] = "mapped"
    inner: Assigner
    map_weight: Floats
    map_bias: Floats

    def seen(self, vectors: Floats) -> Floats:
        """The vectors as the inner assigner looks at them."""
        return np.asarray(vectors @ self.map_weight.T + self.map_bias)

    def logits(self, vectors: Floats) -> Floats:
        return np.asarray(self.inner.logits(self.seen(vectors)))

    def reordered(self, order: Ints) -> MappedAssigner:
        return replace(self, inner=self.inner.reordered(order))

    def arrays(self) -> dict[str, Any]:
        return {"map_weight": self.map_weight, "map_bias": self.map_bias, **self.inner.arrays()}

    def numbers(self) -> dict[str, Any]:
        return {"inner": {"kind": self.inner.kind, **self.inner.numbers()}}


ASSIGNERS: dict[str, type[Any]] = {
    assigner.kind: assigner
    for assigner in (
        CenterAssigner,
        LinearAssigner,
        MappedAssigner,
        NeighborAssigner,
        StudentTAssigner,
    )
}


def make_assigner(
    arrays: dict[str, Any], numbers: dict[str, Any], more: dict[str, type[Assigner]] | None = None
) -> Assigner:
    """The assigner that gave these arrays and numbers, the numbers with its ``kind``.

    Parameters
    ----------
    arrays, numbers : dict
        As :meth:`Assigner.arrays` and :meth:`Assigner.numbers` give them.
    more : dict of str to type, optional
        Kinds that only one method knows.
    """
    arrays, numbers = dict(arrays), dict(numbers)
    kind = numbers.pop("kind")
    if kind == MappedAssigner.kind:
        own = {name: arrays.pop(name) for name in ("map_weight", "map_bias")}
        return MappedAssigner(make_assigner(arrays, numbers["inner"], more), **own)
    cls: Any = {**ASSIGNERS, **(more or {})}[kind]
    made: Assigner = (
        cls.restore(arrays, numbers) if hasattr(cls, "restore") else cls(**arrays, **numbers)
    )
    return made


def probabilities(logits: Floats) -> Floats:
    """Softmax of each row; computed in float64, so that rows sum to one to the last digit."""
    shifted = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def scale_for(distances: Floats, confidence: float) -> float:
    """Scale at which the mean top probability of ``softmax(-distances / scale)`` is given.

    Parameters
    ----------
    distances : ndarray of shape (n, k)
    confidence : float
        Between ``1 / k`` and 1; what lies outside, or no scale reaches for ties, is moved inside.

    Returns
    -------
    float
        Found by bisection: the mean top probability falls as the scale grows.
    """
    distances = distances.astype(np.float64)
    k = distances.shape[1]
    confidence = float(np.clip(confidence, 1 / k + 1e-3, 1 - 1e-3))
    typical = float(distances.mean())
    if k == 1 or typical <= 0:
        return 1.0
    low, high = typical * 1e-6, typical * 1e6
    confidence = min(confidence, 0.999 * probabilities(-distances / low).max(axis=1).mean())
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        if probabilities(-distances / middle).max(axis=1).mean() > confidence:
            low = middle
        else:
            high = middle
    return middle


def squared_distances(a: Floats, b: Floats) -> Floats:
    """Of each row of ``a``, shape (n, d), to each of ``b``, shape (m, d)."""
    shift = b.mean(axis=0)  # distances do not change, digits are saved
    a, b = a - shift, b - shift
    found = a @ b.T  # what follows is done in its place
    found *= -2
    found += np.square(b).sum(axis=1)
    found += np.square(a).sum(axis=1)[:, None]
    return np.maximum(found, 0, out=found)
