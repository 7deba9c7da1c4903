"""Vectors that the user has given, by the text they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from coterie._types import Floats, Ints
from coterie.encoders.base import Encoder, Rows
from coterie.encoders.lexical import VectorEncoder, check_arrays
from coterie.errors import DataError, UsageError

PREFIX = "vectors:"  # before a digest, in place of the name of an encoder


class GivenVectors(VectorEncoder):
    """The vector of a text is the one that was given with it.

    Rows of one text have the vector of the first. A saved model has the vectors of its own texts;
    for others :meth:`give` has to be called first.
    """

    kind: ClassVar[str] = "given"

    def __init__(self) -> None:
        super().__init__()
        self._known = Known()

    def give(self, texts: Sequence[str], vectors: Floats) -> list[int]:
        """Take vectors of texts in; returns the rows that repeat a text with another vector."""
        if self.dim and vectors.shape[1] != self.dim:
            raise DataError(
                f"`vectors` have {vectors.shape[1]:,} numbers, but those of the model "
                f"{self.dim:,}; make them with the same encoder."
            )
        self.dim = vectors.shape[1]
        other, known = [], self._known
        for row, text in enumerate(texts):
            if not text:
                continue
            key = _key(text)
            if key not in known.rows:
                known.rows[key] = len(known.vectors)
                known.vectors.append(np.asarray(vectors[row], dtype=np.float32))
            elif not np.array_equal(known.vectors[known.rows[key]], vectors[row]):
                other.append(row)
        return other

    def prepare(self, texts: Any) -> tuple[Rows, Ints]:
        rows = [self._known.rows.get(_key(text), -1) for text in texts]
        if missing := sum(row < 0 for row in rows):
            raise UsageError(
                f"{missing:,} of {len(rows):,} texts have no vector: this model was made with "
                "vectors of your own, so give those of new texts, too, with `vectors`."
            )
        return super().prepare(np.stack([self._known.vectors[row] for row in rows]))

    def __repr__(self) -> str:
        return f"{PREFIX}{self._known.digest()[:16]}"

    def arrays(self) -> dict[str, Any]:
        keys = np.frombuffer(b"".join(self._known.rows), dtype=np.uint8).reshape(-1, 16)
        return {"keys": keys, "vectors": np.stack(self._known.vectors)}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        super().restore(saved, arrays)
        keys, vectors = arrays["keys"], arrays["vectors"]
        check_arrays(arrays, {"keys": (len(keys), 16), "vectors": (len(keys), self.dim)})
        self._known.rows = {key.tobytes(): i for i, key in enumerate(keys.astype(np.uint8))}
        self._known.vectors = list(vectors)


class Known:
    """Vectors by the digest of their text; copies of an encoder share it."""

    def __init__(self) -> None:
        self.rows: dict[bytes, int] = {}
        self.vectors: list[Floats] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> Known:
        return self

    def digest(self) -> str:
        """Of the texts and their vectors."""
        digest = hashlib.sha256(b"".join(self.rows))
        for vector in self.vectors:
            digest.update(vector.tobytes())
        return digest.hexdigest()


def given_vectors(encoder: Encoder | None) -> GivenVectors | None:
    """The given vectors in an encoder, also beside lexical features; None if there are none."""
    while encoder is not None and not isinstance(encoder, GivenVectors):
        encoder = getattr(encoder, "inner", None)
    return encoder


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()
