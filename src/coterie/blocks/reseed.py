"""Clusters that no text chose for a whole epoch start again at the texts that fit nowhere."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class EmptyClusters(nn.Module):
    """Watches the batches of an epoch; all of it stays on the device.

    Parameters
    ----------
    n_clusters, dim : int
        Number and width of the centers.
    """

    def __init__(self, n_clusters: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("used", torch.zeros(n_clusters, dtype=torch.bool))
        self.register_buffer("doubt", torch.full((n_clusters,), torch.inf))
        self.register_buffer("vectors", torch.zeros(n_clusters, dim))
        self.register_buffer("moved", torch.zeros((), dtype=torch.long))
        self.used: Tensor
        self.doubt: Tensor
        self.vectors: Tensor
        self.moved: Tensor

    @torch.no_grad()
    def watch(self, z: Tensor, log_q: Tensor) -> None:
        """Note which clusters the texts choose, and keep the texts that are least sure.

        Parameters
        ----------
        z : Tensor of shape (n, dim)
        log_q : Tensor of shape (n, n_clusters)
        """
        sure, chosen = log_q.max(dim=1)
        self.used.index_fill_(0, chosen, True)
        doubt = torch.cat([self.doubt, sure])
        least = doubt.topk(len(self.doubt), largest=False).indices
        self.vectors.copy_(torch.cat([self.vectors, z])[least])
        self.doubt.copy_(doubt[least])

    @torch.no_grad()
    def reseed(self, centers: Tensor) -> None:
        """Move the empty clusters, the first to the least sure text, and forget the epoch."""
        empty = ~self.used
        rank = (empty.cumsum(dim=0) - 1).clamp(min=0)
        move = empty & self.doubt[rank].isfinite()  # an epoch may have fewer texts than clusters
        centers.copy_(torch.where(move[:, None], self.vectors[rank], centers))
        self.moved += move.sum()
        self.used.fill_(False)
        self.doubt.fill_(torch.inf)
