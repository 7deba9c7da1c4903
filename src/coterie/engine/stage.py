"""One phase of training, as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from coterie._types import Terms
from coterie.encoders.tuning import moving
from coterie.engine.data import Batch
from coterie.engine.recovery import Care


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
        Runs every ``refresh_every`` steps, for targets that look at the whole corpus.
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


def make_optimizer(
    net: nn.Module, stage: Stage, device: torch.device, optimizations: Sequence[str], care: Care
) -> torch.optim.Optimizer:
    """Adam over what moves of the children the stage names; all else is frozen."""
    net.requires_grad_(False)
    groups = []
    for child, lr in stage.lr.items():
        parameters = moving(net.get_submodule(child))
        for parameter in parameters:
            parameter.requires_grad_(True)
        groups.append({"params": parameters, "lr": care.rate * lr})
    on_gpu = device.type == "cuda"
    fused = "fused-adam" in optimizations or not on_gpu
    return torch.optim.Adam(groups, fused=fused, capturable=on_gpu)


def count_trained(net: nn.Module, stages: Sequence[Stage]) -> dict[str, int]:
    """How many numbers of each part of the network at least one of the stages trains."""
    parts = dict.fromkeys(child for stage in stages for child in stage.lr)
    return {child: sum(p.numel() for p in moving(net.get_submodule(child))) for child in parts}


def steps_for(epochs: float, n: int, batch_size: int) -> int:
    """How many batches make ``epochs`` passes over ``n`` texts, the last short batch counted."""
    return math.ceil(epochs * math.ceil(n / batch_size))
