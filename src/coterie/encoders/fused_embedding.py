"""The first part of an encoder over packed rows in two kernels: vectors of tokens, norm, dropout.

Torch adds up the gradients of a table of vectors by sorting the tokens first, for words and again
for places. Here the gradient of the norm adds them where they belong, and places, of which there
are few, take one product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from coterie.encoders.fused_parts import GRADIENT_TILE, TILE, Draws, add_up, parts_of, power


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
        from coterie.encoders import embedding_kernels

        word, table, kind, gamma, beta = weights
        ids, positions = places.ids.reshape(-1), (places.positions + places.offset).reshape(-1)
        n, d = len(ids), word.shape[1]
        out = torch.empty(n, d, dtype=dtype, device=word.device)
        mean, scale = torch.empty(2, n, device=word.device)
        rows = max(1, TILE // power(d))
        with torch.cuda.device_of(word):
            embedding_kernels.embed[(-(-n // rows),)](
                out, mean, scale, ids, positions, word, table, kind, gamma, beta,
                draws.words, draws.site, rate, eps, n,
                d=d, BLOCK=power(d), ROWS=rows, DROP=rate > 0,
            )  # fmt: skip
        ctx.places, ctx.rate, ctx.site = places, rate, draws.site
        ctx.save_for_backward(ids, positions, mean, scale, draws.words, *weights)
        return out.view(*places.ids.shape, d)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        from coterie.encoders import embedding_kernels

        ids, positions, mean, scale, words, word, table, kind, gamma, beta = ctx.saved_tensors
        n, d = len(ids), word.shape[1]
        of_word, of_table = ctx.needs_input_grad[5:7]
        grad = grads[0].reshape(n, d).contiguous()
        dy, sums = torch.empty_like(grad), torch.empty(parts_of(grad), 3 * d, device=grad.device)
        dword = torch.zeros(word.shape if of_word else (1, d), device=grad.device)
        with torch.cuda.device_of(grad):
            embedding_kernels.embed_gradient[(len(sums),)](
                dy, dword, sums, sums.stride(0), grad, mean, scale, ids, positions, word, table,
                kind, gamma, words, ctx.site, ctx.rate, n, len(sums),
                d=d, BLOCK=power(d), ROWS=max(1, GRADIENT_TILE // power(d)), DROP=ctx.rate > 0,
                WORDS=of_word,
            )  # fmt: skip
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
