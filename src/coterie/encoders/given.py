"""Vectors that the user has given, by the text they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from coterie._util.types import Floats, Ints
from coterie.encoders.base import Encoder, Rows
from coterie.encoders.cache import digest
from coterie.encoders.lexical import VectorEncoder
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
        self._known = SharedVectors()

    def give(self, texts: Sequence[str], vectors: Floats) -> list[int]:
        """Take vectors of texts in; returns the rows that repeat a text with another vector."""
        if self.dim and vectors.shape[1] != self.dim:
            raise DataError(
                f"`vectors` have {vectors.shape[1]:,} numbers, but those of the model "
                f"{self.dim:,}; make them with the same encoder."
            )
        self.dim = vectors.shape[1]
        other = []
        for row, text in enumerate(texts):
            vector = np.asarray(vectors[row], dtype=np.float32)
            if text and not np.array_equal(self._known.setdefault(digest(text), vector), vector):
                other.append(row)
        return other

    def prepare(self, texts: Any) -> tuple[Rows, Ints]:
        found = [vector for text in texts if (vector := self._known.get(digest(text))) is not None]
        if missing := len(texts) - len(found):
            raise UsageError(
                f"{missing:,} of {len(texts):,} texts have no vector: this model was made with "
                "vectors of your own, so give those of new texts, too, with `vectors`."
            )
        return super().prepare(np.stack(found))

    def __repr__(self) -> str:
        return f"{PREFIX}{self._known.digest()[:16]}"

    def arrays(self) -> dict[str, Any]:
        keys = np.frombuffer(b"".join(self._known), dtype=np.uint8).reshape(-1, 16)
        return {"keys": keys, "vectors": np.stack(list(self._known.values()))}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        super().restore(saved, arrays)
        keys, vectors = arrays["keys"], arrays["vectors"]
        found = zip(keys.astype(np.uint8), vectors, strict=True)
        self._known.update((key.tobytes(), vector) for key, vector in found)


class SharedVectors(dict[bytes, Floats]):
    """Vectors by the digest of their text; copies of an encoder share it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedVectors:
        return self

    def digest(self) -> str:
        """Of the texts and their vectors."""
        whole = hashlib.sha256(b"".join(self))
        for vector in self.values():
            whole.update(vector.tobytes())
        return whole.hexdigest()


def given_vectors(encoder: Encoder | None) -> GivenVectors | None:
    """The given vectors in an encoder, also beside lexical features; None if there are none."""
    while encoder is not None and not isinstance(encoder, GivenVectors):
        encoder = getattr(encoder, "inner", None)
    return encoder
