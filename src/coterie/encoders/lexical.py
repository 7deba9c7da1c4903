"""Vectors that the user brings, and lexical features: words and character n-grams.

:class:`MixedEncoder` puts lexical features beside embeddings. A sentence encoder knows what a text
is about in general; lexical features know what it is about here: product names, codes, jargon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from coterie._util.emoji import EMOJI_PATTERN
from coterie._util.files import save_arrays
from coterie._util.progress import Progress
from coterie._util.random import numpy_generator
from coterie._util.torch import Tensor, nn, torch
from coterie._util.trust import check_shape, is_count, is_finite, read_arrays
from coterie._util.types import Bools, Features, Floats, Ints
from coterie.arrays.neighbors import unit_rows
from coterie.encoders.base import Encoder, Items, Rows, distinct, distinct_rows
from coterie.errors import DataError, UsageError
from coterie.texts.words import ENGLISH
from coterie.texts.words.cutting import tokens

WORD = re.compile(rf"\b\w\w+\b|{EMOJI_PATTERN}")
STOP_WORDS = [word for word in ENGLISH if WORD.fullmatch(word)]
N_HASHES = 1 << 20
TEXTS_AT_ONCE = 20_000  # texts hashed at a time
FITTED = 5_000  # texts that the SVD is fitted on
POWER_ITERATIONS = 2
NGRAM_WEIGHT, WORD_WEIGHT = 0.5, 0.25  # lengths beside an embedding, whose length is one
LSA = 200  # dimensions of the lexical features
WIDE = 300  # of each part, where there is no encoder beside them
MAX_WORDS = 20_000
ROUNDING = 1e-5  # of a vector's length


class VectorEncoder(Encoder):
    """Rows of numbers pass through; in training a square map that starts as the identity moves.

    Dropout on the numbers gives two different views of the same row in training.
    """

    kind: ClassVar[str] = "precomputed"
    saved: ClassVar[dict[str, Any]] = {}  # attributes in encoder.json, with their shapes there
    saved_arrays: ClassVar[tuple[str, ...]] = ()  # attributes in encoder.safetensors

    def __init__(self, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.dim = 0
        self.dropout_rate = dropout
        self.map: nn.Linear | None = None

    def prepare(self, texts: Any) -> tuple[Rows, Ints]:
        matrix = np.ascontiguousarray(texts, dtype=np.float32)
        self.dim = matrix.shape[1]
        first, rows = distinct(row.tobytes() for row in matrix)
        return Rows(matrix[first]), rows

    def forward(self, features: Features) -> Tensor:
        vectors = features["vectors"]
        return vectors if self.map is None else self.map(self.dropout(vectors))

    def _vectors(self, items: Any, index: Ints) -> Floats:
        if self.map is None and not isinstance(items.matrix, Tensor):
            return np.asarray(items.dense(index))
        return super()._vectors(items, index)

    def make_trainable(self) -> None:
        self.dropout = nn.Dropout(self.dropout_rate)
        self.map = nn.Linear(self.dim, self.dim, bias=False)
        nn.init.eye_(self.map.weight)

    def to_config(self) -> dict[str, Any]:
        return {"dim": self.dim, **{name: getattr(self, name) for name in self.saved}}

    def save_weights(self, folder: Path) -> None:
        arrays = self.arrays()
        if self.map is not None:
            arrays["map"] = self.map.weight.detach().cpu().numpy()
        save_arrays(folder / "encoder.safetensors", arrays)

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> VectorEncoder:
        encoder = cls()
        encoder.restore(config, read_arrays(source / "encoder.safetensors"))
        return encoder

    def arrays(self) -> dict[str, Any]:
        """Arrays to save besides the trained map."""
        found = {name: getattr(self, name) for name in self.saved_arrays}
        return {name: array for name, array in found.items() if array is not None}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Take back what :meth:`to_config` and :meth:`arrays` gave, and the trained map."""
        check_shape(saved, {"dim": is_count, **self.saved}, "encoder.json")
        for name in ("dim", *self.saved):
            setattr(self, name, saved[name])
        for name in self.saved_arrays:
            setattr(self, name, arrays.get(name))
        if "map" in arrays:
            self.make_trainable()
            assert self.map is not None
            self.map.weight.data = torch.from_numpy(arrays["map"])


class BagOfWords(VectorEncoder):
    """Bag of words, weighted by rarity (TF-IDF) or not, optionally reduced by SVD (LSA).

    Parameters
    ----------
    weighting : {"tfidf", "counts", "log-max"}, default="tfidf"
        TF-IDF rows have unit length; counts are plain, as in the papers' BoW rows; "log-max" is
        ``log(1 + n)`` over the largest of its row, as in KATE.
    max_features : int, default=1500
        The most frequent words are kept (1,500 in SCCL and DECCRL).
    svd : int, optional
        Reduce to so many dimensions by truncated SVD.
    seed : int, default=0
        Of the randomised SVD.
    stop_words : bool, default=False
        Leave out English words that tell nothing.
    """

    kind: ClassVar[str] = "bag-of-words"
    saved: ClassVar[dict[str, Any]] = {"weighting": str, "vocabulary": [str]}
    saved_arrays: ClassVar[tuple[str, ...]] = ("idf", "components")

    def __init__(
        self,
        weighting: str = "tfidf",
        max_features: int = 1500,
        svd: int | None = None,
        seed: int = 0,
        *,
        stop_words: bool = False,
    ) -> None:
        super().__init__()
        self.weighting = weighting
        self.max_features = max_features
        self.svd = svd
        self.seed = seed
        self.stop_words = stop_words
        self.vocabulary: list[str] = []
        self.idf: Floats = np.empty(0, dtype=np.float32)
        self.components: Floats | None = None  # (svd, words)

    def learn(self, texts: Sequence[str]) -> None:
        from sklearn.decomposition import TruncatedSVD

        if not any(WORD.search(text) for text in texts):
            raise DataError(
                "no text has a word of two or more letters, or an emoji; use another encoder."
            )
        stop = STOP_WORDS if self.stop_words else None
        left = (word for text in texts for word in WORD.findall(text.lower()))
        if stop and not any(word not in stop for word in left):
            stop = None  # nothing would be left
        counter = self._counter(max_features=self.max_features, stop_words=stop)
        counts = counter.fit_transform(texts)
        self.vocabulary = [str(word) for word in counter.get_feature_names_out()]
        present = (counts > 0).sum(axis=0)
        frequency = np.asarray(present).ravel()
        self.idf = np.log((1 + len(texts)) / (1 + frequency)).astype(np.float32) + 1
        self.dim = len(self.vocabulary)
        if self.svd is not None:
            self.dim = max(1, min(self.svd, len(self.vocabulary) - 1, len(texts) - 1))
            if len(self.vocabulary) == 1:  # nothing to reduce, which scikit-learn rejects
                self.components = np.ones((1, 1), dtype=np.float32)
                return
            model = TruncatedSVD(self.dim, random_state=self.seed).fit(self._weighted(counts))
            self.components = model.components_.astype(np.float32)

    def prepare(self, texts: Sequence[str]) -> tuple[Rows, Ints]:
        matrix = self._weighted(self._counts(texts))
        first, rows = distinct_rows(matrix)
        chosen = matrix[first]
        return Rows(chosen if self.components is None else self.reduced(chosen)), rows

    def reduced(self, weighted: Any) -> Floats:
        """Weighted counts in fewer dimensions."""
        assert self.components is not None
        return np.asarray(weighted @ self.components.T)

    def _counts(self, texts: Sequence[str]) -> Any:
        return self._counter(vocabulary=self.vocabulary).transform(texts)

    def _counter(self, **options: Any) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(token_pattern=WORD.pattern, dtype=np.float32, **options)

    def _weighted(self, counts: Any) -> Any:
        from sklearn.preprocessing import normalize

        if self.weighting == "counts":
            return counts
        if self.weighting == "log-max":
            return normalize(counts.log1p(), norm="max")
        return normalize(counts.multiply(self.idf).tocsr().astype(np.float32))


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
    saved: ClassVar[dict[str, Any]] = {"lengths": [is_count]}
    saved_arrays: ClassVar[tuple[str, ...]] = ("features", "idf", "components")

    def __init__(
        self,
        lengths: Sequence[int] = (2, 3, 4),
        max_features: int = 10_000,
        svd: int = 200,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.lengths = list(lengths)
        self.max_features, self.svd, self.seed = max_features, svd, seed
        self.features: Ints = np.empty(0, dtype=np.int64)  # hashes that are kept, sorted
        self.idf: Floats = np.empty(0, dtype=np.float32)
        self.components: Floats = np.empty((0, 0), dtype=np.float32)  # (dim, features)

    def learn(self, texts: Sequence[str]) -> None:
        from sklearn.decomposition import TruncatedSVD

        counts = self._hashed(texts)
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
        first, rows = distinct_rows(weighted)
        return Rows(np.asarray(weighted[first] @ self.components.T, dtype=np.float32)), rows

    def _counts(self, texts: Sequence[str]) -> Any:
        return self._hashed(texts)[:, self.features]

    def _hashed(self, texts: Sequence[str]) -> Any:
        return hashed_counts(texts, self.lengths)

    def _weighted(self, counts: Any) -> Any:
        from sklearn.preprocessing import normalize

        counts = counts.tocsr().astype(np.float32)
        counts.sort_indices()
        counts.data = 1 + np.log(counts.data)
        counts.data *= self.idf[counts.indices]
        return normalize(counts, copy=False)


class HashedWords(CharNgrams):
    """The same with words in the place of n-grams, English words that tell nothing left out."""

    cut: ClassVar[dict[str, Any]] = {"token_pattern": WORD.pattern, "stop_words": STOP_WORDS}

    def _hashed(self, texts: Sequence[str]) -> Any:
        from sklearn.feature_extraction.text import HashingVectorizer

        counter = HashingVectorizer(
            n_features=N_HASHES, norm=None, alternate_sign=False, dtype=np.float32, **self.cut
        )
        return counter.transform(texts)


class AnyWords(HashedWords):
    """The same with the words of any language: pairs of characters where there are no blanks."""

    cut: ClassVar[dict[str, Any]] = {"analyzer": partial(tokens, segmented=False)}


class NgramsAndWords(VectorEncoder):
    """Character n-grams and words side by side, with lengths of 0.5 and 0.25.

    Parameters
    ----------
    seed : int, default=0
        Of both SVDs.
    """

    kind: ClassVar[str] = "ngrams-and-words"
    weights: ClassVar[dict[str, float]] = {"ngrams": NGRAM_WEIGHT, "words": WORD_WEIGHT}

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.parts: dict[str, CharNgrams] = {
            "ngrams": CharNgrams(seed=seed),
            "words": HashedWords(seed=seed),
        }

    def learn(self, texts: Sequence[str]) -> None:
        for part in self.parts.values():
            part.learn(texts)
        self.dim = sum(part.dim for part in self.parts.values())

    def prepare(self, texts: Any) -> tuple[Rows, Ints]:
        found = []
        for name, part in self.parts.items():
            items, rows = part.prepare(texts)
            found.append(self.weights[name] * self._part(name, items.matrix)[rows])
        return super().prepare(np.hstack(found))

    def _part(self, name: str, matrix: Floats) -> Floats:
        """Vectors of one part, of unit length."""
        return unit_rows(matrix)

    def to_config(self) -> dict[str, Any]:
        parts = {name: part.to_config() for name, part in self.parts.items()}
        return {**super().to_config(), **parts}

    def arrays(self) -> dict[str, Any]:
        return {
            f"{name}.{key}": array
            for name, part in self.parts.items()
            for key, array in part.arrays().items()
        }

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        check_shape(saved, dict.fromkeys(self.parts, dict), "encoder.json")
        for name, part in self.parts.items():
            begin = f"{name}."
            own = {k.removeprefix(begin): v for k, v in arrays.items() if k.startswith(begin)}
            part.restore(saved[name], own)
        super().restore(saved, arrays)


class LexicalEncoder(NgramsAndWords):
    """Character n-grams and words of any language, without a model: lengths of 1 and 0.5.

    N-grams of one to four characters, so that a Chinese character counts by itself, too. Both parts
    are centred: no n-gram or word is left that all texts share.

    Parameters
    ----------
    seed : int, default=0
        Of both SVDs.
    """

    kind: ClassVar[str] = "lexical"
    weights: ClassVar[dict[str, float]] = {"ngrams": 1.0, "words": 0.5}

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.parts = {
            "ngrams": CharNgrams((1, 2, 3, 4), MAX_WORDS, WIDE, seed),
            "words": AnyWords(max_features=MAX_WORDS, svd=WIDE, seed=seed),
        }
        self.means: dict[str, Floats] = {}

    def learn(self, texts: Sequence[str]) -> None:
        super().learn(texts)
        self.means = {}
        for name, part in self.parts.items():
            items, rows = part.prepare(texts)
            self.means[name] = items.matrix[rows].mean(axis=0, dtype=np.float64).astype(np.float32)

    def _part(self, name: str, matrix: Floats) -> Floats:
        return centred(matrix, self.means[name])

    def arrays(self) -> dict[str, Any]:
        means = {f"{name}.mean": mean for name, mean in self.means.items()}
        return {**super().arrays(), **means}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        super().restore(saved, arrays)
        self.means = {name: arrays[f"{name}.mean"] for name in self.parts}


def centred(x: Floats, mean: Floats) -> Floats:
    """Rows less their mean, of unit length; zero where only rounding tells them from the mean.

    Examples
    --------
    >>> centred(np.array([[3.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([2.0, 1.0]))
    array([[ 1.,  0.],
           [-1.,  0.],
           [ 0.,  0.]])
    """
    moved = x - mean
    near = np.linalg.norm(moved, axis=1) <= ROUNDING * np.linalg.norm(x, axis=1)
    moved[near] = 0
    return unit_rows(moved)


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
    for begin in range(0, len(texts), TEXTS_AT_ONCE):
        some = texts[begin : begin + TEXTS_AT_ONCE]
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


class MixedItems(Items):
    """Pairs of an item of the encoder and one of the lexical features."""

    def __init__(self, inner: Items, lexical: Items, pairs: Ints) -> None:
        self.inner, self.lexical, self.pairs = inner, lexical, pairs
        self.embeddings: Floats | None = None  # of the encoder's items, once they are encoded
        self.unread: Bools | None = None  # which the encoder cannot read, where that matters
        self.lengths = inner.lengths[pairs[:, 0]]

    def __len__(self) -> int:
        return len(self.pairs)

    def to(self, device: torch.device) -> MixedItems:
        moved = MixedItems(self.inner.to(device), self.lexical.to(device), self.pairs)
        moved.unread = self.unread
        return moved

    def content(self) -> bytes:
        return self.inner.content() + self.lexical.content() + self.pairs.tobytes()


class MixedEncoder(Encoder):
    """Embeddings and lexical features (an LSA of 200 dimensions) concatenated; not trainable.

    Parameters
    ----------
    inner : Encoder
    weight : float
        Length of the lexical part; that of the embedding is one.
    seed : int, default=0
        Of the SVD.
    lexical : BagOfWords or CharNgrams, optional
        Makes the lexical features. Default: TF-IDF of words.
    """

    kind: ClassVar[str] = "mixed"

    def __init__(
        self, inner: Encoder, weight: float, seed: int = 0, lexical: Encoder | None = None
    ) -> None:
        super().__init__()
        self.inner = inner
        self.lexical: Encoder = lexical or BagOfWords(
            "tfidf", max_features=MAX_WORDS, svd=LSA, seed=seed, stop_words=True
        )
        self.weight = weight

    def learn(self, texts: Sequence[str]) -> None:
        self.inner.learn(texts)
        self.lexical.learn(texts)

    def prepare(self, texts: Sequence[str]) -> tuple[MixedItems, Ints]:
        inner, rows = self.inner.prepare(texts)
        lexical, others = self.lexical.prepare(texts)
        pairs = np.stack([rows, others], axis=1)
        first, numbers = distinct(map(tuple, pairs.tolist()))
        self.dim = self.inner.dim + self.lexical.dim
        return MixedItems(inner, lexical, pairs[first]), numbers

    def make_trainable(self) -> None:
        raise UsageError(
            "an encoder with lexical features cannot be trained; use the encoder alone."
        )

    def encode(
        self, items: Any, index: Ints | None = None, *, progress: Progress | None = None
    ) -> Floats:
        pairs = items.pairs if index is None else items.pairs[index]
        items.embeddings = self.inner.encode(items.inner, progress=progress)
        inner = items.embeddings[pairs[:, 0]]
        lexical = self.lexical.encode(items.lexical)[pairs[:, 1]]
        return np.hstack([unit_rows(inner), self.weight * unit_rows(lexical)]).astype(np.float32)

    def inside(self) -> dict[str, Encoder]:
        return {"meaning": self.inner, "words": self.lexical}

    def to_config(self) -> dict[str, Any]:
        return {"weight": self.weight}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> MixedEncoder:
        weight = check_shape(config, {"weight": is_finite}, "encoder.json")["weight"]
        encoder = cls(inside["meaning"], float(weight), 0, inside["words"])
        encoder.dim = encoder.inner.dim + encoder.lexical.dim
        return encoder
