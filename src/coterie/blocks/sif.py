"""Smooth inverse frequency: a text as the weighted mean of its word vectors.

Arora et al. (2017), "A Simple but Tough-to-Beat Baseline for Sentence Embeddings": a word of
probability ``p(w)`` counts ``a / (a + p(w))`` times, and what all texts share, the direction of
the first singular vector, is taken out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie._types import Floats


def word_weights(counts: Floats, a: float) -> Floats:
    """Weight ``a / (a + p(w))`` of each word.

    Parameters
    ----------
    counts : ndarray of shape (v,)
        How often each word occurs in all texts.
    a : float
        Small values make frequent words count less.

    Returns
    -------
    ndarray of shape (v,)
        Between 0 and 1; one for a word that never occurs.

    Examples
    --------
    >>> word_weights(np.array([1.0, 3.0]), a=0.25)
    array([0.5 , 0.25])
    """
    share = counts / max(float(counts.sum()), 1.0)
    return np.asarray(a / (a + share))


def weighted_means(bags: Any, vectors: Floats, weights: Floats) -> Floats:
    """Mean of the weighted vectors of the words of each text.

    Parameters
    ----------
    bags : csr_matrix of shape (n, v)
        Word counts.
    vectors : ndarray of shape (v, d)
    weights : ndarray of shape (v,)

    Returns
    -------
    ndarray of shape (n, d)
        Divided by the number of words, not by the sum of their weights; zero without any word.
    """
    sums = bags @ (weights[:, None] * vectors)  # (n, d)
    words = np.asarray(bags.sum(axis=1)).ravel()
    return np.asarray(sums / np.maximum(words, 1)[:, None], dtype=np.float32)


def common_direction(rows: Floats) -> Floats:
    """First right singular vector of the rows as they are, not centred; of unit length, or zero.

    Parameters
    ----------
    rows : ndarray of shape (n, d)

    Returns
    -------
    ndarray of shape (d,)
        Its sign is arbitrary, and does not matter for :func:`without_direction`.
    """
    gram = rows.astype(np.float64).T @ rows.astype(np.float64)  # (d, d): n may be large
    if not gram.any():
        return np.zeros(rows.shape[1], dtype=np.float32)
    return np.asarray(np.linalg.eigh(gram)[1][:, -1], dtype=np.float32)


def without_direction(rows: Floats, direction: Floats) -> Floats:
    """The rows less their projection on a unit vector, ``x - u u' x``."""
    return np.asarray(rows - np.outer(rows @ direction, direction), dtype=np.float32)
