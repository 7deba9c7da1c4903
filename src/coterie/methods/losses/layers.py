"""Fully connected layers: the heads on top of encoders and the halves of autoencoders."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

from coterie._util.torch import nn

Activation = Literal["relu", "leaky-relu"]
ACTIVATIONS: dict[str, Any] = {"relu": lambda: nn.ReLU(), "leaky-relu": lambda: nn.LeakyReLU(0.2)}


def mlp(*dims: int, activation: str = "relu") -> nn.Sequential:
    """Linear layers of the given widths, the activation between them, none after the last.

    Layer ``i`` is number ``2 * i`` of the sequence. ``mlp(768, 768, 128)`` is the contrast head of
    SCCL, with PyTorch's own initialisation.
    """
    layers: list[nn.Module] = []
    for inward, outward in pairwise(dims):
        layers += [nn.Linear(inward, outward), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers[:-1])


def deep_head(width: int, hidden: int, n_clusters: int) -> nn.Sequential:
    """The clustering head of AECL and RSTC: dropout, linear and ReLU, twice, then linear."""
    return nn.Sequential(
        nn.Dropout(0.5),
        nn.Linear(width, hidden),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, n_clusters),
    )
