"""The loop: stages, rates per part, refresh, stop rule, and the same result every time."""

import json
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from coterie._util.progress import Progress
from coterie.encoders import VectorEncoder, load_encoder
from coterie.errors import UsageError
from coterie.methods.train import Batch, Checkpoint, History, Stage, TrainingData, steps_for, train
from coterie.methods.train import data as data_module
from coterie.methods.train.data import Batches
from said import raises
from small_training import CPU, Net, assert_equal, make, run, square, stage, weights


def test_the_first_adam_step_moves_each_part_by_its_own_rate() -> None:
    net, data = make()
    before = weights(net)
    train(net, data, [stage(steps=1, lr={"encoder": 1e-3, "head": 1e-1})], run())
    moved = {k: (v - before[k]).abs().max().item() for k, v in net.state_dict().items()}
    assert moved["encoder.map.weight"] == pytest.approx(1e-3, rel=1e-3)
    assert moved["head.weight"] == pytest.approx(1e-1, rel=1e-3)


def test_history_has_a_row_per_logged_step_with_every_term() -> None:
    net, data = make()
    history = train(net, data, [stage(steps=5), stage(name="second", steps=2)], run(log_every=2))
    assert [(r["stage"], r["step"]) for r in history.rows] == [
        ("first", 2),
        ("first", 4),
        ("first", 5),
        ("second", 2),
    ]
    assert set(history.rows[0]["terms"]) == {"square", "norm"}
    assert history.rows[2]["epoch"] == pytest.approx(5 / 3, abs=1e-3)


def test_logged_terms_are_means_since_the_last_row() -> None:
    single, mean = [], []
    for log_every, out in ((1, single), (4, mean)):
        net, data = make()
        out += [
            r["terms"]["square"]
            for r in train(net, data, [stage(steps=4)], run(log_every=log_every)).rows
        ]
    assert mean == [pytest.approx(np.mean(single), rel=1e-5)]


def test_same_seed_same_weights_and_another_seed_others() -> None:
    results = []
    for seed in (1, 1, 2):
        net, data = make()
        train(net, data, [stage()], run(seed=seed))
        results.append(weights(net))
    assert_equal(results[0], results[1])
    assert not torch.equal(results[0]["head.weight"], results[2]["head.weight"])


def test_setup_runs_once_with_all_vectors_before_the_first_step() -> None:
    net, data = make()
    seen = []
    train(net, data, [stage(steps=3, setup=lambda net, v: seen.append(v.clone()))], run())
    assert len(seen) == 1
    expected = data.items.batch(data.views[0])["vectors"]
    torch.testing.assert_close(seen[0], expected)


def test_vectors_are_given_for_all_texts_though_encoded_once() -> None:
    encoder = VectorEncoder()
    items, rows = encoder.prepare(np.array([[1.0], [2.0], [1.0]]))
    vectors = TrainingData(items, rows[None]).vectors(encoder, CPU, Progress())
    assert vectors.ravel().tolist() == [1, 2, 1]


def test_packed_texts_have_the_vectors_that_they_have_alone(
    tiny_encoder: Path, topics, monkeypatch
) -> None:
    encoder = load_encoder(str(tiny_encoder)).train()
    items, rows = encoder.prepare([*topics[0], *topics[0][:9]])
    plain = TrainingData(items, rows[None]).vectors(encoder, CPU, Progress())
    encoder.compute_dtype = torch.float32
    monkeypatch.setattr(data_module, "TOKENS", 200)  # so that there are several passes
    packed = TrainingData(items, rows[None], packed=True).vectors(encoder, CPU, Progress())
    torch.testing.assert_close(packed, plain, atol=1e-5, rtol=1e-5)
    assert encoder.training and not packed.requires_grad


def test_refresh_runs_every_n_steps_with_current_vectors() -> None:
    net, data = make()
    seen: list[tuple[int, Tensor]] = []
    calls = iter(range(100))

    def refresh(net: Net, vectors: Tensor) -> None:
        seen.append((next(calls), vectors.clone()))

    train(net, data, [stage(steps=10, refresh=refresh, refresh_every=4)], run())
    assert len(seen) == 2  # after steps 4 and 8
    assert not torch.equal(seen[0][1], seen[1][1])


@pytest.mark.parametrize(("change", "last", "changed"), [(0, 4, [0]), (1, 8, [1, 1, 1])])
def test_the_stop_rule_ends_a_stage_when_labels_settle(change: int, last: int, changed) -> None:
    net, data = make()
    turn = iter(range(100))

    def labels(net: Net, vectors: Tensor) -> Tensor:
        return torch.full((len(vectors),), change * next(turn))

    rule = {"labels": labels, "refresh_every": 2, "stop_below": 0.5}
    history = train(net, data, [stage(steps=8, **rule)], run())
    assert max(row["step"] for row in history.rows) == last
    assert [row["changed"] for row in history.rows if "changed" in row] == changed


def test_gradients_are_clipped() -> None:
    net, data = make()

    def steep(net: Net, batch: Batch) -> dict[str, Tensor]:
        return {"steep": 1e6 * net.head(batch.encode(net.encoder)[0]).sum()}

    train(net, data, [stage(steps=1, loss=steep, clip=0.5)], run())
    total = torch.sqrt(sum(p.grad.square().sum() for p in net.parameters() if p.grad is not None))
    assert total.item() == pytest.approx(0.5, rel=1e-4)


def test_views_of_a_batch_go_through_the_encoder_in_one_pass() -> None:
    net, data = make(6)
    views = np.stack([data.views[0], data.views[0][::-1]])
    passes = []
    net.encoder.register_forward_hook(lambda module, inputs, output: passes.append(len(output)))

    def loss(net: Net, batch: Batch) -> dict[str, Tensor]:
        first, second, third = batch.encode(net.encoder)
        assert torch.equal(first, third) and not torch.equal(first, second)
        assert torch.equal(data.items.batch(views[1][batch.index.numpy()])["vectors"], second)
        return {"x": first.sum() + second.sum()}

    net.encoder.dropout.p = 0
    train(net, TrainingData(data.items, views), [stage(steps=1, loss=loss, views=(0, 1, 0))], run())
    assert passes == [18]


def test_precision_is_one_switch() -> None:
    net, data = make()
    train(net, data, [stage(steps=1)], run(precision="bfloat16"))
    assert net.encoder.compute_dtype == torch.bfloat16
    train(net, data, [stage(steps=1)], run(precision="auto"))
    assert net.encoder.compute_dtype is None
    with raises(UsageError, "should be one of", "precision"):
        train(net, data, [stage(steps=1)], run(precision="float8"))


# Batches ------------------------------------------------------------------------------------


def test_an_epoch_holds_every_row_once_and_keeps_the_short_batch() -> None:
    batches = Batches(10, 4, seed=0, stage="x")
    rows = [batches.rows(step) for step in range(3)]
    assert [len(r) for r in rows] == [4, 4, 2]
    assert sorted(np.concatenate(rows).tolist()) == list(range(10))
    assert [batches.ends_epoch(s) for s in range(4)] == [False, False, True, False]


def test_batches_depend_on_seed_stage_and_step_alone() -> None:
    late = Batches(50, 8, seed=3, stage="x").rows(40)
    batches = Batches(50, 8, seed=3, stage="x")
    walked = [batches.rows(step) for step in range(41)]
    np.testing.assert_array_equal(late, walked[40])
    assert not np.array_equal(late, Batches(50, 8, seed=3, stage="y").rows(40))
    assert not np.array_equal(late, walked[33])  # another epoch, another order


def test_steps_for_epochs() -> None:
    assert steps_for(2, 10, 4) == 6
    assert steps_for(0.5, 100, 10) == 5


# Checkpoints --------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for the end of the process: nothing may catch it."""


def killer(after: int):
    steps = iter(range(10_000))

    def loss(net: Net, batch: Batch) -> dict[str, Tensor]:
        if next(steps) == after:
            raise Killed
        return square(net, batch)

    return loss


def two_stages(loss=square) -> list[Stage]:
    def setup(net: Net, vectors: Tensor) -> None:
        net.head.weight.data += vectors.mean()

    turn = {"labels": lambda net, v: (v[:, 0] > 0).long(), "refresh_every": 3, "stop_below": -1.0}
    return [
        stage(steps=9, loss=loss),
        stage(name="second", steps=9, loss=loss, setup=setup, lr={"head": 1e-2}, **turn),
    ]


@pytest.mark.parametrize("after", [0, 1, 4, 8, 9, 10, 13, 17])
def test_a_killed_run_continues_to_the_identical_result(after: int, tmp_path: Path) -> None:
    whole, data = make()
    history = train(whole, data, two_stages(), run())

    net, data = make()
    checkpoint = Checkpoint(tmp_path / "c", "run", every=0)
    with pytest.raises(Killed):
        train(net, data, two_stages(killer(after)), run(checkpoint=checkpoint))
    net, data = make()
    again = train(net, data, two_stages(), run(checkpoint=Checkpoint(tmp_path / "c", "run")))
    assert_equal(weights(whole), weights(net))
    keep = [{k: v for k, v in row.items() if k != "seconds"} for row in again.rows]
    assert keep == [{k: v for k, v in row.items() if k != "seconds"} for row in history.rows]


def test_a_finished_run_is_restored_from_its_last_checkpoint(tmp_path: Path) -> None:
    net, data = make()
    train(net, data, two_stages(), run(checkpoint=Checkpoint(tmp_path / "c", "run")))
    again, data = make()

    def never(net: Net, batch: Batch) -> dict[str, Tensor]:
        raise AssertionError("nothing is left to train")

    train(again, data, two_stages(never), run(checkpoint=Checkpoint(tmp_path / "c", "run")))
    assert_equal(weights(net), weights(again))


def test_ctrl_c_stops_after_the_step_with_a_checkpoint(tmp_path: Path) -> None:
    steps = iter(range(100))

    def loss(net: Net, batch: Batch) -> dict[str, Tensor]:
        if next(steps) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return square(net, batch)

    before = signal.getsignal(signal.SIGINT)
    net, data = make()
    with pytest.raises(KeyboardInterrupt):
        train(net, data, two_stages(loss), run(checkpoint=Checkpoint(tmp_path / "c", "run")))
    assert signal.getsignal(signal.SIGINT) == before
    assert Checkpoint(tmp_path / "c", "run").load().step == 5
    whole, data = make()
    train(whole, data, two_stages(), run())
    net, data = make()
    train(net, data, two_stages(), run(checkpoint=Checkpoint(tmp_path / "c", "run")))
    assert_equal(weights(whole), weights(net))


def test_training_works_outside_the_main_thread(tmp_path: Path) -> None:
    net, data = make()
    before = weights(net)
    checkpoint = Checkpoint(tmp_path / "c", "run")
    thread = threading.Thread(target=train, args=(net, data, [stage()], run(checkpoint=checkpoint)))
    thread.start()
    thread.join()
    assert not torch.equal(before["head.weight"], net.head.weight)


def test_checkpoints_at_epoch_ends_keep_their_distance(tmp_path: Path, monkeypatch) -> None:
    saved = []
    original = Checkpoint.save

    def save(self: Checkpoint, state, device) -> None:
        saved.append(state.step)
        original(self, state, device)

    monkeypatch.setattr(Checkpoint, "save", save)
    net, data = make()
    train(net, data, [stage(steps=9)], run(checkpoint=Checkpoint(tmp_path / "a", "run", every=0)))
    assert saved == [3, 6, 9, 0]  # epochs of three steps, then the end of the stage
    saved.clear()
    train(*make(), [stage(steps=9)], run(checkpoint=Checkpoint(tmp_path / "b", "run", every=60)))
    assert saved == [0]


def test_the_history_file_is_written_line_by_line_and_anew_on_resume(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    net, data = make()
    checkpoint = Checkpoint(tmp_path / "c", "run", every=0)
    with pytest.raises(Killed):
        train(
            net, data, two_stages(killer(7)), run(checkpoint=checkpoint, history=History(file=file))
        )
    assert len(file.read_text().splitlines()) == 7  # one more than the checkpoint knows
    again = train(*make(), two_stages(), run(checkpoint=checkpoint, history=History(file=file)))
    assert [json.loads(line) for line in file.read_text().splitlines()] == again.rows
    assert [r["step"] for r in again.rows if r["stage"] == "first"] == list(range(1, 10))


@pytest.mark.gpu
def test_a_killed_run_continues_on_the_gpu(tmp_path: Path) -> None:
    device = torch.device("cuda")
    results = []
    for after in (None, 5):
        net, data = make()
        data = TrainingData(data.items.to(device), data.views)
        checkpoint = Checkpoint(tmp_path / str(after), "run", every=0)
        options = {"checkpoint": checkpoint, "device": device, "precision": "float32"}
        if after is not None:
            with pytest.raises(Killed):
                train(net.to(device), data, two_stages(killer(after)), run(**options))
            net, _ = make()
        train(net.to(device), data, two_stages(), run(**options))
        results.append(weights(net))
    for name, tensor in results[0].items():
        torch.testing.assert_close(tensor, results[1][name])
