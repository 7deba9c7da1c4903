"""Stems of English words by Porter's rules (1980), so that "connected" and "connecting" are one.

Written here because it is a page of rules and the libraries that have it bring far more. The
rules are Porter's own, without the changes of later versions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

VOWELS = frozenset("aeiou")
Condition = Callable[[str], bool]


def _consonant(word: str, i: int) -> bool:
    """A letter that is no vowel; "y" is a vowel behind a consonant."""
    if word[i] in VOWELS:
        return False
    return word[i] != "y" or i == 0 or not _consonant(word, i - 1)


def _measure(part: str) -> int:
    """How often a vowel is followed by a consonant: the ``m`` of the paper."""
    pattern = [_consonant(part, i) for i in range(len(part))]
    return sum(not a and b for a, b in pairwise(pattern))


def _has_vowel(part: str) -> bool:
    return any(not _consonant(part, i) for i in range(len(part)))


def _double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonant(word, len(word) - 1)


def _short(word: str) -> bool:
    """Ends in consonant, vowel, consonant, the last not w, x or y: the ``*o`` of the paper."""
    n = len(word)
    shape = n > 2 and [_consonant(word, n - 3 + i) for i in range(3)] == [True, False, True]
    return shape and word[-1] not in "wxy"


def _over(least: int) -> Condition:
    return lambda part: _measure(part) > least


STEP_2 = """ational:ate tional:tion enci:ence anci:ance izer:ize abli:able alli:al entli:ent eli:e
ousli:ous ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al
iviti:ive biliti:ble"""
STEP_3 = "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:"
STEP_4 = """al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"""


def _rules(table: str) -> list[tuple[str, str]]:
    pairs = [(entry.partition(":")[0], entry.partition(":")[2]) for entry in table.split()]
    return sorted(pairs, key=lambda pair: -len(pair[0]))  # the longest suffix decides


SUFFIXES_2, SUFFIXES_3, SUFFIXES_4 = _rules(STEP_2), _rules(STEP_3), _rules(STEP_4)


def _replace(word: str, rules: list[tuple[str, str]], condition: Condition) -> str:
    for suffix, other in rules:
        if word.endswith(suffix):
            part = word[: -len(suffix)]
            if suffix == "ion" and part[-1:] not in ("s", "t"):
                return word
            return part + other if condition(part) else word
    return word


def _step_1(word: str) -> str:
    """Plurals, -ed and -ing."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        part = word[: -len(suffix)]
        if word.endswith(suffix) and _has_vowel(part):
            return _mend(part)
    return word


def _mend(part: str) -> str:
    """Put back what the removal of -ed or -ing made too short."""
    if part.endswith(("at", "bl", "iz")):
        return part + "e"
    if _double(part) and part[-1] not in "lsz":
        return part[:-1]
    return part + "e" if _measure(part) == 1 and _short(part) else part


def _step_5(word: str) -> str:
    """A final -e, and a double -l."""
    part = word[:-1]
    if word.endswith("e") and (_measure(part) > 1 or (_measure(part) == 1 and not _short(part))):
        word = part
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """Stem of a lower-case word; words of one or two letters, or with others than a-z, stay.

    Examples
    --------
    >>> [stem(word) for word in ("connections", "connecting", "ponies", "relational", "hopping")]
    ['connect', 'connect', 'poni', 'relat', 'hop']
    """
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _step_1(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, SUFFIXES_2, _over(0))
    word = _replace(word, SUFFIXES_3, _over(0))
    word = _replace(word, SUFFIXES_4, _over(1))
    return _step_5(word)
