"""The training loop, the only place in the package that calls ``backward()``."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from coterie._progress import Progress, Silent
from coterie._random import derive_seed, torch_seeded
from coterie._validation import check_choice
from coterie.encoders.tuning import moving
from coterie.engine import parallel
from coterie.engine.checkpoint import (
    Checkpoint,
    Moments,
    Saved,
    State,
    get_moments,
    put_moments,
)
from coterie.engine.data import Batch, Batches, TrainingData
from coterie.engine.graphs import Recorder
from coterie.engine.history import History, Meter, counts
from coterie.engine.interrupt import asked_to_stop
from coterie.engine.stage import Stage

log = logging.getLogger(__name__)

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}
CPU = torch.device("cpu")
SHORTCUTS = ("graphs", "packing", "one-pass", "fused-adam", "device-tokens")
WIDTHS = 8  # on a GPU, padded batches come in multiples of this many tokens: few shapes to record


def chosen_shortcuts(asked: bool | Sequence[str]) -> tuple[str, ...]:
    """Names of shortcuts from what a user says: all, none or some of them.

    Examples
    --------
    >>> chosen_shortcuts(False), chosen_shortcuts("graphs"), chosen_shortcuts(["packing"])
    ((), ('graphs',), ('packing',))
    """
    if isinstance(asked, bool):
        return SHORTCUTS if asked else ()
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
    shortcuts : tuple of str, default=SHORTCUTS
        Ways to be fast on a GPU that leave the mathematics as it is.
    progress : Progress
    checkpoint : Checkpoint, optional
    history : History
    """

    batch_size: int
    seed: int
    device: torch.device
    precision: str = "auto"
    log_every: int = 10
    shortcuts: tuple[str, ...] = SHORTCUTS
    progress: Progress = field(default_factory=Silent)
    checkpoint: Checkpoint | None = None
    history: History = field(default_factory=History)

    def encoder_dtype(self) -> torch.dtype | None:
        """Precision of the encoder in training; None is float32."""
        check_choice("precision", self.precision, ["auto", *PRECISIONS])
        if self.precision == "auto":
            return torch.bfloat16 if self.device.type == "cuda" else None
        return PRECISIONS[self.precision]

    def takes(self, shortcut: str) -> bool:
        """Whether a shortcut is asked for and this device is one for it."""
        return self.device.type == "cuda" and shortcut in self.shortcuts


def train(net: nn.Module, data: TrainingData, stages: Sequence[Stage], run: Run) -> History:
    """Run the stages in order, from the newest checkpoint if there is one.

    ``net`` has a child ``encoder``; it is on ``run.device`` and is changed in place.
    """
    saved = run.checkpoint.load() if run.checkpoint is not None else None
    if parallel.size() > 1:
        parallel.wait()  # until all have read: the first one will write
        run = replace(run, shortcuts=tuple(s for s in run.shortcuts if s not in parallel.NOT_YET))
    run.history.restart(saved.rows if saved is not None else [])
    encoder: Any = net.encoder
    encoder.compute_dtype = run.encoder_dtype()
    data = replace(
        data,
        items=data.items.to(run.device if "device-tokens" in run.shortcuts else CPU),
        packed={"packing", "one-pass"} <= set(run.shortcuts) and encoder.packs(run.device),
        step=WIDTHS if run.device.type == "cuda" else 1,
        one_pass="one-pass" in run.shortcuts,
    )
    with (
        torch_seeded(derive_seed(run.seed, "train"), run.device),
        asked_to_stop(run.checkpoint is not None) as asked,
    ):
        moments: Moments = {}
        for number, stage in enumerate(stages):
            if saved is not None and number < saved.stage:
                continue
            resumed = saved if saved is not None and number == saved.stage else None
            moments = _StageLoop(net, data, stage, run, number, asked).go(resumed, moments)
        if saved is not None and saved.stage >= len(stages):  # only the last checkpoint was left
            saved.restore_net(net)
    net.eval()
    return run.history


class _StageLoop:
    """One stage at work: holds what its steps share."""

    def __init__(
        self,
        net: nn.Module,
        data: TrainingData,
        stage: Stage,
        run: Run,
        number: int,
        asked: Callable[[], bool],
    ) -> None:
        self.net, self.data, self.stage, self.run, self.asked = net, data, stage, run, asked
        self.state = State(net, stage=number, rows=run.history.rows)
        self.batches = Batches(len(data), run.batch_size, run.seed, stage.name)
        self.meter = Meter()
        self.names: list[str] = []  # of the loss terms
        self.begun = time.monotonic()

    def go(self, saved: Saved | None, moments: Moments) -> Moments:
        """Train from the start of the stage or from where a checkpoint left it.

        Takes the optimiser's moments of the stage before and returns those of this one.
        """
        stage, state, run = self.stage, self.state, self.run
        if saved is not None:
            saved.restore_net(self.net)
            saved.restore_random(run.device)
            state.step, state.labels = saved.step, saved.labels(run.device)
        if state.step == 0 and stage.setup is not None:
            stage.setup(self.net, self._vectors())
        parallel.align(self.net)
        state.optimizer = optimizer = self._make_optimizer()
        if saved is not None:
            moments = saved.moments()
        if state.step > 0 or stage.continues:
            put_moments(optimizer, self.net, moments)
        self.net.train()
        run.progress.start(stage.name, stage.steps, state.step)
        work: Callable[[Batch], Tensor] = partial(self._work, optimizer)
        if run.takes("graphs"):
            work = Recorder(work, run.device)
        try:
            while state.step < stage.steps and not self._step(work):
                pass
        finally:
            run.progress.stop()
        if run.checkpoint is not None and stage.steps > 0:
            state.stage, state.step, state.labels = state.stage + 1, 0, None
            run.checkpoint.save(state, run.device)
        return get_moments(optimizer, self.net)

    def _work(self, optimizer: torch.optim.Optimizer, batch: Batch) -> Tensor:
        """Loss, gradients and update of one batch; returns the values of the loss terms.

        On a GPU this may be recorded as a graph: nothing here asks for a value.
        """
        optimizer.zero_grad(set_to_none=True)
        terms = self.stage.loss(self.net, batch)
        loss = torch.stack([terms[name] for name in terms if counts(name)]).sum()
        loss.backward()
        parallel.average_gradients(self.net)
        if self.stage.clip is not None:
            nn.utils.clip_grad_norm_(self.net.parameters(), self.stage.clip)
        optimizer.step()
        self.names = list(terms)
        return torch.stack([term.detach() for term in terms.values()])

    def _step(self, work: Callable[[Batch], Tensor]) -> bool:
        """Train on one batch; return whether the stop rule ends the stage."""
        stage, run = self.stage, self.run
        rows = self.batches.rows(self.state.step)
        values = work(self.data.batch(rows, stage.views, run.device))
        self.meter.add(self.names, values)
        self.state.step += 1
        self._log()
        if stage.after_epoch is not None and self.batches.ends_epoch(self.state.step - 1):
            with torch.no_grad():
                stage.after_epoch(self.net, self.state.step // self.batches.per_epoch)
            parallel.align(self.net)
        stopped = self._refresh()
        self._save()
        return stopped

    def _log(self) -> None:
        step, values = self.state.step, None
        if step % self.run.log_every == 0 or step == self.stage.steps:
            values = self.meter.read(f"stage {self.stage.name!r}, step {step}")
            self.run.history.add(self._row(terms=values))
        self.run.progress.advance(step, values)

    def _row(self, **more: Any) -> dict[str, Any]:
        step = self.state.step
        return {
            "stage": self.stage.name,
            "step": step,
            "epoch": round(step / self.batches.per_epoch, 3),
            "seconds": round(time.monotonic() - self.begun, 3),
            **more,
        }

    def _refresh(self) -> bool:
        stage, state = self.stage, self.state
        if not stage.refresh_every or state.step % stage.refresh_every:
            return False
        vectors = self._vectors()
        if stage.refresh is not None:
            with torch.no_grad():
                stage.refresh(self.net, vectors)
            parallel.align(self.net)
        if stage.labels is None:
            return False
        with torch.no_grad():
            labels = stage.labels(self.net, vectors)
        if state.labels is None:
            state.labels = labels
            return False
        changed = parallel.same(float((labels != state.labels).float().mean()))
        state.labels = labels
        self.run.history.add(self._row(changed=round(changed, 6)))
        if changed >= stage.stop_below:
            return False
        log.info("stage %r stops: %.3f %% of labels changed", stage.name, 100 * changed)
        return True

    def _save(self) -> None:
        checkpoint, state = self.run.checkpoint, self.state
        if checkpoint is None:
            return
        asked = parallel.anyone(self.asked())
        if asked or (self.batches.ends_epoch(state.step - 1) and checkpoint.due()):
            checkpoint.save(state, self.run.device)
        if asked:
            raise KeyboardInterrupt

    def _vectors(self) -> Tensor:
        encoder: Any = self.net.encoder
        return self.data.vectors(encoder, self.run.device, Silent())

    def _make_optimizer(self) -> torch.optim.Optimizer:
        """Adam over what moves of the children the stage names; all else is frozen."""
        self.net.requires_grad_(False)
        groups = []
        for child, lr in self.stage.lr.items():
            parameters = moving(self.net.get_submodule(child))
            for parameter in parameters:
                parameter.requires_grad_(True)
            groups.append({"params": parameters, "lr": lr})
        on_gpu = self.run.device.type == "cuda"
        fused = "fused-adam" in self.run.shortcuts or not on_gpu
        return torch.optim.Adam(groups, fused=fused, capturable=on_gpu)
