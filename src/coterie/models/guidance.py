"""What a user knows about the texts before they are clustered: labels of some, and themes.

:class:`Guidance` holds it by row, as it was given. :meth:`Guidance.on_texts` carries it over to the
different texts, and rejects labels that contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from coterie._util.types import Bools, Floats, Ints
from coterie.errors import DataError, UsageError
from coterie.texts.corpus import clean_name, clean_text

FIELDS = ("name", "description", "keywords", "examples")  # of a theme
LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Guidance:
    """Labels of rows, and themes.

    Attributes
    ----------
    names : tuple of str
        The known classes; class ``c`` becomes cluster ``c``.
    labels : dict of int to int
        Class of each labelled row.
    themes : tuple of tuples of str
        Texts that tell what the first classes are about: name, description, keywords, examples.
    n : int, optional
        How many rows the labels are for; None where there are none.
    ids : sequence, optional
        What messages call the rows. Default: their numbers from 0.

    Examples
    --------
    >>> known = Guidance.make(["fruit", None, "", "car", -1])
    >>> known.names, known.labels
    (('car', 'fruit'), {0: 1, 3: 0})
    """

    names: tuple[str, ...] = ()
    labels: Mapping[int, int] = field(default_factory=dict)
    themes: tuple[tuple[str, ...], ...] = ()
    n: int | None = None
    ids: Sequence[Any] | None = None

    @classmethod
    def make(
        cls,
        y: Any = None,
        themes: Mapping[str, tuple[str, ...]] | None = None,
        ids: Sequence[Any] | None = None,
    ) -> Guidance | None:
        """The guidance that is in these arguments; None if there is none.

        Parameters
        ----------
        y : sequence, optional
            Class of each row; None, -1, NaN and empty strings are unlabelled.
        themes : mapping, optional
            As :func:`theme_texts` reads them. They are the first classes.
        ids : sequence, optional
            What messages call the rows.
        """
        names, labels, n = ((), {}, None) if y is None else read_labels(y)
        if themes is None and not labels:
            return None
        themes = themes or {}
        names, labels = join_names(tuple(themes), names, labels)
        return cls(names, labels, tuple(themes.values()), n, ids)

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
        if self.n not in (None, len(places)):
            raise DataError(
                f"{self.n} labels for {len(places)} rows; give one for each row, None where it is "
                "not known."
            )
        labels = np.full(n_texts, -1, dtype=np.int64)
        first: dict[int, int] = {}  # labelled row of each text
        for row, label in sorted(self.labels.items()):
            if (place := int(places[row])) < 0:
                raise DataError(
                    f"row {self.called(row)} has a label but no text; remove one of the two."
                )
            earlier = first.setdefault(place, row)
            if (other := self.labels[earlier]) != label:
                raise DataError(
                    f"rows {self.called(earlier)} and {self.called(row)} have the labels "
                    f"{self.names[other]!r} and {self.names[label]!r}, but they have the same "
                    "text; correct one of them."
                )
            labels[place] = label
        hints = np.full(n_texts, -1, dtype=np.int64)
        return TextGuidance(self.names, labels, hints, themes=self.themes)


@dataclass(frozen=True)
class TextGuidance:
    """Guidance about different texts: what the methods work with.

    Attributes
    ----------
    names : tuple of str
        The known classes.
    labels : ndarray of shape (n,)
        Class of each text, -1 if unlabelled.
    hints : ndarray of shape (n,)
        The theme that a text seems to fit, -1 for the others: a start, which the text may leave.
    empty : tuple of str
        Themes that no text fits; they are not among ``names``.
    themes : tuple of tuples of str
        Texts about the first classes, as long as no hints are made of them.
    """

    names: tuple[str, ...]
    labels: Ints
    hints: Ints
    empty: tuple[str, ...] = ()
    themes: tuple[tuple[str, ...], ...] = ()

    @property
    def n_classes(self) -> int:
        """How many classes are known by name."""
        return len(self.names)

    @property
    def seeds(self) -> Ints:
        """Class that each text starts in, -1 if none is known."""
        return np.where(self.labels >= 0, self.labels, self.hints)

    def part(self, kept: Bools) -> TextGuidance:
        """The same about some of the texts."""
        return replace(self, labels=self.labels[kept], hints=self.hints[kept])

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
            themes=(),
        )

    def settle(self, scores: Floats) -> Ints:
        """The class of each labelled text, and the best cluster of the others.

        Parameters
        ----------
        scores : ndarray of shape (n, k)
            Logits.
        """
        return np.where(self.labels >= 0, self.labels, scores.argmax(axis=1))


def read_labels(y: Any) -> tuple[tuple[str, ...], dict[int, int], int]:
    """Names of the classes in ``y``, the class of each labelled row, and how many rows there are.

    Examples
    --------
    >>> read_labels([3, -1, 1, float("nan")])
    (('1', '3'), {0: 1, 2: 0}, 4)
    """
    values = list(y) if isinstance(y, (list, tuple)) else np.asarray(y).tolist()
    if not isinstance(values, list):
        raise UsageError(
            "`labels` should be a list or array with one label for each row, None where it is "
            f"not known; got {y!r:.80}."
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
    return names, {row: number[str(value)] for row, value in found.items()}, len(values)


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


def theme_texts(themes: Any, where: str = "`themes`") -> dict[str, tuple[str, ...]]:
    """Names of themes, and the texts that tell what each is about.

    Parameters
    ----------
    themes : list of str or mapping
        Names, or mappings with ``name``, ``description``, ``keywords`` and ``examples``.
    where : str, default="`themes`"
        What messages call the list.

    Examples
    --------
    >>> theme_texts(["Refunds", {"name": "Delivery", "keywords": ["parcel", "late"]}])
    {'Refunds': ('Refunds',), 'Delivery': ('Delivery', 'parcel, late')}
    """
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
