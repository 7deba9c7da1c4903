"""Which clusters lie near each other, and by which words they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._types import Bools, Floats, Ints
from coterie.description.examples import means
from coterie.description.words import ClusterTerms
from coterie.neighbors import similarity_blocks

MUCH = 2.0  # a word is much more frequent here if its share is so many times that of there
LEAST_SHARE = 0.03  # of the texts; rarer words do not set two clusters apart


@dataclass(frozen=True)
class Neighbor:
    """A cluster near another one.

    Attributes
    ----------
    id : int
    name : str
    similarity : float
        Cosine of the two means.
    more, less : list of str
        Words that are much more frequent in the cluster itself than in the neighbour, and the
        reverse.
    """

    id: int
    name: str
    similarity: float
    more: list[str]
    less: list[str]


def find_neighbors(
    clusters: ClusterTerms,
    names: list[str],
    members: Sequence[Sequence[str]],
    vectors: Any,
    labels: Ints,
    n: int = 3,
) -> list[list[Neighbor]]:
    """The ``n`` nearest clusters of each, by vectors or, without them, by words.

    ``members`` are the texts of each cluster.
    """
    profile, used = _profiles(clusters, vectors, labels)
    out: list[list[Neighbor]] = []
    for block, found in similarity_blocks(profile):
        similarities = found.numpy()
        similarities[:, ~used] = -np.inf
        for i, row in enumerate(similarities, block.start):
            row[i] = -np.inf
            near = np.argsort(-np.round(row, 9), kind="stable")[: n if used[i] else 0]
            out.append([
                Neighbor(
                    int(j), names[j], round(float(row[j]), 4),
                    differing(clusters, i, int(j), members[i]),
                    differing(clusters, int(j), i, members[int(j)]),
                )
                for j in near if np.isfinite(row[j])
            ])  # fmt: skip
    return out


def differing(
    clusters: ClusterTerms, here: int, there: int, texts: Sequence[str], n: int = 5
) -> list[str]:
    """Words much more frequent in one cluster than in another, largest difference first."""
    stems, share = clusters.frequent(here)
    other = clusters.shares(there, stems)
    least = max(LEAST_SHARE, clusters.enough(here) / max(int(clusters.sizes[here]), 1))
    score = (share - other) * np.log((share + 0.01) / (other + 0.01))
    found = np.flatnonzero((share >= least) & (share >= MUCH * other))
    order = found[np.lexsort((stems[found], -np.round(score[found], 9)))]
    out: list[str] = []
    for i in order:
        if len(out) == n:
            break
        word = clusters.terms.text(clusters.single(int(stems[i])))
        if text := clusters.shown(here, clusters.enough(here), word, texts, out):
            out.append(text)
    return out


def _profiles(clusters: ClusterTerms, vectors: Any, labels: Ints) -> tuple[Any, Bools]:
    if vectors is not None:
        profile: tuple[Floats, Bools] = means(vectors, labels, clusters.n_clusters)
        return profile
    return clusters.profile(), clusters.sizes > 0
