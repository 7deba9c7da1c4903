"""The k-competitive layer: against a loop, by hand, its invariants and its gradient."""

import pytest
import torch
from torch import Tensor

from coterie.blocks.competition import compete


def loop_compete(z: Tensor, k: int, alpha: float) -> Tensor:
    """Winners and losers of each sign, neuron by neuron."""
    out = torch.zeros_like(z)
    for row, values in enumerate(z.tolist()):
        for sign, winners in ((1, k // 2), (-1, k - k // 2)):
            rivals = sorted(
                (i for i, v in enumerate(values) if v * sign > 0), key=lambda i: -abs(values[i])
            )
            energy = sum(abs(values[i]) for i in rivals[winners:])
            for i in rivals[:winners]:
                out[row, i] = sign * (abs(values[i]) + alpha * energy)
    return out


@pytest.mark.parametrize("k", [1, 2, 5, 8])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 6.26])
def test_equals_the_loop(k: int, alpha: float) -> None:
    z = torch.randn(20, 8, generator=torch.Generator().manual_seed(k)).tanh()
    torch.testing.assert_close(compete(z, k, alpha), loop_compete(z, k, alpha))


def test_by_hand() -> None:
    z = torch.tensor([[0.8, 0.3, 0.1, -0.5, -0.2]])
    # The positive winner gets 0.8 + 2 * (0.3 + 0.1), the negative one -(0.5 + 2 * 0.2).
    torch.testing.assert_close(compete(z, 2, 2.0), torch.tensor([[1.6, 0.0, 0.0, -0.9, 0.0]]))


def test_one_winner_of_each_kind_and_alpha_one_keep_the_sum() -> None:
    z = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(compete(z, 2, 1.0).sum(dim=1), z.sum(dim=1))


def test_no_more_than_k_survive_and_more_winners_than_neurons_change_nothing() -> None:
    z = torch.randn(30, 12, generator=torch.Generator().manual_seed(1))
    assert ((compete(z, 4, 6.26) != 0).sum(dim=1) <= 4).all()
    z = torch.tensor([[0.5, -0.4]])
    torch.testing.assert_close(compete(z, 100, 6.26), z)


def test_signs_are_treated_alike() -> None:
    z = torch.randn(5, 10, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(compete(-z, 4, 3.0), -compete(z, 4, 3.0))


def test_gradient_is_right() -> None:
    z = torch.randn(3, 6, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: compete(x, 3, 2.0), (z,))
