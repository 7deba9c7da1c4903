"""A step that fails: memory that runs out, a loss that is no number."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from coterie.engine import Batch, Checkpoint, Stage, train
from coterie.engine.loop import SMALLER
from coterie.errors import TrainingError
from said import raises, says
from small_training import Net, assert_equal, make, run, square, stage


def too_large_above(limit: int):
    """A loss that has memory for few texts; tells what it was given."""
    seen: list[int] = []

    def loss(net: Net, batch: Batch) -> dict[str, Tensor]:
        seen.append(len(batch))
        if len(batch) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return square(net, batch)

    loss.seen = seen
    return loss


def test_without_memory_the_batch_is_halved_and_it_is_said(caplog) -> None:
    net, data = make()
    small = too_large_above(4)
    history = train(net, data, [stage(small)], run())
    assert small.seen[:3] == [8, 4, 4] and max(small.seen[1:]) == 4
    (note,) = history.notes
    assert says(note, "batches are processed", "'first'", "2", "4")
    assert note in caplog.text


def test_a_mean_over_the_batch_has_the_same_gradient_in_parts() -> None:
    whole, data = make()
    train(whole, data, [stage(square)], run())
    cut, data = make()
    train(cut, data, [stage(too_large_above(3))], run())  # of 8 texts: 2 + 2 + 2 + 2
    for name, tensor in whole.state_dict().items():
        torch.testing.assert_close(cut.state_dict()[name], tensor, rtol=1e-5, atol=1e-6)


def test_when_two_texts_are_too_many_the_remedy_is_named() -> None:
    net, data = make()
    with raises(TrainingError, "texts at a time", "2"):
        train(net, data, [stage(too_large_above(1))], run())


def test_a_continued_run_stays_with_small_batches(tmp_path: Path) -> None:
    whole, data = make()
    train(whole, data, [stage(too_large_above(4))], run())

    def killed(net: Net, batch: Batch) -> dict[str, Tensor]:
        if len(killed.limited.seen) > 9:
            raise KeyboardInterrupt
        return killed.limited(net, batch)

    killed.limited = too_large_above(4)
    net, data = make()
    with pytest.raises(KeyboardInterrupt):
        train(net, data, [stage(killed)], run(checkpoint=Checkpoint(tmp_path / "c", "r", every=0)))
    net, data = make()
    again = too_large_above(4)
    history = train(net, data, [stage(again)], run(checkpoint=Checkpoint(tmp_path / "c", "r")))
    assert max(again.seen) == 4 and len(history.notes) == 1
    assert_equal(whole.state_dict(), net.state_dict())


def broken_while_fast(after: int):
    """A loss that is no number after some steps, unless the rate is small."""
    steps = iter(range(1000))

    def loss(net: Net, batch: Batch) -> dict[str, Tensor]:
        factor = float("nan") if next(steps) == after else 1.0
        return {name: factor * term for name, term in square(net, batch).items()}

    return loss


def test_a_loss_that_is_no_number_goes_back_with_a_tenth_of_the_rates() -> None:
    net, data = make()
    history = train(net, data, [stage(broken_while_fast(5))], run())
    slow, data = make()
    train(slow, data, [stage(square, lr={"encoder": 1e-3, "head": 1e-3})], run())
    assert_equal(slow.state_dict(), net.state_dict())  # as if it had begun with these rates
    (note,) = history.notes
    assert says(note, "the loss is not a finite number", "stage 'first', step 6")
    assert says(note, "of the stage and", "0", format(SMALLER, "g"))
    assert [r["step"] for r in history.rows if "terms" in r] == list(range(1, 13))


def test_it_goes_back_to_the_newest_checkpoint(tmp_path: Path) -> None:
    net, data = make()
    kept = Checkpoint(tmp_path / "c", "r", every=0)  # at the end of each epoch, three steps
    history = train(net, data, [stage(broken_while_fast(7))], run(checkpoint=kept))
    assert says(history.notes[0], "of the stage and", "6")
    assert all(torch.isfinite(p).all() for p in net.parameters())


def test_no_checkpoint_is_made_of_what_is_no_number(tmp_path: Path) -> None:
    net, data = make()

    def poison(net: Net, batch: Batch) -> dict[str, Tensor]:
        poison.steps += 1
        if poison.steps == 6:  # the last of an epoch: a checkpoint is due right after it
            net.head.bias.data[:] = float("inf")
            return {"square": 0 * net.head.weight.sum()}
        return square(net, batch)

    poison.steps = 0
    seen = []
    original = Checkpoint.save

    class Watching(Checkpoint):
        def save(self, state, device) -> None:
            seen.append(all(bool(torch.isfinite(p).all()) for p in state.net.parameters()))
            original(self, state, device)

    history = train(net, data, [stage(poison)], run(checkpoint=Watching(tmp_path / "c", "r", 0)))
    assert seen and all(seen) and len(history.notes) == 1


def test_the_second_time_it_stops_with_the_reason() -> None:
    net, data = make()

    def broken(net: Net, batch: Batch) -> dict[str, Tensor]:
        return {"broken": square(net, batch)["square"] * float("nan")}

    with raises(TrainingError, "A tenth of the learning"):
        train(net, data, [stage(broken)], run())


def test_encoding_goes_on_by_halves(topics, tiny_encoder, monkeypatch, caplog) -> None:
    from coterie.encoders import SentenceEncoder, load_encoder

    encoder = load_encoder(tiny_encoder)
    items, _ = encoder.prepare(topics[0])
    expected = encoder.encode(items)
    original = SentenceEncoder.forward

    def small(self, features):
        if len(features["input_ids"]) > 30:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return original(self, features)

    monkeypatch.setattr(SentenceEncoder, "forward", small)
    np.testing.assert_allclose(encoder.encode(items), expected, atol=1e-6)
    assert "encoding goes on by halves" in caplog.text


def test_updates_are_counted_not_passes() -> None:
    net, data = make()
    net.register_buffer("step", torch.zeros((), dtype=torch.long))
    train(net, data, [stage(too_large_above(4), counts=True)], run())
    assert int(net.step) == 12  # each in two passes, and one that failed
    train(net, data, [stage(square)], run())
    assert int(net.step) == 12


def test_a_stage_after_one_that_went_wrong_begins_alike_when_continued(tmp_path: Path) -> None:
    def stages(second) -> list[Stage]:
        return [stage(broken_while_fast(3)), stage(second, name="second", steps=4)]

    whole, data = make()
    train(whole, data, stages(square), run(checkpoint=Checkpoint(tmp_path / "w", "r", every=0)))

    def killed(net: Net, batch: Batch) -> dict[str, Tensor]:
        raise KeyboardInterrupt

    net, data = make()
    with pytest.raises(KeyboardInterrupt):
        train(net, data, stages(killed), run(checkpoint=Checkpoint(tmp_path / "c", "r", every=0)))
    net, data = make()
    train(net, data, stages(square), run(checkpoint=Checkpoint(tmp_path / "c", "r")))
    assert_equal(whole.state_dict(), net.state_dict())


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
        "coterie.engine.loop.stop_on_interrupt",
        lambda wanted: contextlib.nullcontext(lambda: len(calls) == 4),  # the second look
    )
    for _ in range(2):
        net, data = make()
        with contextlib.suppress(KeyboardInterrupt):
            kept = Checkpoint(tmp_path / "c", "r")
            train(net, data, [stage(counted, **settled)], run(checkpoint=kept))
    assert len(calls) == 4
    assert_equal(whole.state_dict(), net.state_dict())
