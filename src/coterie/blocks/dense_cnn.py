"""A convolution network over words in which each layer sees all layers before it (DCCNN)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class DenseCNN(nn.Module):
    """Word vectors of a text in, one vector out; padding changes nothing.

    Parameters
    ----------
    width : int
        Of the word vectors.
    maps : int, default=128
        Feature maps of each layer, and the width of the result.
    layers : int, default=3
    window : int, default=3
        Words that a convolution sees; odd, so that a text keeps its length.
    dense_input : bool, default=False
        Whether later layers see the word vectors, too, besides the layers before them.
    """

    def __init__(
        self,
        width: int,
        maps: int = 128,
        *,
        layers: int = 3,
        window: int = 3,
        dense_input: bool = False,
    ) -> None:
        super().__init__()
        self.dense_input, self.window = dense_input, window
        seen = [width] + [maps * i + width * dense_input for i in range(1, layers)]
        # The normalisation takes the mean away, so a bias would do nothing.
        self.convolutions = nn.ModuleList(
            nn.Conv1d(n, maps, window, padding=window // 2, bias=False) for n in seen
        )
        self.norms = nn.ModuleList(MaskedBatchNorm(maps) for _ in seen)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        """Eq. (6) of ADSL and the maximum over time.

        Parameters
        ----------
        words : Tensor of shape (n, m, width)
            In any precision; it is that of the result.
        mask : Tensor of shape (n, m)
            1 where there is a word, 0 where there is padding.

        Returns
        -------
        Tensor of shape (n, maps)
            Zero for texts of padding alone.
        """
        # On a CPU most of the work would go into padding when one text of a batch is long. A GPU
        # has time for that, but would have to wait to learn how much there is.
        cpu = words.device.type == "cpu"
        x, mask, owner = in_a_row(words, mask, self.window // 2, skip=cpu)
        seen = [x] if self.dense_input else []
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            weight = convolution.get_parameter("weight").to(x.dtype)
            # Masked after each layer, so that the next sees zeros between the texts.
            last = F.relu(norm(F.conv1d(x, weight, padding=self.window // 2), mask)) * mask
            seen.append(last)
            x = torch.cat(seen, dim=1)
        # After ReLU nothing is below zero, so the zeros between the texts never win.
        out = last.new_zeros(len(words), last.shape[1])
        return out.scatter_reduce(0, owner[:, None].expand_as(last[0].T), last[0].T, "amax")


def in_a_row(words: Tensor, mask: Tensor, gap: int, *, skip: bool) -> tuple[Tensor, Tensor, Tensor]:
    """All texts of a batch one behind the other, with ``gap`` zeros after each.

    Parameters
    ----------
    words : Tensor of shape (n, m, width)
    mask : Tensor of shape (n, m)
    gap : int
    skip : bool
        Leave padding out, but for the gaps.

    Returns
    -------
    words : Tensor of shape (1, width, l)
    mask : Tensor of shape (1, 1, l)
    owner : Tensor of shape (l,)
        The text that each place belongs to.
    """
    mask = F.pad(mask.to(words.dtype), (0, gap))  # (n, m + gap)
    x = F.pad(words, (0, 0, 0, gap)) * mask[:, :, None]
    owner = torch.arange(len(mask), device=mask.device)[:, None].expand_as(mask)
    if skip:
        keep = mask > 0
        keep[:, mask.shape[1] - gap :] = True
        x, mask, owner = x[keep], mask[keep], owner[keep]
    else:
        x, mask, owner = x.flatten(0, 1), mask.flatten(), owner.flatten()
    return x.T[None], mask[None, None], owner


class MaskedBatchNorm(nn.Module):
    """Batch normalisation of maps over the words of a batch, padding left out.

    In evaluation the running mean and variance are used, so a text alone gets the same vector as
    among others. They begin as the plain mean over batches, so that a small corpus, which has few
    batches between two evaluations, is not judged by the values they were made with. A batch of
    a single word has no variance: it leaves them as they are.

    Parameters
    ----------
    maps : int
    momentum : float, default=0.1
        Least weight of a batch in the running mean and variance.
    """

    def __init__(self, maps: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(maps))
        self.bias = nn.Parameter(torch.zeros(maps))
        self.register_buffer("running_mean", torch.zeros(maps))
        self.register_buffer("running_var", torch.ones(maps))
        self.register_buffer("batches", torch.zeros(()))
        self.batches: Tensor
        self.running_mean: Tensor
        self.running_var: Tensor

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Normalise ``x`` of shape (n, maps, m) with a mask of shape (n, 1, m)."""
        mean, variance = self._statistics(x, mask) if self.training else self._running()
        scale = self.weight * torch.rsqrt(variance + 1e-5)
        return x * scale[:, None] + (self.bias - mean * scale)[:, None]

    def _running(self) -> tuple[Tensor, Tensor]:
        return self.running_mean, self.running_var

    def _statistics(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        count = mask.sum().clamp(min=1)
        mean = (x * mask).sum(dim=(0, 2)) / count
        variance = ((x - mean[:, None]).square() * mask).sum(dim=(0, 2)) / count
        with torch.no_grad():
            enough = (count > 1).to(mean.dtype)
            self.batches += enough
            rate = enough * (1 / self.batches.clamp(min=1)).clamp(min=self.momentum)
            unbiased = variance * count / (count - 1).clamp(min=1)
            self.running_mean.lerp_(mean, rate)
            self.running_var.lerp_(unbiased, rate)
        return mean, variance
