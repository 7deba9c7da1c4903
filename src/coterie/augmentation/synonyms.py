"""Synonyms from WordNet in the place of words, in the same form and for the likely meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from coterie._types import Bools, Ints
from coterie.augmentation.base import SYNONYM, WORD, Augmenter
from coterie.augmentation.draws import Keys, below, bits, chosen, how_many
from coterie.augmentation.forms import Reading, article, inflected, readings
from coterie.augmentation.tokens import Choices, Numbers, Words, join, like, split_edges
from coterie.augmentation.wordnet import WordNet, find_wordnet
from coterie.words.stopwords import ENGLISH

SENSES = 3  # of each word; the rarer ones mostly mean something else
LONGEST = 2  # words in a synonym

# What the word before says about a word: weights of noun, verb, adjective, adverb. They are rough:
# with the counts of WordNet they only have to order at most four readings.
BEFORE: dict[str, tuple[str, tuple[float, float, float, float]]] = {
    "named": ("a an the my your his her its our their this that these those some any no each every "
              "another which whose", (8, 0.1, 4, 0.3)),
    "acting": ("to i you we they he she it who can could will would shall should must may might do "
               "does did don't doesn't didn't can't cannot couldn't won't wouldn't not please "
               "never let's i'll we'll you'll", (0.3, 8, 0.3, 1)),
    "being": ("is are was were am be been being isn't aren't wasn't weren't i'm it's you're very "
              "too so quite really more most seems looks feels becomes", (0.5, 2, 6, 2)),
    "relating": ("of in on at for with without from by about into over under between through "
                 "after before during", (6, 0.2, 2, 0.3)),
}  # fmt: skip
EVEN = (1.0, 1.0, 1.0, 1.0)
WEIGHTS = [EVEN, *(weights for _, weights in BEFORE.values())]
CONTEXT = {
    word: number for number, (words, _) in enumerate(BEFORE.values(), 1) for word in words.split()
}
PARTS = "nvar"


class Synonyms(Augmenter):
    """Replace a share of the words by synonyms, at least one.

    The part of speech is guessed from the word before and from how often WordNet's authors met
    the word as each. The synonym gets the form and the case of the word; "a" and "an" before it
    are put right. Stop words and words without a synonym stay.
    """

    kind: ClassVar[str] = "wordnet"

    def __init__(self, rate: float = 0.2, wordnet: WordNet | None = None) -> None:
        self.rate = rate
        self.wordnet = wordnet or find_wordnet()
        self._context = Choices(lambda word: ("",) * CONTEXT.get(word.lower(), 0))
        self._words = Numbers()
        self._choices = Choices(self._find)
        self._known: dict[tuple[str, Reading], list[str]] = {}
        self._read: dict[str, list[Reading]] = {}
        self._known_words = Choices(lambda number: ("",) * len(self._readings(number)))
        self._shut: set[int] = set()  # words that turned out to have no synonym

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "rate": self.rate, "senses": SENSES}

    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        words = Words.of(texts)
        classes = self._context.of(words.words)[1]  # what each word says about the next one
        before = np.where(words.places > 0, np.roll(classes, 1), 0)
        numbers = self._words.of(words.words)
        picked, starts, counts = self._pick(words, numbers * len(WEIGHTS) + before, keys)
        own = keys[words.rows[picked]]
        forms = starts + below(counts, own, SYNONYM, words.places[picked])
        out = list(words.words)
        for at, form in zip(picked.tolist(), forms.tolist(), strict=True):
            out[at] = self._choices.forms[form]
        _mend_articles(out, picked[words.places[picked] > 0])
        return join(out, np.arange(len(out)), words.counts)

    def _pick(self, words: Words, things: Ints, keys: Keys) -> tuple[Ints, Ints, Ints]:
        """Words to replace, and where their synonyms begin and how many there are.

        To find the synonyms of a word takes longest, so that is done for chosen words alone: one
        that turns out to have none is passed over from then on, and the choice is made again. The
        end is the same as if all had been known before.
        """
        able = np.flatnonzero(self._open(things))
        scores = bits(keys[words.rows[able]], WORD, words.places[able])
        wanted = how_many(words.counts, self.rate)
        while True:
            best = chosen(words.rows[able], scores, wanted)
            picked = able[best]
            starts, counts = self._choices.of(things[picked].tolist())
            if counts.all():
                return picked, starts, counts
            self._shut.update(things[picked[counts == 0]].tolist())
            still = np.ones(len(able), dtype=bool)
            still[np.flatnonzero(best)[counts == 0]] = False
            able, scores = able[still], scores[still]

    def _open(self, things: Ints) -> Bools:
        """Whether each word may have synonyms, as far as is known."""
        known = self._known_words.of((things // len(WEIGHTS)).tolist())[1] > 0
        if self._shut:
            shut = np.fromiter(self._shut, np.int64, len(self._shut))
            known &= ~np.isin(things, shut)
        return known

    def _readings(self, number: int) -> list[Reading]:
        """Ways to understand a word; none for stop words and what is no word."""
        word = split_edges(self._words.things[number])[1].lower()
        found = self._read.get(word)
        if found is None:
            fit = word not in ENGLISH and len(word) > 2 and word.replace("-", "").isalpha()
            found = self._read[word] = readings(word, self.wordnet) if fit else []
        return found

    def _find(self, thing: int) -> list[str]:
        """Synonyms of a word behind one kind of word, dressed like the word itself."""
        number, before = divmod(thing, len(WEIGHTS))
        left, core, right = split_edges(self._words.things[number])
        known = self._readings(number)
        if not known:
            return []
        word, best = core.lower(), known[0]
        if len(known) > 1:
            best = max(known, key=lambda reading: self._likely(reading, WEIGHTS[before]))
        return [f"{left}{like(other, core)}{right}" for other in self._alike(best, word)]

    def _likely(self, reading: Reading, weights: Sequence[float]) -> float:
        """How likely a reading is; "-ing" and "-ed" also stand where adjectives and nouns do."""
        seen = self.wordnet.seen.get(reading.lemma, {}).get(reading.part, 0)
        weight = weights[PARTS.index(reading.part)]
        if reading.part == "v" and reading.form in ("ing", "past"):
            weight = max(weight, weights[PARTS.index("a")])
        return (seen + 0.5) * weight

    def _alike(self, reading: Reading, word: str) -> list[str]:
        known = self._known.get((word, reading))
        if known is not None:  # the same word in other clothes
            return known
        senses = self.wordnet.synsets(reading.lemma, reading.part, SENSES)
        out = []
        for other in spoken(word for sense in senses for word in sense):
            form = inflected(other, reading.part, reading.form, self.wordnet)
            if other != reading.lemma and form is not None and form != word:
                out.append(form)
        self._known[word, reading] = found = list(dict.fromkeys(out))
        return found


def spoken(words: Iterable[str]) -> list[str]:
    """Words of WordNet as people write them, without names and without long phrases."""
    out: dict[str, None] = {}
    for word in words:
        if word.isalpha():
            if word.islower():
                out[word] = None
        elif word.count("_") < LONGEST and word.islower() and word.replace("_", "").isalpha():
            out[word.replace("_", " ")] = None
    return list(out)


def _mend_articles(words: list[str], changed: Ints) -> None:
    """Put "a" and "an" right before words that were changed, in place."""
    for at in changed.tolist():
        before = words[at - 1]
        if before.lower() in ("a", "an"):
            words[at - 1] = like(article(split_edges(words[at])[1]), before[0] + before[1:].lower())
