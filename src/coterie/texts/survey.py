"""One look through a corpus of any size: what is in it, and a fair sample of its different texts.

Of each text a digest of 64 bits is kept, nothing else: eight bytes a row. The sample is made of
the texts whose digests, keyed by the seed, are smallest. So every different text has the same
chance, however often it occurs; the order of the rows has no influence; and no text has to be kept
that does not end in the sample. Two of ten million texts share a digest with a chance of three in
a million; they would count as one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from coterie._util.types import Ints
from coterie._util.validation import check_integer
from coterie.texts.corpus import (
    LISTED_ROWS,
    NOTE_TEXTS,
    Chunk,
    Survey,
    make_note,
    no_words,
    row_flags,
)

EMPTY = np.uint64(2**64 - 1)  # stands for a row without a text


def survey(chunks: Iterable[Chunk], n: int, seed: int = 0, text_column: str = "text") -> Survey:
    """Look through a corpus once and draw ``n`` of its different texts.

    Parameters
    ----------
    chunks : iterable of Chunk
        Such as a :class:`TextStream`.
    n : int
    seed : int, default=0
    text_column : str
        For messages.
    """
    sampler = StreamSampler(n, seed)
    for chunk in chunks:
        sampler.add(chunk)
    return sampler.done(text_column)


class StreamSampler:
    """Takes in chunks one by one; see :func:`survey`."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self.n, self._key = check_integer("n", n), str(seed).encode()[:64]
        self._digests: dict[int, Any] = {}  # by their first row
        self._kept: dict[int, tuple[str, int]] = {}  # digest to text and row
        self._bar = int(EMPTY)  # a text with a higher digest is not in the sample
        self._sha: Any = hashlib.sha256()
        self._flags: dict[str, tuple[int, list[int]]] = {kind: (0, []) for kind in NOTE_TEXTS}

    def add(self, chunk: Chunk) -> None:
        """Take in the next rows."""
        digests = np.full(len(chunk), EMPTY, dtype=np.uint64)
        for i, text in enumerate(chunk.texts):
            raw = text.encode("utf-8")
            self._sha.update(raw + b"\0")
            if text:
                digest = self._digest(raw)
                digests[i] = digest
                if digest < self._bar and digest not in self._kept:
                    self._kept[digest] = (text, chunk.first + i)
        self._digests[chunk.first] = digests
        if len(self._kept) > 2 * self.n:
            self._prune()
        for kind, flags in row_flags(chunk.values, chunk.texts).items():
            rows = [chunk.first + i for i, flag in enumerate(flags, 1) if flag]
            count, listed = self._flags[kind]
            self._flags[kind] = (count + len(rows), (listed + rows)[:LISTED_ROWS])

    def done(self, text_column: str = "text") -> Survey:
        """The result; rejects a corpus without a word."""
        parts = [self._digests[row] for row in sorted(self._digests)]
        digests = np.concatenate(parts) if parts else np.empty(0, np.uint64)
        filled = digests != EMPTY
        if not filled.any():
            raise no_words(len(digests), text_column)
        self._prune()
        known, first, counts = np.unique(digests[filled], return_index=True, return_counts=True)
        self._note_repeats(filled, first)
        ranked = sorted(self._kept.items(), key=lambda pair: pair[1][1])
        place = np.searchsorted(known, np.array([digest for digest, _ in ranked], dtype=np.uint64))
        notes = [make_note(kind, *self._flags[kind]) for kind in NOTE_TEXTS]
        return Survey(
            rows=len(digests),
            filled=int(filled.sum()),
            distinct=len(known),
            sha256=self._sha.hexdigest(),
            notes=tuple(note for note in notes if note),
            texts=[text for _, (text, _) in ranked],
            counts=counts[place],
            first=np.array([row for _, (_, row) in ranked], dtype=np.int64),
        )

    def _digest(self, raw: bytes) -> int:
        made = hashlib.blake2b(raw, digest_size=8, key=self._key).digest()
        return min(int.from_bytes(made, "little"), int(EMPTY) - 1)

    def _prune(self) -> None:
        """Forget texts that cannot be in the sample any more."""
        if len(self._kept) > self.n:
            lowest = sorted(self._kept)[: self.n]
            self._kept = {digest: self._kept[digest] for digest in lowest}
            self._bar = lowest[-1] + 1

    def _note_repeats(self, filled: Any, first: Ints) -> None:
        again = np.ones(int(filled.sum()), dtype=bool)
        again[first] = False
        rows = np.flatnonzero(filled)[again]
        self._flags["duplicate"] = (len(rows), [int(row) + 1 for row in rows[:LISTED_ROWS]])
