"""Swapped letters and deleted words: augmentations that need nothing but the text.

All texts of a batch lie in one array of characters, so that no step goes word by word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie._types import Bools, Ints
from coterie.augmentation.base import PAIR, WORD, Augmenter, Keys, bits, chosen, how_many, positions

LETTER_RATE = 0.3  # swaps per letter of a chosen word, as in the published pairs
PLANE = 1 << 16  # code points whose case is known; letters of rarer scripts are not swapped
LINE, BLANK = 10, 32
Codes = NDArray[np.uint32]


@dataclass(frozen=True)
class Page:
    """Texts as characters, one text a line, with the places of their words.

    Attributes
    ----------
    codes : ndarray of uint32
        All characters; cleaned texts have single blanks between words and no line ends.
    begins, stops : ndarray of int
        First character of each word, and the one behind its last.
    rows, places : ndarray of int
        Text of each word, and how far it stands from the beginning of the text, in characters.
    counts : ndarray of int
        Words of each text.
    """

    codes: Codes
    begins: Ints
    stops: Ints
    rows: Ints
    places: Ints
    counts: Ints

    @classmethod
    def of(cls, texts: Sequence[str]) -> Page:
        """Write texts, none of them empty, one below the other."""
        data = ("\n".join(texts) + "\n").encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(data, dtype="<u4").astype(np.uint32)
        stops = np.flatnonzero((codes == LINE) | (codes == BLANK))
        begins = np.concatenate([[0], stops[:-1] + 1])
        last = codes[stops] == LINE  # whether a word is the last of its text
        rows = np.cumsum(last) - last
        firsts = np.concatenate([[0], begins[1:][last[:-1]]])
        counts = np.bincount(rows, minlength=len(texts))
        return cls(codes, begins, stops, rows, begins - firsts[rows], counts)

    def any(self, flags: Bools) -> Bools:
        """Whether a flag is set for a character of each word."""
        found: Bools = np.logical_or.reduceat(flags, self.begins)
        return found

    def inside(self, words: Ints) -> tuple[Ints, Ints]:
        """Places of all characters of some words, and the number in ``words`` of each."""
        lengths = (self.stops - self.begins)[words]
        numbers = np.repeat(np.arange(len(words)), lengths)
        return self.begins[words][numbers] + positions(numbers), numbers


def texts_of(codes: Codes) -> list[str]:
    """The lines of a page as texts."""
    return codes.tobytes().decode("utf-32-le", "surrogatepass").split("\n")[:-1]


class CharSwap(Augmenter):
    """Swap neighbouring letters in a share of the words, at least one.

    In each chosen word up to 30% as many pairs of neighbouring, different letters change places
    as the word has characters, at least one; no letter moves twice. Capitals stay where they are.
    """

    kind: ClassVar[str] = "charswap"

    def __init__(self, rate: float = 0.2) -> None:
        self.rate = rate

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        page = Page.of(texts)
        flags = _pairs(page.codes)
        able = np.flatnonzero(page.any(flags))
        rows = page.rows[able]
        scores = bits(keys[rows], WORD, page.places[able])
        words = able[chosen(rows, scores, how_many(page.counts, self.rate))]
        at, number = page.inside(words)
        pairs, number = at[flags[at]], number[flags[at]]
        if len(pairs):
            word = words[number]
            scores = bits(
                keys[page.rows[word]], PAIR, page.places[word] + pairs - page.begins[word]
            )
            lengths = (page.stops - page.begins)[words]
            most = np.maximum(1, (lengths * LETTER_RATE + 1e-9).astype(np.int64))
            best = chosen(number, scores, most)
            _swap(page.codes, _apart(pairs[best], scores[best]))
        return texts_of(page.codes)


def _pairs(codes: Codes) -> Bools:
    """Marks letters that are followed by another, different one."""
    lower, _, letter, _ = _tables()
    known = np.minimum(codes, PLANE - 1)  # the last code point is no letter
    small, good = lower[known], letter[known]
    marked = np.zeros(len(codes), dtype=bool)
    marked[:-1] = good[:-1] & good[1:] & (small[:-1] != small[1:])
    return marked


def _apart(pairs: Ints, scores: Keys) -> Ints:
    """Leave out a pair that shares a letter with a better scored one."""
    near = np.diff(pairs) == 1
    worse = np.zeros(len(pairs), dtype=bool)
    worse[1:] |= near & (scores[1:] > scores[:-1])
    worse[:-1] |= near & (scores[:-1] >= scores[1:])
    return pairs[~worse]


def _swap(codes: Codes, pairs: Ints) -> None:
    """Let letters change places, but not their case."""
    lower, upper, _, _ = _tables()
    first, second = codes[pairs], codes[pairs + 1]
    capital = (lower[first] != first), (lower[second] != second)
    codes[pairs] = np.where(capital[0], upper[second], lower[second])
    codes[pairs + 1] = np.where(capital[1], upper[first], lower[first])


@lru_cache(maxsize=1)
def _tables() -> tuple[Codes, Codes, Bools, Bools]:
    """Small and capital letter of each code point; whether it is a letter; or else a digit."""
    characters = [chr(i) for i in range(PLANE)]
    lower, upper = (
        np.array([ord(b) if len(b) == 1 else ord(a) for a, b in pairs], dtype=np.uint32)
        for pairs in ([(c, c.lower()) for c in characters], [(c, c.upper()) for c in characters])
    )
    letter, speaks = (
        np.array(list(map(is_it, characters))) for is_it in (str.isalpha, str.isalnum)
    )
    return lower, upper, letter, speaks


def _speaking(codes: Codes) -> Bools:
    """Marks letters and digits of all scripts."""
    marked: Bools = _tables()[3][np.minimum(codes, PLANE - 1)]
    for code in np.unique(codes[codes >= PLANE]):
        marked[codes == code] = chr(code).isalnum()
    return marked


class Deletion(Augmenter):
    """Delete a share of the words, at least one, never all of them."""

    kind: ClassVar[str] = "deletion"

    def __init__(self, rate: float = 0.2) -> None:
        self.rate = rate

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        page = Page.of(texts)
        able = np.flatnonzero(page.any(_speaking(page.codes)))  # a dash alone is no word
        rows = page.rows[able]
        there = np.bincount(rows, minlength=len(texts))
        wanted = np.minimum(how_many(there, self.rate), there - 1)
        gone = able[chosen(rows, bits(keys[rows], WORD, page.places[able]), wanted)]
        keep = np.ones(len(page.codes), dtype=bool)
        keep[page.inside(gone)[0]] = False
        stays = np.ones(len(page.rows), dtype=bool)
        stays[gone] = False
        # A word takes the blank before it along; so does the first one that is left.
        left = np.flatnonzero(stays)
        first = left[positions(page.rows[left]) == 0]
        bare = np.concatenate([gone, first])
        before = page.begins[bare] - 1
        keep[before[page.places[bare] > 0]] = False
        return texts_of(page.codes[keep])
