"""A frozen encoder with a network above it: vectors of texts become codes.

Autoencoders and what grows out of them (DEC, IDEC, Self-Train, KATE) never change the encoder
below, so its vectors are made once, when they are first asked for, and training starts from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from coterie._util.files import save_arrays
from coterie._util.torch import Tensor, nn, torch
from coterie._util.trust import read_tensors
from coterie._util.types import Features, Ints
from coterie.encoders.base import Encoder, Items, Rows
from coterie.methods.losses.layers import mlp

Scaling = Literal["rms", "minmax", "none"]


class CodeItems:
    """Items of the encoder below, which turn into rows of numbers when first asked for."""

    def __init__(self, owner: CodeEncoder, inner: Items, made: dict[str, Any]) -> None:
        self.owner, self.inner, self.made = owner, inner, made  # what is made, all copies share
        self.lengths = np.ones(len(inner), dtype=np.int64)
        self.device: torch.device | None = None
        self.rows: Rows | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, index: Ints, step: int = 1) -> Features:
        if self.rows is None:
            if "matrix" not in self.made:
                self.made["matrix"] = self._make()
            rows = Rows(self.made["matrix"])
            self.rows = rows if self.device is None else rows.to(self.device)
        return self.rows.batch(index)

    def _make(self) -> Any:
        if isinstance(self.inner, Rows):  # numbers already, and sparse ones stay sparse
            matrix = self.inner.matrix
        else:
            matrix = self.owner.inner.encode(self.inner)
        self.owner.see(matrix)
        return matrix

    def to(self, device: torch.device) -> CodeItems:
        moved = CodeItems(self.owner, self.inner.to(device), self.made)
        moved.device = device
        return moved

    def content(self) -> bytes:
        return self.inner.content()


class CodeEncoder(Encoder):
    """Codes of the vectors that another encoder makes.

    Parameters
    ----------
    inner : Encoder
        The encoder below; it stays as it is.
    scaling : {"rms", "minmax", "none"}, default="rms"
        What is done to its vectors: one factor for all, so that their mean square per number is
        one; each number to the range from 0 to 1; or nothing. Taken from the first rows seen.

    Attributes
    ----------
    coder, decoder : nn.Sequential or None
        The decoder is for training and is not saved.
    """

    kind: ClassVar[str] = "code"

    factor: Tensor
    shift: Tensor

    def __init__(self, inner: Encoder, scaling: Scaling = "rms") -> None:
        super().__init__()
        self.inner = inner
        self.scaling = scaling
        self.scaled = scaling == "none"
        self.network: dict[str, Any] = {}
        self.coder: nn.Sequential | None = None
        self.decoder: nn.Sequential | None = None

    def learn(self, texts: Sequence[str]) -> None:
        self.inner.learn(texts)

    def prepare(self, texts: Any) -> tuple[CodeItems, Ints]:
        items, rows = self.inner.prepare(texts)
        return CodeItems(self, items, {}), rows

    def make_coder(
        self, layers: Sequence[int], activation: str = "relu", *, bounded: bool = False
    ) -> None:
        """A fresh network; the last of the widths is the code's, ``bounded`` puts a tanh there."""
        width = self.inner.dim
        self.network = {"layers": list(layers), "activation": activation, "bounded": bounded}
        self.coder = mlp(width, *layers, activation=activation)
        if bounded:
            self.coder.append(nn.Tanh())
        self.decoder = mlp(*reversed(layers), width, activation=activation)
        self.dim = layers[-1]
        self.register_buffer("factor", torch.ones(width))
        self.register_buffer("shift", torch.zeros(width))

    def see(self, matrix: Any) -> None:
        """Take the scale of the input from the first rows, dense or sparse."""
        if self.scaled:
            return
        self.scaled = True
        if self.scaling == "rms":
            squares = matrix.multiply(matrix) if hasattr(matrix, "multiply") else matrix * matrix
            size = float(squares.mean()) ** 0.5
            self.factor.fill_(1 / size if size > 0 else 1.0)
            return
        low, high = (edge.to(self.factor.device) for edge in _edges(matrix))
        span = torch.where(high > low, high - low, torch.ones_like(high))
        self.factor.copy_(1 / span)
        self.shift.copy_(-low / span)

    def rows(self, features: Features) -> Tensor:
        """The scaled vectors of the encoder below."""
        return features["vectors"] * self.factor + self.shift

    def forward(self, features: Features) -> Tensor:
        assert self.coder is not None
        code: Tensor = self.coder(self.rows(features))
        return code.float()

    def inside(self) -> dict[str, Encoder]:
        return {"meaning": self.inner}

    def to_config(self) -> dict[str, Any]:
        return {"scaling": self.scaling, **self.network}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> CodeEncoder:
        encoder = cls(inside["meaning"], config["scaling"])
        encoder.make_coder(config["layers"], config["activation"], bounded=config["bounded"])
        encoder.decoder, encoder.scaled = None, True
        weights = read_tensors(source / "encoder.safetensors")
        below = {f"inner.{name}": tensor for name, tensor in encoder.inner.state_dict().items()}
        encoder.load_state_dict({**weights, **below})
        return encoder

    def save_weights(self, folder: Path) -> None:
        weights = {
            name: tensor.cpu().numpy()
            for name, tensor in self.state_dict().items()
            if not name.startswith(("inner.", "decoder."))
        }
        save_arrays(folder / "encoder.safetensors", weights)


class CodedRows(CodeEncoder):
    """The same for rows of numbers that the user brings."""

    kind: ClassVar[str] = "precomputed"


def make_code_encoder(inner: Encoder, scaling: Scaling) -> CodeEncoder:
    """A code encoder over texts, or over numbers if the encoder below takes numbers."""
    kind = CodedRows if inner.kind == CodedRows.kind else CodeEncoder
    return kind(inner, scaling)


def _edges(matrix: Any) -> tuple[Tensor, Tensor]:
    """Smallest and largest value of each column."""
    if isinstance(matrix, Tensor):
        return matrix.amin(0), matrix.amax(0)
    rows = [matrix.min(axis=0), matrix.max(axis=0)]
    dense = [row.toarray() if hasattr(row, "toarray") else row for row in rows]
    low, high = torch.from_numpy(np.stack(dense).reshape(2, -1).astype(np.float32))
    return low, high
