"""Ways to cluster the same texts quickly, and two witnesses that judge them without labels.

The witnesses: how much the clusters say about the words of their texts, times how often a text and
its nearest neighbours are in one cluster. What the ways share is computed once: neighbours by words
and meaning at all weights, vectors in few directions, and the first steps of a longer walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from coterie._random import derive_seed, numpy_generator
from coterie._types import Floats, Ints
from coterie.blocks.graph import joined, nearest_beside, principal_part, walk
from coterie.blocks.kmeans import KMeans, nearest
from coterie.blocks.linkage import agglomerate
from coterie.blocks.reduction import reduce_by_umap
from coterie.words import word_information

WORD_WEIGHT = 0.5  # length of the words beside the meaning, for those who ask their neighbours
WITNESSES = 10  # neighbours asked for their cluster
DIM = 100  # directions in which vectors walk along the graph
LINKED = 12_000  # texts that are linked at most; it takes memory and time by their square
TASTED = 3_000, 15  # linked at first, and at least so many per cluster
PROMISING = 0.9  # of the best score, for linkage to be worth all its texts


@dataclass(frozen=True)
class Way:
    """How to cluster: words beside the meaning, and how far to spread along the graph."""

    words: float = 0.0
    neighbors: int = 0
    rounds: int = 0
    kind: str = "k-means"

    @property
    def name(self) -> str:
        """Short and unique.

        Examples
        --------
        >>> Way(0.5, 10, 5).name, Way().name
        ('graph 10x5, words 0.5', 'k-means')
        """
        if not self.rounds:
            return self.kind
        return f"graph {self.neighbors}x{self.rounds}, words {self.words:g}"

    @property
    def sentence(self) -> str:
        """What is done, in words."""
        seen = "words and meaning" if self.words else "meaning"
        if self.rounds:
            return (
                f"k-means after {self.rounds} steps along the graph of the {self.neighbors} "
                f"nearest texts by {seen}"
            )
        if self.kind == "k-means":
            return "k-means on the encoder's vectors"
        return {"average": "average linkage", "umap": "UMAP and k-means"}[self.kind] + f" by {seen}"


@dataclass(frozen=True)
class Found:
    """A clustering and what the two witnesses say of it."""

    labels: Ints
    information: float
    agreement: float

    @property
    def score(self) -> float:
        """What decides."""
        return self.information * self.agreement


class Trial:
    """Texts that several ways cluster.

    Parameters
    ----------
    meaning : ndarray of shape (n, d)
    words : ndarray of shape (n, e)
        What the words say, of length ``WORD_WEIGHT``; of no columns if there is no such view.
    weights : ndarray of shape (n,)
    presence : sparse matrix of shape (n, words)
        Which text has which word.
    n_clusters, seed : int
    device : torch.device
        Of the search for neighbours and of k-means.
    """

    def __init__(
        self,
        views: tuple[Floats, Floats],
        weights: Floats,
        presence: Any,
        n_clusters: int,
        seed: int,
        device: torch.device,
    ) -> None:
        self.meaning, self.words = views
        self.weights, self.presence = weights, presence
        self.n_clusters, self.seed, self.device = n_clusters, seed, device
        self.graphs: dict[float, Ints] = {}
        self.seen: dict[Way, Floats] = {}  # the vectors that k-means was given, and can be again
        self.few: dict[float, Floats] = {}  # vectors in few directions, by the length of the words

    def look(self, lengths: Iterable[float], reach: int) -> None:
        """Find neighbours with the words at each of these lengths, and those who are asked."""
        asked = sorted({*lengths, WORD_WEIGHT}) if self.words.shape[1] else [WORD_WEIGHT]
        one, other = self._on_device(self.meaning), self._on_device(self.words)
        scaled = {length / WORD_WEIGHT: length for length in asked}
        found = nearest_beside(one, other, list(scaled), max(reach, WITNESSES + 1))
        self.graphs = {scaled[scale]: graph for scale, graph in found.items()}
        if not self.words.shape[1]:
            self.graphs |= dict.fromkeys(lengths, self.graphs[WORD_WEIGHT])  # one view, one graph
        self.witnesses = self.graphs[WORD_WEIGHT][:, 1 : WITNESSES + 1]

    def judge(self, labels: Ints) -> Found | None:
        """What the witnesses say; nothing if there are fewer clusters than asked for."""
        if len(np.unique(labels)) < self.n_clusters:
            return None
        told = word_information(self.presence, labels, self.seed)
        together = float((labels[self.witnesses] == labels[:, None]).mean())
        return Found(labels, told, together)

    def kmeans(self, way: Way, starts: int, stream: str = "first") -> Ints:
        """Labels by k-means on the vectors as that way sees them."""
        if way not in self.seen:
            self._prepare(way)
        seed = derive_seed(self.seed, "trial", stream)
        found = KMeans(n_clusters=self.n_clusters, seed=seed, n_init=starts)
        return found(self._on_device(self.seen[way]), self.weights).labels

    def average(self, best: float) -> Ints:
        """Labels by average linkage: of a part first, of all if that comes near the best score."""
        x = self.beside(AVERAGE.words)
        first, each = TASTED
        labels = self._linked(x, max(first, each * self.n_clusters))
        found = self.judge(labels)
        if len(x) > first and found is not None and found.score > PROMISING * best:
            labels = self._linked(x, LINKED)
        return labels

    def beside(self, length: float) -> Floats:
        """The meaning with the words beside it at that length."""
        if not length or not self.words.shape[1]:
            return np.ascontiguousarray(self.meaning)
        return np.hstack([self.meaning, (length / WORD_WEIGHT) * self.words]).astype(np.float32)

    def _prepare(self, way: Way) -> None:
        """The vectors of a way, and of those that go on from where it ends."""
        if way.kind == "umap":
            self.seen[way] = reduce_by_umap(self.beside(way.words), seed=self.seed)
        elif not way.rounds:
            self.seen[way] = self.beside(way.words)
        else:
            x, done = self._in_few(way.words), 0
            graph = joined(self.graphs[way.words][:, : way.neighbors])
            for step in sorted({w.rounds for w in GRAPHS if _same_walk(w, way)} | {way.rounds}):
                x, done = walk(x, graph, step - done), step
                self.seen[Way(way.words, way.neighbors, step)] = x

    def _in_few(self, length: float) -> Floats:
        """Unit vectors in ``DIM`` directions, with the words at that length."""
        if length not in self.few:
            self.few[length] = principal_part(self.beside(length), DIM)
        return self.few[length]

    def _linked(self, x: Floats, most: int) -> Ints:
        """Average linkage of at most so many texts; the others join the nearest of them."""
        most = max(min(most, LINKED), self.n_clusters)
        if len(x) <= most:
            return agglomerate(x, self.n_clusters, "average", self.weights)
        rows = np.sort(numpy_generator(self.seed, "linked").choice(len(x), most, replace=False))
        labels = agglomerate(x[rows], self.n_clusters, "average", self.weights[rows])
        few = self._on_device(self._in_few(AVERAGE.words))
        near = nearest(few, few[torch.from_numpy(rows).to(self.device)])[0].cpu().numpy()
        out: Ints = labels[near]
        out[rows] = labels
        return out

    def _on_device(self, x: Floats) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(x)).to(self.device)


PLAIN = Way()
GRAPHS = (
    Way(0.5, 10, 5), Way(0.5, 10, 8), Way(0.5, 15, 4), Way(0.5, 20, 3),
    Way(0.75, 10, 5), Way(0.75, 10, 8), Way(0.75, 15, 4),
    Way(0.0, 10, 5), Way(0.0, 10, 8), Way(0.0, 20, 3),
)  # fmt: skip
AVERAGE = Way(0.5, kind="average")
UMAP = Way(0.5, kind="umap")
WAYS = {way.name: way for way in (PLAIN, *GRAPHS, AVERAGE, UMAP)}


def try_all(
    trial: Trial, ways: list[Way], told: Callable[[int], None], again: tuple[int, int]
) -> dict[Way, Found]:
    """What each way finds, linkage last; the best of k-means get more starts.

    Parameters
    ----------
    trial : Trial
    ways : list of Way
    told : callable
        Is told how many ways are done.
    again : tuple of int
        How many of the best ways start k-means again, and how often. The clustering of a way is
        the one with the best score of its two rounds.
    """
    reach = max((way.neighbors for way in ways), default=0)
    trial.look({way.words for way in ways if way.rounds}, reach)
    found: dict[Way, Found] = {}
    linked = [way for way in ways if way.kind == "average"]
    started = [way for way in ways if way.kind != "average"]
    for done, way in enumerate(started, 1):
        _keep(found, way, trial.judge(trial.kmeans(way, 1)))
        told(done)
    for way in ranked(found)[: again[0]] if again[1] else []:
        _keep(found, way, trial.judge(trial.kmeans(way, again[1], "again")))
    for way in linked:
        best = max((judged.score for judged in found.values()), default=0.0)
        _keep(found, way, trial.judge(trial.average(best)))
    told(len(ways))
    return found


def ranked(found: dict[Way, Found]) -> list[Way]:
    """The ways, that of the best score first."""
    return sorted(found, key=lambda way: -found[way].score)


def _keep(found: dict[Way, Found], way: Way, new: Found | None) -> None:
    if new is not None and (way not in found or new.score > found[way].score):
        found[way] = new


def _same_walk(a: Way, b: Way) -> bool:
    return (a.words, a.neighbors) == (b.words, b.neighbors)
