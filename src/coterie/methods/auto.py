"""The default: several quick clusterings of the same texts, the best of them, and a second look.

No single pipeline wins everywhere: k-means suits even clusters, linkage many clusters of all sizes,
and a view of the words helps where the encoder does not know them. Which one fits is decided
without labels by two witnesses: how much the clusters say about the words of their texts
(``words/information.py``), times how often a text and its nearest neighbours are in one cluster.
A linear classifier then learns the clusters, and is asked about the same texts.
"""

from __future__ import annotations

import importlib.util
import logging
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import nn

from coterie._progress import make_progress
from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie._validation import check_device, check_fields
from coterie.base import TextClusterer, kmeans_rule
from coterie.base.reclassify import sure, teach
from coterie.blocks.assign import LinearRule, MappedRule, NeighborRule, Rule
from coterie.blocks.graph import nearest_rows, spread
from coterie.blocks.kmeans import KMeans, nearest
from coterie.blocks.linkage import agglomerate
from coterie.blocks.pca import principal_map
from coterie.blocks.reduction import reduce_by_umap
from coterie.encoders import BagOfWords, Encoder, MixedEncoder
from coterie.words import word_information, word_presence

log = logging.getLogger(__name__)

Effort = Literal["quick", "standard", "best"]
WORD_WEIGHT = 0.5  # length of the words beside the meaning
MOST = {"quick": 10_000, "standard": 25_000, "best": 60_000}  # different texts that are clustered
LINKED = 12_000  # of them by linkage, which takes memory by their square
WITNESSES = 10  # neighbours asked for their cluster
DIM = 100  # principal directions that k-means sees of spread vectors
ROUNDS = 10  # of classification
STARTS = 4  # of k-means in each way; there are many ways


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


PLAIN = Way()
GRAPHS = (
    Way(0.5, 10, 5), Way(0.5, 10, 8), Way(0.5, 15, 4), Way(0.5, 20, 3),
    Way(0.75, 10, 5), Way(0.75, 10, 8), Way(0.75, 15, 4),
    Way(0.0, 10, 5), Way(0.0, 10, 8), Way(0.0, 20, 3),
)  # fmt: skip
REACH = max(way.neighbors for way in GRAPHS)
AVERAGE = Way(0.5, kind="average")
UMAP = Way(0.5, kind="umap")
WAYS = {way.name: way for way in (PLAIN, *GRAPHS, AVERAGE, UMAP)}


@dataclass(eq=False, repr=False, kw_only=True)
class Auto(TextClusterer):
    """Try several quick clusterings, keep the best by two witnesses, and take a second look.

    Parameters
    ----------
    effort : {"quick", "standard", "best"}, default="standard"
        "quick" tries k-means on the vectors and after a walk along the graph of neighbours;
        "standard" adds graphs of other reach with more or fewer words, and average linkage; "best"
        adds UMAP where umap-learn is installed. At most 10,000, 25,000 or 60,000 different texts
        are clustered, drawn at random; the others are put where those say.

    Attributes
    ----------
    choice_ : dict
        ``chosen``; of each candidate the ``information`` about words in nats and the ``agreement``
        of neighbours, whose product decided; ``moved``, the share of texts that the classifier
        moved, and ``rounds``, how often it was asked.

    Notes
    -----
    The candidates: k-means on the encoder's vectors; k-means after a few steps along the symmetric
    graph of 10 to 20 nearest texts, by the encoder alone and beside an LSA of the words at half or
    three quarters of its length; average linkage on cosine. The best is taught to a linear
    classifier, which is asked about the same texts for as long as its answers say more about the
    words and leave no cluster empty. New texts go where the classifier says, or if it was not
    heard, to the cluster of the nearest text. Where the texts have too few frequent words to judge
    by, k-means is taken. Nothing in the encoder is trained. Deviations: none, there is no paper.

    Examples
    --------
    >>> model = Auto(2, encoder="tfidf", random_state=0)
    >>> model.fit_predict(["red apple", "green apple", "fast car", "slow car", "old car"])
    array([1, 1, 0, 0, 0])
    """

    name: ClassVar[str] = "auto"
    keeps: ClassVar[tuple[str, ...]] = ("choice_",)

    effort: Effort = "standard"

    def check_parameters(self) -> None:
        super().check_parameters()
        check_fields(self, choices={"effort": list(MOST)})

    def make_encoder(self, seed: int) -> Encoder:
        encoder = super().make_encoder(seed)
        if encoder.kind != "precomputed" and not isinstance(encoder, BagOfWords):
            encoder = MixedEncoder(encoder, WORD_WEIGHT, seed)
        self._encoder: Any = encoder
        return encoder

    def look(self, texts: list[str] | None) -> None:
        self._presence = None if texts is None else word_presence(texts)

    def start(self, vectors: Floats, weights: Floats, seed: int) -> Rule:
        self.choice_: dict[str, Any] = {"chosen": PLAIN.name, "information": {}, "agreement": {}}
        if self._presence is None or self.n_clusters == 1:
            return self._plain(vectors, weights, seed)
        rows = np.arange(len(vectors))
        most = max(MOST[self.effort], self.n_clusters)
        if len(vectors) > most:
            rows = np.sort(numpy_generator(seed, "auto").choice(rows, most, replace=False))
        part = vectors[rows]
        self._looked = self._presence[rows]
        found = self._all(part, weights[rows], seed)
        if not found:  # only the words tell the texts apart
            return kmeans_rule(self, vectors, weights, seed)
        information, agreement = self.choice_["information"], self.choice_["agreement"]
        chosen = max(found, key=lambda name: information[name] * agreement[name])
        self.choice_["chosen"] = chosen
        rule, labels = self._second_look(part, found[chosen], weights[rows], seed)
        return NeighborRule(part, labels) if rule is None else sure(rule, part, labels, seed)

    def after_fit(self, net: nn.Module | None, order: Ints) -> None:
        for name in ("_encoder", "_presence", "_looked"):
            self.__dict__.pop(name, None)

    def remarks(self) -> list[str]:
        chosen, told = self.choice_["chosen"], self.choice_["information"]
        if len(told) <= 1:
            return [f"Clustered by {WAYS[chosen].sentence}: too few words to compare ways."]
        remarks = [
            f"Of {len(told)} ways to cluster these texts, the one was taken whose clusters say "
            f"most about the words and keep similar texts together: {WAYS[chosen].sentence}."
        ]
        if self.choice_.get("rounds"):
            remarks.append(
                f"A second look moved {100 * self.choice_['moved']:.0f} % of the texts to clusters "
                "that they fit better."
            )
        return remarks

    def _plain(self, vectors: Floats, weights: Floats, seed: int) -> Rule:
        """K-means on the encoder's part of the vectors."""
        meaning = self._beside(vectors, 0.0)
        rule = kmeans_rule(self, meaning, weights, seed)
        if meaning.shape == vectors.shape:
            return rule
        first = np.eye(meaning.shape[1], vectors.shape[1], dtype=np.float32)
        return MappedRule(rule, first, np.zeros(len(first), dtype=np.float32))

    def _all(self, x: Floats, weights: Floats, seed: int) -> dict[str, Ints]:
        """Labels by each way that gave as many clusters as asked for, and how each is judged."""
        ways = self._ways(self._views(x)[1].shape[1] > 0)
        graphs = {WORD_WEIGHT: nearest_rows(self._on_device(x), REACH)}
        witnesses = graphs[WORD_WEIGHT][:, 1 : WITNESSES + 1]
        progress = make_progress(self.verbose)
        found: dict[str, Ints] = {}
        progress.start("ways to cluster", len(ways))
        try:
            for done, way in enumerate(ways, 1):
                labels = self._cluster(way, x, weights, seed, graphs)
                if len(np.unique(labels)) == self.n_clusters:
                    found[way.name] = labels
                    told = word_information(self._looked, labels, seed)
                    together = float((labels[witnesses] == labels[:, None]).mean())
                    self.choice_["information"][way.name] = round(told, 5)
                    self.choice_["agreement"][way.name] = round(together, 5)
                    log.info("%s: %.4f nats, neighbours %.4f", way.sentence, told, together)
                progress.advance(done)
        finally:
            progress.stop()
        return found

    def _ways(self, words: bool) -> list[Way]:
        """What is worth trying, with or without a view of the words."""
        if self.effort == "quick":
            ways = [PLAIN, GRAPHS[0]]
        else:
            umap = self.effort == "best" and importlib.util.find_spec("umap") is not None
            ways = [PLAIN, *GRAPHS, AVERAGE] + [UMAP] * umap
        if words:
            return ways
        graphs = GRAPHS[-3:-2] if self.effort == "quick" else GRAPHS[-3:]
        return [PLAIN, *graphs, *(way for way in ways if way.kind != "k-means")]

    def _cluster(
        self, way: Way, x: Floats, weights: Floats, seed: int, graphs: dict[float, Ints]
    ) -> Ints:
        """Labels by that way; graphs of neighbours are kept for the next."""
        seen = self._beside(x, way.words)
        if way.kind == "average":
            return self._linked(seen, weights, seed)
        if way.kind == "umap":
            seen = reduce_by_umap(seen, seed=seed)
        elif way.rounds:
            words = (
                way.words if self._views(x)[1].shape[1] else WORD_WEIGHT
            )  # one view is one graph
            if words not in graphs:
                graphs[words] = nearest_rows(self._on_device(seen), REACH)
            seen = spread(seen, graphs[words][:, : way.neighbors], way.rounds)
            if seen.shape[1] > DIM:
                weight, bias = principal_map(seen, weights, DIM)
                seen = seen @ weight.T + bias
        starts = min(self.n_init, STARTS)
        kmeans = KMeans(n_clusters=self.n_clusters, seed=seed, n_init=starts)
        return kmeans(self._on_device(seen), weights).labels

    def _linked(self, x: Floats, weights: Floats, seed: int) -> Ints:
        """Average linkage of at most 12,000 texts; the others join the nearest of them."""
        most = max(LINKED, self.n_clusters)
        if len(x) <= most:
            return agglomerate(x, self.n_clusters, "average", weights)
        rows = np.sort(numpy_generator(seed, "linked").choice(len(x), most, replace=False))
        labels = agglomerate(x[rows], self.n_clusters, "average", weights[rows])
        near = nearest(self._on_device(x), self._on_device(x[rows]))[0].cpu().numpy()
        out: Ints = labels[near]
        out[rows] = labels
        return out

    def _second_look(
        self, x: Floats, labels: Ints, weights: Floats, seed: int
    ) -> tuple[LinearRule | None, Ints]:
        """Labels as a classifier sees them, for as long as they say more about the words."""
        first, told, rounds = labels, word_information(self._looked, labels, seed), 0
        rule: LinearRule | None = None
        for _ in range(ROUNDS):
            taught = teach(x, labels, self.n_clusters, weights)
            seen = np.asarray(taught.logits(x).argmax(axis=1), dtype=np.int64)
            more = word_information(self._looked, seen, seed)
            if more <= told or len(np.unique(seen)) < self.n_clusters:
                break
            rule, labels, told, rounds = taught, seen, more, rounds + 1
        self.choice_ |= {"rounds": rounds, "moved": round(float((labels != first).mean()), 4)}
        return rule, labels

    def _views(self, vectors: Floats) -> tuple[Floats, Floats]:
        """The encoder's part, and that of the words, of length one half."""
        if not isinstance(self._encoder, MixedEncoder):
            return vectors, np.empty((len(vectors), 0), dtype=np.float32)
        width = self._encoder.meaning.dim
        return vectors[:, :width], vectors[:, width:]

    def _beside(self, vectors: Floats, weight: float) -> Floats:
        """The encoder's vectors with the words beside them at that length."""
        meaning, words = self._views(vectors)
        if not weight or not words.shape[1]:
            return np.ascontiguousarray(meaning)
        return np.hstack([meaning, (weight / WORD_WEIGHT) * words]).astype(np.float32)

    def _on_device(self, x: Floats) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(x)).to(check_device(self.device))
