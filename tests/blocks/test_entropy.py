"""Entropy terms and trusted labels: values by hand, bounds, gradients."""

import math

import pytest
import torch

from coterie.blocks.entropy import (
    balance_for,
    imbalance,
    negative_entropy,
    trusted_nll,
    without_empty,
)


def rows(n: int = 5, k: int = 4) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(n, k, dtype=torch.double).log_softmax(dim=1)


def test_row_entropy_equals_a_loop_and_has_its_bounds() -> None:
    log_p = rows()
    loop = sum(math.exp(x) * x for row in log_p.tolist() for x in row) / 5
    assert negative_entropy(log_p).item() == pytest.approx(loop)
    assert negative_entropy(torch.full((3, 4), 0.25).log()).item() == pytest.approx(-math.log(4))
    sure = torch.tensor([[50.0, 0, 0]]).log_softmax(dim=1)
    assert negative_entropy(sure).item() == pytest.approx(0, abs=1e-6)


def test_imbalance_is_zero_for_even_clusters_and_log_k_for_one() -> None:
    log_p = rows()
    q = [sum(math.exp(row[j]) for row in log_p.tolist()) / 5 for j in range(4)]
    assert imbalance(log_p).item() == pytest.approx(math.log(4) + sum(x * math.log(x) for x in q))
    even = 60 * torch.eye(3)
    assert imbalance(even.log_softmax(dim=1)).item() == pytest.approx(0, abs=1e-6)
    one = torch.zeros(5, 3).index_fill(1, torch.tensor([1]), 90.0)
    assert imbalance(one.log_softmax(dim=1)).item() == pytest.approx(math.log(3), abs=1e-5)
    assert imbalance(torch.zeros(4, 1)).item() == 0


def test_following_the_gradient_of_imbalance_evens_the_sizes() -> None:
    torch.manual_seed(0)
    logits = (torch.randn(30, 3) + torch.tensor([2.0, 0, 0])).requires_grad_()
    before = imbalance(logits.log_softmax(dim=1))
    (gradient,) = torch.autograd.grad(before, logits)
    assert imbalance((logits - 5 * gradient).log_softmax(dim=1)) < before


def test_only_sure_rows_teach_and_all_rows_count() -> None:
    guide = torch.tensor([[0.97, 0.03], [0.6, 0.4], [0.04, 0.96]]).log()
    log_p = torch.tensor([[0.5, 0.5], [0.1, 0.9], [0.2, 0.8]]).log()
    expected = -(math.log(0.5) + math.log(0.8)) / 3
    assert trusted_nll(log_p, guide, 0.95).item() == pytest.approx(expected, rel=1e-5)
    assert trusted_nll(log_p, guide, 0.99).item() == 0


def test_the_teacher_gets_no_gradient() -> None:
    guide, log_p = (rows().requires_grad_() for _ in range(2))
    trusted_nll(log_p, guide, 0.1).backward()
    assert guide.grad is None and log_p.grad.abs().sum() > 0


@pytest.mark.parametrize("term", [negative_entropy, imbalance])
def test_gradients(term) -> None:
    logits = rows().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: term(x.log_softmax(dim=1)), logits)


def test_empty_columns_carry_no_gradient() -> None:
    columns = torch.tensor([[1e-12, 0.0], [0.3, 0.4]], requires_grad=True)
    torch.nn.functional.normalize(without_empty(columns), dim=1).sum().backward()
    assert columns.grad[0].abs().sum() == 0 and columns.grad[1].abs().sum() > 0


def test_balance_follows_the_skew_of_the_start() -> None:
    assert [balance_for(s) for s in ((29, 10), (30, 10), (200, 10), (201, 10), (5, 0))] == [
        10.0, 0.18, 0.18, 0.09, 0.18]  # fmt: skip
