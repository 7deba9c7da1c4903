"""The halves of an autoencoder, whole and pair by pair."""

import pytest
import torch

from coterie.blocks.autoencoder import make_half, pair_error, reconstruction_error


def leaky(x: float) -> float:
    return x if x > 0 else 0.2 * x


def test_a_half_has_no_activation_at_its_end() -> None:
    half = make_half([3, 5, 2], "leaky-relu")
    x = torch.randn(4, 3)
    hidden = torch.tensor([[leaky(float(v)) for v in row] for row in half[0](x).tolist()])
    torch.testing.assert_close(half(x), half[2](hidden))
    assert [part.out_features for part in make_half([7, 4])] == [4]


def test_error_by_hand() -> None:
    coder, decoder = make_half([2, 1]), make_half([1, 2])
    with torch.no_grad():
        coder[0].weight.copy_(torch.tensor([[1.0, 1.0]]))
        decoder[0].weight.copy_(torch.tensor([[0.5], [0.5]]))
        for part in (coder[0], decoder[0]):
            part.bias.zero_()
    # (3, 1) has the code 4 and comes back as (2, 2): the error is (1 + 1) / 2.
    assert reconstruction_error(coder, decoder, torch.tensor([[3.0, 1.0]])).item() == 1.0


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_pair_equals_its_loop(layer: int) -> None:
    torch.manual_seed(layer)
    widths = [6, 5, 4, 3]
    coder, decoder = make_half(widths), make_half(widths[::-1])
    x = torch.randn(8, 6)
    linear = [part for part in coder if isinstance(part, torch.nn.Linear)]
    back = [part for part in decoder if isinstance(part, torch.nn.Linear)][::-1]
    total = 0.0
    for row in x:
        y = row
        for part in linear[:layer]:
            y = part(y).clamp(min=0)
        h = linear[layer](y)
        h = h.clamp(min=0) if layer < 2 else h
        r = back[layer](h)
        r = r.clamp(min=0) if layer > 0 else r
        total += float((r - y).square().mean())
    found = pair_error(coder, decoder, x, layer, 0.0)
    assert found.item() == pytest.approx(total / 8, rel=1e-5)
    found.backward()
    moved = [part.weight.grad is not None for part in (*linear, *back)]
    assert moved == [i == layer for i in range(3)] * 2


def test_damage_is_done_to_the_input_and_not_to_what_is_asked_for() -> None:
    torch.manual_seed(0)
    x = torch.ones(500, 4)
    same = torch.nn.Sequential(torch.nn.Identity())
    # Of the ones, half become 0 and half 2; both are 1 off.
    assert reconstruction_error(same, same, x, 0.5).item() == pytest.approx(1.0)
    assert reconstruction_error(same, same, x).item() == 0
