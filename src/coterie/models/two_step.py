"""Classical clusterings of a frozen encoder's vectors: the baselines every deep method must beat.

Nothing is trained. ``TwoStep`` encodes, may reduce, and clusters; encoder, reduction and
clustering are free choices, so all rows of that kind in the papers' tables are this one class.
``Consensus`` (K-means-based consensus clustering, Wu et al., 2015) lays the clusters of several
clusterings side by side; k-means on these rows finds the partition that disagrees least with them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from coterie._util.random import derive_seed
from coterie._util.torch import torch
from coterie._util.types import Floats, Ints
from coterie._util.validation import (
    Bounds,
    PositiveInt,
    check_device,
    need,
)
from coterie.arrays.assign import Assigner, CenterAssigner, NeighborAssigner
from coterie.arrays.consensus import force_k
from coterie.arrays.kmeans import KMeans
from coterie.arrays.linkage import agglomerate, memory_needed
from coterie.arrays.memberships import memberships
from coterie.arrays.metrics import accuracy
from coterie.errors import UsageError
from coterie.models.clusterer import WeightedClusterer
from coterie.models.core import kmeans_assigner, metric_assigner

MIN_SAMPLES = 5  # neighbours that make a place dense; fixed, so that only the size is looked for
Covariance = Literal["diag", "full", "spherical", "tied"]
log = logging.getLogger(__name__)
Reduce = Literal["none", "umap"]
Cluster = Literal["kmeans", "spherical-kmeans", "average", "ward", "gmm", "hdbscan", "idec"]
IDEC_EPOCHS, IDEC_BATCH = 150, 256  # epochs of ClusterBERT's Table 3, batches of IDEC
LINKED = 12_000  # different texts up to which linkage is a member; it takes time by their square


def reduce_by_umap(vectors: Floats, dim: int = 5, n_neighbors: int = 15, seed: int = 0) -> Floats:
    """Reduce to ``dim`` dimensions for clustering, by cosine; fewer where there are few rows.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    dim, n_neighbors, seed : int

    Returns
    -------
    ndarray of shape (n, dim)
    """
    umap = need("umap", "umap")
    reducer = umap.UMAP(
        n_neighbors=min(n_neighbors, len(vectors) - 1),
        n_components=min(dim, len(vectors) - 2),
        min_dist=0.0,  # clusters may be dense
        metric="cosine",
        random_state=seed,
        n_jobs=1,  # a seed makes UMAP use one thread; saying so avoids its warning
    )
    with kept_threads():
        return np.asarray(reducer.fit_transform(vectors), dtype=np.float32)


@contextmanager
def kept_threads() -> Iterator[None]:
    """Give torch the threads it had before the block.

    UMAP's compiled loops set the number for the whole process; with another number sums come in
    another order, and the same seed would no longer give the same numbers.
    """
    before = torch.get_num_threads()
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def mixture_labels(
    x: Floats,
    n_clusters: int,
    weights: Floats,
    *,
    covariance: Covariance = "diag",
    n_init: int = 1,
    seed: int = 0,
) -> Ints:
    """The most probable part of a mixture for each row.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts; scikit-learn knows no weights, so rows are repeated.
    covariance : {"diag", "full", "spherical", "tied"}, default="diag"
        Shape of the components.
    n_init, seed : int

    Returns
    -------
    ndarray of shape (n,)
        From 0 to ``n_clusters - 1``; a part that is most probable nowhere has no row.
    """
    from sklearn.mixture import GaussianMixture

    if len(x) == 1:  # scikit-learn asks for two rows
        return np.zeros(1, dtype=np.int64)
    repeated = np.repeat(x, weights.astype(np.int64), axis=0).astype(np.float64)
    model = GaussianMixture(
        n_clusters, covariance_type=covariance, n_init=n_init, random_state=seed
    ).fit(repeated)
    return np.asarray(model.predict(x.astype(np.float64)), dtype=np.int64)


def dense_groups(
    x: Floats, n_clusters: int, weights: Floats, min_cluster_size: int | None = None
) -> Ints:
    """Dense groups of rows; rows between them are -1.

    HDBSCAN finds the number of groups itself. If no size is given, the largest least size is
    looked for, by bisection, that leaves at least ``n_clusters`` groups.

    Parameters
    ----------
    x : ndarray of shape (n, d)
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts.
    min_cluster_size : int, optional
        Rows that a group must have.

    Returns
    -------
    ndarray of shape (n,)
        Groups from 0, as many as were found.
    """
    counts = weights.astype(np.int64)
    first = np.cumsum(counts) - counts  # the place of each row among the repeated ones
    repeated = np.repeat(x, counts, axis=0)
    if n_clusters == 1 or len(repeated) < 4:
        return np.zeros(len(x), dtype=np.int64)
    if min_cluster_size is not None:
        return np.asarray(_groups(repeated, min_cluster_size)[first])
    low, high = 2, max(2, len(repeated) // n_clusters)
    best = _groups(repeated, low)
    while low < high:  # the number of groups falls as the least size grows
        middle = (low + high + 1) // 2
        found = _groups(repeated, middle)
        if found.max() + 1 >= n_clusters:
            low, best = middle, found
        else:
            high = middle - 1
    return np.asarray(best[first])


def _groups(x: Floats, min_cluster_size: int) -> Ints:
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(
        min_cluster_size=min(min_cluster_size, len(x)),
        min_samples=min(MIN_SAMPLES, len(x)),
        copy=True,
    )
    return np.asarray(model.fit_predict(x.astype(np.float64)), dtype=np.int64)


@dataclass(eq=False, repr=False, kw_only=True)
class TwoStep(WeightedClusterer):
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
        Smallest cluster of "hdbscan". Default: the largest number that leaves at least
        ``n_clusters`` clusters.
    reduce : {"none", "umap"}, default="none"
        Reduce the vectors before clustering.
    reduced_dim : int or None, default=5
        Dimensions that UMAP reduces to; None is one more than there are clusters.
    n_neighbors : int, default=15
        Neighbours of UMAP.

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
    min_cluster_size: Annotated[int, Bounds(2)] | None = None
    reduce: Reduce = "none"
    reduced_dim: PositiveInt | None = 5
    n_neighbors: Annotated[int, Bounds(2)] = 15

    def _check_weights(self) -> None:
        weighted = self.cluster in ("kmeans", "spherical-kmeans", "average", "ward")
        if not weighted or self.reduce != "none":
            raise UsageError(
                "sample_weight needs cluster='kmeans', 'spherical-kmeans', 'ward' or 'average', "
                "without reduce; repeat texts instead."
            )

    def _uses_guidance(self) -> bool:
        return self.cluster in ("kmeans", "spherical-kmeans")

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        plain = self.cluster in ("kmeans", "spherical-kmeans")
        if plain and self.reduce == "none":
            by_labels = None
            if self.cluster == "kmeans":
                by_labels = metric_assigner(self, vectors, weights, seed)
            return by_labels or self._kmeans(vectors, weights, seed)
        seen = vectors
        if self.reduce == "umap":
            dim = self._k + 1 if self.reduced_dim is None else self.reduced_dim
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
        k = self._k
        if self.cluster == "average" or self.cluster == "ward":
            needed = memory_needed(*x.shape) >> 20
            log.info("linkage of %d texts takes about %d MB", len(x), needed)
            return agglomerate(x, k, self.cluster, weights)
        if self.cluster == "idec":
            found = self._idec(x, weights, seed)
        elif self.cluster == "gmm":
            found = mixture_labels(
                x, k, weights, covariance=self.covariance, n_init=self.n_init, seed=seed
            )
        else:
            found = dense_groups(x, k, weights, self.min_cluster_size)
            log.info(
                "HDBSCAN found %d clusters, %d texts between", found.max() + 1, (found < 0).sum()
            )
        return force_k(x, found, k, weights, seed)

    def _idec(self, x: Floats, weights: Floats, seed: int) -> Ints:
        from coterie.models.registry import METHODS

        rows = np.repeat(np.arange(len(x)), weights.astype(np.int64))
        model = (
            METHODS["idec"]
            .make(
                self._k,
                encoder="precomputed",
                batch_size=IDEC_BATCH,
                steps=IDEC_EPOCHS * math.ceil(len(rows) / IDEC_BATCH),
                n_init=self.n_init,
                device=self.device,
                guard=False,
                verbose=self.verbose,
                random_state=seed,
            )
            .fit(x[rows])
        )
        first = np.cumsum(weights.astype(np.int64)) - weights.astype(np.int64)
        return np.asarray(model.labels_[first])


@dataclass(eq=False, repr=False, kw_only=True)
class Consensus(WeightedClusterer):
    """Consensus of several clusterings of the same vectors.

    Parameters
    ----------
    n_members : int, default=12
        Number of clusterings: k-means and spherical k-means from different starts in turn,
        and, where there are more than three, Ward's and average linkage as the last two.

    Attributes
    ----------
    agreement_ : list of float
        Of each member, the share of texts on which it agrees with the consensus.

    Notes
    -----
    Each member of k-means has a single start, so that members differ. Linkage is left out above
    12,000 different texts. New texts go to the cluster of the nearest training text. Deviations:
    the system of that name in ADSL's tables goes on to train a network on the texts that all
    members agree on, and is published in no more detail than that; this is the consensus alone.

    References
    ----------
    .. [1] Wu, Liu, Xiong, Cao, Chen (2015). K-Means-Based Consensus Clustering: A Unified View.
       IEEE Transactions on Knowledge and Data Engineering.

    See Also
    --------
    Auto : A consensus of k-means runs on smoothed vectors.

    Examples
    --------
    >>> model = Consensus(2, encoder="tfidf", random_state=0)
    >>> model.fit_predict(["red apple", "green apple", "fast car", "slow car", "old car"])
    array([1, 1, 0, 0, 0])
    """

    name: ClassVar[str] = "consensus"
    _saved_attributes: ClassVar[tuple[str, ...]] = ("agreement_",)

    n_members: PositiveInt = 12

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        members = self.members(vectors, weights, seed)
        rows = memberships(members)  # (n, clusters of all members)
        x = torch.from_numpy(rows).to(check_device(self.device))
        kmeans = KMeans(n_clusters=self._k, seed=derive_seed(seed, "consensus"), n_init=self.n_init)
        labels = force_k(rows, kmeans(x, weights).labels, self._k, weights, seed)
        self.agreement_ = [round(accuracy(labels, member), 4) for member in members]
        log.info("members agree with the consensus on %s", self.agreement_)
        return NeighborAssigner(vectors, labels)

    def members(self, vectors: Floats, weights: Floats, seed: int) -> list[Ints]:
        """Labels by each member."""
        linked = len(vectors) <= LINKED and self.n_members > 3
        x = torch.from_numpy(vectors).to(check_device(self.device))
        found: list[Ints] = []
        for number in range(self.n_members - 2 * linked):
            kmeans = KMeans(
                n_clusters=self._k,
                seed=derive_seed(seed, "member", number),
                n_init=1,
                spherical=number % 2 == 1,
            )
            found.append(np.asarray(kmeans(x, weights).labels, dtype=np.int64))
        if linked:
            found.append(agglomerate(vectors, self._k, "ward", weights))
            found.append(agglomerate(vectors, self._k, "average", weights))
        return found

    def remarks(self) -> list[str]:
        shares: Any = self.agreement_
        return [
            f"{len(shares)} clusterings agree with the result on "
            f"{100 * min(shares):.0f} to {100 * max(shares):.0f}% of the texts."
        ]
