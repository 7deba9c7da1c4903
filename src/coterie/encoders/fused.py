"""A transformer layer over packed rows in few kernels, with its gradient written out.

A layer of a small encoder is more additions, norms and reductions than products, each of them a
pass over memory. Here a bias, dropout, the residual and the norm are one kernel, attention within
the texts of a row is one, and so are their gradients (:mod:`coterie.encoders.kernels`). Products
stay with torch; where a gradient has several parts, a product adds to what is there.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import torch
from torch import Tensor

from coterie.encoders.fused_parts import (
    WARPS,
    Draws,
    Settings,
    add_norm,
    add_norm_gradient,
    add_up,
    attend,
    attend_gradient,
    bias_gelu,
    bias_gelu_gradient,
    parts_of,
)

log = logging.getLogger(__name__)

LARGEST = 64, 4096  # numbers of a head and of a token that fit
OLDEST = 8, 0  # compute capability of GPUs that multiply bfloat16


def can_fuse(device: torch.device, width: int, d: int, heads: int) -> bool:
    """Whether :func:`fused_layer` works here, on rows of ``width`` tokens of ``d`` numbers."""
    if not (width in WARPS and d // heads <= LARGEST[0] and d <= LARGEST[1]):
        return False
    return _works(device, width, d, heads)


@cache
def _works(device: torch.device, width: int, d: int, heads: int) -> bool:
    """Whether kernels run there; on a CPU only interpreted ones do (``TRITON_INTERPRET=1``)."""
    from coterie.encoders import kernels

    if device.type == "cpu":
        return type(kernels.norm).__name__ == "InterpretedFunction"
    if not kernels.AVAILABLE or torch.cuda.get_device_capability(device) < OLDEST:
        return False
    try:
        try_layer(device, width, d, heads)
    except Exception as error:  # no C compiler, an unfit driver, ...: as many kinds as reasons
        log.warning("no kernels of our own, training is slower: %s", str(error).split("\n")[0])
        return False
    return True


def try_layer(
    device: torch.device, width: int, d: int, heads: int, dtype: torch.dtype = torch.bfloat16
) -> None:
    """Run every kernel once, there and back; raises what would else come up in training."""
    from coterie.encoders.fused_embedding import Places, fused_embedding

    whole = [(d, d), (d,)]
    sizes = [(3 * d, d), (3 * d,), *whole, (d,), (d,), *whole, *whole, (d,), (d,)]
    weights = [torch.zeros(size, device=device, dtype=dtype) for size in sizes]
    tables = torch.zeros(5, width, d, device=device, requires_grad=True)
    numbers = torch.zeros(1, width, device=device, dtype=torch.int32)
    draws, where = Draws(numbers[0, :6].view(3, 2), 0), Places(numbers, numbers, 0)
    with torch.enable_grad():
        x = fused_embedding(where, 0.1, 1e-12, draws, dtype, [*tables[:2], *tables[2:, 0]])
        out = fused_layer(x, numbers, Settings(heads, 0.1, 0.1, 1e-12), draws, weights)
        torch.autograd.grad(out.float().sum(), tables)[0].sum().item()  # waits for the device


def draw(layers: int, settings: Settings, device: torch.device) -> list[Draws]:
    """Random words for the dropout of a pass through all layers, three sites in each.

    They come from torch's generator, on the device: a replayed graph draws new ones.
    """
    shape = (3 * layers, 2)
    if settings.attention or settings.hidden:
        words = torch.randint(-(2**31), 2**31, shape, dtype=torch.int32, device=device)
    else:
        words = torch.empty(shape, dtype=torch.int32, device=device)  # never read
    return [Draws(words, 3 * layer) for layer in range(layers)]


def fused_layer(
    x: Tensor, slots: Tensor, settings: Settings, draws: Draws, weights: list[Tensor]
) -> Tensor:
    """One transformer layer.

    Parameters
    ----------
    x : Tensor of shape (rows, width, d)
    slots : Tensor of shape (rows, width)
        Which text of its row a token belongs to.
    settings : Settings
    draws : Draws
    weights : list of Tensor
        Matrices in the precision of ``x``, vectors in any: of queries, keys and values together,
        of the map behind attention, of the first norm, of both inner maps, of the second norm.

    Returns
    -------
    Tensor of shape (rows, width, d)
    """
    out: Tensor = _Layer.apply(x, slots, settings, draws, *weights)  # type: ignore[no-untyped-call]
    return out


class _Layer(torch.autograd.Function):
    """:func:`fused_layer`; keeps the products, and computes all else anew in the backward pass."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, slots: Tensor, settings: Settings, draws: Draws, *weights: Tensor
    ) -> Tensor:
        wqkv, bqkv, wo, bo, g1, b1, wi, bi, wf, bf, g2, b2 = weights
        flat = x.reshape(-1, x.shape[2]).contiguous()
        with torch.cuda.device_of(flat):
            qkv = flat @ wqkv.t()
            mixed = attend(qkv, bqkv, slots, settings, draws)
            h1 = mixed @ wo.t()
            middle, *stats1 = add_norm(h1, bo, flat, (g1, b1), settings, _next(draws, 1))
            u = middle @ wi.t()
            inner = bias_gelu(u, bi)
            h2 = inner @ wf.t()
            out, *stats2 = add_norm(h2, bf, middle, (g2, b2), settings, _next(draws, 2))
        ctx.settings, ctx.site = settings, draws.site
        ctx.save_for_backward(
            slots, draws.words, flat, qkv, mixed, h1, *stats1, middle, u, inner, h2, *stats2,
            *weights,
        )  # fmt: skip
        return out.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        slots, words, flat, qkv, mixed, h1, *rest = ctx.saved_tensors
        mean1, rate1, middle, u, inner, h2, mean2, rate2, *weights = rest
        wqkv, bqkv, wo, bo, g1, _, wi, bi, wf, bf, g2, _ = weights
        settings, draws = ctx.settings, Draws(words, ctx.site)
        needs = ctx.needs_input_grad
        d = flat.shape[1]
        sums = torch.empty(parts_of(flat), 6 * d + u.shape[1], device=u.device)
        grad = grads[0].reshape(flat.shape).contiguous()
        with torch.cuda.device_of(flat):
            dh, dmiddle = add_norm_gradient(
                grad, (h2, bf, middle, g2, mean2, rate2), settings, _next(draws, 2), sums
            )
            dwf = dh.t() @ inner if needs[12] else None
            du = bias_gelu_gradient(dh @ wf, u, bi, sums[:, 6 * d :])
            dwi = du.t() @ middle if needs[10] else None
            dmiddle = dmiddle.addmm_(du, wi)
            dh, dx = add_norm_gradient(
                dmiddle, (h1, bo, flat, g1, mean1, rate1), settings, _next(draws, 1),
                sums[:, 3 * d :],
            )  # fmt: skip
            dwo = dh.t() @ mixed if needs[6] else None
            dqkv, dbqkv = attend_gradient(dh @ wo, (qkv, bqkv), slots, settings, draws)
            dwqkv = dqkv.t() @ flat if needs[4] else None
            dx = dx.addmm_(dqkv, wqkv) if needs[0] else dx
            vectors = add_up(sums)
        dbf, dg2, db2, dbo, dg1, db1 = vectors[: 6 * d].chunk(6)
        found = (dwqkv, dbqkv, dwo, dbo, dg1, db1, dwi, vectors[6 * d :], dwf, dbf, dg2, db2)
        cast = (f if f is None else f.to(w.dtype) for f, w in zip(found, weights, strict=True))
        return (dx.view_as(grads[0]) if needs[0] else None), None, None, None, *cast


def _next(draws: Draws, more: int) -> Draws:
    return draws._replace(site=draws.site + more)
