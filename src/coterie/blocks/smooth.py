"""The mean of a text's nearest neighbours: borders between clusters become emptier."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK = 1 << 26  # most similarities held at a time


def neighbor_mean(x: Tensor, n_neighbors: int = 20, rounds: int = 2) -> Tensor:
    """Replace each row by the mean of the nearest rows by cosine, itself among them.

    Parameters
    ----------
    x : Tensor of shape (n, d)
    n_neighbors : int, default=20
        At most a fifth of all rows, and two at least: the mean of all would say nothing.
    rounds : int, default=2
        How often; each round looks for neighbours anew.

    Returns
    -------
    Tensor of shape (n, d)
        Means of unit vectors; all rows are compared with all, a part at a time.
    """
    for _ in range(rounds):
        unit = F.normalize(x.float(), dim=1)
        size = max(1, CHUNK // len(unit))
        k = min(n_neighbors, max(2, len(unit) // 5), len(unit))
        parts = [
            unit[(part @ unit.T).topk(k, dim=1).indices].mean(dim=1) for part in unit.split(size)
        ]
        x = torch.cat(parts)
    return x
