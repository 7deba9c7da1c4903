"""BERT with products of 8-bit numbers, for vectors on a CPU: about half the time of float32.

Each product of a layer is rounded on both sides. A weight is a whole number from -127 to 127 times
the scale of its output; from -63 to 63 where more would overflow: x86 processors without VNNI add
two products in 16 bits. An input is a whole number from 0 to 255, less a zero point, times the
scale of its token. Embedding, attention, normalisation and GELU stay float32. Since each token has
a scale of its own and sums of whole numbers are exact, a vector does not depend on the texts it is
encoded with, as it would with one scale per batch.

Weights and tokenizer are read from the folder of the model (:func:`read_plain`): to import the
libraries that can load any encoder takes longer than to encode a thousand texts. A folder with
anything unusual in it is left to them.

onnxruntime multiplies such numbers fast on all processors. Its graph is made here from the weights
in a tenth of a second, too little to keep it on disk. A model of ONNX is a protobuf message; the
few fields that are needed are written by :func:`_field`, in place of the package ``onnx``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import struct
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from coterie._util.torch import torch
from coterie._util.trust import LARGE, check_modules, read_json
from coterie._util.types import Floats, Ints
from coterie.encoders.packing import FIRST, PARTS

log = logging.getLogger(__name__)

TOP, SAFE = 127, 63  # largest weights, where products are exact and where they may overflow
MIDDLE = 128  # zero of inputs that go both ways: -127 to 127
GELU_ZERO, GELU_LEAST = 16, 2.72  # zero of what GELU gives, which is above -0.17: -16 to 239
IR, OPSET = 9, 17  # versions of ONNX
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}  # numbers that ONNX gives them
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
KINDS = ("weight", "bias")
SIZES = ("num_hidden_layers", "num_attention_heads", "layer_norm_eps", "pad_token_id")


class PlainBert:
    """A BERT as its folder has it; it never changes, and copies share it.

    Parameters
    ----------
    weights : dict of str to ndarray
        In float32, as the file of the model names them.
    config : dict
        Layers, heads, the epsilon of normalisations, and the token that pads.
    tokenizer : tokenizers.Tokenizer
    pooling : {"mean", "cls"}
    normalized : bool
        Whether the folder asks for vectors of unit length.
    """

    def __init__(
        self,
        weights: dict[str, Floats],
        config: dict[str, Any],
        tokenizer: Any,
        pooling: str,
        normalized: bool,
    ) -> None:
        self.weights, self.config, self.tokenizer = weights, config, tokenizer
        self.pooling, self.normalized = pooling, normalized
        words, places = (weights[f"embeddings.{name}.weight"] for name in FIRST[:2])
        self.n_tokens, self.dim = words.shape
        self.n_places = len(places)
        self.pad = int(config["pad_token_id"])
        self._network: tuple[int, Int8Bert | None] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> PlainBert:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_network": None}

    def tokens(self, texts: list[str], max_length: int) -> Iterable[list[int]]:
        """Numbers of the tokens of each text, special ones included."""
        self.tokenizer.enable_truncation(max_length)
        self.tokenizer.no_padding()
        return (encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts))

    def network(self) -> Int8Bert | None:
        """What encodes, made once; None, with a warning, where onnxruntime is missing or fails."""
        here = os.getpid()  # threads of onnxruntime do not survive a fork
        if self._network is None or self._network[0] != here:
            self._network = here, self._make()
        return self._network[1]

    def _make(self) -> Int8Bert | None:
        layers, heads, eps = (self.config[name] for name in SIZES[:3])
        try:
            return Int8Bert(self.weights, layers, heads, float(eps), torch.get_num_threads())
        except Exception as error:  # onnxruntime has errors of its own kind
            log.warning("texts are encoded in float32, which takes twice as long: %s", error)
            return None

    def digest(self) -> str:
        """Digest of all that decides a vector besides the weights, the length and the pooling."""
        settings = [self.config, json.loads(self.tokenizer.to_str())["model"], largest_weight()]
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def read_plain(folder: Path, max_length: int) -> PlainBert | None:
    """The BERT of a folder, or None if the libraries have to read it.

    Parameters
    ----------
    folder : Path
    max_length : int
        Tokens that will be read of each text.
    """
    check_modules(folder)
    modules, config = _modules(folder), _config(folder)
    if modules is None or config is None or not _plain_tokenizer(folder):
        return None
    weights = _read_weights(folder / "model.safetensors", config["num_hidden_layers"])
    if weights is None:
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    plain = PlainBert(weights, config, tokenizer, *modules)
    whole = plain.dim % config["num_attention_heads"] == 0
    return plain if whole and max_length <= plain.n_places else None


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


def _config(folder: Path) -> dict[str, Any] | None:
    """Settings of a BERT without anything unusual."""
    config = _json(folder / "config.json")
    if not isinstance(config, dict) or config.get("model_type") != "bert":
        return None
    usual = all(config.get(key, value) == value for key, value in CONFIG.items())
    if (
        not usual
        or "quantization_config" in config
        or not all(config.get(key) for key in SIZES[:3])
    ):
        return None
    return {key: config.get(key, 0) for key in SIZES}


def _plain_tokenizer(folder: Path) -> bool:
    """Whether the tokenizer's file says what the libraries would make of the folder."""
    settings, file = _json(folder / "tokenizer_config.json"), _json(folder / "tokenizer.json")
    if not isinstance(settings, dict) or not isinstance(file, dict):
        return False
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": settings.get("tokenize_chinese_chars", True),
        "strip_accents": settings.get("strip_accents"),
        "lowercase": settings.get("do_lower_case", True),
    }
    return (
        settings.get("tokenizer_class") in ("BertTokenizer", "BertTokenizerFast")
        and settings.get("truncation_side", "right") == "right"
        and file.get("normalizer") == normalizer
        and file.get("pre_tokenizer") == {"type": "BertPreTokenizer"}
        and (file.get("model") or {}).get("type", "WordPiece") == "WordPiece"
        and file.get("post_processor") is not None
    )


def _read_weights(file: Path, n_layers: int) -> dict[str, Floats] | None:
    """The weights in float32, if all are there."""
    from safetensors import SafetensorError, safe_open

    parts = [f"encoder.layer.{i}.{part}" for i in range(n_layers) for part in PARTS]
    pairs = [f"{name}.{kind}" for name in ("embeddings.LayerNorm", *parts) for kind in KINDS]
    wanted = [*(f"embeddings.{name}.weight" for name in FIRST), *pairs]
    try:
        with safe_open(file, "np") as opened:
            named = {_usual(name): name for name in opened.keys()}
            return {name: opened.get_tensor(named[name]).astype(np.float32) for name in wanted}
    except (OSError, SafetensorError, KeyError, TypeError):
        return None  # the libraries know other files and types, and say what is wrong


def _usual(name: str) -> str:
    """Today's name of a weight; the first BERT and transformers 5.3 wrote gamma and beta."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
        "LayerNorm.beta", "LayerNorm.bias"
    )


def _json(file: Path) -> Any:
    return read_json(file, LARGE) if file.is_file() and not file.is_symlink() else None


class Int8Bert:
    """Token vectors of a BERT, from weights in 8 bits.

    Parameters
    ----------
    weights : mapping of str to ndarray
        In float32, as the file of the model names them.
    n_layers, heads : int
    eps : float
        Of the normalisations.
    threads : int
    """

    def __init__(
        self, weights: Mapping[str, Floats], n_layers: int, heads: int, eps: float, threads: int
    ) -> None:
        import onnxruntime

        self.words, self.places, kinds = (
            weights[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        self.kind = kinds[0]
        self.largest = largest_weight()
        graph, self.outputs = bert_graph(weights, n_layers, heads, eps, self.largest)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting sleeps
        # More than basic joins operations into ones that are slower on a CPU.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self.session = onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )

    def layers(self, ids: Ints, *, last: bool = False) -> list[Floats]:
        """Vectors of all tokens before the first layer and after each, or after the last alone.

        Parameters
        ----------
        ids : ndarray of shape (n, length)
            Without padding: texts of one length.
        last : bool, default=False

        Returns
        -------
        list of ndarray of shape (n, length, d)
        """
        n, length = ids.shape
        x = self.words[ids] + self.places[:length] + self.kind
        feed = {
            "x": x.reshape(n * length, -1),
            "shape": np.asarray(x.shape, dtype=np.int64),
            "middle": np.full(n * length, MIDDLE, dtype=np.uint8),
            "gelu_zero": np.full(n * length, GELU_ZERO, dtype=np.uint8),
        }
        wanted = self.outputs[-1:] if last else self.outputs
        return [out.reshape(x.shape) for out in self.session.run(wanted, feed)]


@cache
def largest_weight() -> int:
    """The largest whole number of a weight whose products this processor adds without overflow."""
    import onnxruntime

    graph = Graph()
    matrix, scale = graph.constant(np.full((64, 64), TOP, dtype=np.int8)), np.float32(1)
    factors = (matrix, graph.constant(scale), graph.constant(scale))
    out = graph.add("MatMulIntegerToFloat", "x", *factors)
    model = graph.model({"x": ("uint8", 64)}, {out: ("float32", 64)})
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    found = session.run([out], {"x": np.full((32, 64), 255, dtype=np.uint8)})[0]
    return TOP if (found == 64 * 255 * TOP).all() else SAFE


def round_weights(weight: Floats, largest: int) -> tuple[Any, Floats]:
    """Weights (out, in) as whole numbers (in, out), and the scale of each output.

    Examples
    --------
    >>> whole, scale = round_weights(np.array([[6.3, -1.0], [0.0, 0.0]], dtype=np.float32), 63)
    >>> whole.tolist(), (10 * scale).round().tolist()
    ([[63, 0], [-10, 0]], [1.0, 10.0])
    """
    size = np.abs(weight).max(axis=1)
    scale = np.where(size > 0, size / largest, 1).astype(np.float32)
    whole = np.rint(weight / scale[:, None]).astype(np.int8)
    return np.ascontiguousarray(whole.T), scale


def bert_graph(
    weights: Mapping[str, Floats], n_layers: int, heads: int, eps: float, largest: int
) -> tuple[bytes, list[str]]:
    """The model as ONNX has it, and the names of its outputs: tokens before and after each layer.

    All tokens of a batch lie one below the other, (tokens, d), but for attention.
    """
    graph = Graph()
    d = len(weights["embeddings.LayerNorm.weight"])
    one, last, flat = (
        graph.constant(np.array(value, dtype=kind))
        for value, kind in ((1, np.float32), ([-1], np.int64), ([-1, d], np.int64))
    )

    def norm(x: str, name: str) -> str:
        pair = (graph.constant(weights[f"{name}.{kind}"]) for kind in ("weight", "bias"))
        return graph.add("LayerNormalization", x, *pair, epsilon=eps)

    def rounded(x: str, *, gelu: bool = False) -> tuple[str, str, str]:
        """Whole numbers, the scale of each row, and the zero point."""
        size = x if gelu else graph.add("Abs", x)
        zero, least = (GELU_ZERO, GELU_LEAST) if gelu else (MIDDLE, 1e-6)
        size = graph.add("ReduceMax", size, axes=[1], keepdims=0)
        size = graph.add("Max", size, graph.constant(np.float32(least)))
        scale = graph.add("Div", size, graph.constant(np.float32(255 - zero)))
        whole = graph.add("QuantizeLinear", x, scale, "gelu_zero" if gelu else "middle", axis=0)
        return whole, graph.add("Unsqueeze", scale, last), graph.constant(np.uint8(zero))

    def product(x: tuple[str, str, str], name: str) -> str:
        whole, scale, zero = x
        matrix, scales = round_weights(weights[f"{name}.weight"], largest)
        factors = (graph.constant(matrix), one, graph.constant(scales), zero)
        return graph.add("Mul", graph.add("MatMulIntegerToFloat", whole, *factors), scale)

    def linear(x: tuple[str, str, str], name: str) -> str:
        return graph.add("Add", product(x, name), graph.constant(weights[f"{name}.bias"]))

    x = norm("x", "embeddings.LayerNorm")
    outputs = [x]
    for number in range(n_layers):
        part = f"encoder.layer.{number}"
        own = [f"{part}.attention.self.{name}" for name in ("query", "key", "value")]
        seen = rounded(x)
        parts = [graph.add("Reshape", product(seen, name), "shape") for name in own]
        bias = graph.constant(np.concatenate([weights[f"{name}.bias"] for name in own]))
        mixed = graph.add("MultiHeadAttention", *parts, bias, num_heads=heads)
        mixed = graph.add("Reshape", mixed, flat)
        mixed = linear(rounded(mixed), f"{part}.attention.output.dense")
        x = norm(graph.add("Add", x, mixed), f"{part}.attention.output.LayerNorm")
        inner = graph.add("Gelu", linear(rounded(x), f"{part}.intermediate.dense"))
        inner = linear(rounded(inner, gelu=True), f"{part}.output.dense")
        x = norm(graph.add("Add", x, inner), f"{part}.output.LayerNorm")
        outputs.append(x)
    inputs = {
        "x": ("float32", d),
        "shape": ("int64",),
        "middle": ("uint8",),
        "gelu_zero": ("uint8",),
    }
    return graph.model(inputs, dict.fromkeys(outputs, ("float32", d))), outputs


class Graph:
    """Operations of ONNX and their constants, as a message of protobuf."""

    OWN = frozenset({"MatMulIntegerToFloat", "MultiHeadAttention", "Gelu"})  # of onnxruntime

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.names = 0

    def _name(self) -> str:
        self.names += 1
        return f"n{self.names}"

    def constant(self, array: Any) -> str:
        """The name of an array."""
        array, name = np.asarray(array), self._name()
        dims = b"".join(_field(1, size) for size in array.shape)
        kind = _field(2, TYPES[str(array.dtype)])
        self.parts.append(_field(5, dims + kind + _field(8, name) + _field(9, array.tobytes())))
        return name

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """The name of the result of an operation."""
        name = self._name()
        node = [*(_field(1, one) for one in inputs), _field(2, name), _field(4, operation)]
        node += [_field(5, _attribute(*pair)) for pair in attributes.items()]
        node += [_field(7, "com.microsoft")] if operation in self.OWN else []
        self.parts.append(_field(1, b"".join(node)))
        return name

    def model(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> bytes:
        """All of it; inputs and outputs by name, with a type and, of matrices, a width."""
        parts = [*self.parts, _field(2, "bert")]
        for number, values in ((11, inputs), (12, outputs)):
            parts += [_field(number, _value(name, *kind)) for name, kind in values.items()]
        sets = (("", OPSET), ("com.microsoft", 1))
        versions = b"".join(_field(8, _field(1, name) + _field(2, n)) for name, n in sets)
        return _field(1, IR) + versions + _field(7, b"".join(parts))


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, list):
        return _field(1, name) + b"".join(_field(8, one) for one in value) + _field(20, 7)
    if isinstance(value, float):
        return _field(1, name) + _field(2, value) + _field(20, 1)
    return _field(1, name) + _field(3, value) + _field(20, 2)


def _value(name: str, kind: str, *width: int) -> bytes:
    """An array of so many columns and any number of rows; without columns a vector."""
    rows = _field(1, _field(2, f"rows of {name}"))
    shape = rows + b"".join(_field(1, _field(1, one)) for one in width)
    return _field(1, name) + _field(2, _field(1, _field(1, TYPES[kind]) + _field(2, shape)))


def _field(number: int, value: int | float | str | bytes) -> bytes:
    r"""A field of a protobuf message: a whole number, a float, a text or a message.

    Examples
    --------
    >>> _field(1, 150), _field(2, "testing")  # the examples of protobuf's documentation
    (b'\x08\x96\x01', b'\x12\x07testing')
    """
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """A whole number from 0 by 7 bits, the lowest first."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
