"""What every encoder can do: prepare texts once, turn batches into vectors, be saved."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from coterie._cache import FEW, VectorCache, cache_folder
from coterie._progress import Progress, Silent
from coterie._types import Features, Floats, Ints
from coterie._validation import check_memory
from coterie.encoders.items import Items, distinct

log = logging.getLogger(__name__)

TOKENS_PER_BATCH = {"cpu": 1_024, "cuda": 131_072}  # fits the caches of a CPU; fills a GPU
FEWEST = 32  # tokens of a batch on a CPU; smaller products are added up in another order


class Encoder(nn.Module):
    """A torch module from features to vectors, with the preparation of texts around it.

    Attributes
    ----------
    dim : int
        Width of the vectors.
    compute_dtype : torch.dtype or None
        Precision of the forward pass in training; None is float32. Vectors come out in float32.
    fused : bool
        Whether training on packed features may use kernels of our own.
    """

    kind: ClassVar[str]
    tokens_per_batch: ClassVar[int | None] = None  # on a CPU, where the usual number is not best
    dim: int
    compute_dtype: torch.dtype | None = None
    fused: bool = False

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

    def complete(self) -> None:
        """Load what only training and saving need; called before parameters are handed out."""

    def space(self) -> str | None:
        """Digest of all that decides a vector besides the item; None if vectors are not kept."""
        return None

    @contextmanager
    def encoding(self) -> Iterator[None]:
        """Around the encoding of all items, for encoders that work differently then."""
        yield

    def packs(self, device: torch.device) -> bool:
        """Whether training on ``device`` takes features without padding."""
        return False

    def pointer(self) -> dict[str, Any] | None:
        """Where the unchanged encoder can be found again, or None if it must be saved whole."""
        return None

    def encode(
        self, items: Any, index: Ints | None = None, *, progress: Progress | None = None
    ) -> Floats:
        """Vectors of all items (or of ``index``) without dropout, in float32.

        Vectors that an unchanged encoder made before come from the disk, see :func:`no_cache`,
        unless there are few to make.
        """
        index = np.arange(len(items)) if index is None else index
        folder = cache_folder() if len(index) >= FEW else None
        space = None if folder is None else self.space()
        keys = None if folder is None or space is None else items.digests(index)
        if folder is None or space is None or keys is None:
            return self._work(items, index, progress)
        first, rows = distinct(keys)
        cache = VectorCache(folder, space, self.dim)
        vectors, missing = cache.read([keys[i] for i in first])
        if len(missing):
            positions = np.asarray(first)[missing]
            vectors[missing] = self._work(items, index[positions], progress)
            cache.write([keys[i] for i in positions], vectors[missing])
        return vectors[rows]

    @torch.inference_mode()
    def _work(self, items: Items, index: Ints, progress: Progress | None) -> Floats:
        """Vectors in the order asked for; worked by length, so that there is little padding."""
        progress = progress or Silent()
        device = next((p.device for p in self.parameters()), torch.device("cpu"))
        check_memory(
            2 * 4 * len(index) * self.dim,  # the vectors, and what is computed from them
            f"vectors of {len(index):,} texts with {self.dim:,} numbers each",
            "fit a sample (--fit-sample 20000), or take an encoder of fewer numbers (tfidf-svd)",
        )
        out = np.empty((len(index), self.dim), dtype=np.float32)
        training, self.compute_dtype, dtype = self.training, None, self.compute_dtype
        self.eval()
        progress.start("encode", len(index))
        try:
            done = 0
            with self.encoding():
                for part in self._batches(items.lengths[index], device):
                    out[part] = self._pass(items, index, part, device)
                    done += len(part)
                    progress.advance(done)
        finally:
            progress.stop()
            self.train(training)
            self.compute_dtype = dtype
        return out

    def _pass(self, items: Items, index: Ints, part: Ints, device: torch.device) -> Floats:
        """Vectors of one batch; where memory runs out, of its halves."""
        try:
            again = _enough(part, items.lengths[index[part[0]]], device)
            features = {k: v.to(device) for k, v in items.batch(index[again]).items()}
            return np.asarray(self(features)[: len(part)].cpu().numpy())
        except torch.OutOfMemoryError:
            if len(part) == 1:
                raise
        if device.type == "cuda":
            torch.cuda.empty_cache()
        log.warning("memory ran out with %d texts at a time: encoding goes on by halves", len(part))
        halves = np.array_split(part, 2)
        return np.concatenate([self._pass(items, index, half, device) for half in halves])

    def _batches(self, lengths: Ints, device: torch.device) -> list[Ints]:
        """On a CPU items of one length share a batch: no padding, and no influence of company."""
        usual = TOKENS_PER_BATCH.get(device.type, TOKENS_PER_BATCH["cpu"])
        if device.type == "cpu":
            return batches_of_one_length(lengths, self.tokens_per_batch or usual)
        return batches_by_length(lengths, usual)


def _enough(part: Ints, length: int, device: torch.device) -> Ints:
    """The items of a batch, over again where they are too few for a product of the usual kind."""
    if device.type != "cpu" or length < 2 or len(part) * length >= FEWEST:
        return part
    return np.resize(part, -(-FEWEST // int(length)))


def batches_of_one_length(lengths: Ints, budget: int) -> list[Ints]:
    """Positions in batches of equal length, each of at most ``budget`` units.

    Examples
    --------
    >>> [part.tolist() for part in batches_of_one_length(np.array([3, 2, 3, 3, 9]), 6)]
    [[1], [0, 2], [3], [4]]
    """
    order = np.argsort(lengths, kind="stable")
    parts: list[Ints] = []
    if not len(order):
        return parts
    for run in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
        size = max(1, budget // max(1, int(lengths[run[0]])))
        parts += [run[first : first + size] for first in range(0, len(run), size)]
    return parts


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
