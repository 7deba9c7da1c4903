"""Sentence encoders: any sentence-transformers folder or hub name as one trainable module."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np

from coterie._progress import Progress
from coterie._torch import INSTALLED, F, Tensor, need_torch, torch
from coterie._types import Features, Floats, Ints
from coterie._validation import need
from coterie.encoders.base import Encoder, Items, RaggedTokens, distinct, row_width
from coterie.encoders.bert import LightBert, can_pack, pack_forward
from coterie.encoders.fused import can_fuse
from coterie.encoders.int8 import Int8Bert, largest_weight
from coterie.errors import DataError, UsageError
from coterie.neighbors import unit_rows

Pooling = Literal["auto", "mean", "cls"]
CHARACTERS = 100  # per token; what lies behind cannot be among the first max_length tokens
FORMAT = 2  # of kept vectors; another number makes all of them anew
WORD = re.compile(r"\S+")
SPECIAL = -1
BATCH = 8192  # texts that the tokenizer is given
UNKNOWN = "[UNK]"  # of BERT's vocabularies


class SentenceEncoder(Encoder):
    """A sentence-transformers model without its final normalisation, which is a switch here.

    Parameters
    ----------
    model : sentence_transformers.SentenceTransformer or LightBert
        The second is for vectors alone; it gives way to the first when more is asked for.
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
    encode_precision: str = "float32"  # on a CPU also bfloat16 and int8, see precision_here
    _space: tuple[Any, str] | None = None
    keep_words: bool = False  # whether prepared texts know which word each token is of

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
        if isinstance(model, LightBert):
            model.pooling = model.pooling if pooling == "auto" else pooling
            normalized, self.dim = model.normalized, model.dim
        else:
            normalized = _check_modules(model, pooling)
            width = "get_embedding_dimension"  # as it is called since sentence-transformers 6
            width = width if hasattr(model, width) else "get_sentence_embedding_dimension"
            self.dim = int(getattr(model, width)())
        self._modules["model"] = model
        self.normalize = normalized if normalize is None else normalize
        self.max_length = max_length
        self._longest = min(max_length, _places(model))  # tokens that are read
        self._pointer, self._loaded = pointer, self._seen() if pointer else None

    @property
    def model(self) -> Any:
        """The model of sentence-transformers, loaded when it is first asked for."""
        self.complete()
        return self._modules["model"]

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model."""
        return self.model.tokenizer

    @property
    def light(self) -> LightBert | None:
        """What makes vectors without the libraries, as long as nothing else was asked for."""
        found = self._modules["model"]
        return found if isinstance(found, LightBert) else None

    def complete(self) -> None:
        light = self.light
        if light is None:
            return
        model = light.whole()
        if _pooling_mode(model) != light.pooling:
            _set_pooling(model, light.pooling)
        light.give_weights(model)
        like = next(light.parameters())
        model.requires_grad_(like.requires_grad)
        self._modules["model"] = model.to(like.device).train(light.training)

    def train(self, mode: bool = True) -> SentenceEncoder:
        if mode:
            self.complete()  # only the libraries' model has dropout
        return super().train(mode)

    def prepare(self, texts: Sequence[str]) -> tuple[RaggedTokens, Ints]:
        # Equal texts need one look at the tokenizer; texts with equal tokens are one item.
        first, rows = distinct(texts)
        tokens = list(self._tokenize([texts[i] for i in first]))
        kept, items = distinct(map(tuple, tokens))
        light, words = self.light, None
        pad = (self.tokenizer.pad_token_id or 0) if light is None else light.pad
        if self.keep_words:
            clipped = [texts[first[i]][: CHARACTERS * self._longest] for i in kept]
            words = list(word_numbers(self.tokenizer, clipped, self._longest))
        return RaggedTokens.build([tokens[i] for i in kept], pad, words), items[rows]

    def _tokenize(self, texts: list[str]) -> Iterable[list[int]]:
        for start in range(0, len(texts), BATCH):
            clipped = [t[: CHARACTERS * self._longest] for t in texts[start : start + BATCH]]
            if (light := self.light) is not None:
                yield from light.tokens(clipped, self._longest)
            else:
                found = self.tokenizer(clipped, truncation=True, max_length=self._longest)
                yield from found["input_ids"]

    def word_pieces(self, words: list[str]) -> tuple[list[list[int]], int | None]:
        special = set(next(iter(self._tokenize([""]))))
        found = [[i for i in ids if i not in special] for ids in self._tokenize(words)]
        light = self.light
        unknown = (
            self.tokenizer.unk_token_id if light is None else light.tokenizer.token_to_id(UNKNOWN)
        )
        return found, unknown

    def token_texts(self) -> list[str]:
        tokenizer = self.tokenizer if self.light is None else self.light.tokenizer
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
            if self.light is not None:
                vectors = self.light.pool(self._transformer(features), features["attention_mask"])
            else:
                vectors = self._through_modules(features)
        return F.normalize(vectors, dim=1) if self.normalize else vectors

    def _vectors(self, items: Any, index: Ints, device: torch.device | None) -> Floats:
        if isinstance(self._faster, Int8Bert):
            return self.pooled(self._faster.layers(items.of_one_length(index), last=True)[0])
        need_torch("`precision='float32'`: encoding")
        return super()._vectors(items, index, device)

    def pooled(self, tokens: Floats) -> Floats:
        """Vectors of equally long texts from those of their tokens, shape (n, length, d)."""
        vectors = tokens[:, 0] if self.pooling == "cls" else tokens.mean(axis=1)
        return unit_rows(vectors) if self.normalize else vectors

    @property
    def _transformer(self) -> Any:
        """What makes the token vectors; while all texts are encoded perhaps in fewer bits."""
        return self._faster or self.light or self.model[0]

    @property
    def _faster(self) -> Any:
        encoder, transformer = _ENCODING.get()
        return transformer if encoder is self else None

    @property
    def width(self) -> int:
        """Width of the token vectors."""
        light = self.light
        return light.dim if light is not None else int(_config(self.model).hidden_size)

    @property
    def n_tokens(self) -> int:
        """How many tokens the vocabulary has."""
        light = self.light
        known = _config(self.model).vocab_size if light is None else light.config["vocab_size"]
        return int(known)

    @property
    def pooling(self) -> str | None:
        """How token vectors become one, such as "mean" or "cls"."""
        light = self.light
        found: str | None = _pooling_mode(self.model) if light is None else light.pooling
        return found

    @property
    def pools_mean(self) -> bool:
        """Whether a vector is the mean of the token vectors, and nothing comes after."""
        if self.light is not None:
            return self.pooling == "mean"
        names = [type(module).__name__ for module in self.model]
        plain = names in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
        return plain and self.pooling == "mean"

    def with_layers(self, features: Features) -> tuple[Tensor, list[Tensor]]:
        """Vectors, and the token vectors before the first layer and after each, from one pass."""
        if self.light is not None:
            layers = list(self._transformer.layers(features))
            vectors = self.light.pool(layers[-1], features["attention_mask"])
        else:
            inputs = {key: features[key] for key in ("input_ids", "attention_mask")}
            net = self._transformer.auto_model
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
            state = self._transformer(state)
            tokens = state["token_embeddings"]
        if self._faster is not None:
            tokens = tokens.float()
        state["token_embeddings"] = tokens
        for module in list(self.model)[1:]:
            if type(module).__name__ != "Normalize":
                state = module(state)
        vectors: Tensor = state["sentence_embedding"].float()
        return vectors

    def space(self) -> str | None:
        if self._pointer is None:
            return None  # trained, or of unknown origin
        state, seen = self._weights(), self._seen()
        if self._space is None or self._space[0] != seen:
            light, told = self.light, None
            if light is not None and seen == self._loaded:
                told = self._pointer.get("weights_sha256")  # of the file they are in
            told = told or weights_digest(self.model if light is None else [], state)
            self._space = seen, told if light is None else told + light.digest()
        precision = self.precision_here()
        settings = [self._space[1], self.max_length, self.normalize, precision]
        if precision == "int8":
            settings.append(largest_weight())  # other processors make other vectors
        return hashlib.sha256(json.dumps([FORMAT, self._device(), *settings]).encode()).hexdigest()

    def _seen(self) -> tuple[Any, ...]:
        """Changes with the weights, also where they are copied or changed in place."""
        weights = self._weights().values()
        return tuple((w.data_ptr(), w._version) if INSTALLED else id(w) for w in weights)

    def _weights(self) -> Mapping[str, Any]:
        """Tensors by name; arrays without torch."""
        return self.state_dict() if self.light is None else dict(self.light.weights.items())

    def _device(self) -> str:
        return str(next(self.parameters()).device.type) if INSTALLED else "cpu"

    def precision_here(self) -> str:
        """The precision that vectors are made in: float32 where this machine has no other.

        bfloat16 needs a CPU that has it; int8 a CPU, onnxruntime, and a model that coterie reads
        without the libraries.
        """
        wanted = self.encode_precision
        if wanted == "float32" or self._device() != "cpu":
            return "float32"
        able = has_bfloat16() if wanted == "bfloat16" else self._in_int8() is not None
        return wanted if able else "float32"

    def _in_int8(self) -> Int8Bert | None:
        """The transformer in 8 bits, made once; None, with a warning, where it cannot be made."""
        light = self.light
        if light is None:
            return None
        seen = os.getpid(), *self._seen()  # threads of onnxruntime do not survive a fork
        made = _INT8.get(light)
        if made is None or made[0] != seen:
            made = _INT8[light] = seen, light.in_int8()
        return made[1]

    @contextmanager
    def encoding(self) -> Iterator[None]:
        precision, faster = self.precision_here(), None
        if precision == "bfloat16":
            faster = copy.deepcopy(self._transformer).to(torch.bfloat16).eval()
        elif precision == "int8":
            faster = self._in_int8()
        token = _ENCODING.set((self, faster))
        try:
            yield
        finally:
            _ENCODING.reset(token)

    def make_trainable(self) -> None:
        self.complete()
        self._pointer = None  # from now on the weights are our own

    def pointer(self) -> dict[str, Any] | None:
        return self._pointer

    def save(self, folder: Path) -> None:
        before = self._modules["model"]
        with without_bars():
            self.model.save(str(folder), create_model_card=False)
        self._modules["model"] = before  # a light one stays so: it alone encodes in 8 bits


_INT8: WeakKeyDictionary[LightBert, tuple[Any, Int8Bert | None]] = WeakKeyDictionary()
# An encoder, and its transformer in fewer bits while it encodes; of each thread, since several may.
_ENCODING: ContextVar[tuple[Any, Any]] = ContextVar("coterie_encoding", default=(None, None))


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

    @cached_property
    def _on_device(self) -> Tensor:
        """The weights, where the encoder is."""
        return torch.from_numpy(self.weights).to(next(self.inner.parameters()).device)

    def forward(self, features: Features) -> Tensor:
        vectors, layers = self.inner.with_layers(features)
        ids = features["input_ids"]
        weights = self._on_device[ids] * features["attention_mask"]
        first, last = middle_layers(len(layers) - 1)
        middle = torch.stack([layers[i] for i in range(first, last + 1)]).mean(dim=0)
        parts = [vectors, weighted_mean(layers[-1], weights), weighted_mean(middle, weights)]
        return torch.cat(parts, dim=1)

    def _vectors(self, items: Any, index: Ints, device: torch.device | None) -> Floats:
        inner = self.inner
        if not isinstance(inner._faster, Int8Bert):
            return super()._vectors(items, index, device)
        ids = items.of_one_length(index)
        layers, weights = inner._faster.layers(ids), self.weights[ids]
        first, last = middle_layers(len(layers) - 1)
        middle = np.mean(layers[first : last + 1], axis=0)
        means = [weighted_mean(layer, weights) for layer in (layers[-1], middle)]
        return np.concatenate([inner.pooled(layers[-1]), *means], axis=1)

    @contextmanager
    def encoding(self) -> Iterator[None]:
        with self.inner.encoding():
            yield

    def space(self) -> str | None:
        below = self.inner.space()
        if below is None:
            return None
        digest = hashlib.sha256(f"{FORMAT} {below}".encode())
        digest.update(self.weights.tobytes())
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        raise NotImplementedError("it is made anew from its encoder and the weights of tokens")


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
    if isinstance(model, LightBert):
        return int(model.config["max_position_embeddings"])
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


def has_bfloat16() -> bool:
    """Whether this CPU multiplies in bfloat16; others would only imitate it, slowly."""
    checks = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(bool(getattr(torch.cpu, name, bool)()) for name in checks)


def weights_digest(model: Any, state: Mapping[str, Any]) -> str:
    """Digest of the modules of a model, their settings and their weights."""
    digest = hashlib.sha256()
    for module in model:
        config: dict[str, Any] = getattr(module, "get_config_dict", dict)()
        inner = getattr(getattr(module, "auto_model", None), "config", None)
        digest.update(repr((type(module).__name__, sorted(config.items(), key=str))).encode())
        digest.update(b"" if inner is None else inner.to_json_string(use_diff=False).encode())
    for name, tensor in state.items():
        kind = str(tensor.dtype).removeprefix("torch.")
        digest.update(repr((name, kind, tuple(tensor.shape))).encode())
        if isinstance(tensor, Tensor):
            tensor = tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy()
        digest.update(tensor.tobytes())
    return digest.hexdigest()
