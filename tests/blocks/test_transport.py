"""Optimal transport: against loops, another library, a general optimiser, and at its edges."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from coterie.blocks.transport import adaptive_plan, barrier_share, column_sums, log_sinkhorn


def loop_sinkhorn(cost: Tensor, a: list[float], b: list[float], eps: float, rounds: int) -> Tensor:
    """Scaling of the kernel by numbers, one row and one column after the other."""
    n, k = cost.shape
    kernel = [[math.exp(-float(cost[i, j]) / eps) for j in range(k)] for i in range(n)]
    u, v = [1.0] * n, [1.0] * k
    for _ in range(rounds):
        for j in range(k):
            v[j] = b[j] / sum(u[i] * kernel[i][j] for i in range(n))
        for i in range(n):
            u[i] = a[i] / sum(kernel[i][j] * v[j] for j in range(k))
    return torch.tensor([[u[i] * kernel[i][j] * v[j] for j in range(k)] for i in range(n)])


def some_log_p(n: int, k: int, size: float = 1.0, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    logits = size * torch.randn(n, k, generator=generator, dtype=torch.double)
    return logits.log_softmax(dim=1)


def objective(plan: Tensor, log_p: Tensor, eps1: float, eps2: float) -> Tensor:
    """What the plan is to minimise, as the paper prints it."""
    b = plan.sum(dim=0)
    smooth = eps1 * (plan * (plan.log() - 1)).sum()
    return -(plan * log_p).sum() + smooth + eps2 * (-b.log() - (1 - b).log()).sum()


def test_sinkhorn_equals_the_loop() -> None:
    cost = -some_log_p(7, 4)
    a, b = [1 / 7] * 7, [0.1, 0.2, 0.3, 0.4]
    found = log_sinkhorn(-cost / 0.3, torch.tensor(a).log(), torch.tensor(b).log(), 20).exp()
    torch.testing.assert_close(
        found.float(), loop_sinkhorn(cost, a, b, 0.3, 20).float(), atol=1e-6, rtol=1e-5
    )


def test_sinkhorn_by_hand() -> None:
    """Two texts, two clusters, symmetric: the plan keeps the ratio of the kernel's diagonals."""
    log_k = torch.tensor([[2.0, 1.0], [1.0, 2.0]]).log()
    half = torch.full((2,), 0.5).log()
    torch.testing.assert_close(
        log_sinkhorn(log_k, half, half).exp(), torch.tensor([[1 / 3, 1 / 6], [1 / 6, 1 / 3]])
    )


@pytest.mark.parametrize("eps", [0.05, 0.5])
def test_sinkhorn_equals_pot(eps: float) -> None:
    ot = pytest.importorskip("ot", reason="pip install pot")
    cost = -some_log_p(12, 5)
    a, b = np.full(12, 1 / 12), np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    wanted = ot.sinkhorn(a, b, cost.numpy(), eps, method="sinkhorn_log", numItermax=5000)
    found = log_sinkhorn(-cost / eps, torch.tensor(a).log(), torch.tensor(b).log(), 2000)
    np.testing.assert_allclose(found.exp().numpy(), wanted, atol=1e-8)


def test_sinkhorn_has_its_marginals_and_a_right_gradient() -> None:
    log_a, log_b = torch.full((4,), 0.25).double().log(), torch.tensor([0.2, 0.3, 0.5]).double()
    cost = torch.randn(4, 3, dtype=torch.double, requires_grad=True)
    plan = log_sinkhorn(-cost, log_a, log_b.log(), 200).exp()
    torch.testing.assert_close(plan.sum(dim=1), log_a.exp())
    torch.testing.assert_close(plan.sum(dim=0), log_b)
    assert torch.autograd.gradcheck(lambda c: log_sinkhorn(-c, log_a, log_b.log(), 8), (cost,))


@pytest.mark.parametrize("eps2", [0.01, 1.0])
def test_the_share_of_the_barrier_equals_the_printed_form(eps2: float) -> None:
    delta = torch.tensor([-3.0, -0.2, 0.1, 2.0], dtype=torch.double)
    root = (delta.square() + 4 * eps2**2).sqrt()
    printed = ((delta + 2 * eps2) - root) / (2 * delta)
    found = barrier_share(delta, eps2)
    torch.testing.assert_close(found, printed)
    torch.testing.assert_close(  # and it solves the equation it comes from
        eps2 * (1 / (1 - found) - 1 / found), -delta, rtol=1e-6, atol=1e-8
    )


def test_the_share_of_the_barrier_by_hand_and_at_its_edges() -> None:
    assert barrier_share(torch.tensor(0.0), 0.1).item() == 0.5  # printed: 0 / 0
    # delta = 3/2 eps2: b solves 1.5 b^2 - 3.5 b + 1 = 0, that is b = 1/3
    assert barrier_share(torch.tensor(1.5), 1.0).item() == pytest.approx(1 / 3)
    far = barrier_share(torch.tensor([-1e30, 1e30], dtype=torch.double), 1e-3)
    assert far[0] == 1 and 0 <= far[1] < 1e-30
    x = torch.linspace(-2, 2, 5, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda d: barrier_share(d, 0.3), (x,))


@pytest.mark.parametrize("ratio", [1e-4, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("size", [0.1, 3.0, 40.0])
def test_column_sums_solve_their_equations(ratio: float, size: float) -> None:
    log_c = size * torch.randn(9, generator=torch.Generator().manual_seed(3), dtype=torch.double)
    b, t = column_sums(log_c, ratio)
    assert b.sum().item() == pytest.approx(1, abs=1e-12) and (b > 0).all()
    # One price h for all clusters: log b_j + ratio (1 / (1 - b_j) - 1 / b_j) - log c_j
    h = b.log() + ratio * (1 / (1 - b) - 1 / b) - log_c
    torch.testing.assert_close(h, h.mean().expand(9), atol=1e-6 * (1 + size), rtol=0)
    again, _ = column_sums(log_c, ratio, t)
    torch.testing.assert_close(again, b)


def test_column_sums_at_both_ends() -> None:
    log_c = torch.tensor([1.0, 2.0, 5.0], dtype=torch.double).log()
    torch.testing.assert_close(column_sums(log_c, 0.0)[0], log_c.exp() / 8)  # free
    torch.testing.assert_close(  # even
        column_sums(log_c, 1e6)[0], torch.full((3,), 1 / 3).double(), atol=1e-5, rtol=0
    )
    assert column_sums(log_c[:1], 0.5)[0].item() == 1


@pytest.mark.parametrize(("eps1", "eps2"), [(0.1, 0.1), (0.5, 0.01), (0.1, 0.003)])
def test_the_adaptive_plan_is_the_minimum(eps1: float, eps2: float) -> None:
    log_p = some_log_p(6, 3, 2.0)
    plan = adaptive_plan(log_p, eps1, eps2, rounds=5000, tol=1e-12)[0].exp()

    def value(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = torch.tensor(x, requires_grad=True)
        found = objective(z.view(6, 3).softmax(dim=1) / 6, log_p, eps1, eps2)
        (gradient,) = torch.autograd.grad(found, z)
        return found.item(), gradient.numpy()

    best = minimize(value, np.zeros(18), jac=True, options={"gtol": 1e-9, "maxiter": 5000})
    assert objective(plan, log_p, eps1, eps2).item() <= best.fun + 1e-9
    wanted = torch.from_numpy(best.x).view(6, 3).softmax(dim=1) / 6
    torch.testing.assert_close(plan, wanted, atol=1e-6, rtol=0)


@pytest.mark.parametrize("eps2", [1e-6, 0.01, 1.0])
def test_the_adaptive_plan_has_its_marginals(eps2: float) -> None:
    plan, b = adaptive_plan(some_log_p(40, 6, 4.0), 0.1, eps2)
    torch.testing.assert_close(plan.exp().sum(dim=1), torch.full((40,), 1 / 40).double())
    torch.testing.assert_close(plan.exp().sum(dim=0), b, atol=2e-6, rtol=0)
    assert b.sum().item() == pytest.approx(1)


def test_a_strong_barrier_makes_clusters_even_and_a_weak_one_follows_the_texts() -> None:
    log_p = torch.tensor([[0.8, 0.2]] * 9 + [[0.1, 0.9]]).log()
    even = adaptive_plan(log_p, 0.1, 100.0)[1]
    torch.testing.assert_close(even, torch.tensor([0.5, 0.5]).double(), atol=1e-3, rtol=0)
    free = adaptive_plan(log_p, 0.01, 1e-6)[1]
    assert free[0] == pytest.approx(0.9, abs=0.01)
    uniform = torch.full((2,), 0.5).double().log()
    fixed = log_sinkhorn(log_p.double() / 0.1, torch.full((10,), 0.1).double().log(), uniform, 3000)
    torch.testing.assert_close(
        adaptive_plan(log_p, 0.1, 1e4)[0].exp(), fixed.exp(), atol=1e-4, rtol=0
    )


@pytest.mark.parametrize("eps1", [1e-2, 1e-4, 1e-8])
def test_a_tiny_smoothness_does_not_overflow(eps1: float) -> None:
    log_p = some_log_p(30, 5, 3.0)
    log_p[0, 1] = -torch.inf  # a probability that underflowed
    plan, b = adaptive_plan(log_p, eps1, 0.1, rounds=50)
    assert torch.isfinite(plan.exp()).all() and torch.isfinite(b).all()
    torch.testing.assert_close(plan.exp().sum(dim=1), torch.full((30,), 1 / 30).double())


def test_texts_and_clusters_have_no_order() -> None:
    log_p = some_log_p(12, 4, 2.0)
    rows, columns = torch.randperm(12), torch.randperm(4)
    plan, b = adaptive_plan(log_p, 0.1, 0.05)
    other, c = adaptive_plan(log_p[rows][:, columns], 0.1, 0.05)
    torch.testing.assert_close(other.exp(), plan.exp()[rows][:, columns])
    torch.testing.assert_close(c, b[columns])
