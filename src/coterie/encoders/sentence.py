"""Sentence encoders: any sentence-transformers folder or hub name as one trainable module."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from coterie._util.files import sha256_file
from coterie._util.progress import Progress
from coterie._util.torch import INSTALLED, F, Tensor, torch
from coterie._util.trust import check_modules, check_shape, is_count
from coterie._util.types import Features, Floats, Ints
from coterie._util.validation import need
from coterie.arrays.neighbors import unit_rows
from coterie.encoders.base import Encoder, Items, RaggedTokens, distinct, row_width
from coterie.encoders.fused import can_fuse
from coterie.encoders.int8 import Int8Bert, read_plain
from coterie.encoders.packing import can_pack, pack_forward
from coterie.errors import DataError, UsageError

Pooling = Literal["auto", "mean", "cls"]
CHARACTERS = 100  # per token; what lies behind cannot be among the first max_length tokens
FORMAT = 3  # of kept vectors; another number makes all of them anew
READ = {".json", ".txt", ".model", ".safetensors", ".bin"}  # files that decide what a model does
WORD = re.compile(r"\S+")
SPECIAL = -1
BATCH = 8192  # texts that the tokenizer is given
UNKNOWN = "[UNK]"  # of BERT's vocabularies


class SentenceEncoder(Encoder):
    """A sentence-transformers model without its final normalisation, which is a switch here.

    A plain BERT encodes in 8 bits on a CPU where ``encode_precision`` says so, without the
    libraries. They load the model when more is asked for: another precision, a GPU, training.

    Parameters
    ----------
    model : Path or sentence_transformers.SentenceTransformer
        A folder, or a model that is loaded.
    max_length : int, default=128
        Tokens read of each text, special tokens included.
    normalize : bool, optional
        Vectors of unit length or as pooled. Default: as the model's folder says.
    pooling : {"auto", "mean", "cls"}, default="auto"
        "auto" is as the model's folder says, mean where it says nothing.
    pointer : dict, optional
        Where the model came from, with a digest of its weights.
    """

    kind: ClassVar[str] = "sentence"
    encode_precision: str = "float32"  # on a CPU also int8, see precision_here
    keep_words: bool = False  # whether prepared texts know which word each token is of
    _place: Tensor

    def __init__(
        self,
        model: Any,
        *,
        max_length: int = 128,
        normalize: bool | None = None,
        pooling: Pooling = "auto",
        pointer: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if INSTALLED:
            self.register_buffer("_place", torch.empty(0), persistent=False)
        self.max_length, self._asked, self._pointer = max_length, pooling, pointer
        self.folder = model if isinstance(model, Path) else None
        self.plain = None if self.folder is None else read_plain(self.folder, max_length)
        self._modules["model"] = None
        self._space: str | None = None
        if (plain := self.plain) is not None:
            self.dim, normalized, places = plain.dim, plain.normalized, plain.n_places
            self.pooling: str | None = plain.pooling if pooling == "auto" else pooling
        else:
            whole = load_model(self.folder) if self.folder else model
            normalized = _check_modules(whole, pooling)
            self._modules["model"], self.pooling = whole, _pooling_mode(whole)
            width = "get_embedding_dimension"  # as it is called since sentence-transformers 6
            width = width if hasattr(whole, width) else "get_sentence_embedding_dimension"
            self.dim, places = int(getattr(whole, width)()), _places(whole)
        self.normalize = normalized if normalize is None else normalize
        self._longest = min(max_length, places)  # tokens that are read

    @property
    def model(self) -> Any:
        """The model of sentence-transformers, loaded when it is first asked for."""
        self.complete()
        return self._modules["model"]

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model."""
        return self.model.tokenizer

    def complete(self) -> None:
        if self._modules["model"] is None:
            assert self.folder is not None
            with torch.inference_mode(False):  # perhaps to be trained, wherever it is asked for
                whole = load_model(self.folder)
                if _pooling_mode(whole) != self.pooling:
                    _set_pooling(whole, str(self.pooling))
                whole.to(self._place.device).train(self.training)
            self._modules["model"] = whole

    def train(self, mode: bool = True) -> SentenceEncoder:
        if mode:
            self.complete()  # only the libraries' model has dropout
        return super().train(mode)

    def prepare(self, texts: Sequence[str]) -> tuple[RaggedTokens, Ints]:
        # Equal texts need one look at the tokenizer; texts with equal tokens are one item.
        first, rows = distinct(texts)
        tokens = list(self._tokenize([texts[i] for i in first]))
        kept, items = distinct(map(tuple, tokens))
        words = None
        pad = self.plain.pad if self.plain else self.tokenizer.pad_token_id or 0
        if self.keep_words:
            clipped = [texts[first[i]][: CHARACTERS * self._longest] for i in kept]
            words = list(word_numbers(self.tokenizer, clipped, self._longest))
        return RaggedTokens.build([tokens[i] for i in kept], pad, words), items[rows]

    def _tokenize(self, texts: list[str]) -> Iterable[list[int]]:
        for start in range(0, len(texts), BATCH):
            clipped = [t[: CHARACTERS * self._longest] for t in texts[start : start + BATCH]]
            if self.plain is not None:
                yield from self.plain.tokens(clipped, self._longest)
            else:
                found = self.tokenizer(clipped, truncation=True, max_length=self._longest)
                yield from found["input_ids"]

    def word_pieces(self, words: list[str]) -> tuple[list[list[int]], int | None]:
        special = set(next(iter(self._tokenize([""]))))
        found = [[i for i in ids if i not in special] for ids in self._tokenize(words)]
        plain = self.plain
        unknown = plain.tokenizer.token_to_id(UNKNOWN) if plain else self.tokenizer.unk_token_id
        return found, unknown

    def token_texts(self) -> list[str]:
        tokenizer = self.plain.tokenizer if self.plain else self.tokenizer
        return list(tokenizer.get_vocab())

    def packs(self, device: torch.device) -> bool:
        return not self.keep_words and can_pack(self.model, self.compute_dtype, device)

    def fuses(self, ids: Tensor) -> bool:
        """Whether texts ``ids``, each in a row of its own, go through kernels of our own."""
        if not (self.fused and can_pack(self.model, self.compute_dtype, ids.device)):
            return False
        config = _config(self.model)
        sizes = row_width(ids.shape[1]), config.hidden_size, config.num_attention_heads
        return can_fuse(ids.device, *sizes)

    def forward(self, features: Features) -> Tensor:
        if "vectors" in features:
            return features["vectors"]  # computed before, by an encoder that stays as it is
        if "slots" in features and self.compute_dtype is not None:
            packed = pack_forward(self.model, features, self.compute_dtype, self.fused)
            return F.normalize(packed, dim=1) if self.normalize else packed
        device = next(iter(features.values())).device.type
        enabled = self.compute_dtype is not None
        with torch.autocast(device, dtype=self.compute_dtype, enabled=enabled):
            vectors = self._through_modules(features)
        return F.normalize(vectors, dim=1) if self.normalize else vectors

    def _vectors(self, items: Any, index: Ints) -> Floats:
        if (network := self.network()) is None:
            return super()._vectors(items, index)
        return self.pooled(network.layers(items.of_one_length(index), last=True)[0])

    def pooled(self, tokens: Floats) -> Floats:
        """Vectors of equally long texts from those of their tokens, shape (n, length, d)."""
        vectors = tokens[:, 0] if self.pooling == "cls" else tokens.mean(axis=1)
        return unit_rows(vectors) if self.normalize else vectors

    @property
    def width(self) -> int:
        """Width of the token vectors."""
        return self.plain.dim if self.plain else int(_config(self.model).hidden_size)

    @property
    def n_tokens(self) -> int:
        """How many tokens the vocabulary has."""
        return self.plain.n_tokens if self.plain else int(_config(self.model).vocab_size)

    @property
    def pools_mean(self) -> bool:
        """Whether a vector is the mean of the token vectors, and nothing comes after."""
        if self.plain is not None:
            return self.pooling == "mean"
        names = [type(module).__name__ for module in self.model]
        plain = names in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
        return plain and self.pooling == "mean"

    def with_layers(self, features: Features) -> tuple[Tensor, list[Tensor]]:
        """Vectors, and the token vectors before the first layer and after each, from one pass."""
        inputs = {key: features[key] for key in ("input_ids", "attention_mask")}
        net = self.model[0].auto_model
        layers = list(net(**inputs, output_hidden_states=True).hidden_states)
        vectors = self._through_modules(features, layers[-1])
        vectors = F.normalize(vectors, dim=1) if self.normalize else vectors
        return vectors, [layer.float() for layer in layers]

    def encode_views(
        self,
        items: Any,
        weights: Floats,
        index: Ints | None = None,
        *,
        progress: Progress | None = None,
    ) -> list[Floats]:
        """Three views of all items, or of ``index``; see :mod:`coterie.encoders.views`.

        Returns
        -------
        list of ndarray of shape (n, d)
            Vectors as :meth:`encode` gives them; the mean of the last layer with ``weights`` of
            the tokens; and the same of the middle layers.
        """
        both = PooledEncoder(self, weights).encode(items, index, progress=progress)
        return np.split(both, [self.dim, self.dim + self.width], axis=1)

    def _through_modules(self, features: Features, tokens: Tensor | None = None) -> Tensor:
        """Vectors. Given the ``tokens`` of the last layer, the first module is left out."""
        state: dict[str, Any] = {k: v for k, v in features.items() if k != "word_ids"}
        if tokens is None:
            state = self.model[0](state)
        else:
            state["token_embeddings"] = tokens
        for module in list(self.model)[1:]:
            if type(module).__name__ != "Normalize":
                state = module(state)
        vectors: Tensor = state["sentence_embedding"].float()
        return vectors

    def space(self) -> str | None:
        if self._pointer is None or self.folder is None:
            return None  # trained, or of unknown origin
        self._space = self._space or folder_digest(self.folder)
        settings = [self._space, self.max_length, self.normalize, self.pooling]
        if self.precision_here() == "int8" and self.plain is not None:
            settings += ["int8", self.plain.digest()]  # other processors make other vectors
        else:
            settings += ["float32", self.device and self.device.type]
        return hashlib.sha256(json.dumps([FORMAT, *settings]).encode()).hexdigest()

    def precision_here(self) -> str:
        """The precision that vectors are made in: float32 where this machine has no other."""
        return "float32" if self.network() is None else "int8"

    def network(self) -> Int8Bert | None:
        """What encodes in 8 bits, if that was asked for and can be done here."""
        if self.plain is None or self.encode_precision != "int8" or not self._on_cpu():
            return None
        return self.plain.network()

    def make_trainable(self) -> None:
        self.complete()
        self._pointer = self.plain = None  # from now on the weights are our own

    def pointer(self) -> dict[str, Any] | None:
        return self._pointer

    def to_config(self) -> dict[str, Any]:
        names = ("max_length", "normalize", "encode_precision")
        return {"pooling": self._asked, **{name: getattr(self, name) for name in names}}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> SentenceEncoder:
        shape = {"max_length": is_count, "normalize": bool, "pooling": str}
        check_shape(config, {**shape, "encode_precision": str}, "encoder.json")
        options = {name: config[name] for name in shape}
        encoder = cls(source, pointer=config.get("pointer"), **options)
        encoder.encode_precision = config["encode_precision"]
        return encoder.eval()

    def save_weights(self, folder: Path) -> None:
        with without_bars():
            self.model.save(str(folder), create_model_card=False)


def middle_layers(n_layers: int) -> tuple[int, int]:
    """First and last of the middle layers; 0 is the embedding of the tokens.

    Examples
    --------
    >>> middle_layers(6), middle_layers(12), middle_layers(1)
    ((2, 4), (4, 8), (0, 1))
    """
    return round(n_layers / 3), max(1, round(2 * n_layers / 3))


def weighted_mean(tokens: Any, weights: Any) -> Any:
    """Mean over the tokens of each text; ``tokens`` (n, length, d), ``weights`` (n, length).

    Both are tensors, or arrays.
    """
    return (tokens * weights[:, :, None]).sum(1) / weights.sum(1)[:, None].clip(1e-9)


class PooledEncoder(Encoder):
    """All views of one pass side by side: as the encoder pools, weighted, and middle layers.

    Parameters
    ----------
    inner : SentenceEncoder
    weights : ndarray of shape (vocabulary,)
        Of the tokens.
    """

    kind: ClassVar[str] = "pooled"

    def __init__(self, inner: SentenceEncoder, weights: Floats) -> None:
        super().__init__()
        self.inner, self.weights = inner, weights
        self.dim = inner.dim + 2 * inner.width
        self.eval()  # or the libraries would be loaded, only to switch dropout off

    def prepare(self, texts: Any) -> tuple[Items, Ints]:
        return self.inner.prepare(texts)

    def forward(self, features: Features) -> Tensor:
        vectors, layers = self.inner.with_layers(features)
        ids = features["input_ids"]
        weights = torch.from_numpy(self.weights).to(ids.device)[ids] * features["attention_mask"]
        first, last = middle_layers(len(layers) - 1)
        middle = torch.stack([layers[i] for i in range(first, last + 1)]).mean(dim=0)
        parts = [vectors, weighted_mean(layers[-1], weights), weighted_mean(middle, weights)]
        return torch.cat(parts, dim=1)

    def _vectors(self, items: Any, index: Ints) -> Floats:
        if (network := self.inner.network()) is None:
            return super()._vectors(items, index)
        ids = items.of_one_length(index)
        layers, weights = network.layers(ids), self.weights[ids]
        first, last = middle_layers(len(layers) - 1)
        middle = np.mean(layers[first : last + 1], axis=0)
        means = [weighted_mean(layer, weights) for layer in (layers[-1], middle)]
        return np.concatenate([self.inner.pooled(layers[-1]), *means], axis=1)

    def space(self) -> str | None:
        below = self.inner.space()
        if below is None:
            return None
        digest = hashlib.sha256(f"{FORMAT} {below}".encode())
        digest.update(self.weights.tobytes())
        return digest.hexdigest()


@contextmanager
def without_bars() -> Iterator[None]:
    """Keep the progress bars of transformers away from the terminal inside the block."""
    logging = need("transformers.utils.logging", "train")
    noisy = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if noisy:
            logging.enable_progress_bar()


def _config(model: Any) -> Any:
    return model[0].auto_model.config


def _check_modules(model: Any, pooling: str) -> bool:
    """Reject what begins with no transformer, set the pooling; whether vectors are normalised."""
    names = [type(module).__name__ for module in model]
    if names[:1] != ["Transformer"]:
        raise UsageError(
            f"the encoder begins with a {names[0] if names else 'nothing'} module; coterie "
            "trains encoders that begin with a Transformer."
        )
    if pooling != "auto":
        _set_pooling(model, pooling)
    return "Normalize" in names


def _pooling_mode(model: Any) -> Any:
    return getattr(model[1], "pooling_mode", None)


def _set_pooling(model: Any, pooling: str) -> None:
    for position, module in enumerate(model):
        if type(module).__name__ == "Pooling":
            width = _config(model).hidden_size
            model[position] = type(module)(width, pooling_mode=pooling)
            return
    raise DataError(f"`pooling={pooling!r}`: the encoder has no pooling module to change.")


def _places(model: Any) -> int:
    """How many tokens of a text the model has places for; without a table of them any number."""
    for name, table in model.named_parameters():
        parts = name.split(".")
        if parts[-2:] == ["position_embeddings", "weight"]:
            module = model.get_submodule(name[:-7])
            padding = getattr(module, "padding_idx", None)  # RoBERTa begins behind it
            return len(table) - (0 if padding is None else padding + 1)
    return sys.maxsize


def word_numbers(tokenizer: Any, texts: Sequence[str], max_length: int) -> Iterator[list[int]]:
    """Number of the word of each token, -1 for tokens that stand for no part of the text.

    Words are what white space separates, so "don't" is one however many tokens it has. A text
    without white space is one word. Numbers have no gaps.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise UsageError(
            f"the encoder's tokenizer ({type(tokenizer).__name__}) does not report where its "
            "tokens are in the text; this method needs an encoder with a fast tokenizer."
        )
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        found = tokenizer(
            list(part),
            truncation=True,
            max_length=max_length,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        columns = found["offset_mapping"], found["special_tokens_mask"]
        for text, offsets, special in zip(part, *columns, strict=True):
            yield _numbers(text, [end for _, end in offsets], special)


def _numbers(text: str, ends: list[int], special: list[int]) -> list[int]:
    begins = np.array([match.start() for match in WORD.finditer(text)], dtype=np.int64)
    # A token may begin with the space before its word, so its last character decides.
    last = np.maximum(np.array(ends, dtype=np.int64) - 1, 0)
    words = np.maximum(np.searchsorted(begins, last, side="right") - 1, 0)
    words[np.array(special, dtype=bool)] = SPECIAL
    known = np.unique(words[words >= 0])  # words of which no token is left are passed over
    return np.where(words < 0, SPECIAL, np.searchsorted(known, words)).tolist()  # type: ignore[no-any-return]


def folder_digest(folder: Path) -> str:
    """Digest of the files of a model that decide its vectors."""
    files = sorted(file for file in folder.rglob("*") if file.suffix in READ and file.is_file())
    names = {file.relative_to(folder).as_posix(): sha256_file(file) for file in files}
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def load_model(folder: Path) -> Any:
    """Load a sentence-transformers folder in float32, quietly and without running its code."""
    from safetensors import SafetensorError

    library = need("sentence_transformers", "train")
    check_modules(folder)
    try:
        with without_bars():
            model = library.SentenceTransformer(
                str(folder),
                device="cpu",
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"dtype": "float32"},
            )
        config = getattr(getattr(model[0], "auto_model", None), "config", None)
        wanted = getattr(config, "vocab_size", None) or 0
        if len(model.tokenizer) < wanted / 2:  # the libraries make one that knows no words
            raise ValueError(f"its tokenizer has {len(model.tokenizer)} tokens of {wanted}")
    except (OSError, TypeError, ValueError, KeyError, SafetensorError) as error:
        # What the libraries raise where a file of the folder is missing or cut off.
        raise DataError(
            f"`encoder`: the folder {folder} is incomplete or damaged ({error}). Download or "
            "copy it again."
        ) from error
    return model
