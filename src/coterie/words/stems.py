"""Stems of words by Snowball's rules, so that "connected" and "connecting" are one."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

# Porter's rules of 1980 for English: saved vocabularies hold their stems.
ALGORITHMS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "porter", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


@lru_cache(maxsize=1 << 17)
def stem(word: str, language: str = "en") -> str:
    """Stem of a lower-case word; words of one or two letters, or with other signs, stay.

    Parameters
    ----------
    word : str
    language : str, default="en"
        Code of a language; words of one without rules stay as they are. English rules leave
        words alone that have other letters than a-z.

    Examples
    --------
    >>> [stem(word) for word in ("connections", "connecting", "ponies", "relational", "hopping")]
    ['connect', 'connect', 'poni', 'relat', 'hop']
    >>> stem("häuser", "de"), stem("parcel", "xx")
    ('haus', 'parcel')
    """
    if len(word) < 3 or not word.isalpha() or (language == "en" and not word.isascii()):
        return word
    stemmer = _stemmer(language)
    return word if stemmer is None else str(stemmer.stemWord(word))


@cache
def _stemmer(language: str) -> Any:
    import snowballstemmer

    name = ALGORITHMS.get(language)
    return snowballstemmer.stemmer(name) if name in snowballstemmer.algorithms() else None
