"""Training data: every text and its views as items, cut into batches the same way every time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie._util.progress import Progress
from coterie._util.random import numpy_generator
from coterie._util.torch import Tensor, torch
from coterie._util.types import Features, Ints
from coterie.encoders import Encoder, Items
from coterie.encoders.base import RaggedTokens, to_device

TOKENS = 65_536  # of packed texts that are encoded at once between steps


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
    one_pass : bool, default=True
        Whether all views go through the encoder together.
    """

    index: Tensor
    groups: Tensor
    features: Features
    n_views: int
    one_pass: bool = True

    def __len__(self) -> int:
        return len(self.index)

    def encode(self, encoder: Encoder) -> tuple[Tensor, ...]:
        """One tensor of shape (n, d) per view."""
        if self.one_pass:
            return tuple(encoder(self.features).chunk(self.n_views))
        parts = [(name, f.chunk(self.n_views)) for name, f in self.features.items()]
        return tuple(encoder({k: v[i] for k, v in parts}) for i in range(self.n_views))


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
        Whether several texts share a row of features.
    step : int, default=1
        Padded features have a multiple of this width.
    one_pass : bool, default=True
        See :class:`Batch`; packed features always go together.
    """

    items: Items
    views: Ints
    packed: bool = False
    step: int = 1
    one_pass: bool = True

    def __len__(self) -> int:
        return int(self.views.shape[1])

    def batch(self, rows: Ints, views: tuple[int, ...], device: torch.device) -> Batch:
        """The texts ``rows`` with the given views, on ``device``."""
        index = self.views[list(views)][:, rows].ravel()
        if self.packed and isinstance(self.items, RaggedTokens):
            features = self.items.packed_batch(index)
        else:
            features = self.items.batch(index, self.step)
        return Batch(
            index=to_device(rows, device),
            groups=to_device(self.views[0][rows], device),
            features={k: v.to(device, non_blocking=True) for k, v in features.items()},
            n_views=len(views),
            one_pass=self.one_pass,
        )

    def vectors(self, encoder: Encoder, device: torch.device, progress: Progress) -> Tensor:
        """Vectors of all original texts, shape (n, d); each distinct one is encoded once."""
        distinct, rows = np.unique(self.views[0], return_inverse=True)
        if self.packed:
            return self._packed_vectors(encoder, distinct, device)[to_device(rows, device)]
        encoded = encoder.encode(self.items, distinct, progress=progress)
        return torch.from_numpy(encoded[rows]).to(device)

    def _packed_vectors(self, encoder: Encoder, index: Ints, device: torch.device) -> Tensor:
        """In the precision of training and by its kernels, without dropout."""
        assert isinstance(self.items, RaggedTokens)
        training, passes = encoder.training, -(-int(self.items.lengths[index].sum()) // TOKENS)
        encoder.eval()
        found = []
        try:
            with torch.no_grad():
                for part in np.array_split(index, passes):
                    features = self.items.packed_batch(part)
                    found.append(encoder({k: v.to(device) for k, v in features.items()}))
        finally:
            encoder.train(training)
        return torch.cat(found)


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
