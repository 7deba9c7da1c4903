"""Saving the state of a training run so that it continues to the identical result."""

from __future__ import annotations

import json
import logging
import shutil
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from coterie._files import atomic_path, plain, written
from coterie._ranks import is_first
from coterie._torch import Tensor, nn, torch
from coterie._trust import LARGE, check_file, damaged, parse_json
from coterie._types import Ints
from coterie.engine.history import Meter
from coterie.errors import DataError, TrainingError

log = logging.getLogger(__name__)

FEWEST_TEXTS = 2  # in a pass: one alone has nothing to be contrasted with
Moments = dict[str, dict[str, Tensor]]  # what an optimiser remembers, by name of the parameter


@dataclass(frozen=True)
class RetryPolicy:
    """How a run goes on after a step that failed.

    It is kept in checkpoints, so that a run that is continued goes on as carefully.

    Attributes
    ----------
    passes : int
        A batch goes through the network in so many passes, whose gradients are added: more, where
        memory ran out. Losses that compare texts then compare those of one pass.
    lr_factor : float
        Of all learning rates: smaller, after a loss that was not a number.
    """

    passes: int = 1
    lr_factor: float = 1.0

    def split(self, rows: Ints) -> list[Ints]:
        """The rows of a batch, pass by pass.

        Examples
        --------
        >>> [part.tolist() for part in RetryPolicy(passes=2).split(np.arange(5))]
        [[0, 1, 2], [3, 4]]
        """
        return np.array_split(rows, max(1, min(self.passes, len(rows) // FEWEST_TEXTS)))

    def halved(self, rows: Ints, error: torch.OutOfMemoryError) -> RetryPolicy:
        """Twice as many passes; an error if they cannot be smaller."""
        now, more = self.split(rows), replace(self, passes=2 * self.passes)
        if len(more.split(rows)) == len(now):
            raise TrainingError(
                f"out of memory with {len(now[0])} texts at a time; shorten texts "
                "(`max_length`), train less of the encoder (`tune='lora'`), or use another "
                "device (`device='cpu'`)."
            ) from error
        return more


@dataclass
class State:
    """Where a run stands: the network, the optimiser, and how many steps are done."""

    net: nn.Module
    stage: int = 0
    step: int = 0
    optimizer: torch.optim.Optimizer | None = None
    labels: Tensor | None = None  # of the last refresh, for early stopping
    rows: list[dict[str, Any]] = field(default_factory=list)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    meter: Meter = field(default_factory=Meter)  # loss terms since the last row


class Checkpoint:
    """A folder with the newest state of one run, in one file.

    Parameters
    ----------
    folder : Path
    fingerprint : str
        Names the run (settings and data); a checkpoint of another run is refused.
    every : float, default=60.0
        Seconds between two checkpoints at ends of epochs. A checkpoint holds three copies of all
        weights, so with short epochs writing each of them would cost more than training.
    """

    def __init__(self, folder: Path, fingerprint: str, every: float = 60.0) -> None:
        self.folder, self.file = folder, folder / "state.safetensors"
        self.fingerprint = fingerprint
        self.every = every
        self.last = time.monotonic()

    def due(self) -> bool:
        """Whether enough time has passed since the last one."""
        return time.monotonic() - self.last >= self.every

    def save(self, state: State, device: torch.device) -> None:
        """Write the state; the former checkpoint is replaced only when the new one is whole."""
        from safetensors.torch import save_file

        if not is_first():
            return
        saved = keep(state, device)
        facts = {
            "fingerprint": self.fingerprint,
            "stage": saved.stage,
            "step": saved.step,
            "history": saved.rows,
            "retry": asdict(saved.retry),
            "meter": saved.meter,
        }
        for left in self.folder.glob(".*.tmp"):  # by a process that was killed
            left.unlink()
        with atomic_path(self.file) as temporary, written(self.file):
            save_file(saved.tensors, temporary, {"facts": json.dumps(facts, default=plain)})
        self.last = time.monotonic()
        log.info("checkpoint after step %d of stage %d", state.step, state.stage)

    def load(self) -> Saved | None:
        """Read the checkpoint, or nothing if there is none."""
        from safetensors import safe_open

        if not self.file.exists():
            return None
        check_file(self.file)
        with damaged(self.file, "a checkpoint"), safe_open(self.file, "pt") as file:
            facts = parse_json(file.metadata()["facts"].encode(), str(self.file), LARGE)
            if facts["fingerprint"] != self.fingerprint:
                raise DataError(
                    f"the checkpoint in {self.folder} belongs to another run (other data, method "
                    "or settings); give the same ones, or another folder."
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            retry, meter = RetryPolicy(**facts["retry"]), facts["meter"]
            return Saved(facts["stage"], facts["step"], facts["history"], tensors, retry, meter)

    def clear(self) -> None:
        """Remove the checkpoint, when the run is over."""
        shutil.rmtree(self.folder, ignore_errors=True)


def keep(state: State, device: torch.device) -> Saved:
    """A copy of the state in memory, from which the run can go on."""
    tensors = {f"net.{k}": v for k, v in state.net.state_dict().items()}
    if state.optimizer is not None:
        moments = get_moments(state.optimizer, state.net)
        tensors |= {f"optimizer.{i}.{k}": v for i, p in moments.items() for k, v in p.items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(device)
    if state.labels is not None:
        tensors["labels"] = state.labels
    meter: dict[str, Any] = {}
    if state.meter.sums is not None:
        tensors["meter"] = state.meter.sums
        meter = {"names": state.meter.names, "steps": state.meter.steps}
    # Copies, since safetensors refuses tensors that share memory (tied weights).
    copies = {k: v.detach().cpu().clone().contiguous() for k, v in tensors.items()}
    return Saved(state.stage, state.step, list(state.rows), copies, state.retry, meter)


@dataclass
class Saved:
    """The state of a run at one moment: a checkpoint, or a copy in memory."""

    stage: int
    step: int
    rows: list[dict[str, Any]]
    tensors: dict[str, Tensor]
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    meter: dict[str, Any] = field(default_factory=dict)  # names and steps

    def restore(self, state: State, device: torch.device) -> Moments:
        """Put a run back to where it stood; returns the optimiser's moments by parameter."""
        tensors = self.tensors
        state.net.load_state_dict(self.part("net."))
        torch.set_rng_state(tensors["random.cpu"])
        if device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"], device)
        state.step, state.retry, state.labels = self.step, self.retry, None
        if "labels" in tensors:
            state.labels = tensors["labels"].to(device)
        state.meter = Meter()
        if self.meter and "meter" in tensors:
            state.meter = Meter(**self.meter, sums=tensors["meter"].to(device))
        moments: Moments = {}
        for name, tensor in self.part("optimizer.").items():
            parameter, key = name.rsplit(".", 1)
            moments.setdefault(parameter, {})[key] = tensor
        return moments

    def part(self, prefix: str) -> dict[str, Tensor]:
        """The tensors whose names begin so, without that."""
        return {k.removeprefix(prefix): v for k, v in self.tensors.items() if k.startswith(prefix)}


def get_moments(optimizer: torch.optim.Optimizer, net: nn.Module) -> Moments:
    """What the optimiser remembers of each parameter, by the parameter's name."""
    return {
        name: dict(optimizer.state[parameter])
        for name, parameter in net.named_parameters()
        if parameter in optimizer.state
    }


def put_moments(optimizer: torch.optim.Optimizer, net: nn.Module, moments: Moments) -> None:
    """Let the optimiser remember ``moments`` of those parameters that it trains."""
    trained = {
        id(p): i for i, p in enumerate(p for g in optimizer.param_groups for p in g["params"])
    }
    # In the memory layout of each parameter: the fused optimiser pairs numbers by position.
    state = {
        trained[id(parameter)]: {
            key: torch.empty_like(parameter).copy_(value)
            if value.shape == parameter.shape
            else value
            for key, value in moments[name].items()
        }
        for name, parameter in net.named_parameters()
        if name in moments and id(parameter) in trained
    }
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
