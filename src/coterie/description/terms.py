"""Words and phrases of a corpus, counted once for everything that is said about clusters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from coterie._emoji import EMOJI
from coterie._types import Bools, Ints
from coterie.description.cut import BREAK, NO_BLANKS, fold, join, pieces
from coterie.description.greetings import (
    CLOSINGS,
    DEVICES,
    TIMES,
    greeting_words,
    mark_greetings,
)
from coterie.description.languages import check_language, detect_languages
from coterie.words import stem as porter
from coterie.words.stopwords import STOP_WORDS

LONGEST_PHRASE = 3
# Particles and pronouns: a pair of characters that holds one is no word. Hiragana are endings.
EMPTY = re.compile(
    "[\u3041-\u309f的了吗呢吧啊呀是在和与及或也都就还很太我你您他她它们这那哪个把被让给对从到不没有要会能想请什么怎为]"
)

NOISE = frozenset("amp com gt html http https lt nbsp quot rt www".split())  # left by web pages


@dataclass(frozen=True)
class Group:
    """Terms of one length: which texts hold them, and how they are written.

    Attributes
    ----------
    presence : scipy.sparse.csr_matrix of shape (n, terms)
        1 where a text holds a term.
    parts : ndarray of shape (terms, length)
        Stems of the words of each term.
    forms : ndarray of shape (terms, length)
        Words of its most frequent form.
    """

    presence: Any
    parts: Ints
    forms: Ints


class Terms:
    """Words, pairs and triples of neighbouring words of all texts.

    Inflected forms count as one term, shown in its most frequent form. Pairs are of telling words;
    triples begin and end with one. Greetings, signatures and emoji are counted aside.

    Parameters
    ----------
    texts : sequence of str
    language : str, sequence of str or None, default="auto"
        Whose stop words to leave out: codes or English names, "auto" to detect them, None for no.
    """

    def __init__(self, texts: Sequence[str], language: str | Sequence[str] | None = "auto") -> None:
        self.n = len(texts)
        self.least = 2 if self.n > 50 else 1  # a word of a single text says little
        forms: dict[str, int] = {}
        rows = [[forms.setdefault(p, len(forms)) for p in pieces(text)] for text in texts]
        sizes = np.fromiter(map(len, rows), np.int64, self.n)
        flat = np.fromiter(chain.from_iterable(rows), np.int64, int(sizes.sum()))
        row = np.repeat(np.arange(self.n), sizes)
        folded = [fold(form) for form in forms]
        # Numbers in the order of the alphabet: ties then never depend on the order of the texts.
        self.words = sorted(set(folded))
        place = {word: i for i, word in enumerate(self.words)}
        self._fold = np.array([place[word] for word in folded], dtype=np.int64)
        self._forms, self._form_counts = list(forms), np.bincount(flat, minlength=len(forms))
        self.word, self.row = self._fold[flat] if len(flat) else flat, row
        self._count(language, rows)

    def _count(self, language: str | Sequence[str] | None, rows: list[list[int]]) -> None:
        """Find the languages, the telling words and the stems, then count."""
        given = check_language(language)
        if given is None:
            given = detect_languages(self.words, self.word, self.row, self.n)
        self.languages = given
        stop = NOISE.union(*(STOP_WORDS[code] for code in given))
        self.telling = np.array([is_telling(word, stop) for word in self.words], dtype=bool)
        greetings = greeting_words(given) if given else frozenset()
        emoji = np.array([EMOJI.match(word) is not None for word in self.words], dtype=bool)
        self.telling &= ~emoji
        aside = emoji | np.array([word in greetings for word in self.words], dtype=bool)
        often = np.bincount(self.word, minlength=len(self.words)) >= self.least
        # Half of all words occur once and are never shown: no need to know their stems.
        stems = [
            stem(word) if shown else word
            for word, shown in zip(self.words, (self.telling | aside) & often, strict=True)
        ]
        names = {name: i for i, name in enumerate(sorted(set(stems)))}
        self.stem = np.array([names[name] for name in stems], dtype=np.int64)
        use = self.telling[self.word] if len(self.word) else np.zeros(0, dtype=bool)
        breaks = np.array([word == BREAK for word in self.words], dtype=bool)
        use = use & ~self._in_greetings(rows, greetings)
        self.single = self._group([self.word], self.row, use)
        self.aside = self._group([self.word], self.row, aside[self.word] if len(use) else use)
        frequent = np.bincount(
            self.single.parts[:, 0], self.single.presence.sum(axis=0).A1, len(names)
        )
        common = use & (frequent[self.stem[self.word]] >= self.least) if len(use) else use
        solid = ~(breaks | emoji)[self.word] if len(self.word) else use
        self.pairs = self._phrases(2, common, solid)
        self.triples = self._phrases(LONGEST_PHRASE, common, solid)

    def _in_greetings(self, rows: list[list[int]], greetings: frozenset[str]) -> Bools:
        """Which of the words, one after another, belong to a greeting or a signature."""
        out = np.zeros(len(self.word), dtype=bool)
        if not greetings:
            return out
        start = 0
        hints = greetings | CLOSINGS | DEVICES | TIMES
        hint = [fold(form) in hints for form in self._forms]
        for row in rows:
            if any(hint[form] for form in row):
                marked = mark_greetings([self._forms[form] for form in row], greetings)
                out[[start + i for i in marked]] = True
            start += len(row)
        return out

    def _phrases(self, length: int, common: Bools, solid: Bools) -> Group:
        """Runs of ``length`` words in one text, whose ends are telling and common."""
        t = max(len(self.word) - length + 1, 0)
        ends = length - 1
        use = common[:t] & common[ends : ends + t] & (self.row[:t] == self.row[ends : ends + t])
        if length > 2:
            use &= solid[1 : t + 1]
        return self._group([self.word[i : i + t] for i in range(length)], self.row[:t], use)

    def _group(self, words: list[Ints], row: Ints, use: Bools) -> Group:
        """Count the runs of words marked by ``use``; runs of the same stems are one term."""
        from scipy.sparse import csr_matrix

        run = np.stack([word[use] for word in words], axis=1)
        if not len(run):
            empty = np.zeros((0, len(words)), dtype=np.int64)
            return Group(csr_matrix((self.n, 0)), empty, empty)
        shapes, shape_of, often = _unique_rows(run, len(self.words))
        parts, term_of = _unique_rows(self.stem[shapes], len(self.words))[:2]
        # Of each term the most frequent form, and among equals the first in the alphabet.
        order = np.lexsort((*shapes.T[::-1], -often, term_of))
        first = order[np.unique(term_of[order], return_index=True)[1]]
        ones = np.ones(len(run), dtype=np.float32)
        where = (row[use], term_of[shape_of])
        presence = csr_matrix((ones, where), shape=(self.n, len(parts)))
        presence.data[:] = 1  # repeats within a text were summed up
        return Group(presence, parts, shapes[first])

    @cached_property
    def written(self) -> list[str]:
        """Each word as most texts write it where that has inner capitals ("PIN"), else lower."""
        shouted = sum(
            int(count)
            for form, count in zip(self._forms, self._form_counts, strict=True)
            if len(form) > 1 and form.isupper()
        )
        quiet = shouted <= 0.2 * max(int(self._form_counts.sum()), 1)
        best: dict[int, tuple[int, str]] = {}
        for form, count, word in zip(self._forms, self._form_counts, self._fold, strict=True):
            best[int(word)] = max(best.get(int(word), (0, "")), (int(count), form))
        out = []
        for i, word in enumerate(self.words):
            form = best[i][1]
            keep = quiet and form[1:] != form[1:].lower()
            out.append(form if keep else word)
        return out

    def text(self, form: Ints) -> str:
        """A term as it is shown, in lower case."""
        return join([self.words[word] for word in form])


def stem(word: str) -> str:
    """Porter's stem of a word without an ending behind an apostrophe.

    Examples
    --------
    >>> stem("refunds"), stem("refunded"), stem("driver's"), stem("boxes"), stem("glass")
    ('refund', 'refund', 'driver', 'box', 'glass')
    """
    return porter(word.split("'")[0])


def is_telling(word: str, stop: frozenset[str]) -> bool:
    """Whether a word may say what a text is about."""
    if NO_BLANKS.match(word):
        return not EMPTY.search(word)
    plain = word.replace("-", "")
    return len(word) > 1 and word not in stop and not plain.isdigit()


def weigh(matrix: Any, often: Any, n: int) -> Any:
    """Sparse rows of unit length in which words that few of ``n`` texts hold count more."""
    from scipy.sparse import diags

    rarity = np.log1p(n / np.maximum(np.asarray(often).ravel(), 1))
    weighed = (matrix @ diags(rarity)).tocsr()
    norms = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return (diags(1 / np.where(norms > 0, norms, 1)) @ weighed).tocsr()


def _unique_rows(rows: Ints, base: int) -> tuple[Ints, Ints, Ints]:
    """Distinct rows in order, the place of each row among them, and how often each occurs."""
    key = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        if key.max(initial=0) >= 2**62 // (base + 1):  # number anew before the keys run over
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * (base + 1) + column
    _, first, place, often = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    return rows[first], place.astype(np.int64), often
