"""Clusters that are topics: a text belongs where its largest share is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from coterie._types import Floats, Ints

SMALLEST = 1e-30  # a share of zero has a logarithm, too


@dataclass(frozen=True)
class ShareAssigner:
    """The shares themselves are the probabilities, each times the handicap of its topic."""

    kind: ClassVar[str] = "shares"
    handicap: Floats  # (k,), logarithms
    order: Ints  # topic of each cluster

    def logits(self, vectors: Floats) -> Floats:
        logits = np.log(np.maximum(vectors.astype(np.float64), SMALLEST)) + self.handicap
        return np.asarray(logits[:, self.order])

    def reordered(self, order: Ints) -> ShareAssigner:
        return replace(self, order=self.order[order])

    def arrays(self) -> dict[str, Any]:
        return {"handicap": self.handicap, "order": self.order}

    def numbers(self) -> dict[str, Any]:
        return {}


def fair_handicap(shares: Floats, rounds: int = 200) -> Floats:
    """Logarithms that make every topic the largest of at least one text, as small as can be.

    A topic that is nowhere the largest is raised until the text that lacks least, among those
    whose topic has others, is its own. All others are zero.

    Parameters
    ----------
    shares : ndarray of shape (n, k)
    rounds : int, default=200
        Most topics raised; texts with the same shares cannot be told apart, however often.

    Returns
    -------
    ndarray of shape (k,)
    """
    logits = np.log(np.maximum(shares.astype(np.float64), SMALLEST))
    k = logits.shape[1]
    handicap = np.zeros(k)
    for _ in range(rounds):
        current = logits + handicap
        labels = current.argmax(axis=1)
        sizes = np.bincount(labels, minlength=k)
        empty = np.flatnonzero(sizes == 0)
        if not len(empty):
            break
        lack = current.max(axis=1) - current[:, empty[0]]
        lack[sizes[labels] < 2] = np.inf
        if not np.isfinite(lack).any():
            break
        handicap[empty[0]] += lack.min() + 1e-6
    return handicap
