"""Random numbers that belong to a text, not to the run.

Every number is a hash of a text's own key, a stream and a position. So the same text gets the same
numbers whatever stands beside it, however the texts are cut into batches, and in every process;
and all texts get theirs in one step, as arrays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._types import Bools, Ints

Keys = NDArray[np.uint64]

STEP = 0x9E3779B97F4A7C15  # of SplitMix64 (Steele, Lea and Flood, 2014), like the two factors
FACTORS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
ROW_BITS = 24  # of a sort key; the other 40 are the random part


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
    place = np.empty(len(rows), dtype=np.int64)
    place[np.argsort(sort_keys(rows, scores))] = positions(rows)
    marked: Bools = place < most[rows]
    return marked


def sort_keys(rows: Ints, scores: Keys) -> Keys:
    """Numbers that sort by row and, within a row, at random."""
    keys: Keys = (rows.astype(np.uint64) << np.uint64(64 - ROW_BITS)) | (
        scores >> np.uint64(ROW_BITS)
    )
    return keys


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
