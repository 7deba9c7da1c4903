"""A small network, its data, and a run and a stage to train it with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coterie.encoders import VectorEncoder
from coterie.methods.train import Batch, Run, Stage, TrainingData

CPU = torch.device("cpu")


class Net(nn.Module):
    def __init__(self, encoder: VectorEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(3, 2)


def square(net: Net, batch: Batch) -> dict[str, Tensor]:
    (e,) = batch.encode(net.encoder)
    return {"square": net.head(e).square().mean(), "norm": 0.01 * e.square().mean()}


def make(n: int = 20) -> tuple[Net, TrainingData]:
    encoder = VectorEncoder()
    items, rows = encoder.prepare(np.random.default_rng(0).normal(size=(n, 3)))
    encoder.make_trainable()
    torch.manual_seed(0)
    return Net(encoder), TrainingData(items, rows[None])


def run(**more: Any) -> Run:
    return Run(**{"batch_size": 8, "seed": 1, "device": CPU, "log_every": 1, **more})


def stage(loss: Callable[..., dict[str, Tensor]] = square, **more: Any) -> Stage:
    lr = {"encoder": 1e-2, "head": 1e-2}
    return Stage(**{"name": "first", "steps": 12, "loss": loss, "lr": lr, **more})


def weights(net: nn.Module) -> dict[str, Tensor]:
    return {k: v.clone() for k, v in net.state_dict().items()}


def assert_equal(a: dict[str, Tensor], b: dict[str, Tensor]) -> None:
    for name, tensor in a.items():
        assert torch.equal(tensor, b[name]), name
