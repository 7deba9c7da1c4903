"""When a step fails: smaller passes where memory ran out, smaller rates where the loss did.

Both are said in the log and in the history, and kept in checkpoints, so that a run that is
continued goes on as carefully as it had become.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from coterie._errors import TrainingError, param
from coterie._types import Ints
from coterie.engine.history import NotFiniteError

if TYPE_CHECKING:
    from coterie.engine.checkpoint import Checkpoint, Saved

log = logging.getLogger(__name__)

SMALLER = 0.1  # of the learning rates, after a loss that is no number
FEWEST = 2  # texts in a pass: one alone has nothing to be contrasted with


@dataclass(frozen=True)
class Care:
    """How carefully a run goes.

    Attributes
    ----------
    parts : int
        A batch goes through the network in so many passes, whose gradients are added. Losses that
        compare texts then compare those of one pass.
    rate : float
        Factor of all learning rates.
    """

    parts: int = 1
    rate: float = 1.0

    def cut(self, rows: Ints) -> list[Ints]:
        """The rows of a batch, pass by pass.

        Examples
        --------
        >>> [part.tolist() for part in Care(parts=2).cut(np.arange(5))]
        [[0, 1, 2], [3, 4]]
        """
        return np.array_split(rows, max(1, min(self.parts, len(rows) // FEWEST)))

    def halved(self, rows: Ints, error: torch.OutOfMemoryError) -> Care:
        """Twice as many passes; an error if they cannot be smaller."""
        now, more = self.cut(rows), replace(self, parts=2 * self.parts)
        if len(more.cut(rows)) == len(now):
            raise TrainingError(
                f"out of memory with {len(now[0])} texts at a time; shorten texts "
                f"({param('max_length')}), train less of the encoder ({param('tune', 'lora')}), or "
                f"take another device ({param('device', 'cpu')})."
            ) from error
        return more


def free_memory() -> None:
    """Give back what a failed pass has left with torch."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def is_finite(net: nn.Module) -> bool:
    """Whether all weights are numbers."""
    return all(bool(torch.isfinite(p).all()) for p in net.parameters())


def go_back(
    error: NotFiniteError, care: Care, start: Saved, checkpoint: Checkpoint | None
) -> Saved:
    """Where to begin again, with a smaller rate: the newest checkpoint, or the start of the stage.

    Once; the second time the error is raised.
    """
    if care.rate < 1:
        raise TrainingError(f"{error} A tenth of the learning rates did not help.") from error
    kept = checkpoint.load() if checkpoint is not None else None
    if kept is None or (kept.stage, kept.step) < (start.stage, start.step):
        kept = start
    return replace(kept, care=replace(care, rate=SMALLER))
