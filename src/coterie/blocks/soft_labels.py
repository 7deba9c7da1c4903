"""Soft labels from distances, their refresh, and attention over documents (ADSL).

Everything is a function of tensors over the whole corpus: ``n`` documents, ``k`` clusters.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Norm = Literal["softmax", "sum"]


def soft_labels(distances: Tensor, sharpness: float, eps: float = 1e-12) -> Tensor:
    """Soft labels of squared distances, Eq. (2)-(3): ``(1 / s) ** sharpness``, rows sum to one.

    The smallest distance of a row, which Eq. (2) divides by, cancels; logs keep the tenth power
    in range. A document that is a center itself (distance zero) gets a one.

    Parameters
    ----------
    distances : Tensor of shape (n, k)
    sharpness : float
        0 is uniform; large values are one-hot.
    eps : float, default=1e-12
        Keeps the log of zero away.
    """
    return F.softmax(-sharpness * (distances + eps).log(), dim=1)


def center_distances(vectors: Tensor, labels: Tensor, weights: Tensor, n_clusters: int) -> Tensor:
    """Squared distances to the means of the clusters, Eq. (1), of shape (n, k).

    Parameters
    ----------
    vectors : Tensor of shape (n, d)
    labels : Tensor of shape (n,)
        Every cluster has a member.
    weights : Tensor of shape (n,)
        How often each row counts in the mean.
    n_clusters : int
    """
    sums = vectors.new_zeros(n_clusters, vectors.shape[1])
    sums.index_add_(0, labels, vectors * weights[:, None])
    centers = sums / cluster_sums(weights, labels, n_clusters)[:, None]
    # One center at a time: the difference itself, since a product form loses small distances.
    return torch.stack([(vectors - center).square().sum(dim=1) for center in centers], dim=1)


def refreshed(original: Tensor, posterior: Tensor, share: Tensor | float, norm: Norm) -> Tensor:
    """Labels after an update, Eq. (4)-(5): ``original + share * posterior``, normalised.

    Parameters
    ----------
    original, posterior : Tensor of shape (n, k)
    share : Tensor or float
        Weight of the posterior.
    norm : {"softmax", "sum"}
        "softmax" is Eq. (5) as printed and very flat; "sum" divides by ``1 + share``.
    """
    mixed = original + share * posterior
    return F.softmax(mixed, dim=1) if norm == "softmax" else mixed / (1 + share)


def refresh_share(epoch: Tensor, epochs: int, period: int, decay: float) -> Tensor:
    """Weight of the posterior in Eq. (4): ``decay ** ((epochs - epoch) / period)``."""
    return decay ** ((epochs - epoch) / period)


def attention(v: Tensor, groups: Tensor, n_clusters: int) -> Tensor:
    """Weight of each document in its cluster, Eq. (10); the weights of a cluster sum to one.

    Parameters
    ----------
    v : Tensor of shape (n,)
    groups : Tensor of shape (n,)
        Cluster of each document.
    n_clusters : int
    """
    return v.square() / cluster_sums(v.square(), groups, n_clusters)[groups]


def attention_gradient(v: Tensor, loss: Tensor, groups: Tensor, n_clusters: int) -> Tensor:
    """Gradient of the sum of ``attention * loss`` in ``v``: worse than the cluster's mean is > 0.

    Equal to ``2 v / S * (loss - mean)`` with ``S`` the sum of ``v ** 2`` and ``mean`` the weighted
    mean loss of the cluster.
    """
    squares = cluster_sums(v.square(), groups, n_clusters)
    mean = cluster_sums(attention(v, groups, n_clusters) * loss, groups, n_clusters)
    return 2 * v / squares[groups] * (loss - mean[groups])


def attention_step(v: Tensor, loss: Tensor, groups: Tensor, n_clusters: int, lr: float) -> Tensor:
    """What to take off ``v`` after an epoch: ``lr * size / 2`` times the gradient.

    The gradient of a document falls with the size of its cluster, so the step grows with it: with
    equal ``v`` it is ``lr`` times the distance of its loss from the cluster's mean.
    """
    size = cluster_sums(torch.ones_like(v), groups, n_clusters)[groups]
    return lr * size / 2 * attention_gradient(v, loss, groups, n_clusters)


def cluster_sums(values: Tensor, groups: Tensor, n_clusters: int) -> Tensor:
    """Sum of the values of each cluster, shape (k,)."""
    return values.new_zeros(n_clusters).index_add_(0, groups, values)


def soft_cross_entropy(log_p: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of each document with its soft label, Eq. (8), shape (n,)."""
    return -(target * log_p).sum(dim=1)
