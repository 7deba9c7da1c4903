"""The plan of a training: its stages, and the run they are part of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from coterie._util.progress import Progress
from coterie._util.torch import Tensor, nn, torch
from coterie._util.types import Ints, Terms
from coterie._util.validation import check_choice
from coterie.methods.train.checkpoint import Checkpoint
from coterie.methods.train.data import Batch
from coterie.methods.train.history import History
from coterie.methods.train.layers import moving

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}
Optimization = Literal[
    "graphs", "packing", "fused", "one-pass", "fused-adam", "device-tokens", "tf32"
]
OPTIMIZATIONS: tuple[str, ...] = get_args(Optimization)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What to minimise, for how long, and which parts move how fast.

    Parameters
    ----------
    name : str
    steps : int
        Batches to train on.
    loss : callable (net, batch) -> dict of str to Tensor
        Named loss terms, already weighted; the loop minimises their sum and logs each. A name
        that begins with "~" is only logged.
    lr : mapping of str to float
        Learning rate per child module of the network; a child not named stays frozen.
    views : tuple of int, default=(0,)
        Which view of a text each part of a batch holds: ``(0, 1, 2)`` for the original and two
        augmentations, ``(0, 0)`` for the same text under two dropout masks.
    setup : callable (net, vectors) -> None, optional
        Runs once before the first step with the vectors of all texts, shape (n, d).
    refresh : callable (net, vectors) -> None, optional
        Runs every ``refresh_every`` steps, for targets from the whole corpus.
    labels : callable (net, vectors) -> Tensor, optional
        Current labels; with ``stop_below`` they decide when the stage is over.
    refresh_every : int, default=0
        In steps; 0 is never.
    stop_below : float, default=0.0
        End the stage when a smaller share of labels changed between two refreshes.
    after_epoch : callable (net, epoch) -> None, optional
        Runs without gradients when an epoch ends, for state that needs no vectors; epochs count
        from 1.
    clip : float, optional
        Largest norm of the gradient.
    continues : bool, default=False
        Keep the optimiser's moments of the stage before, for the parts that both train.
    counts : bool, default=False
        Whether the network has a buffer ``step`` that counts the updates of the stage. A loss
        cannot count them: it is called several times where a batch goes in several passes.
    """

    name: str
    steps: int
    loss: Callable[[Any, Batch], Terms]
    lr: Mapping[str, float]
    views: tuple[int, ...] = (0,)
    setup: Callable[[Any, Tensor], None] | None = None
    refresh: Callable[[Any, Tensor], None] | None = None
    labels: Callable[[Any, Tensor], Tensor] | None = None
    refresh_every: int = 0
    stop_below: float = 0.0
    after_epoch: Callable[[Any, int], None] | None = None
    clip: float | None = None
    continues: bool = False
    counts: bool = False


@dataclass(frozen=True)
class TrainingContext:
    """What a method may know when it plans its training: never a label.

    Attributes
    ----------
    n : int
        Texts that are not empty.
    n_views : int
        1 if there are no augmentations.
    seed : int
        For random choices between the steps.
    texts : list of str, optional
        The texts, in the order of ``Batch.index``; None if vectors were passed in.
    rows : ndarray of shape (n,), optional
        Number of each text among the different ones, which the start solution is about.
    """

    n: int
    n_views: int
    seed: int
    texts: list[str] | None = None
    rows: Ints | None = None

    @property
    def pair(self) -> tuple[int, int]:
        """The two views of a text that are contrasted; the same twice has two dropout masks."""
        return {1: (0, 0), 2: (0, 1)}.get(self.n_views, (1, 2))


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
    progress: Progress = field(default_factory=Progress)
    checkpoint: Checkpoint | None = None
    history: History = field(default_factory=History)

    def encoder_dtype(self) -> torch.dtype | None:
        """Precision of the encoder in training; None is float32."""
        check_choice("precision", self.precision, ["auto", *PRECISIONS])
        if self.precision == "auto":
            return torch.bfloat16 if self.device.type == "cuda" else None
        return PRECISIONS[self.precision]

    def takes(self, optimization: str) -> bool:
        """Whether an optimization is on, and for this device."""
        return self.device.type == "cuda" and optimization in self.optimizations


def chosen_optimizations(asked: bool | Sequence[str]) -> tuple[str, ...]:
    """Names of optimizations: all for True, none for False, or those given.

    Examples
    --------
    >>> chosen_optimizations(False), chosen_optimizations(["graphs"])
    ((), ('graphs',))
    """
    if isinstance(asked, bool):
        return OPTIMIZATIONS if asked else ()
    return tuple(asked)


def count_trained(net: nn.Module, stages: Sequence[Stage]) -> dict[str, int]:
    """How many numbers of each part of the network at least one of the stages trains."""
    parts = dict.fromkeys(child for stage in stages for child in stage.lr)
    return {child: sum(p.numel() for p in moving(net.get_submodule(child))) for child in parts}


def usual_steps(n: int, batch_size: int) -> int:
    """Batches of a training that contrasts texts: 1,000, of 30 to 100 epochs, at most 3,000."""
    fewest, most = (steps_for(epochs, n, batch_size) for epochs in (30, 100))
    return min(3000, max(fewest, min(1000, most)))


def steps_for(epochs: float, n: int, batch_size: int) -> int:
    """How many batches make ``epochs`` passes over ``n`` texts, the last short batch counted."""
    return math.ceil(epochs * math.ceil(n / batch_size))
