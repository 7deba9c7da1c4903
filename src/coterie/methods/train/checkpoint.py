"""Saving the state of a training run so that it continues to the identical result."""

from __future__ import annotations

import json
import logging
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie._util.files import atomic_path, plain, written
from coterie._util.torch import Tensor, nn, torch
from coterie._util.trust import LARGE, check_file, damaged, parse_json
from coterie.errors import DataError
from coterie.methods.train.history import Meter

log = logging.getLogger(__name__)

Moments = dict[str, dict[str, Tensor]]  # what an optimiser remembers, by name of the parameter


@dataclass
class State:
    """Where a run stands: the network, the optimiser, and how many steps are done."""

    net: nn.Module
    stage: int = 0
    step: int = 0
    optimizer: torch.optim.Optimizer | None = None
    labels: Tensor | None = None  # of the last refresh, for early stopping
    rows: list[dict[str, Any]] = field(default_factory=list)
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

        tensors, meter = _tensors(state, device)
        facts = {
            "fingerprint": self.fingerprint,
            "stage": state.stage,
            "step": state.step,
            "history": state.rows,
            "meter": meter,
        }
        for left in self.folder.glob(".*.tmp"):  # by a process that was killed
            left.unlink()
        with atomic_path(self.file) as temporary, written(self.file):
            save_file(tensors, temporary, {"facts": json.dumps(facts, default=plain)})
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
            return Saved(facts["stage"], facts["step"], facts["history"], tensors, facts["meter"])

    def clear(self) -> None:
        """Remove the checkpoint, when the run is over."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _tensors(state: State, device: torch.device) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """All tensors that the run goes on from, and what the meter needs besides its sums."""
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
    return {k: v.detach().cpu().clone().contiguous() for k, v in tensors.items()}, meter


@dataclass
class Saved:
    """A checkpoint as it was read."""

    stage: int
    step: int
    rows: list[dict[str, Any]]
    tensors: dict[str, Tensor]
    meter: dict[str, Any]  # names and steps

    def restore(self, state: State, device: torch.device) -> Moments:
        """Put a run back to where it stood; returns the optimiser's moments by parameter."""
        tensors = self.tensors
        state.net.load_state_dict(self.part("net."))
        torch.set_rng_state(tensors["random.cpu"])
        if device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"], device)
        state.step = self.step
        if "labels" in tensors:
            state.labels = tensors["labels"].to(device)
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
