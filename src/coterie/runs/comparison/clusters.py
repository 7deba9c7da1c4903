"""Two clusters of one run side by side: words, texts, columns and periods in which they differ.

Words are ranked by the difference of their log odds, with the share in both clusters together as an
informative prior, in standard deviations (Monroe, Colaresi and Quinn, 2008); a text holds a word or
not, however often. Differences of shares have Newcombe's interval (1998, method 10), at 99%, each
for itself: a difference whose interval holds 0 could be chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from coterie._util.types import Bools, Floats, Ints
from coterie._util.validation import check_path, did_you_mean, whole_number
from coterie.describe.columns import as_text, rank_values, sort_into_periods
from coterie.describe.describe import once, text_order
from coterie.describe.tally import guess_columns
from coterie.describe.terms import Terms
from coterie.describe.tree import by_number
from coterie.describe.words import ClusterTerms
from coterie.errors import UsageError, counted
from coterie.runs.clustering import Clustering
from coterie.runs.store import read

PRIOR = 10.0  # texts that the prior of a word counts as
Z = 2.5758  # of intervals of 99%
WORDS = 10  # of each cluster
SAID = 3  # words and values that a sentence names


@dataclass(frozen=True)
class Contrast:
    """A word, a value or a period in two clusters.

    Attributes
    ----------
    value : str
    a, b : int
        Texts of each cluster that have it.
    share_a, share_b : float
        The same as shares.
    low, high : float
        Interval of the difference of the two shares.
    chance : bool
        Whether the difference could be chance: the interval holds 0.
    """

    value: str
    a: int
    b: int
    share_a: float
    share_b: float
    low: float
    high: float
    chance: bool


@dataclass(frozen=True)
class Between:
    """A text of one cluster that is nearly in the other.

    Attributes
    ----------
    text : str
    cluster : int
        The one of the two that it is in.
    margin : float
        Lead of that over the other, in probability.
    """

    text: str
    cluster: int
    margin: float


@dataclass(frozen=True)
class Compared:
    """One of two clusters.

    Attributes
    ----------
    id : int
    name : str
    size : int
    share : float
        Of all texts that have a cluster.
    words : tuple of Contrast
        Words that are more frequent in it than in the other, the clearest first.
    typical : tuple of str
        Its central texts.
    near : int
        Its texts whose second choice is the other one.
    """

    id: int
    name: str
    size: int
    share: float
    words: tuple[Contrast, ...]
    typical: tuple[str, ...]
    near: int

    def __str__(self) -> str:
        return f"{self.id} ({self.name}, {counted(self.size, 'text')})"


@dataclass(frozen=True)
class ClusterComparison:
    """How two clusters of a run differ.

    Attributes
    ----------
    a, b : Compared
    between : tuple of Between
        Texts of either whose second choice is the other, the closest calls first. A run knows them
        for the clusters that it shows, and unions of those.
    columns : dict of str to tuple of Contrast
        For each column of categories, its values, most frequent first.
    date_column : str or None
    over_time : tuple of Contrast
        Periods of that column, with shares of each cluster's texts that have a date.
    """

    a: Compared
    b: Compared
    between: tuple[Between, ...]
    columns: dict[str, tuple[Contrast, ...]]
    date_column: str | None
    over_time: tuple[Contrast, ...]

    def without_texts(self) -> ClusterComparison:
        """The same with words and counts only."""
        a, b = (replace(side, typical=()) for side in (self.a, self.b))
        return replace(self, a=a, b=b, between=())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """The result in a few plain sentences."""
        out = [f"{self.a} and {self.b}."]
        for side, other in ((self.a, self.b), (self.b, self.a)):
            words = [word for word in side.words if not word.chance]
            what = _named(words, swap=side is self.b)
            out.append(
                f"More in {side.id} than in {other.id}: {what}."
                if what
                else f"No word is clearly more frequent in {side.id} than in {other.id}."
            )
        parts = {**self.columns, **({self.date_column: self.over_time} if self.date_column else {})}
        for column, values in parts.items():
            what = _named(sorted((v for v in values if not v.chance), key=_gap))
            out.append(f"{column}: {what or 'the differences could be chance'}.")
        return out


def _gap(found: Contrast) -> float:
    return -abs(found.share_a - found.share_b)


def _named(found: Sequence[Contrast], *, swap: bool = False) -> str:
    """The first of a list, with both shares."""
    pairs = [((v.share_a, v.share_b), v.value) for v in found[:SAID]]
    shown = [(shares[::-1] if swap else shares, value) for shares, value in pairs]
    return ", ".join(f"{value} ({100 * x:.0f}% against {100 * y:.0f}%)" for (x, y), value in shown)


def compare_clusters(
    run: str | Path | Clustering, a: int | str, b: int | str, *, examples: int = 5
) -> ClusterComparison:
    """How two clusters of a run differ: words, texts, columns and periods.

    Parameters
    ----------
    run : str, Path or Clustering
        The folder of a finished run.
    a, b : int or str
        Number or name of a cluster; also of one that another cut shows.
    examples : int, default=5
        Texts of each kind to keep.

    Returns
    -------
    ClusterComparison
    """
    found = run if isinstance(run, Clustering) else read(check_path("run", run))
    numbers = [find_cluster(found, said, name) for said, name in ((a, "a"), (b, "b"))]
    rows = [found.rows_in(number) & ~found.outliers for number in numbers]
    if (rows[0] & rows[1]).any():
        both = " and ".join(map(str, numbers)) if numbers[0] != numbers[1] else numbers[0]
        raise UsageError(f"`b={b!r}`: {both} share texts; name two clusters that share none.")
    order = np.array([i for i in text_order(found.texts) if rows[0][i] or rows[1][i]], np.int64)
    sides = np.where(rows[1][order], 1, 0)
    terms = ClusterTerms(Terms([found.texts[i] for i in order]), sides, 2)
    gaps = weigh_words(*_counts(terms), *terms.sizes)
    words = _words(terms, gaps)
    second = _second(found, numbers, rows)
    total, names = max(int((found.labels >= 0).sum()), 1), found.all_names
    described = by_number(found.nodes, found.clusters)
    compared = [
        Compared(
            number,
            names.get(number, str(number)),
            size=int(here.sum()),
            share=round(int(here.sum()) / total, 4),
            words=words[side],
            typical=tuple(described[number].examples[:examples]),
            near=int((second & here).sum()),
        )
        for side, (number, here) in enumerate(zip(numbers, rows, strict=True))
    ]
    date, categories = guess_columns(found.input, found.text_column, found.id_column)
    return ClusterComparison(
        compared[0],
        compared[1],
        _between(found, numbers, rows, second, examples),
        {name: _values(found.column(name), rows) for name in categories},
        date,
        () if date is None else _periods(found.column(date), rows),
    )


def find_cluster(run: Clustering, said: int | str, name: str = "cluster") -> int:
    """The cluster that a number or a name stands for."""
    known = run.all_names
    number = whole_number(str(said).strip())
    if number in known:
        return int(number)
    called = {title.casefold(): i for i, title in {**known, **run.names}.items()}
    if (match := called.get(str(said).strip().casefold())) is not None:
        return match
    listed = ", ".join(map(str, sorted(run.names)))
    hint = did_you_mean(said, known.values())
    raise UsageError(
        f"`{name}={said!r}`: there is no such cluster; give a number ({listed}) or a name.{hint}",
        code="compare.no_cluster",
    )


def weigh_words(a: Ints, b: Ints, n_a: int, n_b: int) -> Floats:
    """Difference of the log odds of words in two clusters, in standard deviations.

    Parameters
    ----------
    a, b : ndarray of shape (words,)
        Texts of each cluster that hold the word.
    n_a, n_b : int
        Texts of each.
    """
    share = (a + b) / (n_a + n_b)
    odds, spread = [], np.zeros(len(share))
    for held, n in ((a, n_a), (b, n_b)):
        yes, no = held + PRIOR * share, n - held + PRIOR * (1 - share)
        no = np.maximum(no, 1e-9)  # a word of all texts, which speaks for neither
        odds.append(np.log(yes / no))
        spread += 1 / yes + 1 / no
    gap = np.where(share < 1, odds[0] - odds[1], 0.0)
    return gap / np.sqrt(spread)


def contrast(values: Sequence[str], a: Ints, b: Ints, n_a: int, n_b: int) -> tuple[Contrast, ...]:
    """Shares of values in two clusters, and intervals of their differences.

    Parameters
    ----------
    values : sequence of str
    a, b : ndarray of shape (values,)
        Texts of each cluster that have the value.
    n_a, n_b : int
        Texts of each.
    """
    (p, p_low, p_high), (q, q_low, q_high) = (_wilson(k, n) for k, n in ((a, n_a), (b, n_b)))
    low = p - q - np.sqrt((p - p_low) ** 2 + (q_high - q) ** 2)
    high = p - q + np.sqrt((p_high - p) ** 2 + (q - q_low) ** 2)
    chance = (low <= 0) & (high >= 0)
    columns = [np.round(column, 4).tolist() for column in (a, b, p, q, low, high)]
    return tuple(Contrast(*line) for line in zip(values, *columns, chance.tolist(), strict=True))


def _wilson(k: Ints, n: int) -> tuple[Floats, Floats, Floats]:
    """Shares, and the ends of Wilson's interval of each."""
    n, z = max(n, 1), Z
    p = k / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return p, middle - half, middle + half


def _counts(terms: ClusterTerms) -> tuple[Ints, Ints]:
    """Texts of both clusters that hold each word."""
    a, b = terms.counts[0].toarray().astype(np.int64)
    return a, b


def _words(terms: ClusterTerms, gaps: Floats) -> tuple[tuple[Contrast, ...], tuple[Contrast, ...]]:
    """Words that are more frequent in the first cluster, and in the second, the clearest first."""
    a, b = _counts(terms)
    known = a + b >= terms.terms.least
    out = []
    for side, sign in enumerate((-1, 1)):
        found = np.flatnonzero(known & (sign * gaps < 0))
        order = found[np.lexsort((found, np.round(sign * gaps[found], 9)))]
        chosen: dict[str, int] = {}
        for i in order:
            if len(chosen) == WORDS:
                break
            word = terms.terms.text(terms.terms.single.forms[i])
            if text := terms[side].shown(int((a, b)[side][i]), word, chosen):
                chosen.setdefault(text, int(i))
        places = list(chosen.values())
        out.append(contrast(list(chosen), a[places], b[places], *terms.sizes.tolist()))
    return out[0], out[1]


def _second(run: Clustering, numbers: Sequence[int], rows: Sequence[Bools]) -> Bools:
    """Which texts of either cluster have the other as their second choice."""
    second = run.table[run.own["runner_up"]].fill_null(-1).to_numpy()
    shown, cut = dict[int, set[int]](), run.tree.cut()
    for number in numbers:
        below = set(run.tree.below(number))
        shown[number] = {c for c in cut.values() if {*run.tree.below(c)} <= below}
    a, b = (np.isin(second, list(shown[number])) for number in numbers)
    return np.asarray((rows[0] & b) | (rows[1] & a))


def _between(
    run: Clustering, numbers: Sequence[int], rows: Sequence[Bools], second: Bools, n: int
) -> tuple[Between, ...]:
    """Texts that are nearly in the other cluster, the smallest leads first, each once."""
    margin = run.table[run.own["margin"]].fill_null(0).to_numpy()
    found = np.array([i for i in text_order(run.texts) if second[i]], dtype=np.int64)
    found = found[np.argsort(np.round(margin[found], 9), kind="stable")]
    first = {run.texts[i]: i for i in reversed(found.tolist())}
    return tuple(
        Between(text, numbers[int(rows[1][first[text]])], round(float(margin[first[text]]), 4))
        for text in once(found, run.texts, n)
    )


def _values(cells: Sequence[Any], rows: Sequence[Bools]) -> tuple[Contrast, ...]:
    """Values of a column in both clusters, the most frequent first."""
    pairs = Counter(
        (as_text(cells[i]), side)
        for side, here in enumerate(rows)
        for i in np.flatnonzero(here).tolist()
    )
    a, b = (dict(counts) for counts in rank_values(pairs, 2))
    values = sorted({*a, *b}, key=lambda value: (-a.get(value, 0) - b.get(value, 0), value))
    left, right = (np.array([side.get(value, 0) for value in values]) for side in (a, b))
    return contrast(values, left, right, int(rows[0].sum()), int(rows[1].sum()))


def _periods(cells: Sequence[Any], rows: Sequence[Bools]) -> tuple[Contrast, ...]:
    """Texts of both clusters in each period; the periods are those of the whole run."""
    periods = sort_into_periods(cells)
    width = len(periods.names)
    a, b = (
        np.bincount(periods.of_row[here & (periods.of_row >= 0)], minlength=width) for here in rows
    )
    return contrast(periods.names, a, b, int(a.sum()), int(b.sum()))
