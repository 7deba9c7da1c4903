"""Student-t assignment, target and divergence: against loops, by hand, and their invariants."""

import math

import pytest
import torch
from torch import Tensor

from coterie.methods.losses.student_t import (
    kl_to_target,
    log_assignment,
    log_target,
    squared_distances,
)
from loops import loop_target


def loop_assignment(z: Tensor, mu: Tensor, alpha: float) -> list[list[float]]:
    """Eq. (1) of DEC, written with loops."""
    out = []
    for point in z:
        kernel = [
            (1 + float(((point - center) ** 2).sum()) / alpha) ** (-(alpha + 1) / 2)
            for center in mu
        ]
        out.append([value / sum(kernel) for value in kernel])
    return out


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_assignment_equals_the_loop(alpha: float) -> None:
    torch.manual_seed(0)
    z, mu = torch.randn(7, 5), torch.randn(4, 5)
    expected = torch.tensor(loop_assignment(z, mu, alpha))
    torch.testing.assert_close(log_assignment(z, mu, alpha).exp(), expected)


def test_assignment_by_hand() -> None:
    # Distances 0 and sqrt(3): kernels 1 and 1/4, so 0.8 and 0.2.
    q = log_assignment(torch.zeros(1, 3), torch.tensor([[0.0, 0, 0], [1, 1, 1]])).exp()
    torch.testing.assert_close(q, torch.tensor([[0.8, 0.2]]))


def test_assignment_does_not_change_when_everything_is_shifted() -> None:
    torch.manual_seed(2)
    z, mu, shift = torch.randn(5, 4), torch.randn(3, 4), 100 * torch.ones(4)
    shifted = log_assignment(z + shift, mu + shift)
    torch.testing.assert_close(shifted, log_assignment(z, mu), atol=1e-4, rtol=1e-4)


def test_far_points_give_finite_logs() -> None:
    log_q = log_assignment(torch.full((1, 2), 1e15), torch.eye(2))
    assert log_q.isfinite().all()
    torch.testing.assert_close(log_q.exp().sum(), torch.tensor(1.0))


def test_distances_are_never_negative_and_zero_on_the_point() -> None:
    torch.manual_seed(3)
    z = 10 * torch.randn(50, 384)
    distances = squared_distances(z, z)
    assert (distances >= 0).all()
    assert distances.diagonal().max() < 5e-6 * z.square().sum(dim=1).max()


def test_target_equals_the_loop() -> None:
    torch.manual_seed(4)
    log_q = torch.randn(8, 3).log_softmax(dim=1)
    expected = torch.from_numpy(loop_target(log_q.exp().numpy()))
    torch.testing.assert_close(log_target(log_q).exp(), expected)


def test_target_by_hand() -> None:
    # q = (.8,.2), (.4,.6): f = (1.2,.8), q^2/f = (.5333,.05), (.1333,.45).
    q = torch.tensor([[0.8, 0.2], [0.4, 0.6]])
    expected = torch.tensor([[0.91428571, 0.08571429], [0.22857143, 0.77142857]])
    torch.testing.assert_close(log_target(q.log()).exp(), expected)


def test_target_moves_mass_to_rare_clusters() -> None:
    log_q = torch.tensor([[0.5, 0.5]]).log()
    p = log_target(log_q, torch.tensor([9.0, 1.0]).log()).exp()
    torch.testing.assert_close(p, torch.tensor([[0.1, 0.9]]))


def test_target_carries_no_gradient() -> None:
    log_q = torch.randn(3, 2, requires_grad=True).log_softmax(dim=1)
    assert not log_target(log_q).requires_grad


def test_divergence_by_hand_and_zero_for_equals() -> None:
    p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.8, 0.2]])
    by_hand = 0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2)
    assert kl_to_target(p.log(), q.log()).item() == pytest.approx(by_hand)
    assert kl_to_target(p.log(), p.log()).item() == 0


def test_gradients_are_right() -> None:
    torch.manual_seed(6)
    z = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
    mu = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    target = torch.randn(4, 2, dtype=torch.double).log_softmax(dim=1)

    def loss(z: Tensor, mu: Tensor) -> Tensor:
        return kl_to_target(target, log_assignment(z, mu, 2.0))

    # The shift by the mean of the centers is detached, so its gradient must cancel by itself.
    assert torch.autograd.gradcheck(loss, (z, mu))
