"""A transformer layer over packed rows in few kernels, with its gradient written out.

A layer of a small encoder is more additions, norms and reductions than products, each of them a
pass over memory. Here a bias, dropout, the residual and the norm are one kernel, attention within
the texts of a row is one, and so are their gradients (:mod:`coterie.encoders.kernels`). Products
stay with torch; where a gradient has several parts, a product adds to what is there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from coterie._util.torch import Tensor, torch

log = logging.getLogger(__name__)

LARGEST = 64, 4096  # numbers of a head and of a token that fit
OLDEST = 8, 0  # compute capability of GPUs that multiply bfloat16
TILE = 2048  # numbers that a program of a norm or of the inner map works at once
GRADIENT_TILE = 512  # the same for gradients, which hold more of each
COLUMNS = 512  # of the inner map that a program works at once
PARTS = 1056  # programs of a gradient at most, each with a row of partial sums; 8 for each of 132
WARPS = {16: (1, 1), 32: (1, 1), 64: (4, 4), 128: (4, 8)}  # of attention and of its gradient


def can_fuse(device: torch.device, width: int, d: int, heads: int) -> bool:
    """Whether :func:`fused_layer` works here, on rows of ``width`` tokens of ``d`` numbers."""
    if not (width in WARPS and d // heads <= LARGEST[0] and d <= LARGEST[1]):
        return False
    return _works(device, width, d, heads)


@cache
def _works(device: torch.device, width: int, d: int, heads: int) -> bool:
    """Whether kernels run there; on a CPU only interpreted ones do (``TRITON_INTERPRET=1``)."""
    from coterie.encoders.kernels import AVAILABLE, norm

    if device.type == "cpu":
        return type(norm).__name__ == "InterpretedFunction"
    if not AVAILABLE or torch.cuda.get_device_capability(device) < OLDEST:
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
    x: Tensor,
    slots: Tensor,
    settings: Settings,
    draws: Draws,
    weights: list[Tensor],
    between: Callable[[Tensor], Tensor] = lambda x: x,
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
    between : callable (Tensor) -> Tensor
        What a decoder does between the first norm and the inner maps.

    Returns
    -------
    Tensor of shape (rows, width, d)
    """
    x = _Attention.apply(x, slots, settings, draws, *weights[:6])  # type: ignore[no-untyped-call]
    out: Tensor = _Inner.apply(between(x), settings, draws, *weights[6:])  # type: ignore[no-untyped-call]
    return out


class _Attention(torch.autograd.Function):
    """Up to the first norm; keeps the products, and computes all else anew in the backward pass."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, slots: Tensor, settings: Settings, draws: Draws, *weights: Tensor
    ) -> Tensor:
        wqkv, bqkv, wo, bo, gamma, beta = weights
        flat = x.reshape(-1, x.shape[2]).contiguous()
        with torch.cuda.device_of(flat):
            qkv = flat @ wqkv.t()
            mixed = attend(qkv, bqkv, slots, settings, draws)
            h = mixed @ wo.t()
            out, *stats = add_norm(h, bo, flat, (gamma, beta), settings, _next(draws, 1))
        ctx.settings, ctx.site = settings, draws.site
        ctx.save_for_backward(slots, draws.words, flat, qkv, mixed, h, *stats, *weights)
        return out.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        slots, words, flat, qkv, mixed, h, mean, rate, *weights = ctx.saved_tensors
        wqkv, bqkv, wo, bo, gamma, _ = weights
        settings, draws = ctx.settings, Draws(words, ctx.site)
        needs = ctx.needs_input_grad
        grad = grads[0].reshape(flat.shape).contiguous()
        sums = torch.empty(parts_of(flat), 3 * flat.shape[1], device=flat.device)
        with torch.cuda.device_of(flat):
            kept = (h, bo, flat, gamma, mean, rate)
            dh, dx = add_norm_gradient(grad, kept, settings, _next(draws, 1), sums)
            dwo = dh.t() @ mixed if needs[6] else None
            dqkv, dbqkv = attend_gradient(dh @ wo, (qkv, bqkv), slots, settings, draws)
            dwqkv = dqkv.t() @ flat if needs[4] else None
            dx = dx.addmm_(dqkv, wqkv) if needs[0] else dx
            found = (dwqkv, dbqkv, dwo, *add_up(sums).chunk(3))
        return (
            (dx.view_as(grads[0]) if needs[0] else None),
            None,
            None,
            None,
            *_like(found, weights),
        )


class _Inner(torch.autograd.Function):
    """From the first norm to the second."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, settings: Settings, draws: Draws, *weights: Tensor) -> Tensor:
        wi, bi, wf, bf, gamma, beta = weights
        flat = x.reshape(-1, x.shape[2]).contiguous()
        with torch.cuda.device_of(flat):
            u = flat @ wi.t()
            inner = bias_gelu(u, bi)
            h = inner @ wf.t()
            out, *stats = add_norm(h, bf, flat, (gamma, beta), settings, _next(draws, 2))
        ctx.settings, ctx.site = settings, draws.site
        ctx.save_for_backward(draws.words, flat, u, inner, h, *stats, *weights)
        return out.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        words, flat, u, inner, h, mean, rate, *weights = ctx.saved_tensors
        wi, bi, wf, bf, gamma, _ = weights
        needs, d = ctx.needs_input_grad, flat.shape[1]
        grad = grads[0].reshape(flat.shape).contiguous()
        sums = torch.empty(parts_of(flat), 3 * d + u.shape[1], device=u.device)
        with torch.cuda.device_of(flat):
            kept, draws = (h, bf, flat, gamma, mean, rate), Draws(words, ctx.site + 2)
            dh, dx = add_norm_gradient(grad, kept, ctx.settings, draws, sums)
            dwf = dh.t() @ inner if needs[5] else None
            du = bias_gelu_gradient(dh @ wf, u, bi, sums[:, 3 * d :])
            dwi = du.t() @ flat if needs[3] else None
            dx = dx.addmm_(du, wi) if needs[0] else dx
            dbf, dgamma, dbeta, dbi = add_up(sums).split([d, d, d, u.shape[1]])
        return (
            (dx.view_as(grads[0]) if needs[0] else None),
            None,
            None,
            *_like((dwi, dbi, dwf, dbf, dgamma, dbeta), weights),
        )


def _like(found: Sequence[Tensor | None], weights: list[Tensor]) -> list[Tensor | None]:
    """Gradients in the precision of what they are of."""
    return [f if f is None else f.to(w.dtype) for f, w in zip(found, weights, strict=True)]


def _next(draws: Draws, more: int) -> Draws:
    return draws._replace(site=draws.site + more)


class Settings(NamedTuple):
    """What the layers of an encoder share: heads, both rates of dropout, the norms' epsilon.

    ``causal``: tokens see those before them in their text, and themselves, alone.
    """

    heads: int
    attention: float
    hidden: float
    eps: float
    causal: bool = False


class Draws(NamedTuple):
    """Where a layer finds its random numbers: two words for each site, and its first site."""

    words: Tensor
    site: int


def add_up(sums: Tensor) -> Tensor:
    """Sums of the columns of partial sums, float32."""
    from coterie.encoders.kernels import column_sums

    out = torch.empty(sums.shape[1], device=sums.device)
    column_sums[(-(-len(out) // 32),)](out, sums, *sums.shape, BLOCK=32, ROWS=256, num_warps=8)
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
    from coterie.encoders.kernels import norm

    n, d = h.shape
    out = torch.empty_like(x)
    mean, rate = torch.empty(2, n, device=h.device)
    sizes = _sizes(d, TILE, settings.hidden)
    last = settings.hidden, settings.eps, n
    norm[_grid(n, sizes)](out, mean, rate, h, bias, x, *scales, *draws, *last, **sizes)
    return out, mean, rate


def add_norm_gradient(
    grad: Tensor, kept: tuple[Tensor, ...], settings: Settings, draws: Draws, sums: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of ``h`` and ``x`` of :func:`add_norm`.

    ``kept`` is ``h, bias, x, gamma, mean, rate``. Partial sums of the gradients of bias, gamma
    and beta go to the first columns of ``sums``; it has a row for each program.
    """
    from coterie.encoders.kernels import norm_gradient

    h, bias, x, gamma, mean, rate = kept
    n, d = h.shape
    dh, dx = torch.empty_like(h), torch.empty_like(x)
    out, last = (dh, dx, sums, sums.stride(0)), (settings.hidden, n, len(sums))
    norm_gradient[(len(sums),)](
        *(*out, grad, mean, rate, h, bias, x, gamma, *draws, *last),
        **_sizes(d, GRADIENT_TILE, settings.hidden),
    )
    return dh, dx


def _sizes(d: int, tile: int, rate: float) -> dict[str, Any]:
    """Constants of a kernel over rows of ``d`` numbers, about ``tile`` numbers in a program."""
    block = power(d)
    return {"D": d, "BLOCK": block, "ROWS": max(1, tile // block), "DROP": rate > 0}


def _grid(n: int, sizes: dict[str, Any]) -> tuple[int]:
    """Programs for ``n`` rows."""
    return (-(-n // sizes["ROWS"]),)


def bias_gelu(u: Tensor, bias: Tensor) -> Tensor:
    """``gelu(u + bias)`` of rows."""
    from coterie.encoders.kernels import gelu

    n, d = u.shape
    out, block = torch.empty_like(u), min(COLUMNS, power(d))
    rows = TILE // block
    gelu[(-(-n // rows), -(-d // block))](out, u, bias, n, d, BLOCK=block, ROWS=rows)
    return out


def bias_gelu_gradient(grad: Tensor, u: Tensor, bias: Tensor, sums: Tensor) -> Tensor:
    """Gradient of :func:`bias_gelu`, in the place of ``grad``; partial sums go to ``sums``."""
    from coterie.encoders.kernels import gelu_gradient

    n, d = u.shape
    block = min(COLUMNS, power(d))
    sizes = {"BLOCK": block, "ROWS": GRADIENT_TILE // block}
    grid = (len(sums), -(-d // block))
    gelu_gradient[grid](grad, sums, sums.stride(0), u, bias, n, d, len(sums), **sizes)
    return grad


def attend(qkv: Tensor, bias: Tensor, slots: Tensor, settings: Settings, draws: Draws) -> Tensor:
    """Attention within texts; ``qkv`` of shape (tokens, 3 d) is without its bias."""
    from coterie.encoders.kernels import attention

    out = qkv.new_empty(len(qkv), qkv.shape[1] // 3)
    grid, numbers, sizes = _heads(out, slots, settings)
    warps = WARPS[slots.shape[1]][0]
    attention[grid](out, qkv, bias, slots, *draws, *numbers, **sizes, num_warps=warps)
    return out


def attend_gradient(
    grad: Tensor, kept: tuple[Tensor, Tensor], slots: Tensor, settings: Settings, draws: Draws
) -> tuple[Tensor, Tensor]:
    """Gradients of ``qkv`` and of its bias; ``kept`` is both of them."""
    from coterie.encoders.kernels import attention_gradient

    qkv, bias = kept
    found, sums = torch.empty_like(qkv), torch.empty(len(slots), len(bias), device=qkv.device)
    grid, numbers, sizes = _heads(grad, slots, settings)
    sizes["num_warps"] = WARPS[slots.shape[1]][1]
    attention_gradient[grid](found, sums, grad, qkv, bias, slots, *draws, *numbers, **sizes)
    return found, add_up(sums)


def _heads(
    out: Tensor, slots: Tensor, settings: Settings
) -> tuple[tuple[int, int], tuple[float, float], dict[str, Any]]:
    """Programs of attention, rate of dropout and scale of scores, constants of the kernel."""
    size = out.shape[1] // settings.heads
    sizes = {"HEADS": settings.heads, "SIZE": size, "WIDTH": slots.shape[1]}
    sizes |= {"BLOCK": max(16, power(size)), "DROP": settings.attention > 0}
    sizes |= {"CAUSAL": settings.causal}
    return (settings.heads, len(slots)), (settings.attention, size**-0.5), sizes


class Places(NamedTuple):
    """Tokens and their places in their texts, shape (rows, width) each; places are below width."""

    ids: Tensor
    positions: Tensor
    offset: int  # of the first place in its table


def fused_embedding(
    places: Places, rate: float, eps: float, draws: Draws, dtype: torch.dtype, weights: list[Tensor]
) -> Tensor:
    """``dropout(layer_norm(word + place + kind))`` of all tokens.

    Parameters
    ----------
    places : Places
    rate : float
        Of dropout.
    eps : float
    draws : Draws
        Its first site is taken.
    dtype : torch.dtype
        Of the result.
    weights : list of Tensor
        Tables of words and of places, the vector that all tokens share, scale and shift.

    Returns
    -------
    Tensor of shape (rows, width, d)
    """
    out: Tensor = _Embedding.apply(  # type: ignore[no-untyped-call]
        places, rate, eps, draws, dtype, *weights
    )
    return out


class _Embedding(torch.autograd.Function):
    """:func:`fused_embedding`; keeps no vectors, only what the norm divided by."""

    @staticmethod
    def forward(
        ctx: Any,
        places: Places,
        rate: float,
        eps: float,
        draws: Draws,
        dtype: torch.dtype,
        *weights: Tensor,
    ) -> Tensor:
        from coterie.encoders.kernels import embed

        word = weights[0]
        ids, positions = places.ids.reshape(-1), (places.positions + places.offset).reshape(-1)
        n, d = len(ids), word.shape[1]
        out = torch.empty(n, d, dtype=dtype, device=word.device)
        mean, scale = torch.empty(2, n, device=word.device)
        sizes = _sizes(d, TILE, rate)
        with torch.cuda.device_of(word):
            embed[_grid(n, sizes)](
                *(out, mean, scale, ids, positions, *weights, *draws, rate, eps, n), **sizes
            )
        ctx.places, ctx.rate, ctx.site = places, rate, draws.site
        ctx.save_for_backward(ids, positions, mean, scale, draws.words, *weights)
        return out.view(*places.ids.shape, d)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        from coterie.encoders.kernels import embed_gradient

        ids, positions, mean, scale, words, word, table, kind, gamma, beta = ctx.saved_tensors
        n, d = len(ids), word.shape[1]
        of_word, of_table = ctx.needs_input_grad[5:7]
        grad = grads[0].reshape(n, d).contiguous()
        dy, sums = torch.empty_like(grad), torch.empty(parts_of(grad), 3 * d, device=grad.device)
        dword = torch.zeros(word.shape if of_word else (1, d), device=grad.device)
        with torch.cuda.device_of(grad):
            out, last = (dy, dword, sums, sums.stride(0)), (words, ctx.site, ctx.rate, n, len(sums))
            known = (mean, scale, ids, positions, word, table, kind, gamma)
            sizes = _sizes(d, GRADIENT_TILE, ctx.rate) | {"WORDS": of_word}
            embed_gradient[(len(sums),)](*out, grad, *known, *last, **sizes)
            vectors = add_up(sums).chunk(3)
        dtable = None
        if of_table:
            first = ctx.places.offset
            last = min(first + ctx.places.ids.shape[1], len(table))
            numbers = torch.arange(first, last, device=grad.device)
            member = (positions[None, :] == numbers[:, None]).to(dy.dtype)  # (width, n)
            dtable = torch.zeros_like(table)
            dtable[first:last] = member @ dy
        cast = (v.to(w.dtype) for v, w in zip(vectors, (kind, gamma, beta), strict=True))
        return (*[None] * 5, dword.to(word.dtype) if of_word else None, dtable, *cast)
