"""Texts as numbers of words: cutting, stems and vocabularies.

Stems are Snowball's, so that "connected" and "connecting" are one word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any
from unicodedata import category

import numpy as np

from coterie._util.emoji import EMOJI_PATTERN
from coterie.texts.words.languages import NAMES
from coterie.texts.words.stopwords import ENGLISH

LONGEST = 20_000  # characters read of each text
WORD = re.compile(rf"[^\W_]+(?:['’.+#-]*[^\W_]+)*[+#]*|{EMOJI_PATTERN}")
# Korean particles that are written together with the noun before them.
PARTICLE = re.compile(
    "(?:에서는|에서|에게|으로|까지|부터|처럼|보다|은|는|이|가|을|를|의|에|와|과|도|로|만)$"
)


def split_words(text: str) -> list[str]:
    """Lower-case words of a text, in order; "c#", "c++", "don't" and emoji are words.

    Examples
    --------
    >>> split_words("Don't use C++, use .NET 4.5! 👍")
    ["don't", 'use', 'c++', 'use', 'net', '4.5', '👍']
    """
    return WORD.findall(text[:LONGEST].lower().replace("’", "'"))


@dataclass(frozen=True)
class Vocabulary:
    """Words by number.

    Parameters
    ----------
    words : list of str
    stems : bool, default=False
        Whether they are stems; texts are stemmed before they are looked up.
    """

    words: list[str]
    stems: bool = False
    _place: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._place.update({word: i for i, word in enumerate(self.words)})

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        *,
        max_size: int = 20_000,
        min_count: int = 2,
        stop_words: bool = True,
        stems: bool = False,
    ) -> Vocabulary:
        """The most frequent words of the texts.

        Parameters
        ----------
        texts : iterable of str
        max_size : int, default=20000
        min_count : int, default=2
            Texts that a word must be in. If no word is in so many, one is enough.
        stop_words : bool, default=True
            Leave out English words that tell nothing.
        stems : bool, default=False
            Count stems instead of words.
        """
        total: Counter[str] = Counter()
        spread: Counter[str] = Counter()
        for text in texts:
            found = split_words(text)
            if stop_words:
                found = [word for word in found if word not in ENGLISH]
            if stems:
                found = [stem(word) for word in found]
            total.update(found)
            spread.update(set(found))
        kept = [w for w in total if spread[w] >= min_count] or list(total)
        ordered = sorted(kept, key=lambda word: (-total[word], word))  # ties by name: no chance
        return cls(ordered[:max_size], stems)

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, text: str) -> list[int]:
        """Numbers of the words of a text that are in the vocabulary, in order."""
        found = split_words(text)
        if self.stems:
            found = [stem(word) for word in found]
        return [self._place[word] for word in found if word in self._place]

    def counts(self, texts: Sequence[str]) -> Any:
        """How often each text has each word, as a sparse matrix (n, size) of float32."""
        from scipy.sparse import csr_matrix

        rows = [Counter(self.ids(text)) for text in texts]
        starts = np.cumsum([0, *map(len, rows)])
        columns = np.fromiter((i for row in rows for i in sorted(row)), np.int64, starts[-1])
        values = np.fromiter((row[i] for row in rows for i in sorted(row)), np.float32, starts[-1])
        return csr_matrix((values, columns, starts), shape=(len(texts), len(self)))


@lru_cache(maxsize=1 << 17)
def stem(word: str, language: str = "en") -> str:
    """Stem of a lower-case word; words of one or two letters, or with other signs, stay.

    Parameters
    ----------
    word : str
    language : str, default="en"
        Code of a language; words of one without rules stay as they are. English rules leave
        words alone that have other letters than a-z. Of Korean words of three syllables or more a
        particle at the end is taken off.

    Examples
    --------
    >>> [stem(word) for word in ("connections", "connecting", "ponies", "relational", "hopping")]
    ['connect', 'connect', 'poni', 'relat', 'hop']
    >>> stem("häuser", "de"), stem("parcel", "xx"), stem("배송에서", "ko")
    ('haus', 'parcel', '배송')
    """
    if language == "ko":
        bare = PARTICLE.sub("", word)
        return bare if len(bare) > 1 else word
    if len(word) < 3 or (language == "en" and not word.isascii()):
        return word
    if not all(sign.isalpha() or category(sign) in ("Mn", "Mc") for sign in word):  # vowel signs
        return word
    stemmer = _stemmer(language)
    return word if stemmer is None else str(stemmer.stemWord(word))


@cache
def _stemmer(language: str) -> Any:
    import snowballstemmer

    # Porter's rules of 1980 for English: saved vocabularies hold their stems.
    name = "porter" if language == "en" else NAMES.get(language, "").lower()
    return snowballstemmer.stemmer(name) if name in snowballstemmer.algorithms() else None
