"""Shares of clusters, estimated without the preference of k-means for even sizes."""

from __future__ import annotations

import numpy as np

from coterie._util.random import numpy_generator
from coterie._util.torch import F, Tensor, torch
from coterie._util.types import Floats, Ints

SEEN = 5000  # texts from which the shares are estimated
# Coefficients of variation of the shares, see by_skew. From the class sizes of the development sets
# by `coterie-bench evenness`; no score of a clustering counted.
EVEN, SKEWED = 0.36, 0.39
TINY = 1e-30  # a share of zero has a logarithm, too


def cluster_shares(unit: Tensor, labels: Tensor, n_clusters: int, rounds: int = 50) -> Tensor:
    """Share of each cluster, estimated by a mixture that does not prefer even clusters.

    K-means cuts half-way between two centers, so a large cluster loses texts to a small one beside
    it and its sizes are flatter than those of the classes. A mixture of von Mises-Fisher
    distributions with one concentration (Banerjee et al., 2005) is the same model with a share for
    each cluster, which EM estimates along with the centers.

    Parameters
    ----------
    unit : Tensor of shape (n, d)
        Vectors of unit length.
    labels : Tensor of shape (n,)
        Clusters to start from.
    n_clusters : int
    rounds : int, default=50
        Most rounds of EM; it ends when no share moves by more than 1e-4.

    Returns
    -------
    Tensor of shape (n_clusters,)
        Sums to one.
    """
    n, d = unit.shape
    belongs = F.one_hot(labels, n_clusters).to(unit.dtype)  # (n, k)
    shares = belongs.mean(dim=0)
    for _ in range(rounds):
        sums = belongs.T @ unit  # (k, d)
        length = (sums.norm(dim=1).sum() / n).clamp(max=1 - 1e-6)  # mean resultant length
        concentration = length * (d - length.square()) / (1 - length.square())
        logits = concentration * unit @ F.normalize(sums, dim=1).T + shares.clamp(min=TINY).log()
        belongs = logits.softmax(dim=1)
        before, shares = shares, belongs.mean(dim=0)
        if (shares - before).abs().max() < 1e-4:
            break
    return shares


def estimate_shares(
    labels: Ints,
    vectors: Floats,
    weights: Floats,
    n_clusters: int,
    seed: int,
    device: torch.device,
) -> Floats:
    """:func:`cluster_shares` of a clustering of at most 5,000 texts.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Clusters to start from.
    vectors : ndarray of shape (n, d)
    weights : ndarray of shape (n,)
        How many texts each row stands for.
    n_clusters, seed : int
    device : torch.device

    Returns
    -------
    ndarray of shape (n_clusters,)
    """
    rows = np.repeat(np.arange(len(vectors)), weights.astype(np.int64))
    if len(rows) > SEEN:
        rows = numpy_generator(seed, "shares").choice(rows, SEEN, replace=False)
    unit = F.normalize(torch.from_numpy(vectors[rows]).double(), dim=1)
    start = torch.from_numpy(labels[rows])
    shares = cluster_shares(unit.to(device), start.to(device), n_clusters)
    return np.asarray(shares.cpu().numpy())


def by_skew(shares: Floats, values: tuple[float, float, float]) -> float:
    """One of three values by the coefficient of variation of the shares.

    The first where it is below 0.36, for even clusters; the second up to 0.39; the third beyond,
    for long tails.

    Examples
    --------
    >>> [by_skew(shares, (1, 2, 3)) for shares in ([0.52, 0.48], [0.69, 0.31], [0.9, 0.1])]
    [1, 2, 3]
    """
    skew = float(np.std(shares) / np.mean(shares))
    return values[0] if skew < EVEN else values[1] if skew <= SKEWED else values[2]
