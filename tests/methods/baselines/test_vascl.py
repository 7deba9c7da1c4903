"""VaSCL: the virtual augmentation against loops, and the method."""

import math

import pytest
import torch

from coterie import VaSCL
from coterie.blocks.nt_xent import nt_xent
from coterie.methods.baselines.vascl import VaSCLNet, hardest_step, neighborhood, told_apart


def batch(n: int = 7, d: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.double) + 1


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


def test_the_term_equals_its_loop() -> None:
    e, moved = batch(), batch(seed=1)
    near, real = neighborhood(e, 3, torch.arange(7))
    found = told_apart(moved, e, e[near], real, 0.2)
    for i in range(7):
        own = math.exp(cosine(moved[i], e[i]) / 0.2)
        others = sum(math.exp(cosine(moved[i], e[j]) / 0.2) for j in near[i])
        assert found[i].item() == pytest.approx(-math.log(own / (own + others)), rel=1e-9)


def test_by_hand() -> None:
    # Halfway between its place and one neighbour, at a right angle: log 2 at any temperature.
    e, near = torch.tensor([[1.0, 0.0]]), torch.tensor([[[0.0, 1.0]]])
    real = torch.tensor([[True]])
    moved = torch.tensor([[3.0, 3.0]])
    assert told_apart(moved, e, near, real, 0.05).item() == pytest.approx(math.log(2), rel=1e-4)
    assert told_apart(e, e, near, ~real, 0.05).item() == 0  # nobody to be told apart from
    assert told_apart(e, e, near, real, 1.0).item() == pytest.approx(math.log(1 + math.exp(-1)))


def test_neighbours_are_the_nearest_of_other_texts() -> None:
    e, groups = batch(), torch.tensor([0, 1, 2, 2, 4, 5, 6])
    near, real = neighborhood(e, 2, groups)
    for i in range(7):
        others = [j for j in range(7) if groups[j] != groups[i]]
        expected = sorted(others, key=lambda j: -cosine(e[i], e[j]))[:2]
        assert near[i].tolist() == expected and real[i].all()
    _, real = neighborhood(e[:3], 5, torch.zeros(3))
    assert real.shape == (3, 2) and not real.any()  # all are one text


def test_the_step_is_harder_than_a_random_one_and_has_its_length() -> None:
    torch.manual_seed(0)
    e = batch(20, 6)
    near, real = neighborhood(e, 4, torch.arange(20))
    step = hardest_step(e, e[near], real, 0.5, 0.2)
    length = 0.5 * float(e.norm(dim=1).mean())
    torch.testing.assert_close(step.norm(dim=1), torch.full((20,), length, dtype=torch.double))
    hard = told_apart(e + step, e, e[near], real, 0.2)
    for _ in range(5):
        other = torch.randn_like(e)
        other *= length / other.norm(dim=1, keepdim=True)
        assert hard.mean() > told_apart(e + other, e, e[near], real, 0.2).mean() + 0.05
    assert not step.requires_grad


def test_gradients_are_right() -> None:
    e = batch(5, 3).requires_grad_(True)
    near, real = neighborhood(e, 2, torch.arange(5))
    step = batch(5, 3, 1)
    assert torch.autograd.gradcheck(lambda x: told_apart(x + step, x, x[near], real, 0.3), (e,))


class Two:
    """Two passes of six texts, of which two are the same."""

    index = torch.arange(6)
    groups = torch.tensor([0, 1, 2, 3, 4, 4])

    def encode(self, encoder):
        generator = torch.Generator().manual_seed(0)
        return tuple(torch.randn(6, 5, generator=generator) for _ in range(2))


class Five(torch.nn.Module):
    dim = 5


@pytest.mark.parametrize("masked", [True, False])
def test_the_loss_is_the_sum_of_its_terms(masked: bool) -> None:
    torch.manual_seed(0)
    net, batch = VaSCLNet(Five(), 3), Two()
    model = VaSCL(2, n_neighbors=2, virtual_weight=0.5, mask_duplicates=masked)
    torch.manual_seed(7)
    terms = model._loss(net, batch)
    groups = batch.groups if masked else None
    e = batch.encode(None)
    contrast = nt_xent(net.project(e[0]), net.project(e[1]), 0.05, groups=groups)
    assert terms["contrast"].item() == pytest.approx(contrast.item())
    torch.manual_seed(7)
    total = 0.0
    for x in e:
        near, real = neighborhood(x, 2, batch.groups if masked else batch.index)
        step = hardest_step(x, x[near], real, 1.0, 0.05)
        total += told_apart(x + step, x, x[near], real, 0.05).mean().item() / 2
    assert terms["virtual"].item() == pytest.approx(0.5 * total, rel=1e-5)
    assert VaSCL(2, virtual_weight=0.0)._loss(net, batch).keys() == {"contrast"}
