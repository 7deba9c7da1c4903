"""Describe clusters from texts and labels: name, words, examples, neighbours, counts over time.

:func:`describe_clusters` is the entry; it never sees a model.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Sized
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypedDict

import numpy as np

from coterie._util.types import Floats, Ints
from coterie._util.validation import check_vectors, check_whole_numbers, wrong_kind
from coterie.arrays.metrics import cluster_means
from coterie.arrays.neighbors import similarity_blocks, unit_rows
from coterie.describe.columns import count_values, sort_into_periods
from coterie.describe.names import Parts, make_names, numbered
from coterie.describe.terms import Terms, weigh
from coterie.describe.words import ClusterTerms, ClusterWords, top_words
from coterie.errors import UsageError
from coterie.texts.corpus import cell_values
from coterie.texts.words.languages import NAMES


@dataclass(frozen=True)
class Cluster:
    """One cluster as a person reads it; what is not known is left empty.

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
    diverse : list of str
        Texts that cover the cluster, each far from the others.
    borderline : list of str
        Texts with the smallest lead over another cluster.
    near : list of Neighbor
        The nearest clusters, nearest first.
    over_time : list of (str, int)
        Texts in each period; the same periods for all clusters.
    by : dict of str to list of (str, int)
        For each category column, its values and how many texts have them.
    languages : list of (str, float)
        In a corpus of several languages: those of its texts, and their shares, most frequent first.
    parent : int or None
        Cluster of the next coarser level that holds this one.
    parent_name : str or None
        Its name.
    description : str or None
        One sentence from a language model that named the cluster.
    """

    id: int
    name: str
    size: int
    share: float
    words: list[tuple[str, float]]
    examples: list[str]
    topics: list[list[str]] = field(default_factory=list)
    diverse: list[str] = field(default_factory=list)
    borderline: list[str] = field(default_factory=list)
    near: list[Neighbor] = field(default_factory=list)
    over_time: list[tuple[str, int]] = field(default_factory=list)
    by: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    languages: list[tuple[str, float]] = field(default_factory=list)
    parent: int | None = None
    parent_name: str | None = None
    description: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without optional fields that are empty."""
        always = [f.name for f in fields(self)][:6]
        return {
            key: value
            for key, value in asdict(self).items()
            if key in always or (value is not None and value != [] and value != {})
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Cluster:
        """A cluster from what :meth:`to_dict` gave, also after a way through JSON."""
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in saved.items() if key in known}
        for key in ("words", "over_time", "languages"):
            if key in values:
                values[key] = [(name, number) for name, number in values[key]]
        if "near" in values:
            names = [f.name for f in fields(Neighbor)]
            values["near"] = [Neighbor(*(near[n] for n in names)) for near in values["near"]]
        if "by" in values:
            values["by"] = {
                column: [(name, number) for name, number in counts]
                for column, counts in values["by"].items()
            }
        return cls(**values)


class DescribeOptions(TypedDict, total=False):
    """What may be said about a clustering to :func:`describe_clusters`, whatever its level."""

    probabilities: Floats | None
    dates: Sequence[Any] | None
    columns: Mapping[str, Sequence[Any]] | None
    topics: Sequence[list[list[str]]] | None
    language: str | Sequence[str] | None
    n_words: int
    n_examples: int


def describe_numbered(
    texts: Sequence[str],
    labels: Ints,
    vectors: Floats | None,
    names: Mapping[int, str | None],
    *,
    probabilities: Floats | None = None,
    **options: Any,
) -> list[Cluster]:
    """As :func:`coterie.describe_clusters`, for clusters of any numbers, some of which have names.

    Parameters
    ----------
    texts, labels, vectors, probabilities
        As for ``describe``; numbers may have gaps, and probabilities a column for each number.
    names : mapping of int to str or None
        Names to keep; clusters that are missing here, or None, are named by their words.
    **options
        Of ``describe``; ``topics`` is a mapping of numbers to topics.
    """
    ids = [int(i) for i in np.unique(labels) if i >= 0]
    compact = np.where(labels >= 0, np.searchsorted(ids, labels), -1)
    topics = options.pop("topics", None)
    if topics is not None:
        options["topics"] = [list(topics.get(i, [])) for i in ids]
    if probabilities is not None:
        options["probabilities"] = probabilities[:, ids]
    given = {i: name for i, number in enumerate(ids) if (name := names.get(number)) is not None}
    found = describe_clusters(texts, compact, vectors, names=given, **options)
    final = final_names({i: c.name for i, c in zip(ids, found, strict=True)}, names)
    return [_renumbered(c, ids, final) for c in found]


def final_names(made: Mapping[int, str], given: Mapping[int, str | None]) -> dict[int, str]:
    """Given names as they are; made names changed where they would be the same as another.

    Examples
    --------
    >>> final_names({0: "Refund", 1: "Parcel", 4: "Refund"}, {4: "Refund", 1: None})
    {0: 'Refund (2)', 1: 'Parcel', 4: 'Refund'}
    """
    out = {i: name for i in made if (name := given.get(i)) is not None}
    taken = {name.casefold() for name in out.values()}
    for i, name in made.items():
        if i in out:
            continue
        out[i] = numbered(name, taken) if name.casefold() in taken else name
        taken.add(out[i].casefold())
    return {i: out[i] for i in made}


def _renumbered(cluster: Cluster, ids: Sequence[int], names: Mapping[int, str]) -> Cluster:
    """A cluster of place ``i`` under its number ``ids[i]``, and so are its neighbours."""
    own = ids[cluster.id]
    near = [replace(n, id=ids[n.id], name=names[ids[n.id]]) for n in cluster.near]
    return replace(cluster, id=own, name=names[own], near=near)


def rename_clusters(clusters: Sequence[Cluster], names: Mapping[int, str | None]) -> list[Cluster]:
    """The same clusters with other names, also where they are named as neighbours."""
    final = {c.id: names.get(c.id) or c.name for c in clusters}
    return [
        replace(
            c,
            name=final[c.id],
            near=[replace(n, name=final.get(n.id, n.name)) for n in c.near],
        )
        for c in clusters
    ]


def names_by_number(clusters: Sequence[Cluster], width: int = 0) -> list[str | None]:
    """Names in a list where place ``i`` is cluster ``i``; None for numbers no cluster has.

    Examples
    --------
    >>> names_by_number([Cluster(2, "Late", 1, 1.0, [], [])], width=4)
    [None, None, 'Late', None]
    """
    known = {cluster.id: cluster.name for cluster in clusters}
    return [known.get(i) for i in range(max([width, *(i + 1 for i in known)]))]


SPOKEN = 0.05  # share of a cluster's texts; rarer languages are not named
MANY = 20  # members from which the farthest are held to be odd rather than typical
TYPICAL = 0.9  # share of the members, nearest to the middle, that examples are taken from


def once(rows: Ints, texts: Sequence[str], n: int) -> list[str]:
    """The first ``n`` texts of the rows, each once whatever its case and blanks."""
    chosen: dict[str, str] = {}
    for row in rows:
        if len(chosen) == n:
            break
        text = texts[row]
        chosen.setdefault(" ".join(text.casefold().split()), text)
    return list(chosen.values())


def by_distance(rows: Ints, vectors: Any) -> Ints:
    """The rows of a cluster, nearest to their mean first.

    ``vectors`` is an array or a sparse matrix with a row per text.
    """
    if not len(rows):
        return rows
    distance = _distance(vectors[rows], np.asarray(vectors[rows].mean(axis=0)).ravel())
    return rows[np.argsort(np.round(distance, 6), kind="stable")]


def spread(rows: Ints, vectors: Any, texts: Sequence[str], n: int) -> list[str]:
    """Texts that cover a cluster: each is the one farthest from all that are chosen already.

    Parameters
    ----------
    rows : ndarray of int
        Of the cluster, most central first; the first one starts. Of many members, the tenth
        farthest from the middle is left out, as those are odd rather than telling.
    vectors : ndarray or sparse matrix with a row per text
    texts : sequence of str
    n : int
    """
    if not len(rows):
        return []
    kept = rows[: max(round(TYPICAL * len(rows)), 1)] if len(rows) >= MANY else rows
    members = vectors[kept]
    chosen = [0]
    gap = np.full(len(kept), np.inf)
    while len(chosen) < min(n, len(kept)):
        gap = np.minimum(gap, np.round(_distance(members, _row(members, chosen[-1])), 6))
        far = int(gap.argmax())
        if gap[far] <= 0:  # only repeats are left
            break
        chosen.append(far)
    return once(kept[chosen], texts, n)


def close_calls(rows: Ints, cluster: int, probabilities: Floats) -> Ints:
    """The rows of a cluster, smallest lead over the runner-up first."""
    p = np.array(probabilities[rows], dtype=np.float64)
    here = p[:, cluster].copy()
    p[:, cluster] = -np.inf
    return rows[np.argsort(np.round(here - p.max(axis=1), 9), kind="stable")]


def _row(members: Any, i: int) -> Floats:
    row = members[i]
    return np.asarray(row.toarray() if hasattr(row, "toarray") else row).ravel()


def _distance(members: Any, point: Floats) -> Floats:
    """Euclidean distance of each member to a point, without a dense copy of sparse members."""
    if hasattr(members, "toarray"):
        squares = np.asarray(members.multiply(members).sum(axis=1)).ravel()
        gap = squares + point @ point - 2 * np.asarray(members @ point).ravel()
        return np.asarray(np.sqrt(np.maximum(gap, 0)), dtype=np.float64)
    return np.asarray(np.linalg.norm(members - point, axis=1), dtype=np.float64)


MUCH = 2.0  # a word is much more frequent here if its share is so many times that of there
LEAST_SHARE = 0.03  # of the texts; rarer words do not set two clusters apart
DIFFERING = 5  # words of a cluster that another lacks


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
    clusters: ClusterTerms, names: list[str], vectors: Floats | None, labels: Ints, n: int = 3
) -> list[list[Neighbor]]:
    """The ``n`` nearest clusters of each, by vectors or, without them, by words."""
    used = clusters.sizes > 0
    profile: Any = clusters.profile()
    if vectors is not None:
        placed = labels >= 0
        means, _ = cluster_means(vectors[placed], labels[placed], len(clusters))
        profile = unit_rows(means)
    out: list[list[Neighbor]] = []
    for block, found in similarity_blocks(profile):
        similarities = found.numpy()
        similarities[:, ~used] = -np.inf
        for i, row in enumerate(similarities, block.start):
            row[i] = -np.inf
            near = np.argsort(-np.round(row, 9), kind="stable")[: n if used[i] else 0].tolist()
            out.append(
                [
                    Neighbor(
                        j, names[j], round(float(row[j]), 4), *differences(clusters[i], clusters[j])
                    )
                    for j in near
                    if np.isfinite(row[j])
                ]
            )
    return out


def differences(
    here: ClusterWords, there: ClusterWords, by_chance: float = 1.0
) -> tuple[list[str], list[str]]:
    """Words much more frequent in one cluster than in another, and the reverse; five at most.

    ``by_chance`` leaves out words whose difference is as large by chance with a probability above
    it (Fisher's exact test, each word for itself).
    """
    return _more(here, there, by_chance), _more(there, here, by_chance)


def _more(here: ClusterWords, there: ClusterWords, by_chance: float) -> list[str]:
    """Words much more frequent in one cluster than in another, largest difference first."""
    stems, share = here.frequent()
    other = there.shares(stems)
    least = max(LEAST_SHARE, here.enough / here.size)
    score = (share - other) * np.log((share + 0.01) / (other + 0.01))
    good = (share >= least) & (share >= MUCH * other)
    if by_chance < 1:
        from scipy.stats import hypergeom

        sizes = len(here.rows), len(there.rows)
        counts = np.rint(share * sizes[0]), np.rint(other * sizes[1])
        both = counts[0] + counts[1]
        good &= hypergeom.sf(counts[0] - 1, sum(sizes), both, sizes[0]) <= by_chance
    found = np.flatnonzero(good)
    order = found[np.lexsort((stems[found], -np.round(score[found], 9)))]
    out: list[str] = []
    for i in order:
        if len(out) == DIFFERING:
            break
        word = here.terms.text(here.terms.single.forms[stems[i]])
        if text := here.shown(here.enough, word, out):
            out.append(text)
    return out


logger = logging.getLogger(__name__)


def text_order(texts: Sequence[str]) -> Ints:
    """The rows in the order of their texts.

    Examples
    --------
    >>> text_order(["b", "c", "a"])
    array([2, 0, 1])
    """
    return np.array(sorted(range(len(texts)), key=texts.__getitem__), dtype=np.int64)


def count_terms(texts: Sequence[str], language: str | Sequence[str] | None = "auto") -> Terms:
    """The words of texts, in the order in which :func:`describe_clusters` works."""
    return Terms([texts[i] for i in text_order(texts)], language)


def describe_clusters(  # noqa: PLR0913 - each is a fact that a caller may have or not
    texts: Sequence[str],
    labels: Sequence[int] | Ints,
    vectors: Floats | None = None,
    *,
    probabilities: Floats | None = None,
    dates: Sequence[Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    topics: Sequence[list[list[str]]] | None = None,
    parents: Sequence[int] | None = None,
    parts: tuple[Sequence[int] | Ints, Mapping[int, str]] | None = None,
    names: Mapping[int, str] | None = None,
    language: str | Sequence[str] | None = "auto",
    n_words: int = 10,
    n_examples: int = 5,
    terms: Terms | None = None,
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
    parts : tuple of sequence of int and mapping of int to str, optional
        Where the clusters hold those of a finer level: cluster of each text there, and their
        names. A cluster of several parts is then named by what many of them share, and never as
        one of them is.
    names : mapping of int to str, optional
        Names that stay as they are.
    language : str, sequence of str or None, default="auto"
        Whose stop words to leave out, such as "de" or ["en", "french"]; None for no list.
    n_words, n_examples : int
        How many of each to keep.
    terms : Terms, optional
        What ``coterie.describe.count_terms`` gave for these texts, to count words once for
        several calls; ``language`` is then that of the count.

    Returns
    -------
    list of Cluster
        In the order of their numbers.

    Examples
    --------
    >>> first, second = describe_clusters(["Lost my card", "Card lost", "No heating"], [0, 0, 1])
    >>> first.name, first.size, first.words[0][0]
    ('Card, lost', 2, 'card')
    """
    codes = check_whole_numbers("labels", labels)
    if vectors is not None:
        vectors = check_vectors("vectors", vectors)
    p = None if probabilities is None else check_vectors("probabilities", probabilities)
    per_text = {"labels": codes, "vectors": vectors, "probabilities": p, "dates": dates}
    per_text |= {"parts": parts and parts[0], "terms": None if terms is None else terms.texts}
    check_lengths(texts, {**per_text, **(columns or {})})
    k = int(codes.max(initial=-1)) + 1
    if codes.min(initial=0) < -1:
        raise UsageError(
            f"labels: {codes.min()} is not a cluster number; use -1 for texts without a cluster."
        )
    per_cluster = {"probabilities": None if p is None else p.T, "topics": topics}
    for name, values in {**per_cluster, "parents": parents}.items():
        if values is not None and len(values) < k:
            raise UsageError(f"{name}: {len(values)} given for {k} clusters; give one for each.")
    times = over_time(dates, codes, k)
    by = {str(name): count_values(_list(v), codes, k) for name, v in (columns or {}).items()}
    # Everything is worked in the order of the texts: then no result hangs on that of the rows.
    order = text_order(texts)
    texts, codes = [texts[i] for i in order], codes[order]
    vectors = None if vectors is None else vectors[order]
    p = None if p is None or p.shape[1] < 2 else p[order]
    inside = None if parts is None else Parts(np.asarray(parts[0], dtype=np.int64)[order], parts[1])
    terms = terms or Terms(texts, language)
    clusters = ClusterTerms(terms, codes, k)
    called = make_names(clusters, vectors, inside, names)
    near = find_neighbors(clusters, called, vectors, codes)
    words = terms.single.presence
    space = weigh(words, words.sum(axis=0), len(texts)) if vectors is None else vectors
    out = []
    for i, cluster in enumerate(clusters):
        rows = cluster.rows
        plain = rows[~terms.placeholder[rows]]
        central = by_distance(plain, space)
        calls = plain[:0] if p is None else close_calls(plain, i, p)
        out.append(
            Cluster(
                i,
                called[i],
                size=len(rows),
                share=round(len(rows) / clusters.n, 4),
                words=top_words(cluster, n_words),
                examples=once(central, texts, n_examples),
                topics=list(topics[i]) if topics is not None else [],
                diverse=spread(central, space, texts, n_examples),
                borderline=once(calls, texts, n_examples),
                near=near[i],
                over_time=times[i],
                by={name: counts[i] for name, counts in by.items()},
                languages=languages_of(terms, rows),
                parent=None if parents is None else int(parents[i]),
            )
        )
    return out


def languages_of(terms: Terms, rows: Ints) -> list[tuple[str, float]]:
    """Languages of the texts of a cluster, if the corpus has several."""
    told = terms.language_of[rows]
    counts = np.bincount(told[told >= 0], minlength=len(terms.languages))
    if len(terms.languages) < 2 or not counts.any():
        return []
    pairs = zip(terms.languages, (counts / counts.sum()).tolist(), strict=True)
    shares = [(NAMES[code], round(share, 4)) for code, share in pairs]
    return sorted((pair for pair in shares if pair[1] >= SPOKEN), key=lambda pair: -pair[1])


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


def check_lengths(texts: Any, given: Mapping[str, Any]) -> None:
    """Refuse what has not one value for each text."""
    for name, values in {"texts": texts, **given}.items():
        if values is None:
            continue
        if not isinstance(values, Sized):
            raise wrong_kind(name, values, "a list, with a value for each text")
        if len(values) != len(texts):
            raise UsageError(
                f"{name}: {len(values)} for {len(texts)} texts; give one for each text."
            )
