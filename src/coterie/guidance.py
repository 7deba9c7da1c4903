"""What a user knows about the texts before they are clustered: labels and constraints.

Some texts have a class, some must be together, some must not. :class:`Guidance` holds this by row,
as it was given. :meth:`Guidance.on_texts` carries it over to the different texts, joins what must
be together into groups, and rejects contradictions with the rows that contradict.
"""

from __future__ import annotations

import numbers
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from coterie._types import Bools, Floats, Ints
from coterie.corpus.corpus import clean_name, clean_text
from coterie.errors import DataError, UsageError
from coterie.metrics import cluster_means
from coterie.neighbors import connected_parts

LISTED = 6  # rows of a chain that a message names
FIELDS = ("name", "description", "keywords", "examples")  # of a theme
LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Guidance:
    """Labels and constraints of rows.

    Attributes
    ----------
    n : int
        Number of rows.
    names : tuple of str
        The known classes; class ``c`` becomes cluster ``c``.
    labels : dict of int to int
        Class of each labelled row.
    together : tuple of tuples of int
        Groups of rows that must be in one cluster.
    apart : tuple of (int, int)
        Pairs of rows that must not be.
    ids : sequence, optional
        What messages call the rows. Default: their numbers from 0.
    themes : tuple of tuples of str
        Texts that tell what the first classes are about: name, description, keywords, examples.

    Examples
    --------
    >>> known = Guidance.make(5, ["fruit", None, "", "car", -1], must_link=[(1, 4)])
    >>> known.names, known.labels, known.together
    (('car', 'fruit'), {0: 1, 3: 0}, ((1, 4),))
    """

    n: int
    names: tuple[str, ...] = ()
    labels: Mapping[int, int] = field(default_factory=dict)
    together: tuple[tuple[int, ...], ...] = ()
    apart: tuple[tuple[int, int], ...] = ()
    ids: Sequence[Any] | None = None
    themes: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def make(
        cls,
        n: int,
        y: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        *,
        themes: Any = None,
        ids: Sequence[Any] | None = None,
    ) -> Guidance | None:
        """The guidance that is in these arguments of ``fit``; None if there is none.

        Parameters
        ----------
        n : int
            Number of rows.
        y : sequence, optional
            Class of each row; None, -1, NaN and empty strings are unlabelled.
        must_link, cannot_link : iterable of sequences of int, optional
            Pairs or larger groups of row numbers.
        themes : list of str or mapping, optional
            Names of themes, or mappings that :func:`theme_texts` reads. They are the first classes.
        ids : sequence, optional
            What messages call the rows.
        """
        names, labels = ((), {}) if y is None else read_labels(y, n)
        together = tuple(_read_rows(must_link, n, "must_link"))
        groups = _read_rows(cannot_link, n, "cannot_link")
        apart = tuple(pair for group in groups for pair in combinations(group, 2))
        if themes is None and not labels and not together and not apart:
            return None
        made = cls(n, names, labels, together, apart, ids)
        return made if themes is None else made.with_themes(theme_texts(themes))

    def with_themes(self, themes: Mapping[str, tuple[str, ...]]) -> Guidance:
        """The same with themes as the first classes: their names, and texts about each."""
        names, labels = join_names(tuple(themes), self.names, self.labels)
        return replace(self, names=names, labels=labels, themes=tuple(themes.values()))

    def called(self, row: int) -> str:
        """What a message calls a row."""
        return str(row if self.ids is None else self.ids[row])

    def on_texts(self, places: Ints, n_texts: int) -> TextGuidance:
        """The same about different texts; contradictions are rejected.

        Parameters
        ----------
        places : ndarray of shape (n,)
            Number of each row's text among the different ones; -1 for rows without a text.
        n_texts : int
            How many different texts there are.
        """
        self._refuse_empty(places)
        edges = _same_text(places, self._named())
        edges += [pair for group in self.together for pair in pairwise(group)]
        groups = connected_parts(n_texts, [(places[a], places[b]) for a, b in edges])
        by_group: dict[int, tuple[int, int]] = {}  # class and the row that has it
        for row, label in sorted(self.labels.items()):
            first, earlier = by_group.setdefault(int(groups[places[row]]), (label, row))
            if first != label:
                raise DataError(
                    f"rows {self.called(earlier)} and {self.called(row)} have the labels "
                    f"{self.names[first]!r} and {self.names[label]!r}, but "
                    f"{self._chain(earlier, row, edges, places)}; correct one of them."
                )
        for a, b in self.apart:
            one, two = int(groups[places[a]]), int(groups[places[b]])
            if one == two:
                raise DataError(
                    f"rows {self.called(a)} and {self.called(b)} must not be together "
                    f"(`cannot_link`), but {self._chain(a, b, edges, places)}; drop one of the "
                    "constraints."
                )
            if one in by_group and two in by_group and by_group[one][0] == by_group[two][0]:
                raise DataError(
                    f"rows {self.called(a)} and {self.called(b)} must not be together "
                    f"(`cannot_link`), but both have the label {self.names[by_group[one][0]]!r}; "
                    "drop one of the two."
                )
        labels = np.full(n_texts, -1, dtype=np.int64)
        for group, (label, _) in by_group.items():
            labels[groups == group] = label
        pairs = {
            tuple(sorted((int(groups[places[a]]), int(groups[places[b]])))) for a, b in self.apart
        }
        apart = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
        return TextGuidance(self.names, labels, groups, apart, np.full(n_texts, -1, dtype=np.int64))

    def _named(self) -> set[int]:
        """Rows that the guidance is about."""
        rows = set(self.labels)
        rows.update(row for group in self.together for row in group)
        rows.update(row for pair in self.apart for row in pair)
        return rows

    def _refuse_empty(self, places: Ints) -> None:
        for row in sorted(self._named()):
            if places[row] < 0:
                what = "label" if row in self.labels else "constraint"
                raise DataError(
                    f"row {self.called(row)} has a {what} but no text; remove one of the two."
                )

    def _chain(self, a: int, b: int, edges: list[tuple[int, int]], places: Ints) -> str:
        """Why two rows are in one group: the same text, or the rows that link them."""
        if places[a] == places[b]:
            return "they have the same text"
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import breadth_first_order

        first, second = np.array(edges).T
        graph = coo_matrix((np.ones(len(first)), (first, second)), shape=(self.n, self.n))
        before = breadth_first_order(graph, a, directed=False)[1]
        path = [b]
        while path[-1] != a:
            path.append(int(before[path[-1]]))
        shown = [self.called(row) for row in reversed(path)]
        if len(shown) > LISTED:
            shown = [*shown[: LISTED - 1], "...", shown[-1]]
        return f"must_link joins them: {' - '.join(shown)}"


@dataclass(frozen=True)
class TextGuidance:
    """Guidance about different texts: what the methods work with.

    Attributes
    ----------
    names : tuple of str
        The known classes.
    labels : ndarray of shape (n,)
        Class of each text, -1 if unlabelled; texts of one group have the same.
    groups : ndarray of shape (n,)
        Texts with the same number must be in one cluster.
    apart : ndarray of shape (pairs, 2)
        Groups that must not be.
    hints : ndarray of shape (n,)
        The theme that a text seems to fit, -1 for the others; a start, and no constraint.
    empty : tuple of str
        Themes that no text fits; they are not among ``names``.
    """

    names: tuple[str, ...]
    labels: Ints
    groups: Ints
    apart: Ints
    hints: Ints
    empty: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        """How many classes are known by name."""
        return len(self.names)

    def part(self, kept: Bools) -> TextGuidance:
        """The same about some of the texts."""
        return replace(
            self, labels=self.labels[kept], groups=self.groups[kept], hints=self.hints[kept]
        )

    def with_hints(self, hints: Ints) -> TextGuidance:
        """The same with texts that seem to fit the themes; themes without any text are left out."""
        used = np.union1d(hints[hints >= 0], self.labels[self.labels >= 0])
        place = np.full(len(self.names) + 1, -1, dtype=np.int64)  # the last is for no class
        place[used] = np.arange(len(used))
        free = self.labels < 0
        return replace(
            self,
            names=tuple(self.names[i] for i in used),
            labels=place[self.labels],
            hints=np.where(free, place[hints], -1),
            empty=tuple(name for i, name in enumerate(self.names) if i not in used),
        )

    def pooled(self, x: Floats, weights: Floats) -> Floats:
        """The vectors with the mean of its group in the place of each."""
        numbers, places, counts = np.unique(self.groups, return_inverse=True, return_counts=True)
        if len(numbers) == len(x):
            return x
        means, _ = cluster_means(x, places, weights=weights)
        return np.where(counts[places, None] > 1, means[places], x).astype(x.dtype)

    def seeds(self, n_clusters: int) -> Ints:
        """Class of each text, and further classes of groups that must not be together.

        A group of several texts that has to be apart from all known classes and from the larger
        groups of this kind starts a cluster of its own, up to ``n_clusters``.
        """
        seeds = np.where(self.labels >= 0, self.labels, self.hints)
        if not len(self.apart) or self.n_classes >= n_clusters:
            return seeds
        numbers, counts = np.unique(self.groups, return_counts=True)
        sizes = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
        enemies = _both_ways(self.apart)
        classes = self._group_labels()
        candidates = sorted(
            (group for group in enemies if sizes.get(group, 0) > 1 and group not in classes),
            key=lambda group: (-sizes[group], group),
        )
        chosen: list[int] = []
        for group in candidates:
            if self.n_classes + len(chosen) == n_clusters:
                break
            met = {classes[other] for other in enemies[group] if other in classes}
            if len(met) == self.n_classes and enemies[group].issuperset(chosen):
                seeds[self.groups == group] = self.n_classes + len(chosen)
                chosen.append(group)
        return seeds

    def settle(self, scores: Floats, weights: Floats) -> Ints:
        """The best cluster of each text that keeps all labels and constraints.

        Groups with the fewest clusters left are placed first if there is only one, else the
        heaviest; each goes to the cluster of its highest mean score that is still allowed.

        Parameters
        ----------
        scores : ndarray of shape (n, k)
            Logits.
        weights : ndarray of shape (n,)
            How often each text counts.
        """
        numbers, places = np.unique(self.groups, return_inverse=True)
        mean, total = cluster_means(scores, places, weights=np.maximum(weights, 1e-9))
        labels = np.full(len(numbers), -1, dtype=np.int64)
        labelled = self.labels >= 0
        labels[places[labelled]] = self.labels[labelled]
        fixed = labels >= 0
        best = np.where(fixed, labels, mean.argmax(axis=1))
        present = np.isin(self.apart, numbers).all(axis=1)
        pairs = np.searchsorted(numbers, self.apart[present])
        if len(pairs):
            best = _keep_apart(best, fixed, pairs, mean, total)
        return np.asarray(best[places], dtype=np.int64)

    def _group_labels(self) -> dict[int, int]:
        rows = np.flatnonzero(self.labels >= 0)
        return dict(zip(self.groups[rows].tolist(), self.labels[rows].tolist(), strict=True))


def read_labels(y: Any, n: int) -> tuple[tuple[str, ...], dict[int, int]]:
    """Names of the classes in ``y``, and the class of each labelled row.

    Examples
    --------
    >>> read_labels([3, -1, 1, float("nan")], 4)
    (('1', '3'), {0: 1, 2: 0})
    """
    values = list(y) if isinstance(y, (list, tuple)) else np.asarray(y).tolist()
    if not isinstance(values, list):
        raise UsageError(
            "`labels` should be a list or array with one label for each row, None where it is "
            f"not known; got {y!r:.80}."
        )
    if len(values) != n:
        raise DataError(
            f"{len(values)} labels for {n} rows; give one for each row, None where it is not known."
        )
    found: dict[int, Any] = {}
    for row, value in enumerate(values):
        if is_unlabelled(value):
            continue
        if isinstance(value, str):
            found[row] = value.strip()
        elif isinstance(value, (int, np.integer)) or (
            isinstance(value, (float, np.floating)) and float(value).is_integer()
        ):
            found[row] = int(value)
        else:
            raise DataError(
                f"row {row}: {value!r:.80} is not a label. Labels are strings or whole numbers; "
                "None, -1, NaN or an empty string mark texts without one."
            )
    kinds = sorted(set(found.values()), key=lambda v: (isinstance(v, str), v))
    names = tuple(dict.fromkeys(map(str, kinds)))  # 1 and "1" are the same class
    number = {name: i for i, name in enumerate(names)}
    return names, {row: number[str(value)] for row, value in found.items()}


def is_unlabelled(value: object) -> bool:
    """Whether a value of ``y`` stands for no label.

    Examples
    --------
    >>> [is_unlabelled(v) for v in (None, -1, "-1", float("nan"), " ", 0, "no")]
    [True, True, True, True, True, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value.strip() in ("", "-1")  # an array of names and -1 has strings only
    return bool(value != value or value == -1)


def as_groups(given: object, name: str) -> list[Any]:
    """Groups of rows as a list; reject what is none."""
    found = given.tolist() if hasattr(given, "tolist") else given
    if found is None:
        return []
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise UsageError(
            f"`{name}` should be a list of pairs or groups of row numbers, such as [(0, "
            f"4)]; got {given!r:.80}."
        )
    return list(found)


def theme_texts(themes: Any, where: str | None = None) -> dict[str, tuple[str, ...]]:
    """Names of themes, and the texts that tell what each is about.

    Parameters
    ----------
    themes : list of str or mapping
        Names, or mappings with ``name``, ``description``, ``keywords`` and ``examples``.
    where : str, optional
        What messages call the list. Default: the argument.

    Examples
    --------
    >>> theme_texts(["Refunds", {"name": "Delivery", "keywords": ["parcel", "late"]}])
    {'Refunds': ('Refunds',), 'Delivery': ('Delivery', 'parcel, late')}
    """
    where = "`themes`" if where is None else where
    if isinstance(themes, (str, bytes, Mapping)) or not isinstance(themes, Sequence):
        raise UsageError(
            f"{where} should be a file, or a list of names or mappings; got {themes!r:.80}."
        )
    out: dict[str, tuple[str, ...]] = {}
    for number, entry in enumerate(themes, 1):
        place = f"{where}, theme {number}"
        name, texts = _theme(entry, place)
        if name.casefold() in {other.casefold() for other in out}:
            raise DataError(f"{place}: the theme {name!r} occurs twice; remove one.")
        out[name] = texts
    if not out:
        raise DataError(f"{where}: there are no themes in it; write e.g. '- Refunds'.")
    return out


def _theme(entry: object, place: str) -> tuple[str, tuple[str, ...]]:
    given = entry if isinstance(entry, Mapping) else {"name": entry}
    for key in given:
        if key not in FIELDS:
            raise DataError(f"{place}: a theme has no {key!r}; it takes {', '.join(FIELDS)}.")
    name = given.get("name")
    cleaned = clean_name(name) if isinstance(name, str) else ""
    if not cleaned or len(cleaned) > LONGEST:
        raise DataError(
            f"{place}: a theme needs a name of 1 to {LONGEST} characters that can be seen, such "
            "as 'name: Refunds'."
        )
    name = cleaned
    description = _texts(given.get("description"), place, "description")
    keywords = _texts(given.get("keywords"), place, "keywords")
    examples = _texts(given.get("examples"), place, "examples")
    texts = [name, *(f"{name}: {text}" for text in description)]
    if keywords:
        texts.append(", ".join(keywords))
    return name, (*texts, *examples)


def _texts(value: Any, place: str, key: str) -> list[str]:
    if value is None:
        return []
    values = [value] if isinstance(value, str) else value
    listed = isinstance(values, Sequence) and key != "description"
    if not isinstance(value, str) and (not listed or not all(isinstance(v, str) for v in values)):
        raise DataError(
            f"{place}: {key} should be a text, or (keywords, examples) a list of texts."
        )
    return [clean_text(text) for text in values if clean_text(text)]


def join_names(
    themes: tuple[str, ...], found: tuple[str, ...], labels: Mapping[int, int]
) -> tuple[tuple[str, ...], dict[int, int]]:
    """Themes first; a label that is the name of a theme is that theme."""
    place = {name.casefold(): i for i, name in enumerate(themes)}
    names = list(themes)
    where = []
    for name in found:
        if name.casefold() not in place:
            place[name.casefold()] = len(names)
            names.append(name)
        where.append(place[name.casefold()])
    return tuple(names), {row: where[label] for row, label in labels.items()}


def _read_rows(given: object, n: int, name: str) -> list[tuple[int, ...]]:
    """Groups of row numbers, checked."""
    out = []
    for group in as_groups(given, name):
        rows = as_groups(group, name)
        for row in rows:
            whole = isinstance(row, numbers.Integral) and not isinstance(row, bool)
            if not whole or not 0 <= row < n:
                raise UsageError(
                    f"`{name}`: there is no row {row!r:.80}; rows are numbered from 0 to {n - 1}."
                )
        if len(set(rows)) < 2 or len(set(rows)) < len(rows):
            raise UsageError(
                f"`{name}`: a group should have two or more different rows, got {rows!r:.80}."
            )
        out.append(tuple(int(row) for row in rows))
    return out


def _same_text(places: Ints, rows: set[int]) -> list[tuple[int, int]]:
    """Pairs of these rows that have the same text."""
    first: dict[int, int] = {}
    return [
        (first[place], row)
        for row in sorted(rows)
        if first.setdefault(place := int(places[row]), row) != row
    ]


def _both_ways(pairs: Ints) -> dict[int, set[int]]:
    """All partners of each number."""
    near: dict[int, set[int]] = {}
    for a, b in pairs.tolist():
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    return near


def _keep_apart(best: Ints, fixed: Bools, pairs: Ints, scores: Floats, weights: Floats) -> Ints:
    """The labels with no pair in one cluster: others move to the best cluster that is free."""
    near = _both_ways(pairs)
    k = scores.shape[1]
    free = {group: np.ones(k, dtype=bool) for group in near if not fixed[group]}
    out, urgent = best.copy(), deque[int]()

    def place(group: int, label: int) -> None:
        out[group] = label
        for other in near[group]:
            if other in free:
                free[other][label] = False
                if free[other].sum() <= 1:
                    urgent.append(other)

    for group in near:
        if fixed[group]:
            place(group, int(best[group]))
    waiting = deque(sorted(free, key=lambda group: (-weights[group], group)))
    while urgent or waiting:
        group = urgent.popleft() if urgent else waiting.popleft()
        if group not in free:
            continue
        allowed = free.pop(group)
        if not allowed.any():
            raise DataError(
                f"the `cannot_link` pairs could not all be kept apart in {k} clusters; ask for "
                "more clusters."
            )
        place(group, int(np.where(allowed, scores[group], -np.inf).argmax()))
    return out
