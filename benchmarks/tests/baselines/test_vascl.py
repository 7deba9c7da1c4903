"""VaSCL: the virtual augmentation against loops, and the method."""

import math

import pytest
import torch

from coterie_bench.baselines.vascl import (
    neighborhood,
    told_apart,
    virtual_term,
)


def batch(n: int = 7, d: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.double) + 1


def head(d: int = 4) -> torch.nn.Module:
    torch.manual_seed(3)
    layers = torch.nn.Linear(d, d, bias=False), torch.nn.Tanh(), torch.nn.Linear(d, 3, bias=False)
    return torch.nn.Sequential(*layers).double()


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


def test_the_term_equals_its_loop() -> None:
    e, step, project = batch(), batch(seed=1), head()
    near, real = neighborhood(e, 3, torch.arange(7))
    f, m = project(e).detach(), project(e + step).detach()
    total = 0.0
    for i in range(7):
        own = math.exp(cosine(f[i], m[i]) / 0.2)
        for a in (f[i], m[i]):
            others = sum(math.exp(cosine(a, b[j]) / 0.2) for j in near[i] for b in (f, m))
            total -= math.log(own / (own + others)) / 14
    found = virtual_term(project, e, step, near, real, 0.2)
    assert found.item() == pytest.approx(total, rel=1e-9)


def test_by_hand() -> None:
    # Halfway between its partner and one other, at a right angle: log 2 at any temperature.
    b, others = torch.tensor([[1.0, 0.0]]), torch.tensor([[[0.0, 1.0]]])
    real = torch.tensor([[True]])
    moved = torch.tensor([[3.0, 3.0]])
    assert told_apart(moved, b, others, real, 0.05).item() == pytest.approx(math.log(2), rel=1e-4)
    assert told_apart(b, b, others, ~real, 0.05).item() == 0  # nobody to be told apart from
    assert told_apart(b, b, others, real, 1.0).item() == pytest.approx(math.log(1 + math.exp(-1)))
    # Two texts at a right angle, not moved: each has its partner and the other one twice.
    e, near = torch.eye(2), torch.tensor([[1], [0]])
    found = virtual_term(torch.nn.Identity(), e, 0 * e, near, near >= 0, 1.0)
    assert found.item() == pytest.approx(math.log(1 + 2 * math.exp(-1)))


def test_neighbours_have_the_largest_products_among_other_texts() -> None:
    e, groups = batch(), torch.tensor([0, 1, 2, 2, 4, 5, 6])
    near, real = neighborhood(e, 2, groups)
    for i in range(7):
        others = [j for j in range(7) if groups[j] != groups[i]]
        expected = sorted(others, key=lambda j: -float(e[i] @ e[j]))[:2]
        assert near[i].tolist() == expected and real[i].all()
    _, real = neighborhood(e[:3], 5, torch.zeros(3))
    assert real.shape == (3, 2) and not real.any()  # all are one text


def test_gradients_are_right_and_reach_the_projection_alone() -> None:
    e, step, project = batch(5).requires_grad_(True), batch(5, seed=1), head()
    near, real = neighborhood(e, 2, torch.arange(5))
    a, b, others = (x.requires_grad_(True) for x in (batch(5), batch(5, seed=1), batch(5, seed=2)))
    assert torch.autograd.gradcheck(
        lambda a, b, c: told_apart(a, b, c[near], real, 0.3), (a, b, others)
    )
    virtual_term(project, e, step, near, real, 0.3).backward()
    assert e.grad is None and all(p.grad.abs().sum() > 0 for p in project.parameters())
