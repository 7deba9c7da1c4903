"""The start solution of most methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from coterie._types import Floats
from coterie._validation import check_device
from coterie.blocks.assign import CenterRule
from coterie.blocks.kmeans import KMeans

if TYPE_CHECKING:
    from coterie.base.clusterer import TextClusterer


def kmeans_rule(
    model: TextClusterer, vectors: Floats, weights: Floats, seed: int, *, spherical: bool = False
) -> CenterRule:
    """K-means on the model's device."""
    kmeans = KMeans(
        n_clusters=model.n_clusters, seed=seed, n_init=model.n_init, spherical=spherical
    )
    found = kmeans(torch.from_numpy(vectors).to(check_device(model.device)), weights)
    return CenterRule(found.centers, normalize=spherical)
