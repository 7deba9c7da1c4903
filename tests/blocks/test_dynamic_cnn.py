"""The dynamic convolution network: against a loop over rows and maps."""

import math

import numpy as np
import pytest
import torch

from coterie.blocks.dynamic_cnn import DynamicCNN, fold, k_max


def loop_k_max(row: list[float], k: int) -> list[float]:
    best = sorted(sorted(range(len(row)), key=lambda i: -row[i])[:k])
    return [row[i] for i in best]


def loop_network(net: DynamicCNN, words: np.ndarray) -> np.ndarray:
    """One text, shape (s, d), number by number."""
    s, d = words.shape
    maps = net.maps

    def wide(row: np.ndarray, taps: np.ndarray) -> np.ndarray:
        padded = np.concatenate([np.zeros(2), row, np.zeros(2)])
        return np.array([padded[i : i + 3] @ taps for i in range(len(row) + 2)])

    first = net.first.weight.detach().numpy().reshape(d, maps[0], 3)
    k = max(5, math.ceil(s / 2))
    layer = {}
    for r in range(d // 2):
        for m in range(maps[0]):
            row = sum(wide(words[:, 2 * r + i], first[2 * r + i, m]) for i in (0, 1))
            bias = net.first_bias[r, m].item()
            layer[r, m] = np.tanh(np.array(loop_k_max(row.tolist(), k)) + bias)
    second = net.second.weight.detach().numpy().reshape(d // 2, maps[1], maps[0], 3)
    out = []
    for r in range(d // 4):
        for m in range(maps[1]):
            row = sum(
                wide(layer[2 * r + i, j], second[2 * r + i, m, j])
                for i in (0, 1)
                for j in range(maps[0])
            )
            kept = np.tanh(np.array(loop_k_max(row.tolist(), 5)) + net.second_bias[r, m].item())
            out += [*kept, *[0.0] * (5 - len(kept))]
    return np.array(out)


def make(dim: int = 8) -> DynamicCNN:
    torch.manual_seed(0)
    net = DynamicCNN(dim, (3, 2))
    with torch.no_grad():
        net.first_bias.normal_()
        net.second_bias.normal_()
    return net


@pytest.mark.parametrize("length", [1, 2, 3, 9, 13, 14])
def test_a_text_equals_the_loop(length: int) -> None:
    net = make()
    words = torch.randn(1, length, 8)
    with torch.no_grad():
        found = net(words, torch.tensor([length]))[0]
    np.testing.assert_allclose(found, loop_network(net, words[0].numpy()), atol=1e-5)


def test_padding_and_company_change_nothing() -> None:
    net = make()
    texts = [torch.randn(n, 8) for n in (1, 4, 13)]
    batch = torch.zeros(3, 20, 8)
    for row, text in zip(batch, texts, strict=True):
        row[: len(text)] = text
    with torch.no_grad():
        together = net(batch, torch.tensor([1, 4, 13]))
        for row, text in zip(together, texts, strict=True):
            alone = net(text[None], torch.tensor([len(text)]))[0]
            torch.testing.assert_close(row, alone, atol=1e-6, rtol=1e-5)


def test_sizes_are_those_of_the_paper() -> None:
    assert DynamicCNN(48).dim == 480


def test_the_largest_numbers_keep_their_order() -> None:
    x = torch.tensor([[[4.0, 1, 5, 2, 9]], [[4.0, 1, 5, 2, 9]]])
    found = k_max(x, torch.tensor([3, 2]), torch.tensor([5, 3]), 4)
    assert found.tolist() == [[[4, 5, 9, 0]], [[4, 5, 0, 0]]]


def test_folding_adds_neighbouring_rows() -> None:
    x = torch.arange(8.0).view(1, 8, 1)  # four rows of two maps
    assert fold(x, 2)[0, :, :, 0].tolist() == [[0 + 2, 1 + 3], [4 + 6, 5 + 7]]


def test_gradients_are_right() -> None:
    net = make(4).double()
    words = torch.randn(2, 6, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda w: net(w, torch.tensor([6, 3])), (words,))
