"""The small heads on top of an encoder."""

from __future__ import annotations

from itertools import pairwise

from torch import nn


def mlp(*dims: int) -> nn.Sequential:
    """Linear layers of the given widths with ReLU between them, none after the last.

    ``mlp(768, 768, 128)`` is the contrast head of SCCL, with PyTorch's own initialisation.
    """
    layers: list[nn.Module] = []
    for inward, outward in pairwise(dims):
        layers += [nn.Linear(inward, outward), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
