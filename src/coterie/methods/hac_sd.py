"""HAC-SD: linkage on the similarities that stand out, and a classifier that corrects it.

Improving Short Text Clustering by Similarity Matrix Sparsification (Rakib et al., DocEng 2018) and
Enhancement of Short Text Clustering by Iterative Classification (Rakib et al., NLDB 2020). Which
pairs are kept is in ``blocks/kept_pairs.py``, the linkage in ``blocks/sparse_linkage.py``, the
classification in ``blocks/iterative.py``.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import nn

from coterie._random import derive_seed
from coterie._types import Floats, Ints
from coterie._validation import check_device, check_fields
from coterie.base import TextClusterer
from coterie.blocks.assign import Assigner, NeighborAssigner
from coterie.blocks.iterative import iterative_classification
from coterie.blocks.kept_pairs import kept_pairs
from coterie.blocks.linkage import agglomerate, cut
from coterie.blocks.sparse_linkage import sparse_average

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False, kw_only=True)
class HACSD(TextClusterer):
    """Average linkage on the pairs of texts whose similarity stands out, then a classifier.

    Parameters
    ----------
    classify : {"words", "vectors"}, default="words"
        What the classifier sees: the TF-IDF of the words, or the encoder's vectors.
    iterations : int, default=0
        Rounds in which a classifier is taught the clusters and corrects them (50 in the paper).
    kept_factor : float, default=1.0
        How many pairs are kept, as a multiple of those inside clusters of equal size.

    Notes
    -----
    From the first paper: a pair is kept if its similarity is far enough above the mean of either
    of its texts, in standard deviations of that text, and as many are kept as equal clusters would
    have. From the second: rounds, shares, isolation forests, logistic regression. Any encoder may
    give the similarities; the papers take means of word vectors. Deviations: average linkage in
    place of Ward's, since it needs no more than the kept pairs; beyond 4,096 texts each text
    brings only its nearest ones, 16.8 million pairs in all, so that memory stays bounded; parts
    that no kept pair joins are joined by average linkage of their mean vectors, not at random.
    Nothing is trained, so there is no start to go back to. New texts go to the cluster of the
    nearest training text.

    References
    ----------
    .. [1] Rakib, Jankowska, Zeh, Milios (2018). Improving Short Text Clustering by Similarity
       Matrix Sparsification. DocEng.
    .. [2] Rakib, Zeh, Jankowska, Milios (2020). Enhancement of Short Text Clustering by Iterative
       Classification. NLDB.

    See Also
    --------
    TwoStep : Linkage on all similarities.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "apple tree", "fast car", "slow car"]
    >>> model = HACSD(2, encoder="tfidf", random_state=0).fit(texts)
    >>> model.predict(["a car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "hac-sd"
    citation: ClassVar[str] = (
        "Rakib, Jankowska, Zeh, Milios (2018). Improving Short Text Clustering by Similarity "
        "Matrix Sparsification. DocEng. Rakib, Zeh, Jankowska, Milios (2020). Enhancement of "
        "Short Text Clustering by Iterative Classification. NLDB."
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {}, "iterative": {"iterations": 50}}

    classify: Literal["words", "vectors"] = "words"
    iterations: int = 0
    kept_factor: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fields(
            self,
            choices={"classify": ["words", "vectors"]},
            integers={"iterations": 0},
            above=["kept_factor"],
        )

    def _on_texts(self, texts: list[str] | None) -> None:
        self._texts = texts

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        labels = self._linked(vectors, weights)
        if self.iterations:
            labels = iterative_classification(
                self._seen(vectors),
                labels,
                self.n_clusters,
                weights,
                self.iterations,
                derive_seed(seed, "iterations"),
            )
        return NeighborAssigner(vectors, labels)

    def _after_fit(self, net: nn.Module | None, order: Ints) -> None:
        self.__dict__.pop("_texts", None)

    def _linked(self, vectors: Floats, weights: Floats) -> Ints:
        if self.n_clusters == 1:
            return np.zeros(len(vectors), dtype=np.int64)
        x = torch.from_numpy(vectors).to(check_device(self.device))
        pairs = kept_pairs(x, self.n_clusters, weights, self.kept_factor)
        log.info("%d pairs of %d texts are kept", len(pairs.first), len(vectors))
        merges, parts = sparse_average(pairs.first, pairs.second, pairs.similarities, weights)
        number = int(parts.max()) + 1
        if number <= self.n_clusters:
            merges = [(-similarity, kept, gone) for similarity, kept, gone in merges]
            return cut(merges, self.n_clusters, len(vectors))
        log.info("%d parts have no pair between them", number)
        sums = np.zeros((number, vectors.shape[1]))
        np.add.at(sums, parts, weights[:, None] * vectors)
        sizes = np.bincount(parts, weights).astype(np.float64)
        means = (sums / sizes[:, None]).astype(np.float32)
        return np.asarray(agglomerate(means, self.n_clusters, "average", sizes)[parts])

    def _seen(self, vectors: Floats) -> Any:
        """What the classifier looks at."""
        if self.classify == "vectors" or self._texts is None:
            return vectors
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            return TfidfVectorizer().fit_transform(self._texts).tocsr()
        except ValueError:  # no text has a word of two letters
            return vectors
