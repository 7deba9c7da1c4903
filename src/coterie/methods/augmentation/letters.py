"""Swapped letters and deleted words: augmentations that need nothing but the text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np

from coterie._util.types import Ints
from coterie.methods.augmentation.base import (
    PAIR,
    Augmenter,
    Keys,
    Words,
    bits,
    chosen,
    how_many,
    join,
)

LETTER_RATE = 0.3  # swaps per letter of a chosen word, as in the published pairs
PLANE = "\uffff"  # letters of rarer scripts, whose code points lie behind, are not swapped


class CharSwap(Augmenter):
    """Swap neighbouring letters in a share of the words, at least one.

    In each chosen word up to 30% as many pairs of neighbouring, different letters change places
    as the word has characters, at least one; no letter moves twice. Capitals stay where they are.
    """

    kind: ClassVar[str] = "charswap"

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        words = Words.of(texts)
        places = words.offsets()
        able = np.array([bool(pairs_of(word)) for word in words.words])
        picked = words.pick(able, keys, how_many(words.counts, self.rate), places)
        pairs = [pairs_of(words.words[at]) for at in picked.tolist()]
        number = np.repeat(np.arange(len(picked)), [len(own) for own in pairs])
        pair = np.array([start for own in pairs for start in own], dtype=np.int64)
        word = picked[number]
        scores = bits(keys[words.rows[word]], PAIR, places[word] + pair)
        lengths = np.array([len(words.words[at]) for at in picked.tolist()])
        most = np.maximum(1, (lengths * LETTER_RATE + 1e-9).astype(np.int64))
        best = np.flatnonzero(chosen(number, scores, most))
        # Of two pairs that share a letter, the one with the better score is swapped.
        near = (np.diff(word[best]) == 0) & (np.diff(pair[best]) == 1)
        later_is_worse = scores[best][1:] > scores[best][:-1]
        worse = np.zeros(len(best), dtype=bool)
        worse[1:] |= near & later_is_worse
        worse[:-1] |= near & ~later_is_worse
        out = list(words.words)
        for at in best[~worse].tolist():
            out[word[at]] = swapped(out[word[at]], int(pair[at]))
        return join(out, words.counts)


@lru_cache(maxsize=1 << 16)
def pairs_of(word: str) -> tuple[int, ...]:
    """Where a letter is followed by another, different one.

    Examples
    --------
    >>> pairs_of("Aall's")
    (1,)
    """
    small = [_small(letter) if letter.isalpha() and letter < PLANE else "" for letter in word]
    pairs = pairwise(small)
    return tuple(i for i, (a, b) in enumerate(pairs) if a and b and a != b)


def swapped(word: str, at: int) -> str:
    """A word in which two letters change places, but not their case.

    Examples
    --------
    >>> swapped("Parcel", 0)
    'Aprcel'
    """
    first, second = word[at], word[at + 1]
    return word[:at] + _cased(second, first) + _cased(first, second) + word[at + 2 :]


def _cased(letter: str, model: str) -> str:
    other = letter.upper() if _small(model) != model else letter.lower()
    return other if len(other) == 1 else letter


def _small(letter: str) -> str:
    small = letter.lower()
    return small if len(small) == 1 else letter


class Deletion(Augmenter):
    """Delete a share of the words, at least one, never all of them."""

    kind: ClassVar[str] = "deletion"

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        words = Words.of(texts)
        able = np.array([any(map(str.isalnum, word)) for word in words.words])  # no dash alone
        there: Ints = np.bincount(words.rows[able], minlength=len(texts))
        wanted = np.minimum(how_many(there, self.rate), there - 1)
        keep = np.ones(len(words.words), dtype=bool)
        keep[words.pick(able, keys, wanted, words.offsets())] = False
        left = [word for word, stays in zip(words.words, keep, strict=True) if stays]
        return join(left, np.bincount(words.rows[keep], minlength=len(texts)))
