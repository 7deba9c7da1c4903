"""Terms on the probabilities of a clustering head: sharp rows, even columns, labels to trust."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def negative_entropy(log_p: Tensor) -> Tensor:
    """Mean over rows of ``sum p log p``: minimised, it keeps rows from becoming sure too soon.

    Parameters
    ----------
    log_p : Tensor of shape (n, k)

    Returns
    -------
    Tensor of shape ()
        Between ``-log k`` (uniform rows) and 0 (one-hot rows).
    """
    return (log_p.exp() * log_p).sum(dim=1).mean()


def imbalance(log_p: Tensor) -> Tensor:
    """``log k + sum_j q_j log q_j`` of the mean assignment ``q``: how uneven the clusters are.

    Parameters
    ----------
    log_p : Tensor of shape (n, k)

    Returns
    -------
    Tensor of shape ()
        0 for even clusters, ``log k`` if all texts are in one.
    """
    n, k = log_p.shape
    log_q = log_p.logsumexp(dim=0) - math.log(n)  # (k,)
    return math.log(k) + (log_q.exp() * log_q).sum()


def trusted_nll(log_p: Tensor, log_guide: Tensor, threshold: float) -> Tensor:
    """Cross entropy with the labels of another view, where that view is sure (AECL, Eq. 4 and 12).

    Parameters
    ----------
    log_p : Tensor of shape (n, k)
        The view that learns.
    log_guide : Tensor of shape (n, k)
        The view that teaches; it gets no gradient.
    threshold : float
        Least top probability of a row that teaches; others count as zero in the mean.

    Returns
    -------
    Tensor of shape ()
    """
    best, labels = log_guide.detach().max(dim=1)
    sure = (best >= math.log(threshold)).to(log_p.dtype)
    nll = -log_p.gather(1, labels[:, None])[:, 0]
    return (sure * nll).mean()


def without_empty(columns: Tensor, least: float = 1e-8) -> Tensor:
    """Rows of a matrix; those shorter than ``least`` carry no gradient, which would explode."""
    long = columns.detach().norm(dim=1, keepdim=True) > least
    return torch.where(long, columns, columns.detach())


def balance_for(sizes: tuple[int, ...]) -> float:
    """Weight of even clusters by the skew of the start: the paper's three values.

    Examples
    --------
    >>> balance_for((30, 20)), balance_for((40, 10)), balance_for((100, 1))
    (10.0, 0.18, 0.09)
    """
    skew = max(sizes) / max(1, min(sizes))
    return 10.0 if skew < 3 else 0.18 if skew <= 20 else 0.09
