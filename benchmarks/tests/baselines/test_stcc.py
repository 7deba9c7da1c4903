"""STCC: bits of reduced TF-IDF, the dynamic network, and the method."""

import math

import numpy as np
import pytest
import scipy.linalg
import torch
from scipy.sparse import csr_matrix

from coterie_bench.baselines import stcc as block
from coterie_bench.baselines.stcc import (
    DynamicCNN,
    eigenmaps,
    heat_graph,
    preserving,
)


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


def test_gradients_are_right() -> None:
    net = make(4).double()
    words = torch.randn(2, 6, 4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda w: net(w, torch.tensor([6, 3])), (words,))


def rows(n: int = 40, d: int = 25) -> csr_matrix:
    rng = np.random.default_rng(0)
    x = rng.random((n, d)) * (rng.random((n, d)) < 0.3) + 0.02
    return csr_matrix(x / np.linalg.norm(x, axis=1, keepdims=True))


def test_the_graph_equals_its_loop() -> None:
    x = rows().toarray()
    found = heat_graph(rows(), 4, width=0.7).toarray()
    expected = np.zeros((40, 40))
    for i in range(40):
        distances = [np.sum((x[i] - x[j]) ** 2) if j != i else np.inf for j in range(40)]
        for j in np.argsort(distances)[:4]:
            weight = np.exp(-distances[j] / (2 * 0.7**2))
            expected[i, j] = expected[j, i] = weight
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("dense", [True, False])
def test_eigenmaps_solve_their_problem(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "DENSE", 400 if dense else 0)
    graph = heat_graph(rows(), 6)
    w = graph.toarray()
    degrees = np.diag(w.sum(axis=1))
    values, vectors = scipy.linalg.eigh(degrees - w, degrees)
    found = eigenmaps(graph, 5, 0)
    for j in range(5):
        a, b = found[:, j], vectors[:, j + 1]  # the first is constant
        assert abs(a @ degrees @ b) == pytest.approx(
            np.sqrt((a @ degrees @ a) * (b @ degrees @ b)), rel=1e-5
        )
        assert a @ (degrees - w) @ a / (a @ degrees @ a) == pytest.approx(values[j + 1], abs=1e-7)


def test_linear_maps_solve_their_problem() -> None:
    """No other linear map of the rows has a larger share of its degree-weighted variance kept."""
    graph = heat_graph(rows(), 6)
    w = graph.toarray()
    degrees = w.sum(axis=1)
    found = preserving(rows(), graph, 3, 0)
    x = rows().toarray()
    x = x - degrees @ x / degrees.sum()

    def kept(y: np.ndarray) -> float:
        return float(y @ w @ y / (y @ (degrees * y)))

    values = scipy.linalg.eigh(x.T @ w @ x, x.T @ (degrees[:, None] * x), eigvals_only=True)
    for j in range(3):
        assert kept(found[:, j]) == pytest.approx(values[::-1][j], rel=1e-5)
        residual = found[:, j] - x @ np.linalg.lstsq(x, found[:, j], rcond=None)[0]
        assert np.abs(residual).max() < 1e-6  # it is a linear map of the rows
