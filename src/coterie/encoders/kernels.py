"""Kernels in Triton for the layers of an encoder; :mod:`coterie.encoders.fused` calls them.

They need Triton, which comes with torch for NVIDIA GPUs; without it this module can be imported,
not used. With ``TRITON_INTERPRET=1`` they run on the CPU, slowly, for tests.

Tensors are contiguous. Sums are taken in float32. Gradients of biases and of the scales of norms
come as partial sums, one row for each program, which the caller adds up. Arguments have no types:
Triton would take them for variables of the kernel. Those in capitals are constants, for whose
values a kernel is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:  # macOS, Windows, builds of torch for the CPU
    triton, tl = None, None

AVAILABLE = triton is not None


def kernel(function: Callable[..., Any]) -> Any:
    """``triton.jit``; the number of a site differs from layer to layer and is no new kernel."""
    if not AVAILABLE:
        return function
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return triton.jit(function, do_not_specialize=[n for n in names if n == "site"])


@kernel
def factor(words, site, index, p):
    """Dropout as a factor: 0 with probability ``p``, else 1 / (1 - p); a hash of index and site.

    ``words`` has two random words for each site. They lie in memory since a recorded step would
    freeze an argument. A hash of some eight instructions takes the place of Philox, which would
    take longer than the rest of attention. Its multipliers are those of Wellons' lowbias32.
    """
    low = tl.load(words + 2 * site).to(tl.uint32, bitcast=True)
    high = tl.load(words + 2 * site + 1).to(tl.uint32, bitcast=True)
    x = index.to(tl.uint32) + low
    x = (x ^ (x >> 16)) * 0x7FEB352D + high
    x = (x ^ (x >> 15)) * 0x846CA68B
    bound = tl.full((1, 1), p * 4294967296.0, tl.float32).to(tl.uint32)  # p of all 2 ** 32
    return tl.where(x >= bound, 1.0 / (1.0 - p), 0.0)


@kernel
def _vector(x, columns, known):
    """A vector that all rows share, float32."""
    return tl.load(x + columns, mask=known, other=0.0).to(tl.float32)[None, :]


@kernel
def _tile(first, columns, n, d, ROWS: tl.constexpr):
    """Rows from ``first`` on: their numbers, which entries there are, and where they lie."""
    rows = first + tl.arange(0, ROWS)
    inside = (rows < n)[:, None] & (columns < d)[None, :]
    return rows, inside, rows[:, None] * d + columns[None, :]


@kernel
def _layer_norm(y, inside, gamma, beta, columns, eps, D: tl.constexpr):
    """The norm of rows, their means and reciprocal deviations."""
    mean = tl.sum(y, axis=1) / D
    centred = tl.where(inside, y - mean[:, None], 0.0)
    rate = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=1) / D + eps)
    scale, shift = _vector(gamma, columns, columns < D), _vector(beta, columns, columns < D)
    return centred * rate[:, None] * scale + shift, mean, rate


@kernel
def _normed(y, inside, means, rates, rows, n):
    """Rows as the norm saw them, before scale and shift, and their reciprocal deviations."""
    mean = tl.load(means + rows, mask=rows < n, other=0.0)[:, None]
    rate = tl.load(rates + rows, mask=rows < n, other=0.0)[:, None]
    return tl.where(inside, (y - mean) * rate, 0.0), rate


@kernel
def _before_norm(grad, y, rate, scale, D: tl.constexpr):
    """Gradient of what the norm was taken of."""
    grad *= scale
    along = tl.sum(grad * y, axis=1)[:, None] / D
    return (grad - y * along - tl.sum(grad, axis=1)[:, None] / D) * rate


@kernel
def norm(
    out,
    means,
    rates,
    h,
    bias,
    x,
    gamma,
    beta,
    words,
    site,
    p,
    eps,
    n,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    DROP: tl.constexpr,
):
    """``out = layer_norm(x + dropout(h + bias))``; keeps means and reciprocal deviations."""
    columns = tl.arange(0, BLOCK)
    rows, inside, index = _tile(tl.program_id(0) * ROWS, columns, n, D, ROWS)
    y = tl.load(h + index, mask=inside, other=0.0).to(tl.float32)
    y += _vector(bias, columns, columns < D)
    if DROP:
        y *= factor(words, site, index, p)
    y += tl.load(x + index, mask=inside, other=0.0).to(tl.float32)
    found, mean, rate = _layer_norm(y, inside, gamma, beta, columns, eps, D)
    tl.store(out + index, found.to(out.dtype.element_ty), mask=inside)
    tl.store(means + rows, mean, mask=rows < n)
    tl.store(rates + rows, rate, mask=rows < n)


@kernel
def norm_gradient(
    dh,
    dx,
    partial,
    stride,
    g,
    means,
    rates,
    h,
    bias,
    x,
    gamma,
    words,
    site,
    p,
    n,
    parts,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    DROP: tl.constexpr,
):
    """Gradients of :func:`norm`: of ``h`` and ``x``, and sums for ``bias``, ``gamma``, ``beta``.

    Program ``i`` of ``parts`` takes every ``parts``-th block of rows; the sums of its rows go to
    row ``i`` of ``partial``, three times ``D`` of them.
    """
    columns = tl.arange(0, BLOCK)
    scale, added = _vector(gamma, columns, columns < D), _vector(bias, columns, columns < D)
    of_bias = tl.zeros((ROWS, BLOCK), tl.float32)
    of_gamma = tl.zeros((ROWS, BLOCK), tl.float32)
    of_beta = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(tl.program_id(0) * ROWS, n, parts * ROWS):
        rows, inside, index = _tile(first, columns, n, D, ROWS)
        y = tl.load(h + index, mask=inside, other=0.0).to(tl.float32) + added
        if DROP:
            y *= factor(words, site, index, p)
        y += tl.load(x + index, mask=inside, other=0.0).to(tl.float32)
        y, rate = _normed(y, inside, means, rates, rows, n)
        grad = tl.load(g + index, mask=inside, other=0.0).to(tl.float32)
        of_gamma += grad * y
        of_beta += grad
        grad = _before_norm(grad, y, rate, scale, D)
        tl.store(dx + index, grad.to(dx.dtype.element_ty), mask=inside)
        if DROP:
            grad *= factor(words, site, index, p)
        tl.store(dh + index, grad.to(dh.dtype.element_ty), mask=inside)
        of_bias += tl.where(inside, grad, 0.0)
    _three_sums(partial, stride, columns, of_bias, of_gamma, of_beta, D)


@kernel
def _three_sums(partial, stride, columns, one, two, three, D: tl.constexpr):
    """Sums over the rows of three tiles, one behind the other in the row of this program."""
    place = partial + tl.program_id(0) * stride + columns
    tl.store(place, tl.sum(one, axis=0), mask=columns < D)
    tl.store(place + D, tl.sum(two, axis=0), mask=columns < D)
    tl.store(place + 2 * D, tl.sum(three, axis=0), mask=columns < D)


@kernel
def column_sums(out, x, n, d, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """Sums of the columns of a tall matrix; many rows at once, since one load waits for another."""
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(0, n, ROWS):
        _, inside, index = _tile(first, columns, n, d, ROWS)
        total += tl.load(x + index, mask=inside, other=0.0)
    tl.store(out + columns, tl.sum(total, axis=0), mask=columns < d)


@kernel
def _normal(v):
    """Distribution function of the normal distribution, and ``exp(-v * v / 2)``.

    Formula 7.1.26 of Abramowitz and Stegun for erf, off by at most 1.5e-7.
    """
    peak = tl.exp(-0.5 * v * v)
    t = 1.0 / (1.0 + 0.231641887 * tl.abs(v))  # 0.3275911 / sqrt(2)
    tail = 1.061405429 * t - 1.453152027
    tail = ((tail * t + 1.421413741) * t - 0.284496736) * t + 0.254829592
    tail = 0.5 * tail * t * peak
    return tl.where(v < 0, tail, 1.0 - tail), peak


@kernel
def gelu(out, u, bias, n, d, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """``out = gelu(u + bias)``, the exact one."""
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    _, inside, index = _tile(tl.program_id(0) * ROWS, columns, n, d, ROWS)
    v = tl.load(u + index, mask=inside, other=0.0).to(tl.float32)
    v += _vector(bias, columns, columns < d)
    below, _ = _normal(v)
    tl.store(out + index, (v * below).to(out.dtype.element_ty), mask=inside)


@kernel
def gelu_gradient(
    g, partial, stride, u, bias, n, d, parts, BLOCK: tl.constexpr, ROWS: tl.constexpr
):
    """Gradient of :func:`gelu` in the place of ``g``, and partial sums of it for ``bias``."""
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    added = _vector(bias, columns, columns < d)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(tl.program_id(0) * ROWS, n, parts * ROWS):
        _, inside, index = _tile(first, columns, n, d, ROWS)
        v = tl.load(u + index, mask=inside, other=0.0).to(tl.float32) + added
        grad = tl.load(g + index, mask=inside, other=0.0).to(tl.float32)
        below, peak = _normal(v)
        grad *= below + v * peak * 0.3989422804014327  # 1 / sqrt(2 pi)
        tl.store(g + index, grad.to(g.dtype.element_ty), mask=inside)
        total += grad
    place = partial + tl.program_id(0) * stride + columns
    tl.store(place, tl.sum(total, axis=0), mask=columns < d)


@kernel
def _part(qkv, bias, place, first, dims, SIZE: tl.constexpr):
    """Queries, keys or values of one head of one row of texts."""
    found = tl.load(qkv + place + first, mask=(dims < SIZE)[None, :], other=0.0)
    added = _vector(bias + first, dims, dims < SIZE)
    return (found.to(tl.float32) + added).to(qkv.dtype.element_ty)


@kernel
def _shares(q, k, slots, row, scale, WIDTH: tl.constexpr, CAUSAL: tl.constexpr):
    """Softmax of the scores between tokens of the same text, float32; CAUSAL: to none behind."""
    tokens = tl.arange(0, WIDTH)
    own = tl.load(slots + row * WIDTH + tokens)
    scores = tl.dot(q, tl.trans(k)) * scale
    scores = tl.where(own[:, None] == own[None, :], scores, float("-inf"))
    if CAUSAL:
        scores = tl.where(tokens[:, None] >= tokens[None, :], scores, float("-inf"))
    shares = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    return shares * (1.0 / tl.sum(shares, axis=1))[:, None]


@kernel
def attention(
    out,
    qkv,
    bias,
    slots,
    words,
    site,
    p,
    scale,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    DROP: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Attention within the texts of a row that is short enough to be worked at once.

    ``qkv`` has shape (rows * WIDTH, 3 * HEADS * SIZE), without ``bias``; a program takes one head
    of one row. Positions behind the last text see each other, so no sum is empty.
    """
    head, row = tl.program_id(0), tl.program_id(1)
    tokens, dims = tl.arange(0, WIDTH), tl.arange(0, BLOCK)
    place = (row * WIDTH + tokens)[:, None] * (3 * HEADS * SIZE) + dims[None, :]
    q = _part(qkv, bias, place, head * SIZE, dims, SIZE)
    k = _part(qkv, bias, place, (HEADS + head) * SIZE, dims, SIZE)
    v = _part(qkv, bias, place, (2 * HEADS + head) * SIZE, dims, SIZE)
    shares = _shares(q, k, slots, row, scale, WIDTH, CAUSAL)
    if DROP:
        index = (row * HEADS + head) * WIDTH * WIDTH + tokens[:, None] * WIDTH + tokens[None, :]
        shares *= factor(words, site, index, p)
    mixed = tl.dot(shares.to(v.dtype), v)
    place = (row * WIDTH + tokens)[:, None] * (HEADS * SIZE) + head * SIZE + dims[None, :]
    tl.store(out + place, mixed.to(out.dtype.element_ty), mask=(dims < SIZE)[None, :])


@kernel
def _give(dqkv, partial, row, grad, place, first, dims, HEADS: tl.constexpr, SIZE: tl.constexpr):
    """Store a gradient of :func:`_part`, and its sum over the row for the bias."""
    known = dims < SIZE
    tl.store(dqkv + place + first, grad.to(dqkv.dtype.element_ty), mask=known[None, :])
    tl.store(partial + row * 3 * HEADS * SIZE + first + dims, tl.sum(grad, axis=0), mask=known)


@kernel
def attention_gradient(
    dqkv,
    partial,
    g,
    qkv,
    bias,
    slots,
    words,
    site,
    p,
    scale,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    DROP: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Gradient of :func:`attention` with respect to ``qkv``, and its sums for each row of texts."""
    head, row = tl.program_id(0), tl.program_id(1)
    tokens, dims = tl.arange(0, WIDTH), tl.arange(0, BLOCK)
    of_q, of_k, of_v = head * SIZE, (HEADS + head) * SIZE, (2 * HEADS + head) * SIZE
    place = (row * WIDTH + tokens)[:, None] * (HEADS * SIZE) + head * SIZE + dims[None, :]
    grad = tl.load(g + place, mask=(dims < SIZE)[None, :], other=0.0)
    place = (row * WIDTH + tokens)[:, None] * (3 * HEADS * SIZE) + dims[None, :]
    q = _part(qkv, bias, place, of_q, dims, SIZE)
    k = _part(qkv, bias, place, of_k, dims, SIZE)
    v = _part(qkv, bias, place, of_v, dims, SIZE)
    shares = _shares(q, k, slots, row, scale, WIDTH, CAUSAL)
    back = tl.dot(grad, tl.trans(v))
    if DROP:
        index = (row * HEADS + head) * WIDTH * WIDTH + tokens[:, None] * WIDTH + tokens[None, :]
        kept = factor(words, site, index, p)
        back *= kept
        dv = tl.dot(tl.trans((shares * kept).to(grad.dtype)), grad)
    else:
        dv = tl.dot(tl.trans(shares.to(grad.dtype)), grad)
    _give(dqkv, partial, row, dv, place, of_v, dims, HEADS, SIZE)
    back = shares * (back - tl.sum(shares * back, axis=1)[:, None]) * scale
    back = back.to(q.dtype)
    _give(dqkv, partial, row, tl.dot(back, k), place, of_q, dims, HEADS, SIZE)
    _give(dqkv, partial, row, tl.dot(tl.trans(back), q), place, of_k, dims, HEADS, SIZE)


@kernel
def _sum_of_three(ids, positions, rows, inside, columns, word, place, kind, n, D: tl.constexpr):
    """Vectors of tokens, of their places and of the kind of text, added up; float32."""
    token = tl.load(ids + rows, mask=rows < n, other=0)[:, None] * D + columns[None, :]
    where = tl.load(positions + rows, mask=rows < n, other=0)[:, None] * D + columns[None, :]
    y = tl.load(word + token, mask=inside, other=0.0).to(tl.float32)
    y += tl.load(place + where, mask=inside, other=0.0).to(tl.float32)
    return y + _vector(kind, columns, columns < D), token


@kernel
def embed(
    out,
    means,
    rates,
    ids,
    positions,
    word,
    place,
    kind,
    gamma,
    beta,
    words,
    site,
    p,
    eps,
    n,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    DROP: tl.constexpr,
):
    """``out = dropout(layer_norm(word + place + kind))``; keeps means, reciprocal deviations."""
    columns = tl.arange(0, BLOCK)
    rows, inside, index = _tile(tl.program_id(0) * ROWS, columns, n, D, ROWS)
    y, _ = _sum_of_three(ids, positions, rows, inside, columns, word, place, kind, n, D)
    found, mean, rate = _layer_norm(y, inside, gamma, beta, columns, eps, D)
    if DROP:
        found *= factor(words, site, index, p)
    tl.store(out + index, found.to(out.dtype.element_ty), mask=inside)
    tl.store(means + rows, mean, mask=rows < n)
    tl.store(rates + rows, rate, mask=rows < n)


@kernel
def embed_gradient(
    dy,
    dword,
    partial,
    stride,
    g,
    means,
    rates,
    ids,
    positions,
    word,
    place,
    kind,
    gamma,
    words,
    site,
    p,
    n,
    parts,
    D: tl.constexpr,
    BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    DROP: tl.constexpr,
    WORDS: tl.constexpr,
):
    """Gradient of the sum in :func:`embed`, added to the rows of its tokens where ``WORDS``.

    Program ``i`` of ``parts`` takes every ``parts``-th block of rows; sums for ``kind``, ``gamma``
    and ``beta`` go to row ``i`` of ``partial``.
    """
    columns = tl.arange(0, BLOCK)
    scale = _vector(gamma, columns, columns < D)
    of_kind = tl.zeros((ROWS, BLOCK), tl.float32)
    of_gamma = tl.zeros((ROWS, BLOCK), tl.float32)
    of_beta = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(tl.program_id(0) * ROWS, n, parts * ROWS):
        rows, inside, index = _tile(first, columns, n, D, ROWS)
        y, token = _sum_of_three(ids, positions, rows, inside, columns, word, place, kind, n, D)
        y, rate = _normed(y, inside, means, rates, rows, n)
        grad = tl.load(g + index, mask=inside, other=0.0).to(tl.float32)
        if DROP:
            grad *= factor(words, site, index, p)
        of_gamma += grad * y
        of_beta += grad
        grad = _before_norm(grad, y, rate, scale, D)
        tl.store(dy + index, grad.to(dy.dtype.element_ty), mask=inside)
        if WORDS:
            tl.atomic_add(dword + token, grad, mask=inside, sem="relaxed")
        of_kind += tl.where(inside, grad, 0.0)
    _three_sums(partial, stride, columns, of_kind, of_gamma, of_beta, D)
