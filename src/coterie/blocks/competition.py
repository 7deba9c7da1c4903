"""The k-competitive layer of KATE (Chen and Zaki, 2017): few neurons win, and take the rest.

Positive and negative activations compete apart. The strongest of each kind win; every winner
gains ``alpha`` times the summed activation of the losers of its kind, and the losers are zero.
"""

from __future__ import annotations

import torch
from torch import Tensor


def compete(z: Tensor, k: int, alpha: float) -> Tensor:
    """Activations after the competition.

    Parameters
    ----------
    z : Tensor of shape (n, d)
        Activations, of either sign.
    k : int
        Winners of each row: ``k // 2`` positive ones and ``k - k // 2`` negative ones.
    alpha : float
        How many times over winners get what the losers of their kind lose.

    Returns
    -------
    Tensor of shape (n, d)
        At most ``k`` numbers of a row are not zero; with ``alpha=1`` and one winner of each kind
        the rows sum to what they summed to before.
    """
    k = min(k, z.shape[1])
    return _won(z.clamp(min=0), k // 2, alpha) - _won((-z).clamp(min=0), k - k // 2, alpha)


def _won(part: Tensor, k: int, alpha: float) -> Tensor:
    """The competition among activations that are not negative."""
    if k == 0:
        return torch.zeros_like(part)
    best, where = part.topk(k, dim=1)
    lost = part.sum(dim=1, keepdim=True) - best.sum(dim=1, keepdim=True)
    # Where there are fewer neurons of a kind than winners, nothing is lost to be won.
    gained = best + alpha * lost * (best > 0)
    return torch.zeros_like(part).scatter(1, where, gained)
