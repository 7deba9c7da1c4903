"""What every encoder can do: prepare texts once, turn batches into vectors, be saved."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from coterie._progress import Progress, Silent
from coterie._types import Features, Floats, Ints
from coterie.encoders.items import Items

TOKENS_PER_BATCH = {"cpu": 4_096, "cuda": 131_072}  # fits the caches of a CPU; fills a GPU


class Encoder(nn.Module):
    """A torch module from features to vectors, with the preparation of texts around it.

    Attributes
    ----------
    dim : int
        Width of the vectors.
    compute_dtype : torch.dtype or None
        Precision of the forward pass in training; None is float32. Vectors come out in float32.
    """

    kind: ClassVar[str]
    dim: int
    compute_dtype: torch.dtype | None = None

    @abstractmethod
    def prepare(self, texts: Any) -> tuple[Items, Ints]:
        """Distinct items of the texts, and for each text the number of its item."""

    @abstractmethod
    def forward(self, features: Features) -> Tensor:
        """Vectors of shape (n, dim) in float32."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write everything that :func:`load_saved` needs to make the same vectors."""

    def learn(self, texts: Sequence[str]) -> None:
        """Take from the corpus what the encoder needs before :meth:`prepare` (a vocabulary)."""

    def make_trainable(self) -> None:
        """Get ready for training; called once before a method trains its parts."""

    def packs(self, device: torch.device) -> bool:
        """Whether training on ``device`` takes features without padding."""
        return False

    def pointer(self) -> dict[str, Any] | None:
        """Where the unchanged encoder can be found again, or None if it must be saved whole."""
        return None

    @torch.inference_mode()
    def encode(
        self, items: Items, index: Ints | None = None, *, progress: Progress | None = None
    ) -> Floats:
        """Vectors of all items (or of ``index``) without dropout, in float32.

        Items are worked by length, so that a batch holds little padding; the result comes back in
        the order asked for.
        """
        index = np.arange(len(items)) if index is None else index
        progress = progress or Silent()
        device = next((p.device for p in self.parameters()), torch.device("cpu"))
        budget = TOKENS_PER_BATCH.get(device.type, TOKENS_PER_BATCH["cpu"])
        out = np.empty((len(index), self.dim), dtype=np.float32)
        training, self.compute_dtype, dtype = self.training, None, self.compute_dtype
        self.eval()
        progress.start("encode", len(index))
        try:
            done = 0
            for part in batches_by_length(items.lengths[index], budget):
                features = {k: v.to(device) for k, v in items.batch(index[part]).items()}
                out[part] = self(features).cpu().numpy()
                done += len(part)
                progress.advance(done)
        finally:
            progress.stop()
            self.train(training)
            self.compute_dtype = dtype
        return out


def batches_by_length(lengths: Ints, budget: int) -> list[Ints]:
    """Positions in batches of similar length, each of at most ``budget`` padded units.

    Examples
    --------
    >>> [part.tolist() for part in batches_by_length(np.array([3, 1, 2, 9]), 6)]
    [[1, 2], [0], [3]]
    """
    order = np.argsort(lengths, kind="stable")
    parts: list[Ints] = []
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and lengths[order[last]] * (last + 1 - first) <= budget:
            last += 1
        parts.append(order[first:last])
        first = last
    return parts
