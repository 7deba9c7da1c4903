"""Kernels in Triton for the first part of an encoder: what tokens and places bring, and its norm.

:mod:`coterie.encoders.fused_embedding` calls them; :mod:`coterie.encoders.kernels` says what they
need.
"""

from __future__ import annotations

from typing import Any

from coterie.encoders import kernels
from coterie.encoders.kernels import factor, kernel

tl: Any = kernels.tl  # type: ignore[attr-defined]


@kernel
def _sum_of_three(ids, positions, rows, inside, columns, word, place, kind, n, d: tl.constexpr):
    """Vectors of tokens, of their places and of the kind of text, added up; float32."""
    token = tl.load(ids + rows, mask=rows < n, other=0)[:, None] * d + columns[None, :]
    where = tl.load(positions + rows, mask=rows < n, other=0)[:, None] * d + columns[None, :]
    y = tl.load(word + token, mask=inside, other=0.0).to(tl.float32)
    y += tl.load(place + where, mask=inside, other=0.0).to(tl.float32)
    y += tl.load(kind + columns, mask=columns < d, other=0.0).to(tl.float32)[None, :]
    return y, token


@kernel
def embed(
    out, means, rates, ids, positions, word, place, kind, gamma, beta,
    words, site, p, eps, n,
    d: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """``out = dropout(layer_norm(word + place + kind))``; keeps means, reciprocal deviations."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    known = columns < d
    inside = (rows < n)[:, None] & known[None, :]
    y, _ = _sum_of_three(ids, positions, rows, inside, columns, word, place, kind, n, d)
    mean = tl.sum(y, axis=1) / d
    centred = tl.where(inside, y - mean[:, None], 0.0)
    rate = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=1) / d + eps)
    scale = tl.load(gamma + columns, mask=known, other=0.0).to(tl.float32)
    shift = tl.load(beta + columns, mask=known, other=0.0).to(tl.float32)
    found = centred * rate[:, None] * scale[None, :] + shift[None, :]
    index = rows[:, None] * d + columns[None, :]
    if DROP:
        found *= factor(words, site, index, p)
    tl.store(out + index, found.to(out.dtype.element_ty), mask=inside)
    tl.store(means + rows, mean, mask=rows < n)
    tl.store(rates + rows, rate, mask=rows < n)


@kernel
def embed_gradient(
    dy, dword, partial, stride, g, means, rates, ids, positions, word, place, kind, gamma,
    words, site, p, n, parts,
    d: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr, DROP: tl.constexpr,
    WORDS: tl.constexpr,
):  # fmt: skip
    """Gradient of the sum in :func:`embed`, added to the rows of its tokens where ``WORDS``.

    Program ``i`` of ``parts`` takes every ``parts``-th block of rows; sums for ``kind``, ``gamma``
    and ``beta`` go to row ``i`` of ``partial``.
    """
    columns = tl.arange(0, BLOCK)
    known = columns < d
    scale = tl.load(gamma + columns, mask=known, other=0.0).to(tl.float32)[None, :]
    of_kind = tl.zeros((ROWS, BLOCK), tl.float32)
    of_gamma = tl.zeros((ROWS, BLOCK), tl.float32)
    of_beta = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(tl.program_id(0) * ROWS, n, parts * ROWS):
        rows = first + tl.arange(0, ROWS)
        inside = (rows < n)[:, None] & known[None, :]
        y, token = _sum_of_three(ids, positions, rows, inside, columns, word, place, kind, n, d)
        mean = tl.load(means + rows, mask=rows < n, other=0.0)[:, None]
        rate = tl.load(rates + rows, mask=rows < n, other=0.0)[:, None]
        y = tl.where(inside, (y - mean) * rate, 0.0)
        index = rows[:, None] * d + columns[None, :]
        grad = tl.load(g + index, mask=inside, other=0.0).to(tl.float32)
        if DROP:
            grad *= factor(words, site, index, p)
        of_gamma += grad * y
        of_beta += grad
        grad *= scale
        along = tl.sum(grad * y, axis=1)[:, None] / d
        grad = (grad - y * along - tl.sum(grad, axis=1)[:, None] / d) * rate
        tl.store(dy + index, grad.to(dy.dtype.element_ty), mask=inside)
        if WORDS:
            tl.atomic_add(dword + token, grad, mask=inside, sem="relaxed")
        of_kind += tl.where(inside, grad, 0.0)
    at = partial + tl.program_id(0) * stride + columns
    tl.store(at, tl.sum(of_kind, axis=0), mask=known)
    tl.store(at + d, tl.sum(of_gamma, axis=0), mask=known)
    tl.store(at + 2 * d, tl.sum(of_beta, axis=0), mask=known)
