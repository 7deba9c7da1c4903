"""A described cluster, and how to get there from texts, labels and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from coterie._errors import UsageError
from coterie._types import Floats, Ints
from coterie.description.words import cluster_words, stem, terms


@dataclass(frozen=True)
class Cluster:
    """One cluster as a person reads it.

    Attributes
    ----------
    id : int
    name : str
        Unique among the clusters, made of its most telling words.
    size : int
    share : float
        Of all texts that have a cluster.
    words : list of (str, float)
        Most telling words and pairs with their weights.
    examples : list of str
        The most central texts, each once.
    topics : list of list of str
        Most probable words of each of its topics, from methods that find topics in clusters.
    """

    id: int
    name: str
    size: int
    share: float
    words: list[tuple[str, float]]
    examples: list[str]
    topics: list[list[str]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; without topics where there are none."""
        return {key: value for key, value in asdict(self).items() if key != "topics" or value}


def describe(
    texts: Sequence[str],
    labels: Sequence[int] | Ints,
    vectors: Floats | None = None,
    *,
    n_words: int = 10,
    n_examples: int = 5,
    topics: Sequence[list[list[str]]] | None = None,
) -> list[Cluster]:
    """Describe every cluster by name, words and examples; the same input gives the same names.

    Parameters
    ----------
    texts : sequence of str
    labels : sequence of int
        Clusters from 0; -1 marks texts without one.
    vectors : ndarray of shape (n, d), optional
        Central examples are those nearest to the mean of their cluster; without vectors, those
        that hold most of the cluster's words.
    n_words, n_examples : int
        How many of each to keep.
    topics : sequence of list of list of str, optional
        Words of the topics of each cluster, as the attribute ``topics_`` of some methods.

    Returns
    -------
    list of Cluster
        In the order of their numbers.
    """
    codes = np.asarray(labels, dtype=np.int64)
    if len(codes) != len(texts):
        raise UsageError(f"{len(texts)} texts but {len(codes)} labels.")
    k = int(codes.max()) + 1 if len(codes) else 0
    words = cluster_words(texts, codes, k, n_words)
    names = make_names(words)
    placed = max(int((codes >= 0).sum()), 1)
    out = []
    for i in range(k):
        rows = np.flatnonzero(codes == i)
        central = _central(rows, texts, words[i], vectors)
        chosen = list(dict.fromkeys(texts[row] for row in central))[:n_examples]
        share = round(len(rows) / placed, 4)
        inside = topics[i] if topics is not None else []
        out.append(Cluster(i, names[i], len(rows), share, words[i], chosen, inside))
    return out


def make_names(words: Sequence[Sequence[tuple[str, float]]]) -> list[str]:
    """A name of three terms per cluster, longer or numbered where two would be alike.

    Examples
    --------
    >>> make_names([[("refund", 1.0), ("money", 0.5)], [("refund", 0.9), ("money", 0.4)], []])
    ['Refund, money', 'Refund, money (2)', 'Cluster 2']
    """
    names: list[str] = []
    for i, ranked in enumerate(words):
        found = [term for term, _ in ranked]
        name = ""
        for length in range(min(3, len(found)), len(found) + 1):
            name = ", ".join(found[:length])
            name = name[:1].upper() + name[1:]
            if name not in names:
                break
        name = name or f"Cluster {i}"
        number, unique = 2, name
        while unique in names:
            unique, number = f"{name} ({number})", number + 1
        names.append(unique)
    return names


def _central(
    rows: Ints, texts: Sequence[str], words: Sequence[tuple[str, float]], vectors: Floats | None
) -> Ints:
    """The rows of a cluster, most central first."""
    if vectors is not None:
        members = vectors[rows]
        distance = np.linalg.norm(members - members.mean(axis=0), axis=1)
        return rows[np.argsort(distance, kind="stable")]
    weight = {stem(term): value for term, value in words}
    score = [sum(weight.get(stem(term), 0.0) for term in terms(texts[row])) for row in rows]
    return rows[np.argsort(-np.asarray(score), kind="stable")]
