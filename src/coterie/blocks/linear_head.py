"""A linear head over clusters that begins as k-means, and its loss against soft targets."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from coterie._types import Floats


@torch.no_grad()
def put_centers(head: nn.Linear, centers: Floats, scale: float) -> None:
    """Let the softmax of the head be that of ``-|z - c_j|^2 / scale`` over the centers.

    ``W_j = s c_j`` and ``b_j = -s c_j.c_j / 2`` with ``s = 2 / scale`` do that, up to a number that
    all clusters share. So the mean of all rows is taken off: vectors of a transformer have much in
    common, and large weights that cancel each other lose digits.

    Parameters
    ----------
    head : nn.Linear
        From d to k.
    centers : ndarray of shape (k, d)
    scale : float
        How far apart, squared, is far.
    """
    exact = centers.astype(np.float64)
    squares = np.square(exact).sum(axis=1)
    head.weight.copy_(torch.from_numpy(2 / scale * (exact - exact.mean(axis=0))))
    head.bias.copy_(torch.from_numpy(-1 / scale * (squares - squares.mean())))


def soft_cross_entropy(log_q: Tensor, log_p: Tensor) -> Tensor:
    """Mean over rows of ``-sum_j q_j log p_j``.

    Parameters
    ----------
    log_q, log_p : Tensor of shape (n, k)
        Log of the target and of the prediction.

    Returns
    -------
    Tensor of shape ()
        At least the entropy of the target, which it has when both are equal.
    """
    return -(log_q.exp() * log_p).sum(dim=1).mean()
