"""The mean of a text's nearest neighbours: borders between clusters become emptier."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.neighbors import row_blocks, top_k


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
        Means of unit vectors.
    """
    for _ in range(rounds):
        unit = F.normalize(x.float(), dim=1)
        k = min(n_neighbors, max(2, len(unit) // 5), len(unit))
        near, _ = top_k(unit, k)
        blocks = row_blocks(len(unit), k * unit.shape[1], unit.device)
        x = torch.cat([unit[near[block]].mean(dim=1) for block in blocks])
    return x
