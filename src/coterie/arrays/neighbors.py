"""Exact nearest neighbours: all rows are compared, a block at a time, so that memory is bounded.

Every search of the package comes here. Vectors may be arrays, tensors on any device, or sparse
matrices. Computing each pair once where rows are compared with themselves was tried: merging the
two halves costs nearly what the products save.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from coterie._util.torch import F, Tensor, torch
from coterie._util.types import Floats, Ints

BLOCK = 1 << 22  # similarities held at a time: more than fit into the processor's cache are slower
GPU_BLOCK = 1 << 26  # on a GPU more at a time are faster
GROUP = 32  # columns that are compared together when the largest are searched


def row_blocks(n: int, width: int, device: torch.device | None = None) -> list[slice]:
    """Slices of ``n`` rows; each block of rows times ``width`` columns fits into bounded memory.

    Examples
    --------
    >>> row_blocks(3, 1 << 21)
    [slice(0, 2, None), slice(2, 3, None)]
    """
    on_gpu = device is not None and device.type != "cpu"
    size = max(1, (GPU_BLOCK if on_gpu else BLOCK) // max(width, 1))
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]


def similarity_blocks(
    x: Any, rows: Any = None, *, bias: Tensor | None = None
) -> Iterator[tuple[slice, Tensor]]:
    """Inner products of ``x`` with ``rows``, a block of ``x`` at a time.

    They are cosines if rows have unit length.

    Parameters
    ----------
    x : array, Tensor or sparse matrix of shape (n, d)
    rows : same kind, of shape (m, d), optional
        Default: ``x`` itself.
    bias : Tensor of shape (m,), optional
        Is added to them.

    Yields
    ------
    block : slice
    similarities : Tensor of shape (len(block), m)
        May be changed; the next block is written into the same memory.
    """
    rows = x if rows is None else rows
    if hasattr(x, "toarray"):
        columns = rows.T.tocsr()
        for block in row_blocks(x.shape[0], rows.shape[0]):
            yield block, torch.from_numpy((x[block] @ columns).toarray())
        return
    x, rows = _tensor(x), _tensor(rows)
    blocks = row_blocks(len(x), len(rows), x.device)
    # Allocating the memory for each block would take longer.
    held = x.new_empty(blocks[0].stop if blocks else 0, len(rows))
    for block in blocks:
        out = held[: block.stop - block.start]
        torch.mm(x[block], rows.T, out=out)
        yield block, out if bias is None else out.add_(bias.detach())


def top_k(
    x: Any,
    k: int,
    rows: Any = None,
    *,
    itself: Ints | Tensor | None = None,
    itself_first: bool = False,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The ``k`` most similar rows of each row of ``x``, the most similar first.

    Parameters
    ----------
    x : array, Tensor or sparse matrix of shape (n, d)
    k : int
        At most as many as there are rows.
    rows : same kind, of shape (m, d), optional
        Default: ``x`` itself.
    itself : array of shape (n,), optional
        Number of the row that each row of ``x`` is. It is left out.
    itself_first : bool, default=False
        It comes first instead, also where another row is the same.
    bias
        As in :func:`similarity_blocks`.

    Returns
    -------
    indices, similarities : Tensor of shape (n, k)
        On the device of ``x``. Among equal similarities any may come first.

    Examples
    --------
    >>> x = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> top_k(x, 1, itself=torch.arange(3))
    (tensor([[1],
            [0],
            [1]]), tensor([[0.8000],
            [0.8000],
            [0.6000]]))
    """
    own = None if itself is None else torch.as_tensor(itself)
    itself_is = torch.inf if itself_first else -torch.inf
    indices, values = [torch.empty(0, k, dtype=torch.int64)], [torch.empty(0, k)]
    for block, similarities in similarity_blocks(x, rows, bias=bias):
        if own is not None:
            here = torch.arange(len(similarities), device=similarities.device)
            similarities[here, own[block].to(similarities.device)] = itself_is
        index = largest(similarities, k)
        indices.append(index)
        values.append(similarities.gather(1, index))
    return torch.cat(indices[1:] or indices), torch.cat(values[1:] or values)


def nearest_by_distance(x: Any, rows: Any) -> Ints:
    """Which of some rows is the nearest to each row of ``x`` by distance; the first of equals."""
    x, rows = _tensor(x), _tensor(rows)
    shift = rows.mean(dim=0)  # distances do not change, digits are saved
    rows = rows - shift
    squares = rows.square().sum(dim=1).neg_()
    found = []
    for block in row_blocks(len(x), len(rows)):
        moved = x[block] - shift
        near = torch.addmm(squares, moved, rows.T, alpha=2)
        found.append(near.sub_(moved.square().sum(dim=1, keepdim=True)).max(dim=1).indices)
    return torch.cat(found).numpy()


def nearest_rows(x: Floats | Tensor, n_neighbors: int) -> Ints:
    """The nearest rows of each row by cosine, itself first.

    Parameters
    ----------
    x : array or Tensor of shape (n, d)
        On the GPU the work is done there.
    n_neighbors : int
        The row itself counts; at most n are there.

    Returns
    -------
    ndarray of shape (n, min(n_neighbors, n))
    """
    unit = F.normalize(_tensor(x).float(), dim=1)
    own = torch.arange(len(unit), device=unit.device)
    found, _ = top_k(unit, min(n_neighbors, len(unit)), itself=own, itself_first=True)
    return found.cpu().numpy()


def largest(x: Tensor, k: int) -> Tensor:
    """Places of the ``k`` largest of each row, largest first.

    The largest lie in the ``k`` groups of columns whose own largest are largest, and those are
    found by one quick pass: the search itself then sees few columns.

    Parameters
    ----------
    x : Tensor of shape (n, m)
    k : int

    Returns
    -------
    Tensor of shape (n, k)

    Examples
    --------
    >>> largest(torch.tensor([[3.0, 1.0, 4.0, 1.0, 5.0]]), 2)
    tensor([[4, 2]])
    """
    if k == 1:
        return x.max(dim=1, keepdim=True).indices  # the first of equals
    width = x.shape[1] // GROUP  # column j is in the group j % width; what is left over is apart
    if width < 2 * k:
        return x.topk(k, dim=1).indices
    even = x[:, : width * GROUP].unflatten(1, (GROUP, width))
    top = even.amax(dim=1).topk(k, dim=1, sorted=False).indices
    step = width * torch.arange(GROUP, device=x.device)
    rest = torch.arange(width * GROUP, x.shape[1], device=x.device).expand(len(x), -1)
    places = torch.cat([(top[:, :, None] + step).flatten(1), rest], dim=1)
    return places.gather(1, x.gather(1, places).topk(k, dim=1).indices)


def smallest(x: Floats, k: int) -> Ints:
    """Places of the ``k`` smallest of each row, smallest first.

    They are among the smallest of the ``k`` groups of columns whose own smallest are smallest.

    Examples
    --------
    >>> smallest(np.array([[3.0, 1.0, 4.0, 1.0, 5.0]]), 3)
    array([[1, 3, 0]])
    """
    width = x.shape[1] // GROUP  # column j is in the group j % width; what is left over is apart
    places = np.arange(x.shape[1])[None].repeat(len(x), axis=0)
    if width > 2 * k:
        least = x[:, : width * GROUP].reshape(len(x), GROUP, width).min(axis=1)
        groups = np.argpartition(least, k, axis=1)[:, :k, None] + width * np.arange(GROUP)
        rest = places[:, width * GROUP :]
        places = np.sort(np.concatenate([groups.reshape(len(x), -1), rest], axis=1), axis=1)
    order = np.argsort(np.take_along_axis(x, places, axis=1), axis=1, kind="stable")[:, :k]
    return np.take_along_axis(places, order, axis=1)


def connected_parts(n: int, pairs: Iterable[tuple[int, int]]) -> Ints:
    """Number of the connected part of each of ``n`` rows, by the first row of each part.

    Examples
    --------
    >>> connected_parts(5, [(3, 0), (4, 3)])
    array([0, 1, 2, 0, 0])
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    first, second = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    graph = coo_matrix((np.ones(len(first)), (first, second)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def unit_rows(x: Floats) -> Floats:
    """Rows of unit length; zeros stay."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms > 0, norms, 1))


def _tensor(x: Any) -> Tensor:
    """The same memory as a tensor without gradients; a copy of what must not be written."""
    flags = getattr(x, "flags", None)
    return torch.as_tensor(x if flags is None or flags.writeable else x.copy()).detach()
