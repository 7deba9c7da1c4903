"""Prepared inputs of an encoder: distinct items, batches of which become features.

Text is prepared once. Texts that an encoder cannot tell apart (the same tokens, the same row of
numbers) are one item, so they are worked once and always end in the same cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from coterie._types import Features, Floats, Ints


class Items(Protocol):
    """Distinct inputs that can be batched."""

    lengths: Ints  # cost of each item; batches of similar cost waste least

    def __len__(self) -> int: ...

    def batch(self, index: Ints) -> Features:
        """Features of the items ``index``, in this order, on the items' device."""

    def to(self, device: torch.device) -> Items:
        """The same items with their arrays on ``device``."""

    def content(self) -> bytes:
        """All that is in them, to tell one corpus from another."""


class RaggedTokens:
    """Token ids of all items in one flat array; a batch is padded to its own longest item."""

    def __init__(self, flat: Tensor, lengths: Ints, pad: int) -> None:
        self.flat = flat  # (total,) int32
        self.lengths = lengths
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        self.pad = pad

    @classmethod
    def build(cls, sequences: list[list[int]], pad: int) -> RaggedTokens:
        """Lay sequences of token ids end to end."""
        lengths = np.fromiter(map(len, sequences), dtype=np.int64, count=len(sequences))
        flat = np.fromiter(
            (token for tokens in sequences for token in tokens), np.int32, int(lengths.sum())
        )
        return cls(torch.from_numpy(flat), lengths, pad)

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, index: Ints) -> Features:
        device = self.flat.device
        lengths = torch.from_numpy(self.lengths[index]).to(device, non_blocking=True)
        starts = torch.from_numpy(self.starts[index]).to(device, non_blocking=True)
        position = torch.arange(int(self.lengths[index].max()), device=device)
        mask = position < lengths[:, None]  # (n, width)
        at = (starts[:, None] + position).clamp(max=len(self.flat) - 1)
        ids = torch.where(mask, self.flat[at], self.pad)
        return {"input_ids": ids.long(), "attention_mask": mask.long()}

    def to(self, device: torch.device) -> RaggedTokens:
        return RaggedTokens(self.flat.to(device), self.lengths, self.pad)

    def content(self) -> bytes:
        return self.lengths.tobytes() + self.flat.cpu().numpy().tobytes()


class Rows:
    """Rows of a dense or sparse matrix; a batch is dense."""

    def __init__(self, matrix: Any, device: torch.device | None = None) -> None:
        self.matrix = matrix  # ndarray or csr_matrix of float32; a Tensor once moved
        self.lengths = np.ones(matrix.shape[0], dtype=np.int64)
        self.device = device

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, index: Ints) -> Features:
        if isinstance(self.matrix, Tensor):
            return {"vectors": self.matrix[torch.from_numpy(index).to(self.matrix.device)]}
        rows = self.matrix[index]
        dense: Floats = rows.toarray() if hasattr(rows, "toarray") else rows
        vectors = torch.from_numpy(np.ascontiguousarray(dense))
        return {"vectors": vectors if self.device is None else vectors.to(self.device)}

    def to(self, device: torch.device) -> Rows:
        if isinstance(self.matrix, np.ndarray):
            return Rows(torch.from_numpy(self.matrix).to(device), device)
        return Rows(self.matrix, device)

    def content(self) -> bytes:
        if isinstance(self.matrix, Tensor):
            return self.matrix.cpu().numpy().tobytes()
        if isinstance(self.matrix, np.ndarray):
            return self.matrix.tobytes()
        parts = (self.matrix.indptr, self.matrix.indices, self.matrix.data)
        return b"".join(part.tobytes() for part in parts)


def distinct(keys: Iterable[Any]) -> tuple[list[int], Ints]:
    """Position of the first of each distinct key, and for every key the number of its item.

    Examples
    --------
    >>> first, rows = distinct(["a", "b", "a"])
    >>> first, rows.tolist()
    ([0, 1], [0, 1, 0])
    """
    seen: dict[Any, int] = {}
    first: list[int] = []
    rows: list[int] = []
    for position, key in enumerate(keys):
        if key not in seen:
            seen[key] = len(first)
            first.append(position)
        rows.append(seen[key])
    return first, np.asarray(rows, dtype=np.int64)
