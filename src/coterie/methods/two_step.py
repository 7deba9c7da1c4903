"""Encode, optionally reduce, then cluster: the baselines every deep method must beat.

Nothing is trained. Which encoder, which reduction and which clustering are free choices, so all
rows of that kind in the papers' tables are this one class with other parameters.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import torch

from coterie._types import Floats, Ints
from coterie._validation import check_device, check_fields, check_integer
from coterie.base import TextClusterer, kmeans_assigner
from coterie.base.exact import exactly
from coterie.blocks.assign import Assigner, CenterAssigner, NeighborAssigner
from coterie.blocks.density import dense_groups
from coterie.blocks.linkage import agglomerate, memory_needed
from coterie.blocks.mixture import Covariance, mixture_labels
from coterie.blocks.reduction import reduce_by_umap
from coterie.blocks.smooth import neighbor_mean
from coterie.encoders import Encoder, MixedEncoder
from coterie.engine import steps_for

log = logging.getLogger(__name__)

Reduce = Literal["none", "umap"]
Cluster = Literal["kmeans", "spherical-kmeans", "average", "ward", "gmm", "hdbscan", "idec"]
IDEC_EPOCHS, IDEC_BATCH = 150, 256  # epochs of ClusterBERT's Table 3, batches of IDEC


@dataclass(eq=False, repr=False, kw_only=True)
class TwoStep(TextClusterer):
    """A frozen encoder, an optional reduction, and a classical clustering.

    Parameters
    ----------
    cluster : str, default="kmeans"
        "kmeans"; "spherical-kmeans", by direction; "average", linkage on cosine distance, or
        "ward" on Euclidean, both in bounded memory; "gmm", a mixture of Gaussians; "hdbscan",
        clusters by density; "idec", an autoencoder over the vectors with clusters that sharpen.
    covariance : {"diag", "full", "spherical", "tied"}, default="diag"
        Shape of the Gaussians of "gmm"; "full" is for few dimensions, such as UMAP's.
    min_cluster_size : int, optional
        Texts that a dense place of "hdbscan" must have. Default: as many as leave at least
        ``n_clusters`` places.
    reduce : {"none", "umap"}, default="none"
        Reduce the vectors before clustering.
    reduced_dim : int or None, default=5
        Dimensions that UMAP reduces to; None is one more than there are clusters.
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
    dimensions as is usual for clustering (ClusterBERT takes ``n_clusters + 1``); IDEC with 150
    epochs as there. New texts go to the nearest center, or, where the clustering has no centers in
    the encoder's space (all but k-means, and everything after UMAP), to the cluster of the nearest
    training text. Deviations: HDBSCAN knows neither a number of clusters nor a place for every
    text; here texts between the dense regions join the nearest one, and places are joined by Ward's
    criterion, or cut in two, until there are ``n_clusters``; so is a mixture with an empty part.

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
    covariance: Covariance = "diag"
    min_cluster_size: int | None = None
    reduce: Reduce = "none"
    reduced_dim: int | None = 5
    n_neighbors: int = 15
    smooth: int = 0
    word_weight: float = 0.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fields(
            self,
            choices={
                "cluster": get_args(Cluster),
                "covariance": get_args(Covariance),
                "reduce": get_args(Reduce),
            },
            integers={"min_cluster_size": 2, "n_neighbors": 2, "smooth": 0},
            least=["word_weight"],
        )
        if self.reduced_dim is not None:
            check_integer("reduced_dim", self.reduced_dim)

    def _make_encoder(self, seed: int) -> Encoder:
        meaning = super()._make_encoder(seed)
        if self.word_weight == 0 or meaning.kind == "precomputed":
            return meaning
        return MixedEncoder(meaning, self.word_weight, seed)

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        plain = self.cluster in ("kmeans", "spherical-kmeans")
        if plain and self.reduce == "none" and not self.smooth:
            return self._kmeans(vectors, weights, seed)
        seen = vectors
        if self.smooth:
            x = torch.from_numpy(vectors).to(check_device(self.device))
            seen = neighbor_mean(x, rounds=self.smooth).cpu().numpy()
        if self.reduce == "umap":
            dim = self.n_clusters + 1 if self.reduced_dim is None else self.reduced_dim
            seen = reduce_by_umap(seen, dim, self.n_neighbors, seed)
        if plain:
            labels = self._kmeans(seen, weights, seed).logits(seen).argmax(axis=1)
        else:
            labels = self._cluster(seen, weights, seed)
        return NeighborAssigner(vectors, labels)

    def _kmeans(self, vectors: Floats, weights: Floats, seed: int) -> CenterAssigner:
        spherical = self.cluster == "spherical-kmeans"
        return kmeans_assigner(self, vectors, weights, seed, spherical=spherical)

    def _cluster(self, x: Floats, weights: Floats, seed: int) -> Ints:
        """Labels by a clustering that has no centers."""
        k = self.n_clusters
        if self.cluster == "average" or self.cluster == "ward":
            needed = memory_needed(*x.shape) >> 20
            log.info("linkage of %d texts takes about %d MB", len(x), needed)
            return agglomerate(x, k, self.cluster, weights)
        if self.cluster == "idec":
            return self._idec(x, weights, seed)
        if self.cluster == "gmm":
            found = mixture_labels(
                x, k, weights, covariance=self.covariance, n_init=self.n_init, seed=seed
            )
        else:
            found = dense_groups(x, k, weights, self.min_cluster_size)
            log.info(
                "HDBSCAN found %d clusters, %d texts between", found.max() + 1, (found < 0).sum()
            )
        return exactly(x, found, k, weights, seed)

    def _idec(self, x: Floats, weights: Floats, seed: int) -> Ints:
        from coterie.methods import make_method

        rows = np.repeat(np.arange(len(x)), weights.astype(np.int64))
        steps = steps_for(IDEC_EPOCHS, len(rows), IDEC_BATCH)
        model = make_method(
            "idec",
            self.n_clusters,
            encoder="precomputed",
            batch_size=IDEC_BATCH,
            steps=steps,
            n_init=self.n_init,
            device=self.device,
            guard=self.guard,
            verbose=self.verbose,
            random_state=seed,
        ).fit(x[rows])
        first = np.cumsum(weights.astype(np.int64)) - weights.astype(np.int64)
        return np.asarray(model.labels_[first])
