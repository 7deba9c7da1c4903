"""Rounder products inside of training steps, and nowhere else."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor

from coterie.methods.fast.tensor_float import tensor_float
from coterie.methods.train import Batch, Run, train
from small_training import Net, make, run, square, stage


def state() -> tuple[str, ...]:
    new = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
    return torch.get_float32_matmul_precision(), *(part.fp32_precision for part in new)


def test_it_ends_with_the_block_also_on_errors_and_says_nothing() -> None:
    before = state()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError), tensor_float(True):
            assert torch.backends.cuda.matmul.fp32_precision == "tf32"
            raise ZeroDivisionError
        assert state() == before
        with tensor_float(False):
            assert state() == before


@pytest.mark.parametrize(
    ("precision", "taken", "inside"),
    [("bfloat16", True, "tf32"), ("float32", True, "none"), ("bfloat16", False, "none")],
)
def test_steps_run_under_it_and_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch, precision: str, taken: bool, inside: str
) -> None:
    seen: dict[str, set[str]] = {}

    def note(where: str) -> None:
        seen.setdefault(where, set()).add(torch.backends.cuda.matmul.fp32_precision)

    def loss(net: Net, batch: Batch) -> dict[str, Tensor]:
        note("loss")
        return square(net, batch)

    def labels(net: Net, vectors: Tensor) -> Tensor:
        note("between")
        return vectors.argmax(dim=1)

    monkeypatch.setattr(Run, "takes", lambda run, shortcut: taken and shortcut == "tf32")
    looks = {
        "refresh_every": 1,
        "labels": labels,
        "setup": lambda net, vectors: note("between"),
        "after_epoch": lambda net, n: note("between"),
    }
    train(*make(16), [stage(loss, steps=4, **looks)], run(precision=precision))
    assert seen == {"loss": {inside}, "between": {"none"}}


@pytest.mark.gpu
def test_products_on_a_gpu_are_rounder_inside() -> None:
    a = torch.randn(256, 256, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
    exact = a.double() @ a.double()
    plain = (a @ a - exact).abs().max()
    with tensor_float(True):
        inside = (a @ a - exact).abs().max()
    assert inside > 10 * plain
    assert (a @ a - exact).abs().max() == plain
