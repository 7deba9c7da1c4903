"""Encode, optionally reduce, then cluster: the baselines every deep method must beat.

Nothing is trained. Which encoder, which reduction and which clustering are free choices, so all
rows of that kind in the papers' tables are this one class with other parameters.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from coterie._types import Floats, Ints
from coterie._validation import check_choice, check_device, check_integer, check_number
from coterie.base import TextClusterer, kmeans_rule
from coterie.blocks.assign import NeighborRule, Rule
from coterie.blocks.linkage import agglomerate, memory_needed
from coterie.blocks.reduction import reduce_by_umap
from coterie.blocks.smooth import neighbor_mean
from coterie.encoders import Encoder, MixedEncoder

log = logging.getLogger(__name__)

Reduce = Literal["none", "umap"]
Cluster = Literal["kmeans", "spherical-kmeans", "average", "ward"]


@dataclass(eq=False, repr=False, kw_only=True)
class TwoStep(TextClusterer):
    """A frozen encoder, an optional reduction, and a classical clustering.

    Parameters
    ----------
    cluster : {"kmeans", "spherical-kmeans", "average", "ward"}, default="kmeans"
        Average linkage is on cosine distance, Ward's on Euclidean; both in bounded memory.
    reduce : {"none", "umap"}, default="none"
        Reduce the vectors before clustering.
    reduced_dim : int, default=5
        Dimensions that UMAP reduces to.
    n_neighbors : int, default=15
        Neighbours that UMAP looks at.
    smooth : int, default=0
        Rounds in which every vector becomes the mean of its 20 nearest ones, before clustering.
    word_weight : float, default=0.0
        Length of a second part of the vectors, made of the words of the texts (LSA of TF-IDF);
        the encoder's part has length one then.

    Notes
    -----
    Defaults: ten starts as in the code of SCCL; UMAP with 15 neighbours as in ClusterBERT, to 5
    dimensions as is usual for clustering (ClusterBERT takes ``n_clusters + 1``). New texts go to
    the nearest center, or, where the clustering has no centers in the encoder's space (linkage,
    UMAP), to the cluster of the nearest training text. Deviations: none.

    See Also
    --------
    SCCL : Trains the encoder, starting from this.

    Examples
    --------
    >>> model = TwoStep(2, encoder="tfidf", random_state=0)
    >>> model.fit_predict(["red apple", "green apple", "fast car", "slow car", "old car"])
    array([1, 1, 0, 0, 0])
    """

    name: ClassVar[str] = "two-step"

    cluster: Cluster = "kmeans"
    reduce: Reduce = "none"
    reduced_dim: int = 5
    n_neighbors: int = 15
    smooth: int = 0
    word_weight: float = 0.0

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("cluster", self.cluster, ["kmeans", "spherical-kmeans", "average", "ward"])
        check_choice("reduce", self.reduce, ["none", "umap"])
        check_integer("reduced_dim", self.reduced_dim)
        check_integer("n_neighbors", self.n_neighbors, 2)
        check_integer("smooth", self.smooth, 0)
        check_number("word_weight", self.word_weight)

    def make_encoder(self, seed: int) -> Encoder:
        meaning = super().make_encoder(seed)
        if self.word_weight == 0 or meaning.kind == "precomputed":
            return meaning
        return MixedEncoder(meaning, self.word_weight, seed)

    def start(self, vectors: Floats, weights: Floats, seed: int) -> Rule:
        spherical = self.cluster == "spherical-kmeans"
        linkage = self.cluster in ("average", "ward")
        if self.reduce == "none" and not linkage and not self.smooth:
            return kmeans_rule(self, vectors, weights, seed, spherical=spherical)
        reduced = vectors
        if self.smooth:
            x = torch.from_numpy(vectors).to(check_device(self.device))
            reduced = neighbor_mean(x, rounds=self.smooth).cpu().numpy()
        if self.reduce == "umap":
            reduced = reduce_by_umap(reduced, self.reduced_dim, self.n_neighbors, seed)
        if linkage:
            labels = self._linkage(reduced, weights)
        else:
            rule = kmeans_rule(self, reduced, weights, seed, spherical=spherical)
            labels = rule.logits(reduced).argmax(axis=1)
        return NeighborRule(vectors, labels)

    def _linkage(self, vectors: Floats, weights: Floats) -> Ints:
        n, d = vectors.shape
        log.info("linkage of %d texts takes about %d MB", n, memory_needed(n, d) >> 20)
        average = self.cluster == "average"
        return agglomerate(vectors, self.n_clusters, "average" if average else "ward", weights)
