"""The dynamic convolution network of Kalchbrenner et al. (2014), with two layers.

A text is a matrix: a column for each word, a row for each number of its vector. Rows are convolved
by themselves, rows 2r and 2r + 1 are added (folding), and of each row the k largest numbers are
kept in their order (k-max pooling); k grows with the length of the text in the first layer and is
fixed in the last, so that all texts end with the same number of features.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTH = 3  # words that a filter sees
TOP = 5  # numbers kept of each row at the end


def k_max(x: Tensor, k: Tensor, valid: Tensor, most: int) -> Tensor:
    """The ``k`` largest numbers along the last dimension, in the order they had.

    Parameters
    ----------
    x : Tensor of shape (n, ..., m)
    k, valid : Tensor of shape (n,)
        How many to keep of each text, and how many of the m places are its own.
    most : int
        Width of what comes out; no ``k`` is larger.

    Returns
    -------
    Tensor of shape (n, ..., most)
        Zeros follow where there are fewer numbers than that.

    Examples
    --------
    >>> x = torch.tensor([[3.0, 9.0, 1.0, 4.0, 8.0]])
    >>> k_max(x, torch.tensor([2]), torch.tensor([4]), 3)
    tensor([[9., 4., 0.]])
    """
    width = x.shape[-1]
    shape = [-1] + [1] * (x.dim() - 1)
    place = torch.arange(width, device=x.device)
    number = min(most, width)
    masked = x.masked_fill(place >= valid.view(shape), -torch.inf)
    where = masked.topk(number, dim=-1).indices
    chosen = place[:number] < torch.minimum(k, valid).view(shape)
    where = torch.where(chosen, where, width).sort(dim=-1).values  # what is not kept goes last
    kept = x.gather(-1, where.clamp(max=width - 1))
    kept = torch.where(where < width, kept, torch.zeros_like(kept))
    return F.pad(kept, (0, most - number))


class DynamicCNN(nn.Module):
    """From word vectors to features of fixed size.

    Parameters
    ----------
    dim : int
        Width of the word vectors, a multiple of four: two foldings halve it twice.
    maps : tuple of int, default=(12, 8)
        Feature maps of the two layers.
    """

    def __init__(self, dim: int, maps: tuple[int, int] = (12, 8)) -> None:
        super().__init__()
        self.maps = maps
        wide: dict[str, Any] = {"kernel_size": WIDTH, "padding": WIDTH - 1, "bias": False}
        # One group per row: a filter sees the same row of all maps below and no other row.
        self.first = nn.Conv1d(dim, dim * maps[0], groups=dim, **wide)
        self.second = nn.Conv1d(dim // 2 * maps[0], dim // 2 * maps[1], groups=dim // 2, **wide)
        self.first_bias = nn.Parameter(torch.zeros(dim // 2, maps[0], 1))
        self.second_bias = nn.Parameter(torch.zeros(dim // 4, maps[1], 1))
        self.dim = dim // 4 * maps[1] * TOP

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Features of shape (n, dim) from word vectors of shape (n, m, d), zero after each text."""
        longest = max(TOP, -(-words.shape[1] // 2))
        k = torch.clamp((lengths + 1) // 2, min=TOP)
        x = fold(self.first(words.transpose(1, 2)), self.maps[0])  # (n, d / 2, maps, m + 2)
        valid = lengths + WIDTH - 1
        x = self._pooled(x, k, valid, longest, self.first_bias)
        valid = torch.minimum(k, valid)
        x = fold(self.second(x.flatten(1, 2)), self.maps[1])  # (n, d / 4, maps, ...)
        top = torch.full_like(k, TOP)
        return self._pooled(x, top, valid + WIDTH - 1, TOP, self.second_bias).flatten(1)

    @staticmethod
    def _pooled(x: Tensor, k: Tensor, valid: Tensor, most: int, bias: Tensor) -> Tensor:
        pooled = torch.tanh(k_max(x, k, valid, most) + bias)
        inside = torch.arange(most, device=x.device) < torch.minimum(k, valid)[:, None]
        return pooled * inside[:, None, None, :]


def fold(x: Tensor, maps: int) -> Tensor:
    """Add neighbouring rows: (n, rows * maps, m) becomes (n, rows / 2, maps, m)."""
    n, channels, m = x.shape
    return x.view(n, channels // (2 * maps), 2, maps, m).sum(dim=2)
