"""The default: several quick clusterings of the same texts, and the one the words speak for.

No single pipeline wins everywhere: k-means suits even clusters, linkage many clusters of all sizes,
UMAP news stories, and a view of the words helps where the encoder does not know them. Which one
fits is decided without labels, by word information (``words/information.py``): how much the
clusters say about the words of their texts. The encoder has no part in that sign.
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
from coterie._types import Floats, Ints
from coterie._validation import check_device, check_fields
from coterie.base import TextClusterer, kmeans_rule
from coterie.blocks.assign import NeighborRule, Rule
from coterie.blocks.consensus import memberships
from coterie.blocks.linkage import agglomerate
from coterie.blocks.reduction import reduce_by_umap
from coterie.blocks.smooth import neighbor_mean
from coterie.encoders import BagOfWords, Encoder, MixedEncoder
from coterie.words import word_information, word_presence

log = logging.getLogger(__name__)

Effort = Literal["quick", "standard", "best"]
WORD_WEIGHT = 0.5  # length of the words beside the meaning
LARGEST = {"quick": 0, "standard": 25_000, "best": 60_000}  # texts for linkage and UMAP
SMOOTH = 50_000  # texts for neighbour means, which compare all with all
SENTENCES = {
    "k-means": "k-means on the encoder's vectors",
    "smooth": "k-means on means of neighbours",
    "words": "k-means on means of neighbours, by words and meaning",
    "more words": "k-means on means of neighbours, by words as much as by meaning",
    "average": "average linkage by words and meaning",
    "umap": "UMAP and k-means by words and meaning",
    "consensus": "what several k-means clusterings agree on",
}
ALONE = ("average",)  # ways whose clusters are too uneven to vote with the others


@dataclass(eq=False, repr=False, kw_only=True)
class Auto(TextClusterer):
    """Try several quick clusterings and keep the one that says most about the words.

    Parameters
    ----------
    effort : {"quick", "standard", "best"}, default="standard"
        "quick" tries k-means on the vectors and on means of neighbours with words; "standard" adds
        more or fewer words, average linkage and, where umap-learn is installed, UMAP, up to 25,000
        different texts; "best" does so up to 60,000.

    Attributes
    ----------
    choice_ : dict
        ``chosen``, and the word ``information`` of each candidate in nats.

    Notes
    -----
    The candidates are those that did well in the papers' tables or in our own: the encoder alone,
    means of 20 neighbours taken twice, the encoder beside an LSA of the words at half or full
    length, average linkage on cosine, UMAP to 5 dimensions; and a consensus of all but linkage,
    if there are three or more. Each clusters all texts and is judged by their words. That favours
    ways that look at words more: where themes share their words it may choose wrongly. New texts
    go to the cluster of the nearest training text. Where the texts have too few frequent words to
    judge by, k-means is taken. Nothing is trained. Deviations: none, there is no paper.

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
        check_fields(self, choices={"effort": list(LARGEST)})

    def make_encoder(self, seed: int) -> Encoder:
        encoder = super().make_encoder(seed)
        if encoder.kind != "precomputed" and not isinstance(encoder, BagOfWords):
            encoder = MixedEncoder(encoder, WORD_WEIGHT, seed)
        self._encoder: Any = encoder
        return encoder

    def look(self, texts: list[str] | None) -> None:
        self._presence = None if texts is None else word_presence(texts)

    def start(self, vectors: Floats, weights: Floats, seed: int) -> Rule:
        found = self._all(*self._views(vectors), (weights, seed))
        rated = self._rate(found, seed)
        for name in sorted(found, key=lambda name: -rated.get(name, 0.0)):
            if len(np.unique(found[name])) == self.n_clusters:
                self.choice_: dict[str, Any] = {"chosen": name, "information": rated}
                return NeighborRule(vectors, found[name])
        self.choice_ = {"chosen": "k-means", "information": rated}
        return kmeans_rule(self, vectors, weights, seed)  # only their words tell the texts apart

    def after_fit(self, net: nn.Module | None, order: Ints) -> None:
        del self._encoder, self._presence

    def remarks(self) -> list[str]:
        chosen, rated = self.choice_["chosen"], self.choice_["information"]
        if len(rated) <= 1:
            return [f"Clustered by {SENTENCES[chosen]}: too few words to compare ways."]
        return [
            f"Of {len(rated)} ways to cluster these texts, {SENTENCES[chosen]} says most about "
            f"their words ({rated[chosen]:.3f} nats; the least {min(rated.values()):.3f})."
        ]

    def _all(self, meaning: Floats, words: Floats, more: tuple[Floats, int]) -> dict[str, Ints]:
        """Labels of all texts by each way that is worth trying."""
        names = self._ways(len(meaning)) if self._presence is not None else ["k-means"]
        progress = make_progress(self.verbose)
        found: dict[str, Ints] = {}
        progress.start("ways to cluster", len(names))
        try:
            for name in names:
                if name == "consensus":
                    x = memberships([found[voter] for voter in found if voter not in ALONE])
                    rule = kmeans_rule(self, x, *more)
                    found[name] = np.asarray(rule.logits(x).argmax(axis=1), dtype=np.int64)
                else:
                    found[name] = self._cluster(name, meaning, words, more)
                progress.advance(len(found))
        finally:
            progress.stop()
        return found

    def _rate(self, found: dict[str, Ints], seed: int) -> dict[str, float]:
        """Word information of each clustering, in nats; of none if there are too few words."""
        if self._presence is None:
            return {}
        rated = {k: round(word_information(self._presence, v, seed), 5) for k, v in found.items()}
        for name, value in rated.items():
            log.info("%s: word information %.4f", SENTENCES[name], value)
        return rated

    def _ways(self, n: int) -> list[str]:
        """Names of what is worth trying on so many texts."""
        quick, large = self.effort == "quick", n > LARGEST[self.effort]
        out = ["k-means"]
        if n <= SMOOTH:
            out += ["words"] if quick else ["smooth", "words", "more words"]
        if not large:
            out += ["average"] + ["umap"] * (importlib.util.find_spec("umap") is not None)
        return out + ["consensus"] * (len(set(out) - set(ALONE)) > 2)

    def _cluster(self, name: str, meaning: Floats, words: Floats, more: tuple[Floats, int]) -> Ints:
        """Labels by the way of that name."""
        weights, seed = more
        if name == "average":
            return agglomerate(_beside(meaning, 0.5, words), self.n_clusters, "average", weights)
        x = meaning
        if name == "umap":
            x = reduce_by_umap(_beside(meaning, 0.5, words), seed=seed)
        elif name != "k-means":
            weight = {"smooth": 0.0, "words": 0.5, "more words": 1.0}[name]
            x = self._smooth(_beside(meaning, weight, words))
        rule = kmeans_rule(self, np.ascontiguousarray(x), weights, seed)
        return np.asarray(rule.logits(x).argmax(axis=1), dtype=np.int64)

    def _views(self, vectors: Floats) -> tuple[Floats, Floats]:
        """The encoder's part and that of the words, each of unit length."""
        if not isinstance(self._encoder, MixedEncoder):
            return vectors, np.empty((len(vectors), 0), dtype=np.float32)
        width = self._encoder.meaning.dim
        return np.ascontiguousarray(vectors[:, :width]), vectors[:, width:] / WORD_WEIGHT

    def _smooth(self, vectors: Floats) -> Floats:
        x = torch.from_numpy(np.ascontiguousarray(vectors)).to(check_device(self.device))
        return neighbor_mean(x).cpu().numpy()


def _beside(meaning: Floats, weight: float, words: Floats) -> Floats:
    return np.hstack([meaning, weight * words]).astype(np.float32) if weight else meaning
