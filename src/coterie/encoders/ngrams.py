"""Character n-grams: TF-IDF of pieces of words, reduced by SVD. Works in any script, no word list.

The n-grams of all texts are hashed at once by array operations, which takes a tenth of the time of
a loop over words. The most frequent ones are kept, as in a bag of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie.encoders.items import Rows, distinct
from coterie.encoders.vectors import VectorEncoder

N_HASHES = 1 << 20
CHUNK = 20_000  # texts hashed at a time
FITTED = 5_000  # texts that the SVD is fitted on
POWER_ITERATIONS = 2


class CharNgrams(VectorEncoder):
    """TF-IDF of character n-grams within words, reduced by truncated SVD (LSA).

    Parameters
    ----------
    lengths : tuple of int, default=(2, 3, 4)
        Lengths of the n-grams. A word is padded with one space on each side.
    max_features : int, default=10000
        The most frequent n-grams that occur in two texts or more.
    svd : int, default=200
        Dimensions of the vectors.
    seed : int, default=0
        Of the randomised SVD.

    Notes
    -----
    Terms count ``1 + log(count)``. N-grams are identified by a 20-bit hash, so that a few share a
    feature; nothing but their numbers is saved.
    """

    kind: ClassVar[str] = "char-ngrams"

    def __init__(
        self,
        lengths: Sequence[int] = (2, 3, 4),
        max_features: int = 10_000,
        svd: int = 200,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.lengths = tuple(int(length) for length in lengths)
        self.max_features, self.svd, self.seed = max_features, svd, seed
        self.features: Ints = np.empty(0, dtype=np.int64)  # hashes that are kept, sorted
        self.idf: Floats = np.empty(0, dtype=np.float32)
        self.components: Floats = np.empty((0, 0), dtype=np.float32)  # (dim, features)

    def learn(self, texts: Sequence[str]) -> None:
        from sklearn.decomposition import TruncatedSVD

        counts = hashed_counts(texts, self.lengths)
        frequency = np.bincount(counts.indices, minlength=N_HASHES)
        total = np.bincount(counts.indices, weights=counts.data, minlength=N_HASHES)
        kept = np.flatnonzero(frequency >= 2)
        if len(kept) < 2:  # a handful of texts that share nothing
            kept = np.flatnonzero(frequency)
        if not len(kept):  # no text has a character
            kept = np.zeros(1, dtype=np.int64)
        order = np.lexsort((kept, -total[kept]))
        self.features = np.sort(kept[order[: self.max_features]])
        shared = frequency[self.features]
        self.idf = np.log((1 + len(texts)) / (1 + shared)).astype(np.float32) + 1
        weighted = self._weighted(counts[:, self.features])
        if len(weighted.data) == 0 or min(weighted.shape) < 2:
            self.components = np.eye(1, len(self.features), dtype=np.float32)
        else:
            self.dim = min(self.svd, min(weighted.shape) - 1)
            if weighted.shape[0] > FITTED:
                rng = numpy_generator(self.seed, "n-grams")
                weighted = weighted[np.sort(rng.permutation(weighted.shape[0])[:FITTED])]
            model = TruncatedSVD(self.dim, n_iter=POWER_ITERATIONS, random_state=self.seed)
            self.components = model.fit(weighted).components_.astype(np.float32)
        self.dim = len(self.components)

    def prepare(self, texts: Any) -> tuple[Rows, Ints]:
        weighted = self._weighted(self._counts(texts))
        keys = (
            weighted.indices[a:b].tobytes() + weighted.data[a:b].tobytes()
            for a, b in zip(weighted.indptr[:-1], weighted.indptr[1:], strict=True)
        )
        first, rows = distinct(keys)
        return Rows(np.asarray(weighted[first] @ self.components.T, dtype=np.float32)), rows

    def _counts(self, texts: Sequence[str]) -> Any:
        return hashed_counts(texts, self.lengths)[:, self.features]

    def _weighted(self, counts: Any) -> Any:
        from sklearn.preprocessing import normalize

        counts = counts.tocsr().astype(np.float32)
        counts.sort_indices()
        counts.data = 1 + np.log(counts.data)
        counts.data *= self.idf[counts.indices]
        return normalize(counts, copy=False)

    def settings(self) -> dict[str, Any]:
        return {"lengths": list(self.lengths)}

    def arrays(self) -> dict[str, Any]:
        return {"features": self.features, "idf": self.idf, "components": self.components}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        self.lengths = tuple(int(length) for length in saved["lengths"])
        self.features = arrays["features"].astype(np.int64)
        self.idf, self.components = arrays["idf"], arrays["components"]
        super().restore(saved, arrays)


def hashed_counts(texts: Sequence[str], lengths: Sequence[int]) -> Any:
    """How often each text has each n-gram, sparse, of shape (n, 2 ** 20).

    Parameters
    ----------
    texts : sequence of str
        Lower-cased and split at white space here.
    lengths : sequence of int

    Examples
    --------
    >>> counts = hashed_counts(["to be", "tobe", "be to"], [3])  # " to", "to ", " be", "be "
    >>> counts.sum(axis=1).ravel().tolist(), bool((counts[0] != counts[2]).nnz == 0)
    ([[4.0, 4.0, 4.0]], True)
    """
    from scipy.sparse import csr_matrix, vstack

    parts = []
    for begin in range(0, len(texts), CHUNK):
        some = texts[begin : begin + CHUNK]
        padded = [f" {'  '.join(text.lower().split())} " for text in some]
        joined = "".join(padded).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(joined, dtype=np.uint32).astype(np.uint64)
        row = np.repeat(np.arange(len(some)), [len(text) for text in padded])
        # Two spaces in a row are a border: of words, or of texts.
        border = np.cumsum((codes[:-1] == 32) & (codes[1:] == 32), dtype=np.int64)
        border = np.concatenate([[0], border])  # borders before each character
        rows, hashes = [], []
        for length in lengths:
            windows = len(codes) - length + 1
            if windows < 1:
                continue
            inside = np.flatnonzero(border[length - 1 :] == border[:windows])
            rows.append(row[inside])
            hashes.append(_hash(codes, inside, length))
        found = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        columns = np.concatenate(hashes) if hashes else np.empty(0, dtype=np.int64)
        ones = np.ones(len(found), dtype=np.float32)
        counts = csr_matrix((ones, (found, columns)), shape=(len(some), N_HASHES))
        counts.sum_duplicates()
        parts.append(counts)
    if not parts:
        return csr_matrix((0, N_HASHES), dtype=np.float32)
    return vstack(parts, format="csr") if len(parts) > 1 else parts[0]


def _hash(codes: Any, starts: Ints, length: int) -> Ints:
    """A number below 2 ** 20 for each window; the same on every machine."""
    value = np.full(len(starts), 1_469_598_103 + length, dtype=np.uint64)
    for offset in range(length):
        value = (value ^ codes[starts + offset]) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    return (value >> np.uint64(44)).astype(np.int64)
