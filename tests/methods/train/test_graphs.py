"""Recorded steps are the plain steps: same losses, same weights, same random numbers."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import torch

from coterie import AECL, DECCRL, SCCL, ClusterBERT
from coterie.methods.fast.graphs import MAX_GRAPHS, Recorder, no_collection, shapes
from coterie.methods.train import OPTIMIZATIONS
from coterie.methods.train.data import Batch

WITHOUT = [name for name in OPTIMIZATIONS if name != "graphs"]
TRAINED = {
    "sccl": (SCCL, {"steps": 40}),
    "aecl": (AECL, {"epochs": 20, "contrast_epochs": 5, "label_epochs": 5}),
    "deccrl": (DECCRL, {"steps": 40, "word_dim": 20, "word_vectors": "ppmi"}),
    "cluster-bert": (ClusterBERT, {}),
    "heads": (SCCL, {"steps": 40, "tune": "heads", "labels_from": "head"}),
    "last-1": (SCCL, {"steps": 40, "tune": "last-1"}),
}


def batch(n: int, width: int = 4) -> Batch:
    rows = torch.arange(n)
    return Batch(rows, rows, {"vectors": torch.zeros(n, width)}, n_views=1)


def on(device: torch.device, n: int) -> Batch:
    plain = batch(n)
    features = {name: tensor.to(device) for name, tensor in plain.features.items()}
    return Batch(plain.index.to(device), plain.groups.to(device), features, n_views=1)


def test_only_batches_of_one_shape_share_a_graph() -> None:
    assert shapes(batch(3)) == shapes(batch(3))
    assert len({shapes(batch(3)), shapes(batch(4)), shapes(batch(3, 8))}) == 3


@pytest.mark.gpu
@pytest.mark.parametrize("name", TRAINED)
def test_a_recorded_run_is_a_plain_run(name: str, tiny_encoder: Path, topics) -> None:
    """To the last digits: kernels and random numbers are the same, only their launch is not."""
    cls, more = TRAINED[name]
    runs = []
    for optimizations in (True, WITHOUT):
        model = cls(
            3,
            encoder=str(tiny_encoder),
            device="cuda",
            random_state=0,
            batch_size=20,
            guard=False,
            optimizations=optimizations,
            **more,
        )
        runs.append(model.fit(topics[0]))
    recorded, plain = (np.array(run.history_.losses()) for run in runs)
    np.testing.assert_allclose(recorded, plain, rtol=0.02)
    assert len(set(recorded.round(6))) > len(recorded) // 2, "every step draws anew"


@pytest.mark.parametrize("on", [True, False])
def test_no_garbage_is_collected_while_a_step_is_recorded(on: bool) -> None:
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with pytest.raises(RuntimeError), no_collection():
            assert not gc.isenabled()
            raise RuntimeError
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()


@pytest.mark.gpu
def test_graphs_of_an_earlier_fit_do_not_break_a_recording() -> None:
    """They lie about as garbage, and are found by whichever allocation comes next."""
    device = torch.device("cuda")

    def work(part: Batch) -> torch.Tensor:
        held = [[] for _ in range(200_000)]  # so many objects that the collector would run
        return part.features["vectors"].sum(dim=0) + len(held)

    def record() -> Recorder:
        recorder = Recorder(work, device)
        for _ in range(6):
            recorder(on(device, 4))
        return recorder

    for _ in range(4):
        old = record()
        old.itself = old  # type: ignore[attr-defined]
        assert old.recorded and not old.broken
        del old


@pytest.mark.gpu
def test_common_shapes_are_recorded_and_rare_ones_are_not() -> None:
    device = torch.device("cuda")
    weight = torch.zeros(4, device=device)

    def work(part: Batch) -> torch.Tensor:
        weight.add_(part.features["vectors"].sum(dim=0))
        return weight.clone()

    recorder = Recorder(work, device)
    expected = 0.0
    for i in range(30):
        n = 7 if i == 11 else 5
        rows = torch.arange(n, device=device)
        vectors = torch.full((n, 4), float(i), device=device)
        values = recorder(Batch(rows, rows, {"vectors": vectors}, n_views=1))
        expected += n * i
        assert values.tolist() == [expected] * 4
    assert [key[0][1] for key in recorder.recorded] == [(5,)]
    assert recorder.seen.total() < 8
    assert len(recorder.recorded) < MAX_GRAPHS


@pytest.mark.gpu
def test_a_step_that_looks_at_a_value_stays_plain() -> None:
    device = torch.device("cuda")

    def work(part: Batch) -> torch.Tensor:
        return part.features["vectors"].sum() * float(part.features["vectors"].max())

    recorder = Recorder(work, device)
    rows = torch.arange(3, device=device)
    for i in range(8):
        vectors = torch.full((3, 4), float(i), device=device)
        assert float(recorder(Batch(rows, rows, {"vectors": vectors}, n_views=1))) == 12 * i * i
    assert recorder.broken
    assert not recorder.recorded
    assert torch.rand(3, device=device).std() > 0  # random numbers still come
