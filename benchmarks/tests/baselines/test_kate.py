"""KATE: its competition and its loss against loops."""

import math

import pytest
import torch
from torch import Tensor

from coterie_bench.baselines.kate import KATE, KATENet, compete, word_loss


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


def test_gradient_is_right() -> None:
    z = torch.randn(3, 6, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: compete(x, 3, 2.0), (z,))


TINY = {"epochs": 40, "lr": 1e-2, "code_dim": 24, "winners": 8, "random_state": 0}


class KeepsNet(KATE):
    """Keeps the network of the training."""

    def _build_pretraining_network(self, encoder, facts) -> KATENet:
        self.net = super()._build_pretraining_network(encoder, facts)
        return self.net


def test_the_loss_equals_its_loop(topics) -> None:
    texts = topics[0][:9]
    model = KeepsNet(3, **TINY).fit(texts)
    net = model.net
    items, rows = model.encoder_.prepare(texts)

    class Everything:
        features = items.batch(rows)

    x = Everything.features["vectors"]
    weight = net.encoder.coder[0].weight
    total = 0.0
    with torch.no_grad():
        for row in x:
            z = torch.tanh(weight @ row + net.encoder.coder[0].bias)
            z = compete(z[None], 8, 6.26)[0]
            back = 1 / (1 + torch.exp(-(weight.T @ z + net.output.bias)))  # the same weights
            for wanted, found in zip(row.tolist(), back.tolist(), strict=True):
                found = min(max(found, 1e-12), 1 - 1e-7)
                total -= wanted * math.log(found) + (1 - wanted) * math.log(1 - found)
        loss = word_loss(net, Everything(), winners=8, boost=6.26)["words"]
    assert loss.item() == pytest.approx(total / 9, rel=1e-3)
