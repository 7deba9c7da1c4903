"""The default: several quick clusterings of the same texts, and the one the words speak for.

No single pipeline wins everywhere: k-means suits even clusters, linkage many clusters of all sizes,
UMAP news stories, and a view of the words helps where the encoder does not know them. Which one
fits is decided without labels, by word information (``words/information.py``): how much the
clusters say about the words of their texts.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import nn

from coterie._types import Floats, Ints
from coterie._validation import check_device, check_fields
from coterie.base import TextClusterer, kmeans_rule
from coterie.blocks.assign import NeighborRule, Rule
from coterie.blocks.linkage import agglomerate
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
}


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
    length, average linkage on cosine, UMAP to 5 dimensions. New texts go to the cluster of the
    nearest training text. Where the texts have too few frequent words to judge by, k-means is
    taken. Nothing is trained. Deviations: none, there is no paper.

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
        rated: dict[str, float] = {}
        best: tuple[float, str, Ints] = (-np.inf, "", np.empty(0, dtype=np.int64))
        for name, labels in self._candidates(vectors, weights, seed):
            if len(np.unique(labels)) < self.n_clusters:
                continue  # texts that only their words tell apart
            value = 0.0
            if self._presence is not None:
                value = word_information(self._presence, labels, seed)
            rated[name] = round(value, 5)
            log.info("%s: word information %.4f", SENTENCES[name], value)
            if value > best[0]:
                best = (value, name, labels)
        self.choice_: dict[str, Any] = {"chosen": best[1] or "k-means", "information": rated}
        if not rated:
            return kmeans_rule(self, vectors, weights, seed)
        return NeighborRule(vectors, best[2])

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

    def _candidates(
        self, vectors: Floats, weights: Floats, seed: int
    ) -> Iterator[tuple[str, Ints]]:
        """Names and labels, one after the other, so that only one is in work."""
        n = len(vectors)
        meaning, mixed = self._views(vectors)

        def by_kmeans(x: Floats) -> Ints:
            rule = kmeans_rule(self, np.ascontiguousarray(x), weights, seed)
            return np.asarray(rule.logits(x).argmax(axis=1), dtype=np.int64)

        yield "k-means", by_kmeans(meaning)
        if self._presence is None or n < 3 * self.n_clusters:
            return
        ways: dict[str, tuple[bool, Callable[[], Ints]]] = {
            "smooth": (self.effort != "quick", lambda: by_kmeans(self._smooth(meaning))),
            "words": (True, lambda: by_kmeans(self._smooth(mixed(0.5)))),
            "more words": (self.effort != "quick", lambda: by_kmeans(self._smooth(mixed(1.0)))),
            "average": (
                n <= LARGEST[self.effort],
                lambda: agglomerate(mixed(0.5), self.n_clusters, "average", weights),
            ),
            "umap": (
                n <= LARGEST[self.effort] and importlib.util.find_spec("umap") is not None,
                lambda: by_kmeans(_umap(mixed(0.5), seed)),
            ),
        }
        for name, (wanted, way) in ways.items():
            if wanted and (n <= SMOOTH or name in ("average", "umap")):
                yield name, way()

    def _views(self, vectors: Floats) -> tuple[Floats, Callable[[float], Floats]]:
        """The encoder's part, and both with the words at a given length."""
        if not isinstance(self._encoder, MixedEncoder):
            return vectors, lambda weight: vectors
        width = self._encoder.meaning.dim
        meaning, words = vectors[:, :width], vectors[:, width:] / WORD_WEIGHT
        return meaning, lambda weight: np.hstack([meaning, weight * words])

    def _smooth(self, vectors: Floats) -> Floats:
        x = torch.from_numpy(np.ascontiguousarray(vectors)).to(check_device(self.device))
        return neighbor_mean(x).cpu().numpy()


def _umap(vectors: Floats, seed: int) -> Floats:
    import umap

    reducer = umap.UMAP(
        n_neighbors=min(15, len(vectors) - 1), n_components=min(5, len(vectors) - 2),
        min_dist=0.0, metric="cosine", random_state=seed, n_jobs=1,
    )  # fmt: skip
    return np.asarray(reducer.fit_transform(vectors), dtype=np.float32)
