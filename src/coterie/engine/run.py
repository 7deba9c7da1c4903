"""The circumstances of a training run: device, precision, seed, and what it is asked to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from coterie._progress import Progress, Silent
from coterie._validation import check_choice
from coterie.engine.checkpoint import Checkpoint
from coterie.engine.history import History

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}
OPTIMIZATIONS = ("graphs", "packing", "fused", "one-pass", "fused-adam", "device-tokens", "tf32")


def chosen_optimizations(asked: bool | Sequence[str]) -> tuple[str, ...]:
    """Names of optimizations from what a user says: all, none or some of them.

    Examples
    --------
    >>> chosen_optimizations(False), chosen_optimizations("graphs")
    ((), ('graphs',))
    """
    if isinstance(asked, bool):
        return OPTIMIZATIONS if asked else ()
    return (asked,) if isinstance(asked, str) else tuple(asked)


@dataclass(frozen=True, kw_only=True)
class Run:
    """The circumstances of a training run, the same for all its stages.

    Parameters
    ----------
    batch_size, seed : int
    device : torch.device
    precision : {"auto", "float32", "bfloat16"}, default="auto"
        Of the encoder; heads and losses are always float32. "auto" is bfloat16 on a GPU.
    log_every : int, default=10
        Steps between two readings of the loss terms; on a GPU a reading makes the host wait.
    optimizations : tuple of str, default=OPTIMIZATIONS
        Ways to be fast on a GPU that leave the mathematics as it is; "tf32" rounds products of
        heads and losses, unless ``precision`` is "float32".
    progress : Progress
    checkpoint : Checkpoint, optional
    history : History
    """

    batch_size: int
    seed: int
    device: torch.device
    precision: str = "auto"
    log_every: int = 10
    optimizations: tuple[str, ...] = OPTIMIZATIONS
    progress: Progress = field(default_factory=Silent)
    checkpoint: Checkpoint | None = None
    history: History = field(default_factory=History)

    def encoder_dtype(self) -> torch.dtype | None:
        """Precision of the encoder in training; None is float32."""
        check_choice("precision", self.precision, ["auto", *PRECISIONS])
        if self.precision == "auto":
            return torch.bfloat16 if self.device.type == "cuda" else None
        return PRECISIONS[self.precision]

    def takes(self, optimization: str) -> bool:
        """Whether an optimization is asked for and this device is one for it."""
        return self.device.type == "cuda" and optimization in self.optimizations
