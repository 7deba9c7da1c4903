"""BERT with products of 8-bit numbers, for vectors on a CPU: about half the time of float32.

Each product of a layer is rounded on both sides. A weight is a whole number from -127 to 127 times
the scale of its output; from -63 to 63 where more would overflow: x86 processors without VNNI add
two products in 16 bits. An input is a whole number from 0 to 255, less a zero point, times the
scale of its token. Embedding, attention, normalisation and GELU stay float32. Since each token has
a scale of its own and sums of whole numbers are exact, a vector does not depend on the texts it is
encoded with, as it would with one scale per batch.

onnxruntime multiplies such numbers fast on all processors. Its graph is made here from the weights
in a tenth of a second, too little to keep it on disk. A model of ONNX is a protobuf message; the
few fields that are needed are written by :func:`_field`, in place of the package ``onnx``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from coterie._types import Floats, Ints
from coterie.errors import MissingError

TOP, SAFE = 127, 63  # largest weights, where products are exact and where they may overflow
MIDDLE = 128  # zero of inputs that go both ways: -127 to 127
GELU_ZERO, GELU_LEAST = 16, 2.72  # zero of what GELU gives, which is above -0.17: -16 to 239
IR, OPSET = 9, 17  # versions of ONNX
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}  # numbers that ONNX gives them


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
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingError("onnxruntime is not installed: pip install onnxruntime") from error
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
