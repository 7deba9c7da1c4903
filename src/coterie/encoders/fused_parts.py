"""The parts of a fused transformer layer, each a kernel and its gradient, called with tensors.

:mod:`coterie.encoders.fused` puts them together; :mod:`coterie.encoders.kernels` has the kernels.
They are imported when they are first called: Triton takes a while, and not everybody has it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

TILE = 2048  # numbers that a program of a norm or of the inner map works at once
GRADIENT_TILE = 512  # the same for gradients, which hold more of each
COLUMNS = 512  # of the inner map that a program works at once
PARTS = 1056  # programs of a gradient at most, each with a row of partial sums; 8 for each of 132
WARPS = {16: (1, 1), 32: (1, 1), 64: (4, 4), 128: (4, 8)}  # of attention and of its gradient


class Settings(NamedTuple):
    """What the layers of an encoder share: heads, both rates of dropout, the norms' epsilon."""

    heads: int
    attention: float
    hidden: float
    eps: float


class Draws(NamedTuple):
    """Where a layer finds its random numbers: two words for each site, and its first site."""

    words: Tensor
    site: int


def add_up(sums: Tensor) -> Tensor:
    """Sums of the columns of partial sums, float32."""
    from coterie.encoders import kernels

    out = torch.empty(sums.shape[1], device=sums.device)
    kernels.column_sums[(-(-len(out) // 32),)](
        out, sums, *sums.shape, BLOCK=32, ROWS=256, num_warps=8
    )
    return out


def parts_of(x: Tensor) -> int:
    """Programs of a gradient: no more than there are blocks of rows."""
    return min(PARTS, -(-len(x) // max(1, GRADIENT_TILE // power(x.shape[1]))))


def power(n: int) -> int:
    """The smallest power of two that is not below ``n``."""
    return 1 << (n - 1).bit_length()


def add_norm(
    h: Tensor,
    bias: Tensor,
    x: Tensor,
    scales: tuple[Tensor, Tensor],
    settings: Settings,
    draws: Draws,
) -> tuple[Tensor, Tensor, Tensor]:
    """``layer_norm(x + dropout(h + bias))`` of rows, their means and reciprocal deviations."""
    from coterie.encoders import kernels

    n, d = h.shape
    out = torch.empty_like(x)
    mean, rate = torch.empty(2, n, device=h.device)
    block = power(d)
    rows = max(1, TILE // block)
    kernels.norm[(-(-n // rows),)](
        out, mean, rate, h, bias, x, *scales, draws.words, draws.site, settings.hidden,
        settings.eps, n, d=d, BLOCK=block, ROWS=rows, DROP=settings.hidden > 0,
    )  # fmt: skip
    return out, mean, rate


def add_norm_gradient(
    grad: Tensor, kept: tuple[Tensor, ...], settings: Settings, draws: Draws, sums: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of ``h`` and ``x`` of :func:`add_norm`.

    ``kept`` is ``h, bias, x, gamma, mean, rate``. Partial sums of the gradients of bias, gamma
    and beta go to the first columns of ``sums``; it has a row for each program.
    """
    from coterie.encoders import kernels

    h, bias, x, gamma, mean, rate = kept
    n, d = h.shape
    dh, dx = torch.empty_like(h), torch.empty_like(x)
    block = power(d)
    kernels.norm_gradient[(len(sums),)](
        dh, dx, sums, sums.stride(0), grad, mean, rate, h, bias, x, gamma, draws.words, draws.site,
        settings.hidden, n, len(sums), d=d, BLOCK=block, ROWS=max(1, GRADIENT_TILE // block),
        DROP=settings.hidden > 0,
    )  # fmt: skip
    return dh, dx


def bias_gelu(u: Tensor, bias: Tensor) -> Tensor:
    """``gelu(u + bias)`` of rows."""
    from coterie.encoders import kernels

    n, d = u.shape
    out, block = torch.empty_like(u), min(COLUMNS, power(d))
    rows = TILE // block
    kernels.gelu[(-(-n // rows), -(-d // block))](out, u, bias, n, d, BLOCK=block, ROWS=rows)
    return out


def bias_gelu_gradient(grad: Tensor, u: Tensor, bias: Tensor, sums: Tensor) -> Tensor:
    """Gradient of :func:`bias_gelu`, in the place of ``grad``; partial sums go to ``sums``."""
    from coterie.encoders import kernels

    n, d = u.shape
    block = min(COLUMNS, power(d))
    kernels.gelu_gradient[(len(sums), -(-d // block))](
        grad, sums, sums.stride(0), u, bias, n, d, len(sums),
        BLOCK=block, ROWS=GRADIENT_TILE // block,
    )  # fmt: skip
    return grad


def attend(qkv: Tensor, bias: Tensor, slots: Tensor, settings: Settings, draws: Draws) -> Tensor:
    """Attention within texts; ``qkv`` of shape (tokens, 3 d) is without its bias."""
    from coterie.encoders import kernels

    out = qkv.new_empty(len(qkv), qkv.shape[1] // 3)
    grid, sizes = _heads(out, slots, settings)
    kernels.attention[grid](
        out, qkv, bias, slots, draws.words, draws.site, settings.attention, sizes["size"] ** -0.5,
        **sizes, num_warps=WARPS[slots.shape[1]][0],
    )  # fmt: skip
    return out


def attend_gradient(
    grad: Tensor, kept: tuple[Tensor, Tensor], slots: Tensor, settings: Settings, draws: Draws
) -> tuple[Tensor, Tensor]:
    """Gradients of ``qkv`` and of its bias; ``kept`` is both of them."""
    from coterie.encoders import kernels

    qkv, bias = kept
    found, sums = torch.empty_like(qkv), torch.empty(len(slots), len(bias), device=qkv.device)
    grid, sizes = _heads(grad, slots, settings)
    kernels.attention_gradient[grid](
        found, sums, grad, qkv, bias, slots, draws.words, draws.site, settings.attention,
        sizes["size"] ** -0.5, **sizes, num_warps=WARPS[slots.shape[1]][1],
    )  # fmt: skip
    return found, add_up(sums)


def _heads(out: Tensor, slots: Tensor, settings: Settings) -> tuple[tuple[int, int], Any]:
    """Programs of attention, and the sizes they are compiled for."""
    size = out.shape[1] // settings.heads
    sizes = {"heads": settings.heads, "size": size, "WIDTH": slots.shape[1]}
    sizes |= {"BLOCK": max(16, power(size)), "DROP": settings.attention > 0}
    return (settings.heads, len(slots)), sizes
