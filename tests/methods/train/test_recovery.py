"""A step that fails stops the training with the reason and the remedy."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
import torch
from torch import Tensor

from coterie.errors import TrainingError
from coterie.methods.train import Batch, Checkpoint, train
from said import raises
from small_training import Net, assert_equal, make, run, square, stage


def test_out_of_memory_names_step_batch_and_remedies() -> None:
    def too_large(net: Net, batch: Batch) -> dict[str, Tensor]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    net, data = make()
    with raises(TrainingError, "stage 'first', step 0", "8", "`batch_size`", "device"):
        train(net, data, [stage(too_large)], run())


def test_a_loss_that_is_no_number_names_step_and_remedy() -> None:
    def broken(net: Net, batch: Batch) -> dict[str, Tensor]:
        return {"broken": square(net, batch)["square"] * float("nan")}

    net, data = make()
    with raises(TrainingError, "stage 'first', step 1", "not a finite number", "`lr`"):
        train(net, data, [stage(broken)], run())


def test_no_checkpoint_is_made_of_what_is_no_number(tmp_path: Path) -> None:
    def poison(net: Net, batch: Batch) -> dict[str, Tensor]:
        poison.steps += 1
        if poison.steps == 6:  # the last of an epoch: a checkpoint is due right after it
            net.head.bias.data[:] = float("inf")
            return {"square": 0 * net.head.weight.sum()}
        return square(net, batch)

    poison.steps = 0
    net, data = make()
    kept = Checkpoint(tmp_path / "c", "r", every=0)
    with raises(TrainingError, "weights are not finite"):
        train(net, data, [stage(poison)], run(checkpoint=kept))
    assert kept.load().step == 3


def test_updates_of_a_stage_are_counted() -> None:
    net, data = make()
    net.register_buffer("step", torch.zeros((), dtype=torch.long))
    train(net, data, [stage(square, counts=True)], run())
    assert int(net.step) == 12
    train(net, data, [stage(square)], run())
    assert int(net.step) == 12


def test_an_interrupt_in_the_step_that_ends_a_stage_does_not_lengthen_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = {
        "refresh_every": 2,
        "stop_below": 0.5,
        "labels": lambda net, vectors: torch.zeros(20),
    }
    whole, data = make()
    train(whole, data, [stage(square, **settled)], run())
    calls = []

    def counted(net: Net, batch: Batch) -> dict[str, Tensor]:
        calls.append(len(batch))
        return square(net, batch)

    monkeypatch.setattr(
        "coterie.methods.train.loop.stop_on_interrupt",
        lambda wanted: contextlib.nullcontext(lambda: len(calls) == 4),  # the second look
    )
    for _ in range(2):
        net, data = make()
        with contextlib.suppress(KeyboardInterrupt):
            kept = Checkpoint(tmp_path / "c", "r")
            train(net, data, [stage(counted, **settled)], run(checkpoint=kept))
    assert len(calls) == 4
    assert_equal(whole.state_dict(), net.state_dict())
