"""Bits that keep what is near together: reduced TF-IDF rows, each number cut at its median.

The ways to reduce are those of STCC (Xu et al., 2017): latent semantic analysis, Laplacian
eigenmaps (Belkin and Niyogi, 2003) and locality preserving indexing (He et al., 2004), the last
two on the graph of nearest rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._types import Floats
from coterie.neighbors import similarity_blocks

DENSE = 400  # rows up to which all eigenvectors are found at once
RANK = 100  # singular directions that locality preserving indexing works in


def bits_at_median(x: Floats) -> Floats:
    """One where a number is above the median of its column, zero elsewhere.

    Examples
    --------
    >>> bits_at_median(np.array([[1.0, 5.0], [2.0, 9.0], [3.0, 7.0]]))
    array([[0., 0.],
           [0., 1.],
           [1., 0.]], dtype=float32)
    """
    return (x > np.median(x, axis=0)).astype(np.float32)


def heat_graph(rows: Any, n_neighbors: int = 15, width: float = 1.0) -> Any:
    """Sparse symmetric weights ``exp(-d^2 / (2 width^2))`` between nearest rows of unit length.

    Parameters
    ----------
    rows : sparse matrix of shape (n, d)
    n_neighbors : int, default=15
        A pair is joined if either is among the nearest of the other, and has a word in common.
    width : float, default=1.0

    Returns
    -------
    csr_matrix of shape (n, n)
    """
    from scipy.sparse import coo_matrix

    n = rows.shape[0]
    k = min(n_neighbors, n - 1)
    found: list[list[Any]] = [[], [], []]
    for block, similarities in similarity_blocks(rows):
        cosines = similarities.numpy()
        own = np.arange(len(cosines))
        cosines[own, own + block.start] = -np.inf
        near = np.argpartition(-cosines, k - 1, axis=1)[:, :k] if k else own[:, None][:, :0]
        values = np.take_along_axis(cosines, near, axis=1)
        real = values > 0
        for store, part in zip(
            found, ((own + block.start)[:, None] + 0 * near, near, values), strict=True
        ):
            store.append(part[real])
    first, second, values = (np.concatenate(store) for store in found)
    weights = np.exp(-(1 - values.astype(np.float64)) / width**2)  # d^2 = 2 - 2 cos
    graph = coo_matrix((weights, (first, second)), shape=(n, n)).tocsr()
    return graph.maximum(graph.T).tocsr()


def lsa(rows: Any, dim: int, seed: int) -> Floats:
    """Rows in their ``dim`` largest singular directions, ``u * s``."""
    from scipy.sparse.linalg import svds

    n, d = rows.shape
    dim = min(dim, n, d)
    if dim >= min(n, d) or min(n, d) <= DENSE:
        u, s, _ = np.linalg.svd(rows.toarray().astype(np.float64), full_matrices=False)
        return np.asarray(u[:, :dim] * s[:dim])
    start = np.random.default_rng(seed).normal(size=min(n, d))
    u, s, _ = svds(rows.astype(np.float64), k=dim, v0=start)
    order = np.argsort(-s)
    return np.asarray(u[:, order] * s[order])


def eigenmaps(graph: Any, dim: int, seed: int) -> Floats:
    """Solutions of ``L y = lambda D y`` with the smallest lambda but the constant one.

    ``D`` are the degrees of the graph, ``L`` is ``D`` less the weights; rows without a neighbour
    are zero.
    """
    from scipy.sparse import diags
    from scipy.sparse.linalg import eigsh

    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)
    balanced = diags(root) @ graph @ diags(root)
    n = len(degrees)
    dim = min(dim, n - 1)
    if n <= max(DENSE, 2 * dim + 2):
        values, vectors = np.linalg.eigh(balanced.toarray())
    else:
        start = np.random.default_rng(seed).normal(size=n)
        values, vectors = eigsh(balanced, k=dim + 1, which="LA", v0=start)
    best = np.argsort(-values)[1 : dim + 1]
    return np.asarray(vectors[:, best] * root[:, None])


def preserving(rows: Any, graph: Any, dim: int, seed: int) -> Floats:
    """The best linear maps of the rows for :func:`eigenmaps`, on their singular directions.

    Solutions ``x a`` of ``x' W x a = mu x' D x a`` with the largest mu, where ``x`` are the rows
    in at most 100 singular directions, less their mean by degree, which takes the constant out.
    """
    from scipy.linalg import eigh

    degrees = np.asarray(graph.sum(axis=1)).ravel()
    x = lsa(rows, max(RANK, dim), seed)
    if degrees.sum() > 0:
        x = x - (degrees @ x) / degrees.sum()
    weighted = x.T @ (degrees[:, None] * x)
    ridge = 1e-9 * max(float(np.trace(weighted)), 1e-12) * np.eye(x.shape[1])
    values, vectors = eigh(x.T @ (graph @ x), weighted + ridge)
    return np.asarray(x @ vectors[:, np.argsort(-values)[:dim]])
