"""RSTC: transport and head, losses against their equations, training."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from coterie import RSTC
from coterie.encoders import load_encoder
from coterie.methods.rstc import (
    DeepHead,
    HeadAssigner,
    RSTCNet,
    adaptive_plan,
    contrast_term,
    label_term,
    transport_labels,
)
from coterie.methods.train import TrainingContext
from loops import loop_nt_xent


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


@pytest.mark.parametrize(("eps1", "eps2"), [(0.1, 0.1), (0.5, 0.01), (0.1, 0.003)])
def test_the_adaptive_plan_is_the_minimum(eps1: float, eps2: float) -> None:
    log_p = some_log_p(6, 3, 2.0)
    plan = adaptive_plan(log_p, eps1, eps2, tol=1e-12)[0].exp()

    def value(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = torch.tensor(x, requires_grad=True)
        found = objective(z.view(6, 3).softmax(dim=1) / 6, log_p, eps1, eps2)
        (gradient,) = torch.autograd.grad(found, z)
        return found.item(), gradient.numpy()

    best = minimize(value, np.zeros(18), jac=True, options={"gtol": 1e-9, "maxiter": 5000})
    assert objective(plan, log_p, eps1, eps2).item() <= best.fun + 1e-9
    wanted = torch.from_numpy(best.x).view(6, 3).softmax(dim=1) / 6
    torch.testing.assert_close(plan, wanted, atol=1e-6, rtol=0)


@pytest.mark.parametrize("eps2", [0.0, 1e-6, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("size", [0.1, 4.0, 40.0])
def test_the_adaptive_plan_solves_its_equations(eps2: float, size: float) -> None:
    log_p = some_log_p(40, 6, size)
    log_plan, b = adaptive_plan(log_p, 0.1, eps2)
    torch.testing.assert_close(log_plan.exp().sum(dim=1), torch.full((40,), 1 / 40).double())
    torch.testing.assert_close(log_plan.exp().sum(dim=0), b, atol=2e-6, rtol=0)
    assert b.sum().item() == pytest.approx(1)
    # One price for each text, whatever the cluster: eps1 log pi - log p + eps2 / (1 - b) - eps2 / b
    price = 0.1 * log_plan - log_p + eps2 * (1 / (1 - b) - 1 / b)
    price -= price[:, :1].clone()
    assert price.abs().max() <= 1e-4 * (1 + eps2) * (1 + size)


def test_two_texts_that_are_alike_take_the_free_sums_and_one_cluster_takes_all() -> None:
    log_p = torch.tensor([[0.2, 0.8], [0.2, 0.8]]).log()
    torch.testing.assert_close(  # eps1 = 1, no barrier: the probabilities themselves
        adaptive_plan(log_p, 1.0, 0.0)[1], torch.tensor([0.2, 0.8]).double()
    )
    # Half the smoothness squares the odds: 1 to 16.
    torch.testing.assert_close(
        adaptive_plan(log_p, 0.5, 0.0)[1], torch.tensor([1.0, 16.0]).double() / 17
    )
    assert adaptive_plan(log_p[:, :1], 0.1, 0.5)[1].item() == pytest.approx(1)


def test_a_strong_barrier_makes_clusters_even_and_a_weak_one_follows_the_texts() -> None:
    log_p = torch.tensor([[0.8, 0.2]] * 9 + [[0.1, 0.9]]).log()
    even = adaptive_plan(log_p, 0.1, 100.0)[1]
    torch.testing.assert_close(even, torch.tensor([0.5, 0.5]).double(), atol=1e-3, rtol=0)
    free = adaptive_plan(log_p, 0.01, 1e-6)[1]
    assert free[0] == pytest.approx(0.9, abs=0.01)
    fixed = loop_sinkhorn(-log_p, [0.1] * 10, [0.5, 0.5], 0.1, 300).double()
    torch.testing.assert_close(adaptive_plan(log_p, 0.1, 1e4)[0].exp(), fixed, atol=1e-4, rtol=0)
    torch.testing.assert_close(adaptive_plan(log_p, 0.1, 1e30)[0].exp(), fixed, atol=1e-6, rtol=0)


@pytest.mark.parametrize("eps1", [1e-2, 1e-4, 1e-8])
def test_a_tiny_smoothness_does_not_overflow(eps1: float) -> None:
    log_p = some_log_p(30, 5, 3.0)
    log_p[0, 1] = -torch.inf  # a probability that underflowed
    plan, b = adaptive_plan(log_p, eps1, 0.1, rounds=50)
    assert torch.isfinite(plan.exp()).all() and torch.isfinite(b).all()
    torch.testing.assert_close(plan.exp().sum(dim=1), torch.full((30,), 1 / 30).double())


def test_the_rule_says_what_the_head_says_without_dropout() -> None:
    torch.manual_seed(0)
    head = DeepHead(6, 4).train()
    x = torch.randn(9, 6)
    log_p = head.steady(x)
    assert head.training and not torch.equal(head(x), log_p)  # dropout is on again
    assigner = HeadAssigner.make(head)
    logits = torch.from_numpy(assigner.logits(x.numpy()))
    torch.testing.assert_close(logits.log_softmax(dim=1).float(), log_p)
    loop = x
    for i, part in enumerate(p for p in head.layers if isinstance(p, torch.nn.Linear)):
        loop = part(loop) if i == 2 else part(loop).clamp(min=0)
    torch.testing.assert_close(logits.float(), loop)


SMALL = {
    "steps": 90,
    "batch_size": 30,
    "lr": 1e-3,
    "head_lr": 1e-2,
    "random_state": 0,
    "refresh_every": 10,
    "tol": 0.0,
    "encoder": "tfidf",
}


@pytest.fixture
def net() -> RSTCNet:
    torch.manual_seed(0)
    encoder = load_encoder("precomputed")
    encoder.dim = 6
    return RSTCNet(encoder, 12, 3, 4).eval()


def test_terms_equal_their_loops(net: RSTCNet) -> None:
    e1, e2 = torch.randn(5, 6), torch.randn(5, 6)
    labels = torch.tensor([0, 2, 1, 1, 0])
    with torch.no_grad():
        found = contrast_term(net, (e1, e2), None, 0.7).item()
        once = loop_nt_xent(net.project(e1), net.project(e2), 0.7)
        assert found == pytest.approx(2 * once, abs=1e-5)
        wanted = 0.0
        for e in (e1, e2):
            p = net.head.layers(e).softmax(dim=1)
            wanted -= sum(math.log(p[i, labels[i]]) for i in range(5)) / 5
        assert label_term(net, (e1, e2), labels).item() == pytest.approx(wanted, abs=1e-5)


def test_labels_are_the_largest_parts_of_the_plan(net: RSTCNet) -> None:
    x = torch.randn(12, 6)
    net.train()
    transport_labels(net, x, 0.1, 0.05)
    plan, shares = adaptive_plan(net.eval().head(x).detach(), 0.1, 0.05)
    torch.testing.assert_close(net.labels, plan.argmax(dim=1))
    torch.testing.assert_close(net.shares.double(), shares, atol=1e-6, rtol=0)
    assert int(net.refreshes) == 1


def test_shares_follow_the_numbering_of_the_clusters(topics) -> None:
    model = RSTC(3, guard=False, **SMALL).fit(topics[0])
    np.testing.assert_allclose(model.shares_, np.bincount(model.labels_) / 90, atol=0.1)


def test_refreshes_come_often_at_first(topics) -> None:
    few = RSTC(3, refreshes=3, label_steps=30, guard=False, **SMALL).fit(topics[0])
    # 60 steps: at 0 (the set-up), 15 and 60, that is at the looks of steps 20 and 60.
    assert int(few.net_.refreshes) == 3
    many = RSTC(3, refreshes=500, label_steps=30, guard=False, **SMALL).fit(topics[0])
    assert int(many.net_.refreshes) == 1 + 6  # at every look


def test_training_stops_when_labels_settle(topics) -> None:
    model = RSTC(3, **{**SMALL, "tol": 0.5, "steps": 200}).fit(topics[0])
    assert max(r["step"] for r in model.history_.rows if r["stage"] == "transport") < 100


@pytest.mark.parametrize(("k", "steps", "wanted"), [(3, 90, 40), (3, 3000, 40), (9, 900, 90)])
def test_the_head_has_time_for_its_first_labels(k: int, steps: int, wanted: int, topics) -> None:
    model, none = RSTC(k, steps=steps, balance_weight=0.1), RSTC(k, steps=0, balance_weight=0.1)
    context = TrainingContext(90, 1, 0)
    plan = {stage.name: stage.steps for stage in model._training_stages(context)}
    assert plan == {"labels": wanted, "transport": steps - wanted}
    assert none._training_stages(context) == []
