"""EDA: easy data augmentation (Wei and Zou, EMNLP 2019), one of its four operations per text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from coterie._util.types import Bools, Ints
from coterie.methods.augmentation.base import (
    FIRST,
    OPERATION,
    SECOND,
    SLOT,
    SOURCE,
    SYNONYM,
    WORD,
    Augmenter,
    Choices,
    Keys,
    Words,
    below,
    bits,
    chosen,
    how_many,
    join,
    like,
    positions,
    split_edges,
    uniform,
)
from coterie.methods.augmentation.wordnet import SENSES, WordNet, find_wordnet, readings, spoken
from coterie.texts.words.stopwords import ENGLISH

REPLACE, INSERT, SWAP, DELETE = range(4)


class EDA(Augmenter):
    """Replace words by synonyms, insert synonyms, swap words, or delete words.

    Each text gets one operation, all four equally likely. With ``n`` the share ``rate`` of its
    words, at least one: ``n`` words that are no stop words are replaced by a synonym of one of
    their more frequent meanings; synonyms of ``n`` such words are inserted anywhere; ``n`` times
    two words change places; or each word is deleted with probability ``rate``, one at least being
    kept. A text in which no word has a synonym is swapped instead of the first two.
    """

    kind: ClassVar[str] = "eda"

    def __init__(self, rate: float = 0.2, wordnet: WordNet | None = None) -> None:
        super().__init__(rate)
        self.wordnet = wordnet or find_wordnet()
        self._choices = Choices(self._find)

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        words = Words.of(texts)
        starts, counts = self._choices.of(words.words)
        pool = [*words.words, *self._choices.forms]
        first = len(words.words) + starts  # of each word's synonyms in the pool
        known = np.bincount(words.rows[counts > 0], minlength=len(texts))
        operation = below(4, keys, OPERATION)
        operation[(operation <= INSERT) & (known == 0)] = SWAP
        wanted = how_many(words.counts, self.rate)
        picks = np.arange(len(words.words))
        self._replace(picks, words, keys, (operation == REPLACE) * wanted, (first, counts))
        _swap(picks, words, keys, (operation == SWAP) * wanted)
        keep = ~self._delete(words, keys, operation == DELETE)
        inserted = (operation == INSERT) * wanted
        sources = self._sources(words, keys, inserted, (first, counts))
        kept = np.bincount(words.rows[keep], minlength=len(texts))
        merged = _merge(picks[keep], sources, kept, inserted, keys)
        return join([pool[i] for i in merged.tolist()], kept + inserted)

    def _find(self, word: str) -> list[str]:
        left, core, right = split_edges(word)
        small = core.lower()
        if small in ENGLISH or not small.replace("-", "").isalpha():
            return []
        pairs = {(reading.lemma, reading.part) for reading in readings(small, self.wordnet)}
        senses = [s for pair in sorted(pairs) for s in self.wordnet.synsets(*pair, SENSES)]
        found = spoken(other for sense in senses for other in sense)
        return [f"{left}{like(other, core)}{right}" for other in found if other != small]

    def _replace(
        self, picks: Ints, words: Words, keys: Keys, wanted: Ints, table: tuple[Ints, Ints]
    ) -> None:
        first, counts = table
        at = words.pick((counts > 0) & (wanted[words.rows] > 0), keys, wanted)
        picks[at] = first[at] + below(counts[at], keys[words.rows[at]], SYNONYM, words.places[at])

    def _sources(self, words: Words, keys: Keys, wanted: Ints, table: tuple[Ints, Ints]) -> Ints:
        """Synonyms to insert, those of one text after those of the one before."""
        first, counts = table
        able = np.flatnonzero(counts > 0)
        per_text = np.bincount(words.rows[able], minlength=len(wanted))
        begin = np.cumsum(per_text) - per_text
        rows = np.repeat(np.arange(len(wanted)), wanted)
        number, own = positions(rows), keys[rows]
        at = able[begin[rows] + below(per_text[rows], own, SOURCE, number)]
        found: Ints = first[at] + below(counts[at], own, SYNONYM, number)
        return found

    def _delete(self, words: Words, keys: Keys, here: Bools) -> Bools:
        rows = words.rows
        drop: Bools = here[rows] & (uniform(keys[rows], WORD, words.places) < self.rate)
        left = np.bincount(rows[~drop], minlength=len(here))
        bare = np.flatnonzero((left == 0) & (words.counts > 0))
        saved = below(words.counts[bare], keys[bare], FIRST)  # one word stays, any
        drop[(np.cumsum(words.counts) - words.counts)[bare] + saved] = False
        return drop


def _swap(picks: Ints, words: Words, keys: Keys, wanted: Ints) -> None:
    """Let two words of a text change places, ``wanted`` times, in place."""
    begin = np.cumsum(words.counts) - words.counts
    wanted = np.where(words.counts > 1, wanted, 0)
    for number in range(int(wanted.max(initial=0))):
        rows = np.flatnonzero(wanted > number)
        own, count = keys[rows], words.counts[rows]
        one = below(count, own, FIRST, number)
        other = (one + 1 + below(count - 1, own, SECOND, number)) % count  # never the same
        a, b = begin[rows] + one, begin[rows] + other
        picks[a], picks[b] = picks[b], picks[a]


def _merge(picks: Ints, new: Ints, kept: Ints, inserted: Ints, keys: Keys) -> Ints:
    """Put new words between the others, every arrangement being equally likely.

    To insert words one after the other at any place makes each set of places equally likely, so
    that the set can be drawn at once.
    """
    rows = np.repeat(np.arange(len(kept)), kept + inserted)
    slots = chosen(rows, bits(keys[rows], SLOT, positions(rows)), inserted)
    out = np.empty(len(rows), dtype=np.int64)
    out[slots], out[~slots] = new, picks
    return out
