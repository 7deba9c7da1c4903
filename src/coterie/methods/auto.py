"""The default: several quick clusterings of the same texts, the best of them, and a second look.

No single pipeline wins everywhere: k-means suits even clusters, linkage many clusters of all sizes,
and a view of the words helps where the encoder does not know them. Which one fits is decided
without labels by two witnesses (``base/ways.py``): how much the clusters say about the words of
their texts, times how often a text and its nearest neighbours are in one cluster. A linear
classifier then learns the best clusterings, and is asked about all texts.
"""

from __future__ import annotations

import importlib.util
import logging
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from torch import nn

from coterie._progress import make_progress
from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie._validation import check_device, check_fields
from coterie.base import TextClusterer, kmeans_rule
from coterie.base.reclassify import Teacher, sure
from coterie.base.ways import (
    AVERAGE,
    DIM,
    GRAPHS,
    PLAIN,
    UMAP,
    WAYS,
    WORD_WEIGHT,
    Found,
    Trial,
    Way,
    ranked,
    try_all,
)
from coterie.blocks.assign import LinearRule, MappedRule, NeighborRule, Rule
from coterie.blocks.graph import principal_directions
from coterie.encoders import BagOfWords, Encoder, MixedEncoder
from coterie.words import word_information, word_presence

log = logging.getLogger(__name__)

Effort = Literal["quick", "standard", "best"]
MOST = {"quick": 10_000, "standard": 25_000, "best": 60_000}  # texts that ways are tried on
EACH, CEILING = 75, 25_000  # but so many per cluster, up to this
ROUNDS = 10  # of classification
STARTS = 4  # of k-means in the best ways; there are many ways
AGAIN = 4  # ways that get all the starts
FINALISTS = 3  # clusterings that a classifier learns
NEARLY = 0.97  # of what the clusters said of words, for it to sort texts that no way was tried on


@dataclass(frozen=True)
class Looked:
    """A clustering after the second look; ``rule`` is None if the classifier was not heard."""

    way: Way
    found: Found
    rule: LinearRule | None
    rounds: int
    moved: float


@dataclass(eq=False, repr=False, kw_only=True)
class Auto(TextClusterer):
    """Try several quick clusterings, keep the best by two witnesses, and take a second look.

    Parameters
    ----------
    effort : {"quick", "standard", "best"}, default="standard"
        "quick" tries k-means on the vectors and after a walk along the graph of neighbours;
        "standard" adds graphs of other reach with more or fewer words, and average linkage; "best"
        adds UMAP where umap-learn is installed. The ways are tried on 10,000, 25,000 or
        60,000 different texts, drawn at random, "quick" on 75 per cluster up to 25,000; the others
        are put where the classifier says, which then learns from all.

    Attributes
    ----------
    choice_ : dict
        ``chosen``; of each candidate the ``information`` about words in nats and the ``agreement``
        of neighbours, whose product says which three the classifier learns, and then which of those
        is taken; ``moved``, the share of texts that it moved, and ``rounds``, how often it was
        asked.

    Notes
    -----
    The candidates: k-means on the encoder's vectors; k-means after a few steps along the symmetric
    graph of 10 to 20 nearest texts, by the encoder alone and beside an LSA of the words at half or
    three quarters of its length; average linkage on cosine. K-means starts once in each way and
    three times more in the best four; linkage looks at 3,000 texts first, and at up to 12,000 if it
    comes near the best. The best three are taught to a linear classifier, which is asked about the
    texts for as long as its answers say more about the words and leave no cluster empty. New texts
    go where the classifier says, or if it was not heard, to the cluster of the nearest text. Where
    the texts have too few frequent words to judge by, k-means is taken. Nothing in the encoder is
    trained. Deviations: none, there is no paper.

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
        rows = self._rows(len(vectors), seed)
        part, presence = vectors[rows], self._presence
        device = check_device(self.device)
        trial = Trial(
            self._views(part), weights[rows], presence[rows], self.n_clusters, seed, device
        )
        found = self._all(trial)
        if not found:  # only the words tell the texts apart
            return kmeans_rule(self, vectors, weights, seed)
        looks = self._second_looks(trial, found, vectors, weights, rows)
        best = max(looks, key=lambda look: look.found.score)
        self.choice_ |= {"chosen": best.way.name, "rounds": best.rounds, "moved": best.moved}
        if best.rule is None:
            return _nearest_text(part, best.found.labels)
        return sure(best.rule, part, best.found.labels, seed)

    def after_fit(self, net: nn.Module | None, order: Ints) -> None:
        for name in ("_encoder", "_presence"):
            self.__dict__.pop(name, None)

    def n_tried(self, n: int, n_clusters: int) -> int:
        """How many of ``n`` different texts the ways are tried on."""
        return min(n, max(MOST[self.effort], min(EACH * n_clusters, CEILING), n_clusters))

    def remarks(self) -> list[str]:
        chosen, told = self.choice_["chosen"], self.choice_["information"]
        if len(told) <= 1:
            why = "too few words" if self.n_clusters_ > 1 else "with one cluster there is no need"
            return [f"Clustered by {WAYS[chosen].sentence}: {why} to compare ways."]
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
        meaning = np.ascontiguousarray(self._views(vectors)[0])
        rule = kmeans_rule(self, meaning, weights, seed)
        if meaning.shape == vectors.shape:
            return rule
        first = np.eye(meaning.shape[1], vectors.shape[1], dtype=np.float32)
        return MappedRule(rule, first, np.zeros(len(first), dtype=np.float32))

    def _rows(self, n: int, seed: int) -> Ints:
        """The rows that ways are tried on: all, or a random choice."""
        most = self.n_tried(n, self.n_clusters)
        if n == most:
            return np.arange(n)
        return np.sort(numpy_generator(seed, "auto").choice(n, most, replace=False))

    def _all(self, trial: Trial) -> dict[Way, Found]:
        """What each way that gave as many clusters as asked for found, and how it is judged."""
        ways = self._ways(trial.words.shape[1] > 0)
        progress = make_progress(self.verbose)
        progress.start("ways to cluster", len(ways))
        again = AGAIN, min(self.n_init, STARTS) - 1
        try:
            found = try_all(trial, ways, progress.advance, again)
        finally:
            progress.stop()
        for way, judged in found.items():
            self.choice_["information"][way.name] = round(judged.information, 5)
            self.choice_["agreement"][way.name] = round(judged.agreement, 5)
            log.info("%s: %.4f nats, %.4f", way.sentence, judged.information, judged.agreement)
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

    def _second_looks(
        self, trial: Trial, found: dict[Way, Found], x: Floats, weights: Floats, rows: Ints
    ) -> list[Looked]:
        """The best clusterings as a classifier sees them, all texts and not just those tried on."""
        everyone = Teacher(x, weights)
        few = everyone if len(rows) == len(x) else Teacher(x[rows], trial.weights)
        looks = []
        for way in ranked(found)[:FINALISTS]:
            rule, labels, rounds = None, found[way].labels, 0
            told, presence, seen = found[way].information, trial.presence, few
            if few is not everyone:
                told *= NEARLY
            for _ in range(ROUNDS):
                taught = seen(labels, self.n_clusters)
                own = seen.x.numpy()
                answers = np.asarray(taught.logits(own).argmax(axis=1), dtype=np.int64)
                more = word_information(presence, answers, trial.seed)
                if more <= told or len(np.unique(answers)) < self.n_clusters:
                    break
                rule, labels, told, rounds = taught, answers, more, rounds + 1
                if seen is not everyone:  # from here on all texts are taught and asked
                    seen, presence = everyone, self._presence
                    labels = np.asarray(rule.logits(x).argmax(axis=1), dtype=np.int64)
                    told = word_information(presence, labels, trial.seed)
            ours = labels if len(labels) == len(rows) else labels[rows]
            judged = trial.judge(ours)
            if judged is None:  # a cluster that only others are in
                rule, rounds, ours, judged = None, 0, found[way].labels, found[way]
            moved = round(float((ours != found[way].labels).mean()), 4)
            looks.append(Looked(way, judged, rule, rounds, moved))
        return looks

    def _views(self, vectors: Floats) -> tuple[Floats, Floats]:
        """The encoder's part, and that of the words, of length one half."""
        if not isinstance(self._encoder, MixedEncoder):
            return vectors, np.empty((len(vectors), 0), dtype=np.float32)
        width = self._encoder.meaning.dim
        return vectors[:, :width], vectors[:, width:]


def _nearest_text(vectors: Floats, labels: Ints) -> Rule:
    """The cluster of the nearest text, in the directions in which the ways saw it."""
    if vectors.shape[1] <= DIM:
        return NeighborRule(vectors, labels)
    few = principal_directions(vectors, DIM)
    return MappedRule(NeighborRule(vectors @ few.T, labels), few, np.zeros(DIM, dtype=np.float32))
