"""Saving the state of a training run so that it continues to the identical result."""

from __future__ import annotations

import logging
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from coterie._errors import DataError
from coterie._files import read_json, replace_folder, write_json
from coterie._ranks import is_first

log = logging.getLogger(__name__)

Moments = dict[str, dict[str, Tensor]]  # what an optimiser remembers, by name of the parameter


@dataclass
class State:
    """Where a run stands: the network, the optimiser, and how many steps are done."""

    net: nn.Module
    stage: int = 0
    step: int = 0
    optimizer: torch.optim.Optimizer | None = None
    labels: Tensor | None = None  # of the last refresh, for the stop rule
    rows: list[dict[str, Any]] = field(default_factory=list)


class Checkpoint:
    """A folder with the newest state of one run.

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
        self.folder = folder
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
        tensors = {f"net.{k}": v for k, v in state.net.state_dict().items()}
        if state.optimizer is not None:
            moments = get_moments(state.optimizer, state.net)
            tensors |= {f"optimizer.{i}.{k}": v for i, p in moments.items() for k, v in p.items()}
        tensors["random.cpu"] = torch.get_rng_state()
        if device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(device)
        if state.labels is not None:
            tensors["labels"] = state.labels

        def fill(folder: Path) -> None:
            # Copies, since safetensors refuses tensors that share memory (tied weights).
            copies = {k: v.detach().cpu().clone().contiguous() for k, v in tensors.items()}
            save_file(copies, folder / "state.safetensors")
            facts = {"fingerprint": self.fingerprint, "stage": state.stage, "step": state.step}
            write_json(folder / "state.json", facts | {"history": state.rows})

        replace_folder(self.folder, fill)
        self.last = time.monotonic()
        log.info("checkpoint after step %d of stage %d", state.step, state.stage)

    def load(self) -> Saved | None:
        """Read the checkpoint, or nothing if there is none."""
        from safetensors.torch import load_file

        if not (self.folder / "state.json").exists():
            return None
        facts = read_json(self.folder / "state.json")
        if facts["fingerprint"] != self.fingerprint:
            raise DataError(
                f"the checkpoint in {self.folder} belongs to another run (other data, method or "
                "settings); give the same ones, or another folder."
            )
        tensors = load_file(self.folder / "state.safetensors")
        return Saved(facts["stage"], facts["step"], facts["history"], tensors)

    def clear(self) -> None:
        """Remove the checkpoint, when the run is over."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Saved:
    """A checkpoint as read from disk."""

    stage: int
    step: int
    rows: list[dict[str, Any]]
    tensors: dict[str, Tensor]

    def restore_net(self, net: nn.Module) -> None:
        """Put the weights back."""
        net.load_state_dict(self._part("net."))

    def moments(self) -> Moments:
        """The optimiser's moments, by name of the parameter."""
        found: Moments = {}
        for name, tensor in self._part("optimizer.").items():
            parameter, key = name.rsplit(".", 1)
            found.setdefault(parameter, {})[key] = tensor
        return found

    def restore_random(self, device: torch.device) -> None:
        """Continue the stream of random numbers where it stood."""
        torch.set_rng_state(self.tensors["random.cpu"])
        if device.type == "cuda" and "random.cuda" in self.tensors:
            torch.cuda.set_rng_state(self.tensors["random.cuda"], device)

    def labels(self, device: torch.device) -> Tensor | None:
        """Labels of the last refresh."""
        labels = self.tensors.get("labels")
        return None if labels is None else labels.to(device)

    def _part(self, prefix: str) -> dict[str, Tensor]:
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
    # As each parameter lies in memory: the fused optimiser pairs numbers by place, not by index.
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
