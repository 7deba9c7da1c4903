"""The training loop, the only place in the package that calls ``backward()``."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any

from coterie._util.progress import Progress
from coterie._util.random import derive_seed, torch_seeded
from coterie._util.torch import Tensor, nn, torch
from coterie.encoders.base import Encoder, RaggedTokens
from coterie.errors import TrainingError
from coterie.methods.fast.graphs import Recorder
from coterie.methods.fast.tensor_float import tensor_float
from coterie.methods.train.checkpoint import Moments, Saved, State, get_moments, put_moments
from coterie.methods.train.data import Batch, Batches, TrainingData
from coterie.methods.train.history import REMEDY, History, Meter, counts
from coterie.methods.train.layers import moving
from coterie.methods.train.stage import Run, Stage

log = logging.getLogger(__name__)

WIDTHS = 8  # on a GPU, padded batches come in multiples of this many tokens: few shapes to record
Work = Callable[[Batch], Tensor]  # on one batch; gives the values of the loss terms


def train(net: nn.Module, data: TrainingData, stages: Sequence[Stage], run: Run) -> History:
    """Run the stages in order, from the newest checkpoint if there is one.

    ``net`` has a child ``encoder``; it is on ``run.device`` and is changed in place.
    """
    saved = run.checkpoint.load() if run.checkpoint is not None else None
    run.history.restart(saved.rows if saved is not None else run.history.rows)
    encoder = _encoder(net)
    encoder.compute_dtype = run.encoder_dtype()
    encoder.fused = run.takes("fused") and run.takes("packing")
    tokens = isinstance(data.items, RaggedTokens)
    packs = tokens and {"packing", "one-pass"} <= set(run.optimizations)
    data = replace(
        data,
        items=encoder.reads(data.items).to(
            run.device if "device-tokens" in run.optimizations else torch.device("cpu")
        ),
        packed=packs and encoder.packs(run.device),
        step=WIDTHS if run.device.type == "cuda" else 1,
        one_pass="one-pass" in run.optimizations,
    )
    with (
        torch_seeded(derive_seed(run.seed, "train"), run.device),
        stop_on_interrupt(run.checkpoint is not None) as stop_requested,
    ):
        moments: Moments = {}
        for number, stage in enumerate(stages):
            if saved is not None and number < saved.stage:
                continue
            resumed = saved if saved is not None and number == saved.stage else None
            moments = _StageLoop(net, data, stage, run, number, stop_requested).run_stage(
                resumed, moments
            )
            if run.checkpoint is not None and stop_requested():
                raise KeyboardInterrupt  # in the last step, or while the stage was being kept
        if saved is not None and saved.stage >= len(stages):  # only the last checkpoint was left
            net.load_state_dict(saved.part("net."))
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
        stop_requested: Callable[[], bool],
    ) -> None:
        self.net, self.data, self.stage, self.run = net, data, stage, run
        self.stop_requested = stop_requested
        self.state = State(net, stage=number, rows=run.history.rows)
        self.batches = Batches(len(data), run.batch_size, run.seed, stage.name)
        self.names: list[str] = []  # of the loss terms
        self.begun = time.monotonic()

    def run_stage(self, saved: Saved | None, moments: Moments) -> Moments:
        """Train from the start of the stage or from where a checkpoint left it.

        Takes the optimiser's moments of the stage before and returns those of this one.
        """
        stage, state, run = self.stage, self.state, self.run
        if saved is not None:
            moments = saved.restore(state, run.device)
        if state.step == 0 and stage.setup is not None:
            stage.setup(self.net, self._vectors())
        state.optimizer = make_optimizer(self.net, stage, run)
        if state.step > 0 or stage.continues:
            put_moments(state.optimizer, self.net, moments)
        self.net.train()
        work: Work = partial(self._work, state.optimizer)
        if run.takes("graphs"):
            work = Recorder(work, run.device)
        run.progress.start(stage.name, stage.steps, state.step)
        try:
            while state.step < stage.steps and not self._step(work):
                pass
        finally:
            run.progress.stop()
        if run.checkpoint is not None and stage.steps > 0:
            state.stage, state.step, state.labels, state.meter = state.stage + 1, 0, None, Meter()
            run.checkpoint.save(state, run.device)
        return get_moments(state.optimizer, self.net)

    def _work(self, optimizer: torch.optim.Optimizer, batch: Batch) -> Tensor:
        """Loss, gradients and update of one batch; returns the loss terms.

        On a GPU this may be recorded as a graph: nothing here asks for a value.
        """
        optimizer.zero_grad(set_to_none=True)
        terms = self.stage.loss(self.net, batch)
        torch.stack([terms[name] for name in terms if counts(name)]).sum().backward()
        if self.stage.clip is not None:
            nn.utils.clip_grad_norm_(self.net.parameters(), self.stage.clip)
        optimizer.step()
        if self.stage.counts:
            net: Any = self.net
            net.step += 1
        self.names = list(terms)
        return torch.stack([term.detach() for term in terms.values()])

    def _step(self, work: Work) -> bool:
        """Train on one batch; return whether the stage is over."""
        stage, state, run = self.stage, self.state, self.run
        rows = self.batches.rows(state.step)
        try:
            batch = self.data.batch(rows, stage.views, run.device)
            with tensor_float(run.takes("tf32") and run.encoder_dtype() is not None):
                values = work(batch)
        except torch.OutOfMemoryError as error:
            raise TrainingError(
                f"{self._where()}: out of memory with {len(rows)} texts in a batch; use a smaller "
                "`batch_size`, shorten texts (`max_length`), train less of the encoder "
                "(`tune='last-2'`), or use another device (`device='cpu'`)."
            ) from error
        state.meter.add(self.names, values)
        self.state.step += 1
        self._log()
        if stage.after_epoch is not None and self.batches.ends_epoch(self.state.step - 1):
            with torch.no_grad():
                stage.after_epoch(self.net, self.state.step // self.batches.per_epoch)
        if self._refresh():
            return True  # a checkpoint of this step would not know that the stage is over
        self._save()
        return False

    def _log(self) -> None:
        step, values = self.state.step, None
        if step % self.run.log_every == 0 or step == self.stage.steps:
            values = self.state.meter.read(self._where())
            self.run.history.add(self._row(terms=values))
        self.run.progress.advance(step, values)

    def _where(self) -> str:
        return f"stage {self.stage.name!r}, step {self.state.step}"

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
        if stage.labels is None:
            return False
        with torch.no_grad():
            labels = stage.labels(self.net, vectors)
        if state.labels is None:
            state.labels = labels
            return False
        changed = float((labels != state.labels).float().mean())
        state.labels = labels
        self.run.history.add(self._row(changed=round(changed, 6)))
        if changed >= stage.stop_below:
            return False
        log.info("stage %r stops: %.3f%% of labels changed", stage.name, 100 * changed)
        return True

    def _save(self) -> None:
        checkpoint, state = self.run.checkpoint, self.state
        if checkpoint is None:
            return
        stop = self.stop_requested()
        if stop or (self.batches.ends_epoch(state.step - 1) and checkpoint.due()):
            state.meter.check(self._where())
            if not is_finite(self.net):
                raise TrainingError(f"{self._where()}: weights are not finite any more; {REMEDY}")
            checkpoint.save(state, self.run.device)
        if stop:
            raise KeyboardInterrupt

    def _vectors(self) -> Tensor:
        return self.data.vectors(_encoder(self.net), self.run.device, Progress())


def _encoder(net: nn.Module) -> Encoder:
    encoder = net.encoder
    assert isinstance(encoder, Encoder)
    return encoder


def make_optimizer(net: nn.Module, stage: Stage, run: Run) -> torch.optim.Optimizer:
    """Adam over what moves of the children the stage names; all else is frozen."""
    net.requires_grad_(False)
    groups = []
    for child, lr in stage.lr.items():
        parameters = moving(net.get_submodule(child))
        for parameter in parameters:
            parameter.requires_grad_(True)
        groups.append({"params": parameters, "lr": lr})
    on_gpu = run.device.type == "cuda"
    fused = "fused-adam" in run.optimizations or not on_gpu
    return torch.optim.Adam(groups, fused=fused, capturable=on_gpu)


def is_finite(net: nn.Module) -> bool:
    """Whether all weights are numbers."""
    return all(bool(torch.isfinite(p).all()) for p in net.parameters())


@contextmanager
def stop_on_interrupt(enabled: bool) -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C was pressed inside the block.

    Signals reach only the main thread; elsewhere, and when not enabled, nothing changes.
    """
    if not enabled or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed: list[int] = []
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL

    def first(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, first)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
