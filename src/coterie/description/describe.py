"""From texts and labels to described clusters."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coterie._errors import UsageError
from coterie._types import Floats, Ints
from coterie.corpus.columns import cell_values
from coterie.description.cluster import Cluster
from coterie.description.columns import count_values
from coterie.description.dates import sort_into_periods
from coterie.description.examples import by_distance, close_calls, once, spread
from coterie.description.names import make_names
from coterie.description.neighbors import find_neighbors
from coterie.description.terms import Terms, weigh
from coterie.description.words import ClusterTerms, top_words

logger = logging.getLogger(__name__)


def describe(  # noqa: PLR0913 - each is a fact that a caller may have or not
    texts: Sequence[str],
    labels: Sequence[int] | Ints,
    vectors: Floats | None = None,
    *,
    probabilities: Floats | None = None,
    dates: Sequence[Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    topics: Sequence[list[list[str]]] | None = None,
    parents: Sequence[int] | None = None,
    language: str | Sequence[str] | None = "auto",
    n_words: int = 10,
    n_examples: int = 5,
) -> list[Cluster]:
    """Describe every cluster by name, words, examples, neighbours and what else is known.

    The result depends on the texts and their clusters, not on the order of the rows.

    Parameters
    ----------
    texts : sequence of str
    labels : sequence of int
        Clusters from 0; -1 marks texts without one.
    vectors : ndarray of shape (n, d), optional
        Central examples are those nearest to the mean of their cluster, and near clusters those
        of the most similar means; without vectors, both are told by the words.
    probabilities : ndarray of shape (n, k), optional
        Of each text for each cluster; gives the borderline examples.
    dates : sequence, optional
        Date of each text, in any usual form; gives the counts over time. What cannot be read is
        left out; :func:`sort_into_periods` says how many those are.
    columns : mapping of str to sequence, optional
        Categories of each text, by the name of the column.
    topics : sequence of list of list of str, optional
        Words of the topics of each cluster, as the attribute ``topics_`` of some methods.
    parents : sequence of int, optional
        For each cluster, its cluster of the next coarser level.
    language : str, sequence of str or None, default="auto"
        Whose stop words to leave out, such as "de" or ["en", "french"]; None for no list.
    n_words, n_examples : int
        How many of each to keep.

    Returns
    -------
    list of Cluster
        In the order of their numbers.

    Examples
    --------
    >>> first, second = describe(["Lost my card", "Card lost", "No heating"], [0, 0, 1])
    >>> first.name, first.size, first.words[0][0]
    ('Card, Lost', 2, 'card')
    """
    codes = np.asarray(labels, dtype=np.int64)
    p = None if probabilities is None else np.asarray(probabilities)
    k = _check(texts, codes, p, [("vectors", vectors), ("dates", dates), *(columns or {}).items()])
    for name, values in (("topics", topics), ("parents", parents)):
        if values is not None and len(values) < k:
            raise UsageError("describe.one_per_cluster", name=name, given=len(values), clusters=k)
    # Everything is worked in the order of the texts: then no result hangs on that of the rows.
    order = np.array(sorted(range(len(texts)), key=texts.__getitem__), dtype=np.int64)
    work = _Work([texts[i] for i in order], codes[order], k, language)
    work.vectors = None if vectors is None else np.asarray(vectors)[order]
    shown = work.describe(n_words, n_examples, None if p is None else p[order])
    times = over_time(dates, codes, k)
    by = {str(name): count_values(_list(v), codes, k) for name, v in (columns or {}).items()}
    return [
        Cluster(
            i,
            **shown[i],
            topics=list(topics[i]) if topics is not None else [],
            over_time=times[i],
            by={name: counts[i] for name, counts in by.items()},
            parent=None if parents is None else int(parents[i]),
        )
        for i in range(k)
    ]


class _Work:
    """Sorted texts with their clusters and terms."""

    vectors: Floats | None = None

    def __init__(
        self, texts: list[str], labels: Ints, k: int, language: str | Sequence[str] | None
    ) -> None:
        self.texts, self.labels, self.k = texts, labels, k
        by_label = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[by_label], np.arange(k + 1))
        self.rows = [by_label[starts[i] : starts[i + 1]] for i in range(k)]
        self.members = [[texts[row] for row in rows] for rows in self.rows]
        self.terms = Terms(texts, language)
        self.clusters = ClusterTerms(self.terms, labels, k)

    def describe(
        self, n_words: int, n_examples: int, probabilities: Floats | None
    ) -> list[dict[str, Any]]:
        """The fields that come from texts, vectors and probabilities."""
        names = make_names(self.clusters, self.members)
        near = find_neighbors(self.clusters, names, self.members, self.vectors, self.labels)
        space: Any = self.vectors if self.vectors is not None else self._word_space()
        placed = max(int((self.labels >= 0).sum()), 1)
        out = []
        for i, rows in enumerate(self.rows):
            central = by_distance(rows, space) if len(rows) else rows
            calls = rows[:0]
            if probabilities is not None and probabilities.shape[1] > 1 and len(rows):
                calls = close_calls(rows, self.labels, probabilities)
            out.append({
                "name": names[i],
                "size": len(rows),
                "share": round(len(rows) / placed, 4),
                "words": top_words(self.clusters, i, self.members[i], n_words),
                "examples": once(central, self.texts, n_examples),
                "diverse": spread(central, space, self.texts, n_examples) if len(rows) else [],
                "borderline": once(calls, self.texts, n_examples),
                "near": near[i],
            })  # fmt: skip
        return out

    def _word_space(self) -> Any:
        """One sparse row of unit length per text, rare words counting more."""
        presence = self.terms.single.presence
        return weigh(presence, presence.sum(axis=0), len(self.texts))


def over_time(dates: Any, labels: Ints, k: int) -> list[list[tuple[str, int]]]:
    """Texts of each cluster in each period; nothing without dates."""
    if dates is None:
        return [[] for _ in range(k)]
    periods = sort_into_periods(_list(dates))
    if periods.unread:
        logger.info("%d dates could not be read; they are left out.", periods.unread)
    width = len(periods.names)
    use = (labels >= 0) & (periods.of_row >= 0)
    flat = labels[use] * width + periods.of_row[use]
    counts = np.bincount(flat, minlength=k * width).reshape(k, width)
    return [[(n, int(c)) for n, c in zip(periods.names, row, strict=True)] for row in counts]


def _list(values: Any) -> list[Any]:
    """Values of a list, an array, an Arrow column or a column of a data frame."""
    if hasattr(values, "to_pylist"):
        return cell_values(values)
    return list(values)


def _check(
    texts: Sequence[str],
    labels: Ints,
    probabilities: Floats | None,
    others: Sequence[tuple[str, Any]],
) -> int:
    """Refuse what does not fit together; returns the number of clusters."""
    n = len(texts)
    if len(labels) != n:
        raise UsageError("describe.labels_per_text", texts=n, labels=len(labels))
    if n and labels.min() < -1:
        raise UsageError("describe.bad_label", label=labels.min())
    for name, values in [("probabilities", probabilities), *others]:
        if values is not None and len(values) != n:
            raise UsageError("describe.one_per_text", name=name, rows=len(values), texts=n)
    k = int(labels.max()) + 1 if n else 0
    if probabilities is not None and probabilities.shape[1] < k:
        raise UsageError("describe.probability_columns", columns=probabilities.shape[1], clusters=k)
    return k
