"""BERT and its like: one forward pass, for vectors without the libraries and for training.

The libraries that can load and train any encoder take seconds to import, more than it takes to
encode a thousand texts. The most usual kind, BERT with mean or first-token pooling, needs little:
a tokenizer file, a weights file, and six operations per layer (:class:`LightBert`). Whoever wants
more than vectors (training, saving, the modules themselves) gets the libraries' model with the
same weights, see :meth:`coterie.encoders.SentenceEncoder.complete`. A folder with anything unusual
in it is left to the libraries.

Training on a GPU calls the same layers with the weights of the libraries' modules
(:func:`pack_forward`). A batch of short titles padded to its longest is half padding, so several
texts lie in one row there, and a mask keeps their attention apart. Where Triton works, layers are
those of :mod:`coterie.encoders.fused`.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie._torch import INSTALLED, F, Tensor, nn, torch
from coterie._trust import LARGE, check_modules, read_json
from coterie._types import Features, Floats
from coterie.encoders.fused import Places, Settings, can_fuse, draw, fused_embedding, fused_layer
from coterie.encoders.int8 import Int8Bert
from coterie.encoders.tuning import full_weight

log = logging.getLogger(__name__)

POOLING = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
CONFIG = {  # what a config must say, if it says anything
    "model_type": "bert",
    "architectures": ["BertModel"],
    "hidden_act": "gelu",
    "is_decoder": False,
    "position_embedding_type": "absolute",
    "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
}
SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "vocab_size",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "pad_token_id",
)
FIRST = ("word_embeddings", "position_embeddings", "token_type_embeddings")
PARTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)
OFFSET = {"BertModel": 0, "RobertaModel": 2, "XLMRobertaModel": 2}  # of the first position


def embed(
    ids: Tensor, positions: Tensor, tables: list[Tensor], norm: list[Tensor], settings: Settings
) -> Tensor:
    """Vectors of tokens before the first layer, in the precision of ``norm``.

    Parameters
    ----------
    ids, positions : Tensor of shape (n, length), the second perhaps (length,)
    tables : list of Tensor
        Of words, positions and kinds of tokens, of which the first is taken.
    norm : list of Tensor
        Scale and shift.
    settings : Settings
    """
    words, places, kinds = tables
    x = F.embedding(ids, words) + kinds[0] + F.embedding(positions, places)
    x = _norm(x.to(norm[0].dtype), norm, settings)
    return F.dropout(x, settings.hidden, settings.hidden > 0)


def layer(x: Tensor, mask: Tensor | None, weights: list[Tensor], settings: Settings) -> Tensor:
    """One transformer layer.

    Parameters
    ----------
    x : Tensor of shape (n, length, d)
    mask : Tensor that fits (n, heads, length, length), optional
        Who sees whom: truth values, or numbers to add.
    weights : list of Tensor
        Weight and bias of each of ``PARTS``.
    settings : Settings
    """
    n, length, d = x.shape
    p = settings.hidden
    # One product for all three would be a little faster; putting its gradient together is slower.
    q, k, v = (
        F.linear(x, *weights[i : i + 2]).view(n, length, settings.heads, -1).transpose(1, 2)
        for i in (0, 2, 4)
    )  # (n, heads, length, d / heads) each
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=settings.attention)
    mixed = F.linear(mixed.transpose(1, 2).reshape(n, length, d), *weights[6:8])
    x = _norm(x + F.dropout(mixed, p, p > 0), weights[8:10], settings)
    inner = F.linear(F.gelu(F.linear(x, *weights[10:12])), *weights[12:14])
    return _norm(x + F.dropout(inner, p, p > 0), weights[14:16], settings)


def _norm(x: Tensor, weights: list[Tensor], settings: Settings) -> Tensor:
    scale, shift = weights
    return F.layer_norm(x, list(scale.shape), scale, shift, settings.eps)


class LightBert(nn.Module):
    """The weights of a BERT, its tokenizer, and what becomes of its token vectors.

    Parameters
    ----------
    weights : dict of str to Tensor
        As the file of the model names them.
    config : dict
        Of the model.
    tokenizer : tokenizers.Tokenizer
    pooling : {"mean", "cls"}
    normalized : bool
        Whether the folder asks for vectors of unit length.
    whole : callable
        Loads the same folder by the libraries.
    """

    def __init__(
        self,
        weights: dict[str, Tensor],
        config: dict[str, Any],
        tokenizer: Any,
        pooling: str,
        normalized: bool,
        whole: Callable[[], Any],
    ) -> None:
        super().__init__()
        named = {_flat(name): nn.Parameter(weight) for name, weight in weights.items()}
        self.weights = nn.ParameterDict(named)
        self.config, self.tokenizer, self.whole = config, tokenizer, whole
        self.pooling, self.normalized = pooling, normalized
        self.dim = int(config["hidden_size"])
        heads, eps = int(config["num_attention_heads"]), float(config["layer_norm_eps"])
        self.settings = Settings(heads, 0.0, 0.0, eps)
        self.n_layers, self.pad = int(config["num_hidden_layers"]), int(config["pad_token_id"])

    def tokens(self, texts: list[str], max_length: int) -> Iterable[list[int]]:
        """Numbers of the tokens of each text, special ones included."""
        self.tokenizer.enable_truncation(max_length)
        self.tokenizer.no_padding()
        return (found.ids for found in self.tokenizer.encode_batch_fast(texts))

    def forward(self, features: Features) -> Tensor:
        """Vectors of all tokens, shape (n, length, dim)."""
        for x in self.layers(features):
            last = x
        return last

    def layers(self, features: Features) -> Iterator[Tensor]:
        """Vectors of all tokens before the first layer and after each."""
        ids, mask = features["input_ids"], features["attention_mask"]
        tables = [self.weights[_flat(f"embeddings.{name}.weight")] for name in FIRST]
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = embed(ids, positions, tables, self._pairs(["embeddings.LayerNorm"]), self.settings)
        yield x
        shown = None if bool(mask.all()) else mask.bool()[:, None, None, :]
        for number in range(self.n_layers):
            names = [f"encoder.layer.{number}.{part}" for part in PARTS]
            x = layer(x, shown, self._pairs(names), self.settings)
            yield x

    def _pairs(self, names: Iterable[str]) -> list[Tensor]:
        kinds = ("weight", "bias")
        return [self.weights[_flat(f"{name}.{kind}")] for name in names for kind in kinds]

    def pool(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """One vector per text, in float32."""
        tokens = tokens.float()
        if self.pooling == "cls":
            return tokens[:, 0]
        shown = mask[:, :, None].expand(tokens.shape).float()
        return (tokens * shown).sum(dim=1) / shown.sum(dim=1).clamp(min=1e-9)

    def in_int8(self) -> Int8Bert | None:
        """The same in 8 bits; None, with a warning, where onnxruntime is missing or fails."""
        weights = {name.replace("/", "."): _as_array(w) for name, w in self.weights.items()}
        heads, eps = self.settings.heads, self.settings.eps
        try:
            return Int8Bert(weights, self.n_layers, heads, eps, torch.get_num_threads())
        except Exception as error:  # onnxruntime has errors of its own kind
            log.warning("texts are encoded in float32, which takes twice as long: %s", error)
            return None

    def digest(self) -> str:
        """Digest of all that decides a vector besides the weights and the length."""
        said = [self.config, self.pooling, json.loads(self.tokenizer.to_str())["model"]]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def give_weights(self, model: Any) -> None:
        """Put the weights, as they are now, into the same model of the libraries."""
        named = {name.replace("/", "."): weight for name, weight in self.weights.items()}
        unknown = model[0].auto_model.load_state_dict(named, strict=False).unexpected_keys
        if unknown:
            raise RuntimeError(f"the encoder has no place for {unknown[0]}")


def _as_array(weight: Any) -> Floats:
    """A weight as an array of the same memory; without torch it is one."""
    return weight.detach().numpy() if isinstance(weight, Tensor) else weight


def _flat(name: str) -> str:
    """A name without dots, which parameters may not have."""
    return name.replace(".", "/")


def read_light(folder: Path, max_length: int, whole: Callable[[], Any]) -> LightBert | None:
    """The encoder of a folder, or None if the libraries have to read it.

    Parameters
    ----------
    folder : Path
    max_length : int
        Tokens that will be read of each text.
    whole : callable
        Loads the folder by the libraries.
    """
    check_modules(folder)
    found = _modules(folder)
    config = _plain_config(folder, max_length)
    if found is None or config is None or not _plain_tokenizer(folder):
        return None
    weights = _read_weights(folder / "model.safetensors", config)
    if weights is None:
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return LightBert(weights, config, tokenizer, *found, whole)


def _modules(folder: Path) -> tuple[str, bool] | None:
    """Pooling, and whether vectors are normalised, of a folder with just these modules."""
    listed = _json(folder / "modules.json")
    if not isinstance(listed, list) or len(listed) not in (2, 3) or listed[0].get("path"):
        return None
    names = [str(module.get("type")).rpartition(".")[2] for module in listed]
    if names not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    options = _json(folder / str(listed[1].get("path")) / "config.json") or {}
    mode = options.get("pooling_mode")
    if mode is None:
        on = [key for key in options if key.startswith("pooling_mode_") and options[key]]
        mode = POOLING.get(on[0]) if len(on) == 1 else None
    lowered = (_json(folder / "sentence_bert_config.json") or {}).get("do_lower_case")
    return (str(mode), len(names) == 3) if mode in POOLING.values() and not lowered else None


def _plain_config(folder: Path, max_length: int) -> dict[str, Any] | None:
    """Sizes of a BERT without anything unusual."""
    config = _json(folder / "config.json")
    if not isinstance(config, dict) or config.get("model_type") != "bert":
        return None
    usual = all(config.get(key, value) == value for key, value in CONFIG.items())
    if not usual or "quantization_config" in config or not all(key in config for key in SIZES):
        return None
    sizes = {key: config[key] for key in SIZES}
    whole = all(isinstance(v, int) and v >= 0 for k, v in sizes.items() if k != "layer_norm_eps")
    if not whole or not sizes["num_attention_heads"] or max_length > config[SIZES[5]]:
        return None
    return sizes if sizes["hidden_size"] % sizes["num_attention_heads"] == 0 else None


def _plain_tokenizer(folder: Path) -> bool:
    """Whether the tokenizer's file says what the libraries would make of the folder."""
    said, file = _json(folder / "tokenizer_config.json"), _json(folder / "tokenizer.json")
    if not isinstance(said, dict) or not isinstance(file, dict):
        return False
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": said.get("tokenize_chinese_chars", True),
        "strip_accents": said.get("strip_accents"),
        "lowercase": said.get("do_lower_case", True),
    }
    model, behind = file.get("model") or {}, file.get("post_processor") or {}
    ends = [next(iter(part.values())).get("id") for part in behind.get("single") or [{"": {}}]]
    return (
        said.get("tokenizer_class") in ("BertTokenizer", "BertTokenizerFast")
        and said.get("truncation_side", "right") == "right"
        and file.get("normalizer") == normalizer
        and file.get("pre_tokenizer") == {"type": "BertPreTokenizer"}
        and model.get("type", "WordPiece") == "WordPiece"
        and model.get("continuing_subword_prefix") == "##"
        and model.get("max_input_chars_per_word") == 100
        and ends == [said.get("cls_token", "[CLS]"), "A", said.get("sep_token", "[SEP]")]
        and all(token.get("special") for token in file.get("added_tokens") or [])
    )


def _read_weights(file: Path, config: dict[str, Any]) -> dict[str, Tensor] | None:
    """The weights in float32, if all are there in the shapes that the config says."""
    from safetensors import SafetensorError, safe_open

    d, wide = config["hidden_size"], config["intermediate_size"]
    rows = config["vocab_size"], config["max_position_embeddings"], config["type_vocab_size"]
    shapes: dict[str, tuple[int, ...]] = {
        f"embeddings.{name}.weight": (n, d) for name, n in zip(FIRST, rows, strict=True)
    }
    norms = ["embeddings.LayerNorm"]
    for i in range(config["num_hidden_layers"]):
        for part in PARTS:
            name = f"encoder.layer.{i}.{part}"
            if part.endswith("LayerNorm"):
                norms.append(name)
                continue
            out, into = {"intermediate.dense": (wide, d), "output.dense": (d, wide)}.get(
                part, (d, d)
            )
            shapes |= {f"{name}.weight": (out, into), f"{name}.bias": (out,)}
    shapes |= {f"{name}.{kind}": (d,) for name in norms for kind in ("weight", "bias")}
    try:
        with safe_open(file, "pt" if INSTALLED else "np") as opened:
            named = {_usual(name): name for name in opened.keys()}
            if not set(shapes) <= set(named):
                return None
            weights = {name: _float32(opened.get_tensor(named[name])) for name in shapes}
    except (OSError, SafetensorError):
        return None  # the libraries know other files, and say what is wrong
    good = all(tuple(weights[name].shape) == shape for name, shape in shapes.items())
    return weights if good else None


def _float32(weight: Any) -> Any:
    return weight.float() if isinstance(weight, Tensor) else weight.astype(np.float32)


def _usual(name: str) -> str:
    """Today's name of a weight; the first BERT and transformers 5.3 wrote gamma and beta."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
        "LayerNorm.beta", "LayerNorm.bias"
    )


def _json(file: Path) -> Any:
    return read_json(file, LARGE) if file.is_file() and not file.is_symlink() else None


def can_pack(model: Any, dtype: torch.dtype | None, device: torch.device) -> bool:
    """Whether :func:`pack_forward` knows the architecture and its pooling, and pays here.

    Parameters
    ----------
    model : SentenceTransformer
    dtype : torch.dtype or None
        Precision of training; None is float32, which stays with the library's own way.
    device : torch.device
    """
    names = [type(module).__name__ for module in model]
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return False
    if names[:2] != ["Transformer", "Pooling"] or set(names[2:]) - {"Normalize"}:
        return False
    transformer = model[0].auto_model
    config = transformer.config
    return (
        type(transformer).__name__ in OFFSET
        and config.hidden_act == "gelu"
        and getattr(config, "position_embedding_type", "absolute") in ("absolute", None)
        and _pooling(model[1]) in ("mean", "cls")
    )


def pack_forward(model: Any, features: Features, dtype: torch.dtype, fused: bool = False) -> Tensor:
    """Pooled vectors of packed texts.

    Parameters
    ----------
    model : SentenceTransformer
    features : dict
        As :meth:`RaggedTokens.packed_batch` gives them.
    dtype : torch.dtype
    fused : bool, default=False
        Layers in few kernels, where that is possible.

    Returns
    -------
    Tensor of shape (n, d)
        In float32.
    """
    net = model[0].auto_model
    slots, settings = features["slots"], layer_settings(net)
    if fused and can_fuse(slots.device, slots.shape[1], net.config.hidden_size, settings.heads):
        x = through_fused(net, features, settings, dtype)
    else:
        x = _through(net, features, settings, dtype)
    if _pooling(model[1]) == "cls":
        return x.flatten(0, 1).index_select(0, features["begins"]).float()
    return _means(x, slots).flatten(0, 1).index_select(0, features["picks"])


def layer_settings(net: Any) -> Settings:
    """Of a transformer as it is: without dropout unless it is being trained."""
    own, out = net.encoder.layer[0].attention.self, net.encoder.layer[0].output
    settings = Settings(own.num_attention_heads, own.dropout.p, out.dropout.p, out.LayerNorm.eps)
    return settings if net.training else settings._replace(attention=0.0, hidden=0.0)


def _through(net: Any, features: Features, settings: Settings, dtype: torch.dtype) -> Tensor:
    """Vectors of all tokens, shape (rows, width, d)."""
    slots = features["slots"]
    apart = slots[:, None, :, None] != slots[:, None, None, :]  # (rows, 1, width, width)
    mask = torch.zeros(apart.shape, dtype=dtype, device=slots.device)
    mask = mask.masked_fill(apart, float("-inf"))
    mask = mask.expand(-1, settings.heads, -1, -1)
    parts = net.embeddings
    tables = [parts.get_submodule(name).weight for name in FIRST]
    positions = features["positions"] + OFFSET[type(net).__name__]
    norm, *layers = _weights(net, dtype)
    x = embed(features["input_ids"], positions, tables, norm, settings)
    for weights in layers:
        x = layer(x, mask, weights, settings)
    return x


def through_fused(
    net: Any,
    features: Features,
    settings: Settings,
    dtype: torch.dtype,
    between: Sequence[Callable[[Tensor], Tensor]] | None = None,
) -> Tensor:
    """The same by :func:`fused_layer`; ``between`` has one callable for each layer."""
    slots, layers, parts = features["slots"], _fused_weights(net, dtype), net.embeddings
    first, *rest = draw(len(layers) + 1, settings, slots.device)
    places = Places(features["input_ids"], features["positions"], OFFSET[type(net).__name__])
    tables = [parts.word_embeddings.weight, parts.position_embeddings.weight]
    norm = parts.LayerNorm
    weights = [*tables, parts.token_type_embeddings.weight[0], norm.weight, norm.bias]
    x = fused_embedding(places, settings.hidden, norm.eps, first, dtype, weights)
    for i, (draws, own) in enumerate(zip(rest, layers, strict=True)):
        more = () if between is None else (between[i],)
        x = fused_layer(x, slots, settings, draws, own, *more)
    return x


def _means(x: Tensor, slots: Tensor) -> Tensor:
    """Mean over the tokens of each slot of each row, shape (rows, slots, d), by one product."""
    numbers = torch.arange(slots.shape[1], device=slots.device)
    member = (slots[:, None, :] == numbers[:, None]).float()  # (rows, slots, width)
    return member @ x.float() / member.sum(dim=2, keepdim=True).clamp(min=1)


def _weights(net: Any, dtype: torch.dtype) -> list[list[Tensor]]:
    """Weights in ``dtype``: those of the first normalisation, then those of each layer."""
    groups = [list(net.embeddings.LayerNorm.parameters())]
    for one in net.encoder.layer:
        parts = [one.get_submodule(name) for name in PARTS]
        groups.append([weight for part in parts for weight in (full_weight(part), part.bias)])
    found = iter(_cast(dtype, [[w] for group in groups for w in group]))
    return [[next(found) for _ in group] for group in groups]


def _fused_weights(net: Any, dtype: torch.dtype) -> list[list[Tensor]]:
    """Weights as :func:`fused_layer` takes them: matrices in ``dtype``, vectors as they are."""
    matrices, biases = [], []
    for one in net.encoder.layer:
        own = one.attention.self
        first = (own.query, own.key, own.value)
        others = (one.attention.output.dense, one.intermediate.dense, one.output.dense)
        matrices += [[full_weight(part) for part in first], *([full_weight(p)] for p in others)]
        biases.append([part.bias for part in first])
    cast, joined = iter(_cast(dtype, matrices)), iter(_cast(torch.float32, biases))
    found = []
    for one in net.encoder.layer:
        behind, inner, last = one.attention.output, one.intermediate, one.output
        norms = [[norm.weight, norm.bias] for norm in (behind.LayerNorm, last.LayerNorm)]
        found.append(
            [
                next(cast),
                next(joined),
                next(cast),
                behind.dense.bias,
                *norms[0],
                next(cast),
                inner.dense.bias,
                next(cast),
                last.dense.bias,
                *norms[1],
            ]
        )
    return found


def _cast(dtype: torch.dtype, groups: list[list[Tensor]]) -> list[Tensor]:
    """The weights of each group as one, in ``dtype``; frozen ones stay out of gradients' way."""
    moves = [any(w.requires_grad for w in group) for group in groups]
    out: list[Tensor] = [torch.empty(0)] * len(groups)
    for kind in (True, False):
        part = [i for i, moving in enumerate(moves) if moving is kind]
        if part:
            lengths = [[len(w) for w in groups[i]] for i in part]
            weights = [w for i in part for w in groups[i]]
            cast = _Cast.apply(dtype, lengths, *weights)  # type: ignore[no-untyped-call]
            for i, weight in zip(part, cast, strict=True):
                out[i] = weight
    return out


class _Cast(torch.autograd.Function):
    """Many weights to another precision, and their gradients back, by few kernels.

    Those of a group lie one behind the other, so that one product serves for all of them.
    """

    @staticmethod
    def forward(
        ctx: Any, dtype: torch.dtype, lengths: list[list[int]], *weights: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.dtypes, ctx.lengths = [w.dtype for w in weights], lengths
        out: list[Tensor] = []
        parts: list[Tensor] = []
        for group in lengths:
            like = weights[len(parts)]
            out.append(like.new_empty((sum(group), *like.shape[1:]), dtype=dtype))
            parts += out[-1].split(group)
        torch._foreach_copy_(parts, list(weights))
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        pairs = zip(grads, ctx.lengths, strict=True)
        parts = [part for grad, group in pairs for part in grad.split(group)]
        full = [torch.empty_like(g, dtype=d) for g, d in zip(parts, ctx.dtypes, strict=True)]
        torch._foreach_copy_(full, parts)
        return None, None, *full


def _pooling(module: Any) -> str:
    mode = getattr(module, "pooling_mode", "")
    return mode if isinstance(mode, str) else ""
