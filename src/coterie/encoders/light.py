"""BERT-like sentence encoders read straight from their folder, for vectors and nothing else.

The libraries that can load and train any encoder take seconds to import, more than it takes to
encode a thousand texts. The most usual kind, BERT with mean or first-token pooling, needs little:
a tokenizer file, a weights file, and six operations per layer. Whoever wants more than vectors
(training, saving, the modules themselves) gets the libraries' model with the same weights, see
:meth:`coterie.encoders.SentenceEncoder.complete`. A folder with anything unusual in it is left to
the libraries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from coterie._trust import LARGE, check_modules, read_json
from coterie._types import Features

POOLING = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
CONFIG = {  # what a config must say, if it says anything
    "model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu", "is_decoder": False,
    "position_embedding_type": "absolute", "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
}  # fmt: skip
SIZES = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size",
    "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "pad_token_id",
)  # fmt: skip
FIRST = ("word_embeddings", "position_embeddings", "token_type_embeddings")
PARTS = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm",
)  # fmt: skip


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
        self.heads, self.eps = int(config["num_attention_heads"]), float(config["layer_norm_eps"])
        self.n_layers, self.pad = int(config["num_hidden_layers"]), int(config["pad_token_id"])

    def tokens(self, texts: list[str], max_length: int) -> Iterable[list[int]]:
        """Numbers of the tokens of each text, special ones included."""
        self.tokenizer.enable_truncation(max_length)
        self.tokenizer.no_padding()
        return (found.ids for found in self.tokenizer.encode_batch_fast(texts))

    def forward(self, features: Features) -> Tensor:
        """Vectors of all tokens, shape (n, length, dim)."""
        ids, mask = features["input_ids"], features["attention_mask"]
        first = [self.weights[_flat(f"embeddings.{name}.weight")] for name in FIRST]
        x = F.embedding(ids, first[0]) + first[2][0]
        x = self._norm(x + first[1][: ids.shape[1]], "embeddings.LayerNorm")
        shown = None if bool(mask.all()) else mask.bool()[:, None, None, :]
        for number in range(self.n_layers):
            x = self._layer(x, shown, f"encoder.layer.{number}.")
        return x

    def pool(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """One vector per text, in float32."""
        tokens = tokens.float()
        if self.pooling == "cls":
            return tokens[:, 0]
        shown = mask[:, :, None].expand(tokens.shape).float()
        return (tokens * shown).sum(dim=1) / shown.sum(dim=1).clamp(min=1e-9)

    def settings(self) -> str:
        """Digest of all that decides a vector besides the weights and the length."""
        said = [self.config, self.pooling, json.loads(self.tokenizer.to_str())["model"]]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def give_weights(self, model: Any) -> None:
        """Put the weights, as they are now, into the same model of the libraries."""
        named = {name.replace("/", "."): weight for name, weight in self.weights.items()}
        unknown = model[0].auto_model.load_state_dict(named, strict=False).unexpected_keys
        if unknown:
            raise RuntimeError(f"the encoder has no place for {unknown[0]}")

    def _layer(self, x: Tensor, shown: Tensor | None, name: str) -> Tensor:
        n, length, d = x.shape
        query, key, value, out, _, wide, narrow, _ = (name + part for part in PARTS)
        q, k, v = (
            self._linear(x, part).view(n, length, self.heads, -1).transpose(1, 2)
            for part in (query, key, value)
        )  # (n, heads, length, d / heads) each
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=shown)
        mixed = self._linear(mixed.transpose(1, 2).reshape(n, length, d), out)
        x = self._norm(mixed + x, name + PARTS[4])
        inner = F.gelu(self._linear(x, wide))
        return self._norm(self._linear(inner, narrow) + x, name + PARTS[7])

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return F.linear(
            x, self.weights[_flat(name + ".weight")], self.weights[_flat(name + ".bias")]
        )

    def _norm(self, x: Tensor, name: str) -> Tensor:
        pair = self.weights[_flat(name + ".weight")], self.weights[_flat(name + ".bias")]
        return F.layer_norm(x, (self.dim,), *pair, self.eps)


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
        with safe_open(file, "pt") as opened:
            named = {_usual(name): name for name in opened.keys()}
            if not set(shapes) <= set(named):
                return None
            weights = {name: opened.get_tensor(named[name]).float() for name in shapes}
    except (OSError, SafetensorError):
        return None  # the libraries know other files, and say what is wrong
    good = all(tuple(weights[name].shape) == shape for name, shape in shapes.items())
    return weights if good else None


def _usual(name: str) -> str:
    """Today's name of a weight; the first BERT and transformers 5.3 wrote gamma and beta."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
        "LayerNorm.beta", "LayerNorm.bias"
    )


def _json(file: Path) -> Any:
    return read_json(file, LARGE) if file.is_file() and not file.is_symlink() else None
