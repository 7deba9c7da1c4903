"""Texts as words: all words of many texts in one list, and facts that are found once per word.

A word is what stands between blanks; punctuation at its ends is kept apart when it is changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from coterie._types import Ints
from coterie.augmentation.draws import Keys, positions

EDGES = re.compile(r"^([\W_]*)(.*?)([\W_]*)$", re.DOTALL)


@dataclass(frozen=True)
class Words:
    """The words of some texts, one after the other.

    Attributes
    ----------
    words : list of str
    rows, places : ndarray of int
        Text of each word, and its position there.
    counts : ndarray of int
        Words of each text.
    """

    words: list[str]
    rows: Ints
    places: Ints
    counts: Ints

    @classmethod
    def of(cls, texts: Sequence[str]) -> Words:
        """Cut texts at their blanks."""
        lists = [text.split() for text in texts]
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        rows = np.repeat(np.arange(len(lists)), counts)
        return cls(list(chain.from_iterable(lists)), rows, positions(rows), counts)

    def keys(self, keys: Keys) -> Keys:
        """The key of each word's text."""
        spread: Keys = keys[self.rows]
        return spread


def split_edges(word: str) -> tuple[str, str, str]:
    """Punctuation before, the word itself, punctuation behind.

    Examples
    --------
    >>> split_edges("(don't)?"), split_edges("...")
    (('(', "don't", ')?'), ('...', '', ''))
    """
    before, core, behind = EDGES.match(word).groups()  # type: ignore[union-attr]
    return before, core, behind


def like(word: str, model: str) -> str:
    """``word`` in the case of ``model``: capitals, a first capital, or as it is.

    Examples
    --------
    >>> like("parcel", "BOX"), like("big parcel", "Box"), like("parcel", "box")
    ('PARCEL', 'Big parcel', 'parcel')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def join(pool: Sequence[str], picks: Ints, counts: Ints) -> list[str]:
    """Texts of the words ``pool[picks]``, ``counts`` of them each."""
    words = [pool[i] for i in picks.tolist()]
    ends = np.cumsum(counts).tolist()
    starts = [0, *ends[:-1]]
    return [" ".join(words[a:b]) for a, b in zip(starts, ends, strict=True)]


class Numbers(dict[Any, int]):
    """A number for each thing, given when it is first asked for, in order; ``things`` has them."""

    def __init__(self) -> None:
        super().__init__()
        self.things: list[Any] = []

    def __missing__(self, thing: Any) -> int:
        number = self[thing] = len(self.things)
        self.things.append(thing)
        return number

    def of(self, things: Sequence[Any]) -> Ints:
        """Numbers of many things."""
        return np.fromiter(map(self.__getitem__, things), np.int64, len(things))


class Choices:
    """What each thing may be replaced by, found once per thing and laid out for arrays.

    Parameters
    ----------
    find : callable (thing) -> sequence of str
    """

    def __init__(self, find: Callable[[Any], Sequence[str]]) -> None:
        self.find = find
        self.numbers = Numbers()
        self.forms: list[str] = []
        self._counts: list[int] = []
        self._table = np.empty((2, 0), dtype=np.int64)

    def of(self, things: Sequence[Any]) -> tuple[Ints, Ints]:
        """Where the choices of each thing begin in ``forms``, and how many there are."""
        numbers = self.numbers.of(things)
        fresh = self.numbers.things[len(self._counts) :]
        if fresh:
            for thing in fresh:
                found = self.find(thing)
                self.forms.extend(found)
                self._counts.append(len(found))
            counts = np.asarray(self._counts, dtype=np.int64)
            self._table = np.stack([np.cumsum(counts) - counts, counts])
        starts, counts = self._table[:, numbers]
        return starts, counts
