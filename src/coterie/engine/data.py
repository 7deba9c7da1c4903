"""Training data: every text and its views as items, cut into batches the same way every time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from coterie._progress import Progress
from coterie._random import numpy_generator
from coterie._types import Features, Ints
from coterie.encoders import Encoder, Items


@dataclass(frozen=True, slots=True)
class Batch:
    """Some texts, with the features of all their views for one pass through the encoder.

    Attributes
    ----------
    index : Tensor of shape (n,)
        Which texts.
    groups : Tensor of shape (n,)
        Equal numbers mark the same text.
    features : dict of str to Tensor
        Of ``n_views * n`` inputs, view after view.
    n_views : int
    """

    index: Tensor
    groups: Tensor
    features: Features
    n_views: int

    def encode(self, encoder: Encoder) -> tuple[Tensor, ...]:
        """One tensor of shape (n, d) per view, by one pass through the encoder."""
        return encoder(self.features).chunk(self.n_views)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Items of all views of all texts.

    Attributes
    ----------
    items : Items
        Distinct inputs.
    views : ndarray of shape (n_views, n)
        Item of each view of each text; row 0 are the original texts.
    packed : bool, default=False
        Whether features come without padding.
    """

    items: Items
    views: Ints
    packed: bool = False

    def __len__(self) -> int:
        return int(self.views.shape[1])

    def batch(self, rows: Ints, views: tuple[int, ...], device: torch.device) -> Batch:
        """The texts ``rows`` with the given views, on ``device``."""
        index = self.views[list(views)][:, rows].ravel()
        items: Any = self.items
        features = items.packed_batch(index) if self.packed else items.batch(index)
        return Batch(
            index=torch.from_numpy(rows).to(device, non_blocking=True),
            groups=torch.from_numpy(self.views[0][rows]).to(device, non_blocking=True),
            features={k: v.to(device, non_blocking=True) for k, v in features.items()},
            n_views=len(views),
        )

    def vectors(self, encoder: Encoder, device: torch.device, progress: Progress) -> Tensor:
        """Vectors of all original texts, shape (n, d); each distinct one is encoded once."""
        distinct = torch.from_numpy(self.views[0]).unique().numpy()
        encoded = torch.from_numpy(encoder.encode(self.items, distinct, progress=progress))
        place = torch.zeros(int(distinct.max()) + 1, dtype=torch.long)
        place[torch.from_numpy(distinct)] = torch.arange(len(distinct))
        return encoded[place[torch.from_numpy(self.views[0])]].to(device)


class Batches:
    """Rows of each step: shuffled anew every epoch, the last short batch kept.

    The order of an epoch depends on seed, stage and epoch alone, so a run that was interrupted
    continues with the very batches it would have had.
    """

    def __init__(self, n: int, batch_size: int, seed: int, stage: str) -> None:
        self.n, self.batch_size, self.seed, self.stage = n, batch_size, seed, stage
        self.per_epoch = -(-n // batch_size)
        self._epoch, self._order = -1, torch.empty(0).numpy()

    def rows(self, step: int) -> Ints:
        """Texts of the batch of this step."""
        epoch, position = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            generator = numpy_generator(self.seed, "batches", self.stage, epoch)
            self._epoch, self._order = epoch, generator.permutation(self.n)
        return self._order[position * self.batch_size : (position + 1) * self.batch_size]

    def ends_epoch(self, step: int) -> bool:
        """Whether this step is the last of its epoch."""
        return (step + 1) % self.per_epoch == 0
