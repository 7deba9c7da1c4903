"""The two halves of a deep autoencoder, and the error of the whole or of one pair of layers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Activation = Literal["relu", "leaky-relu"]
ACTIVATIONS: dict[str, Any] = {"relu": nn.ReLU, "leaky-relu": lambda: nn.LeakyReLU(0.2)}


def make_half(dims: Sequence[int], activation: str = "relu") -> nn.Sequential:
    """Linear layers of the given widths, the activation between them, none after the last.

    Layer ``i`` is number ``2 * i`` of the sequence.
    """
    layers: list[nn.Module] = []
    for inward, outward in pairwise(dims):
        layers += [nn.Linear(inward, outward), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers[:-1])


def reconstruction_error(coder: Any, decoder: Any, x: Tensor, dropout: float = 0.0) -> Tensor:
    """Mean squared error of the whole: of the rows from their own, perhaps damaged, codes.

    Parameters
    ----------
    coder, decoder : nn.Sequential
    x : Tensor of shape (n, d)
    dropout : float, default=0.0
        Share of the input's numbers that are left out.

    Returns
    -------
    Tensor of shape ()
    """
    return F.mse_loss(decoder(coder(F.dropout(x, dropout))), x)


def pair_error(coder: Any, decoder: Any, x: Tensor, layer: int, dropout: float) -> Tensor:
    """Mean squared error of one pair of layers as a shallow autoencoder (layer-wise training).

    The layers below are fixed. What they give is to be given back by the pair, from a damaged
    copy and through a damaged code: ``h = act(W1 drop(y) + b1)``, ``y' = act(W2 drop(h) + b2)``,
    where the activation is left out at the code of the whole and at its output.

    Parameters
    ----------
    coder, decoder : nn.Sequential
        Of mirrored widths, from :func:`make_half`.
    x : Tensor of shape (n, d)
    layer : int
        Number of the layer of the coder, from zero.
    dropout : float
        Share of numbers left out of ``y`` and of ``h``.

    Returns
    -------
    Tensor of shape ()
    """
    last = len(coder) // 2  # the number of layers less one
    with torch.no_grad():
        y = coder[: 2 * layer](x)
    code = coder[2 * layer](F.dropout(y, dropout))
    if layer < last:
        code = coder[2 * layer + 1](code)
    back = decoder[2 * (last - layer)](F.dropout(code, dropout))
    if layer > 0:
        back = decoder[2 * (last - layer) + 1](back)
    return F.mse_loss(back, y)
