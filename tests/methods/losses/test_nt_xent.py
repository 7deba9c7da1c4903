"""NT-Xent: against a loop, against hand values, and its symmetries."""

import math

import pytest
import torch
from torch import Tensor

from coterie.methods.losses.nt_xent import nt_xent
from loops import loop_nt_xent


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("decoupled", [False, True])
def test_equals_the_loop(n: int, temperature: float, cross: bool, decoupled: bool) -> None:
    torch.manual_seed(0)
    z1, z2 = torch.randn(n, 5), torch.randn(n, 5)
    found = nt_xent(
        z1,
        z2,
        temperature,
        negatives="cross" if cross else "both",
        positive_in_denominator=not decoupled,
    )
    expected = loop_nt_xent(z1, z2, temperature, None, cross, decoupled)
    assert found.item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("groups", [[0, 1, 0, 2], [3, 3, 3, 3]])
def test_identical_texts_are_not_negatives(groups: list[int], decoupled: bool) -> None:
    torch.manual_seed(1)
    z1, z2 = torch.randn(4, 5), torch.randn(4, 5)
    found = nt_xent(z1, z2, groups=torch.tensor(groups), positive_in_denominator=not decoupled)
    expected = loop_nt_xent(z1, z2, 0.5, groups, decoupled=decoupled)
    assert found.item() == pytest.approx(expected, abs=1e-5)


def test_two_orthogonal_texts_by_hand() -> None:
    # Positives have cosine 1, the two negatives 0: -log(e^2 / (e^2 + 2)) at temperature 0.5.
    z = torch.eye(2)
    expected = -math.log(math.exp(2) / (math.exp(2) + 2))
    assert nt_xent(z, z).item() == pytest.approx(expected, abs=1e-6)


def test_small_temperatures_do_not_overflow() -> None:
    torch.manual_seed(3)
    z1, z2 = torch.randn(6, 5), torch.randn(6, 5)
    assert nt_xent(z1, z2, 1e-4).isfinite()


@pytest.mark.parametrize("decoupled", [False, True])
def test_gradient_is_right(decoupled: bool) -> None:
    torch.manual_seed(4)
    z1 = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    z2 = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    groups = torch.tensor([0, 1, 0])

    def loss(a: Tensor, b: Tensor) -> Tensor:
        return nt_xent(a, b, groups=groups, positive_in_denominator=not decoupled)

    assert torch.autograd.gradcheck(loss, (z1, z2))


def test_half_precision_projections_are_contrasted_in_float32() -> None:
    z = torch.randn(4, 8, dtype=torch.bfloat16)
    assert nt_xent(z, z).dtype == torch.float32


def test_rows_without_negatives_give_a_finite_gradient() -> None:
    z1 = torch.randn(2, 4, requires_grad=True)
    z2 = torch.randn(2, 4, requires_grad=True)
    nt_xent(z1, z2, groups=torch.tensor([5, 5]), positive_in_denominator=False).backward()
    assert z1.grad is not None and z1.grad.isfinite().all()
