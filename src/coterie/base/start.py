"""The start solution of most methods."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import torch

from coterie._types import Floats
from coterie._validation import check_device
from coterie.blocks.assign import Assigner, CenterAssigner, NeighborAssigner
from coterie.blocks.kmeans import KMeans
from coterie.blocks.linkage import agglomerate, memory_needed

if TYPE_CHECKING:
    from coterie.base.clusterer import TextClusterer

log = logging.getLogger(__name__)


def kmeans_assigner(
    model: TextClusterer, vectors: Floats, weights: Floats, seed: int, *, spherical: bool = False
) -> CenterAssigner:
    """K-means on the model's device."""
    kmeans = KMeans(
        n_clusters=model.n_clusters, seed=seed, n_init=model.n_init, spherical=spherical
    )
    found = kmeans(torch.from_numpy(vectors).to(check_device(model.device)), weights)
    return CenterAssigner(found.centers, normalize=spherical)


def second_step(
    model: TextClusterer, vectors: Floats, weights: Floats, seed: int, cluster: str
) -> Assigner:
    """The clustering that a method with its own vectors ends with: "kmeans" or "ward"."""
    if cluster == "kmeans":
        return kmeans_assigner(model, vectors, weights, seed)
    n, d = vectors.shape
    log.info("linkage of %d texts takes about %d MB", n, memory_needed(n, d) >> 20)
    return NeighborAssigner(vectors, agglomerate(vectors, model.n_clusters, "ward", weights))
