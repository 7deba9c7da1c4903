"""What all augmenters share: random numbers of a text, texts as words, and their base class.

Every random number is a hash of a text's own key, a stream and a position, not of the run. So the
same text gets the same numbers whatever stands beside it, however the texts are cut into batches,
and in every process; and all texts get theirs in one step, as arrays.

All words of many texts lie in one list, and facts are found once per word. A word is what stands
between blanks; punctuation at its ends is kept apart when it is changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie._util.types import Bools, Ints

Keys = NDArray[np.uint64]
STEP = 0x9E3779B97F4A7C15  # of SplitMix64 (Steele, Lea and Flood, 2014), like the two factors
FACTORS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
ROW_BITS = 24  # of a sort key; the other 40 are the random part
EDGES = re.compile(r"^([\W_]*)(.*?)([\W_]*)$", re.DOTALL)
FORMAT = 1  # of augmentations; another number makes all of them anew
# What random numbers are for: streams of :func:`coterie.methods.augmentation.base.bits`.
OPERATION, WORD, SYNONYM, SLOT, SOURCE, FIRST, SECOND, PAIR, TOKEN = range(1, 10)


def text_keys(texts: Sequence[str], settings: Mapping[str, Any]) -> Keys:
    """A number of 64 bits for each text, from the text and all that decides its augmentation."""
    space = hashlib.blake2b(json.dumps(settings, sort_keys=True, default=str).encode()).digest()
    blake = hashlib.blake2b
    digests = [
        blake(text.encode("utf-8", "surrogatepass"), digest_size=8, key=space).digest()
        for text in texts
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def bits(keys: Keys, stream: int, position: Any = 0) -> Keys:
    """64 random bits for each key at a position of a stream (SplitMix64's output function).

    Parameters
    ----------
    keys : ndarray of uint64
    stream : int
        What the number is for.
    position : int or ndarray, default=0
        Which number of the stream, below 2**32; broadcast against ``keys``.
    """
    with np.errstate(over="ignore"):
        place = np.asarray(position).astype(np.uint64) + np.uint64((stream << 32) + 1)
        z = keys + place * np.uint64(STEP)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(FACTORS[0])
        z = (z ^ (z >> np.uint64(27))) * np.uint64(FACTORS[1])
        out: Keys = z ^ (z >> np.uint64(31))
    return out


def uniform(keys: Keys, stream: int, position: Any = 0) -> NDArray[np.float64]:
    """Numbers from 0 up to, but not including, 1."""
    top = bits(keys, stream, position) >> np.uint64(11)
    return top.astype(np.float64) * 2.0**-53


def below(count: Any, keys: Keys, stream: int, position: Any = 0) -> Ints:
    """Whole numbers from 0 up to ``count - 1``, all about equally likely; 0 where it is 0."""
    drawn: Ints = (uniform(keys, stream, position) * count).astype(np.int64)
    return drawn


def chosen(rows: Ints, scores: Keys, most: Ints) -> Bools:
    """Mark the ``most[row]`` entries with the smallest scores in each row.

    Parameters
    ----------
    rows : ndarray of int of shape (m,)
        Row of each entry, in ascending order, below 2**24.
    scores : ndarray of uint64 of shape (m,)
    most : ndarray of int
        By row; a row with fewer entries is marked whole.
    """
    # Numbers that sort by row and, within a row, at random.
    first = rows.astype(np.uint64) << np.uint64(64 - ROW_BITS)
    place = np.empty(len(rows), dtype=np.int64)
    place[np.argsort(first | (scores >> np.uint64(ROW_BITS)))] = positions(rows)
    marked: Bools = place < most[rows]
    return marked


def positions(rows: Ints) -> Ints:
    """0, 1, 2, ... within each run of equal rows."""
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    first = np.flatnonzero(np.diff(rows, prepend=rows[0] - 1))
    lengths = np.diff(first, append=len(rows))
    return np.arange(len(rows)) - np.repeat(first, lengths)


def how_many(words: Ints, rate: float) -> Ints:
    """Words to change of so many: the share ``rate``, rounded down, but at least one."""
    share = np.floor(np.asarray(words, dtype=np.float64) * rate + 1e-9)  # 0.29 * 100 is 28.99...
    return np.maximum(1, share).astype(np.int64)


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

    def offsets(self) -> Ints:
        """How far each word stands from the beginning of its text, in characters."""
        lengths = np.fromiter(map(len, self.words), np.int64, len(self.words)) + 1
        begins = np.cumsum(lengths) - lengths
        firsts = np.repeat(begins[self.places == 0], self.counts[self.counts > 0])
        offsets: Ints = begins - firsts
        return offsets

    def pick(self, able: Bools, keys: Keys, wanted: Ints, places: Ints | None = None) -> Ints:
        """Words to change: ``wanted`` of each text, drawn among those that are ``able``.

        ``places`` tell the words of a text apart; by default their positions do.
        """
        at = np.flatnonzero(able)
        rows, places = self.rows[at], (self.places if places is None else places)[at]
        picked: Ints = at[chosen(rows, bits(keys[rows], WORD, places), wanted)]
        return picked


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


def join(words: Sequence[str], counts: Ints) -> list[str]:
    """Texts of the words, ``counts`` of them each."""
    ends = np.cumsum(counts).tolist()
    return [" ".join(words[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


class Choices:
    """What each thing may be replaced by, found once per thing and laid out for arrays.

    Parameters
    ----------
    find : callable (thing) -> sequence of str
    """

    def __init__(self, find: Callable[[Any], Sequence[str]]) -> None:
        self.find = find
        self.forms: list[str] = []
        self._spans: dict[Any, tuple[int, int]] = {}

    def of(self, things: Sequence[Any]) -> tuple[Ints, Ints]:
        """Where the choices of each thing begin in ``forms``, and how many there are."""
        for thing in things:
            if thing not in self._spans:
                found = self.find(thing)
                self._spans[thing] = len(self.forms), len(found)
                self.forms.extend(found)
        spans = np.array([self._spans[thing] for thing in things], dtype=np.int64).reshape(-1, 2)
        return spans[:, 0], spans[:, 1]


class Augmenter(ABC):
    """Makes another augmentation of each text, from the text and its own random numbers alone."""

    kind: ClassVar[str]
    seeded: bool = True  # whether another seed gives another augmentation

    def __init__(self, rate: float = 0.2) -> None:
        self.rate = rate  # share of words to change

    @abstractmethod
    def apply(self, texts: Sequence[str], keys: Keys) -> list[str]:
        """Another augmentation of each text; one that could not be changed comes back as it is.

        There is at least one text, none is empty, and words have single blanks between them.
        """

    def settings(self) -> dict[str, Any]:
        """All that decides an augmentation, besides the text and the seed."""
        return {"kind": self.kind, "rate": self.rate}
