"""How sure a clustering may be of itself, found without labels.

Confidence is how likely a text is to share a cluster with the same texts again. For k-means this is
measured: two halves of the texts are clustered apart, each clustering is applied to all texts,
and the share on which both agree becomes the mean confidence. For clusterings without centers,
every text is assigned by the others, and the share that gets its own cluster is taken.
"""

from __future__ import annotations

from dataclasses import replace

from coterie._util.random import derive_seed, numpy_generator, some_rows
from coterie._util.torch import torch
from coterie._util.types import Floats
from coterie.arrays.assign import Assigner, CenterAssigner, MappedAssigner, NeighborAssigner
from coterie.arrays.kmeans import KMeans, nearest
from coterie.arrays.metrics import accuracy

ASKED = 5000  # texts used; more change the scale by less than its own spread


def calibrate(assigner: Assigner, vectors: Floats, seed: int, device: torch.device) -> Assigner:
    """The assigner with probabilities that mean something; labels do not change."""
    n = len(assigner.vectors) if isinstance(assigner, NeighborAssigner) else len(vectors)
    rows = some_rows(n, ASKED, seed, "calibrate")
    if isinstance(assigner, MappedAssigner):
        return replace(
            assigner, inner=calibrate(assigner.inner, assigner.seen(vectors), seed, device)
        )
    if isinstance(assigner, NeighborAssigner):
        return assigner.calibrated(rows)
    if isinstance(assigner, CenterAssigner) and len(assigner.centers) > 1:
        agreement = split_half_agreement(
            assigner.seen(vectors), len(assigner.centers), seed, device
        )
        return assigner.calibrated(vectors[rows], agreement)
    return assigner


def split_half_agreement(
    vectors: Floats, n_clusters: int, seed: int, device: torch.device
) -> float:
    """Share of texts that k-means on two halves of them puts into matching clusters."""
    shuffled = numpy_generator(seed, "halves").permutation(len(vectors))
    halves = shuffled[::2], shuffled[1::2]
    if min(map(len, halves)) < n_clusters:
        halves = shuffled, shuffled  # too few texts: only the starts of k-means differ
    x = torch.from_numpy(vectors).to(device)
    kmeans = KMeans(n_clusters=n_clusters, seed=0, n_init=1)
    labels = []
    for number, half in enumerate(halves):
        found = replace(kmeans, seed=derive_seed(seed, "half", number))(x[torch.from_numpy(half)])
        centers = torch.from_numpy(found.centers).to(device)
        labels.append(nearest(x, centers)[0].cpu().numpy())
    return accuracy(labels[0], labels[1])
