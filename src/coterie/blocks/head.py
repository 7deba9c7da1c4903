"""A clustering head of three layers, and the assigner that a trained one is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from coterie._types import Floats, Ints

DROPOUT = 0.5


class DeepHead(nn.Module):
    """Dropout, d to d, ReLU, twice, then d to k; the forward pass gives log probabilities."""

    def __init__(self, dim: int, n_clusters: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Dropout(DROPOUT), nn.Linear(dim, dim), nn.ReLU(),
            nn.Dropout(DROPOUT), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, n_clusters),
        )  # fmt: skip

    def forward(self, z: Tensor) -> Tensor:
        logits: Tensor = self.layers(z)
        return logits.log_softmax(dim=1)

    @torch.no_grad()
    def steady(self, z: Tensor) -> Tensor:
        """Log probabilities without dropout and without a gradient."""
        training = self.training
        self.eval()
        try:
            log_p: Tensor = self(z)
        finally:
            self.train(training)
        return log_p


@dataclass(frozen=True)
class HeadAssigner:
    """The probabilities of a trained :class:`DeepHead`."""

    kind: ClassVar[str] = "head"
    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]

    @classmethod
    def make(cls, head: DeepHead) -> HeadAssigner:
        """The assigner of a trained head."""
        linear = [part for part in head.layers if isinstance(part, nn.Linear)]
        return cls(
            tuple(part.weight.detach().cpu().numpy() for part in linear),
            tuple(part.bias.detach().cpu().numpy() for part in linear),
        )

    def logits(self, vectors: Floats) -> Floats:
        # In float64 a text alone gets to the last digit what it gets in a crowd.
        x = vectors.astype(np.float64)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.maximum(x @ weight.T.astype(np.float64) + bias, 0)
        return np.asarray(x @ self.weights[-1].T.astype(np.float64) + self.biases[-1])

    def reordered(self, order: Ints) -> HeadAssigner:
        return replace(
            self,
            weights=(*self.weights[:-1], self.weights[-1][order]),
            biases=(*self.biases[:-1], self.biases[-1][order]),
        )

    def arrays(self) -> dict[str, Any]:
        pairs = enumerate(zip(self.weights, self.biases, strict=True))
        return {f"{kind}.{i}": a for i, pair in pairs for kind, a in zip("wb", pair, strict=True)}

    def numbers(self) -> dict[str, Any]:
        return {"layers": len(self.weights)}

    @classmethod
    def restore(cls, arrays: dict[str, Any], numbers: dict[str, Any]) -> HeadAssigner:
        """Make the assigner again from what :meth:`arrays` and :meth:`numbers` gave."""
        every = range(numbers["layers"])
        return cls(tuple(arrays[f"w.{i}"] for i in every), tuple(arrays[f"b.{i}"] for i in every))
