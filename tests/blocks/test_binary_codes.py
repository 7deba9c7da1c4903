"""Reduced rows that become bits: each against its dense problem."""

import numpy as np
import pytest
import scipy.linalg
from scipy.sparse import csr_matrix

from coterie import neighbors
from coterie.blocks import binary_codes as block
from coterie.blocks.binary_codes import bits_at_median, eigenmaps, heat_graph, lsa, preserving


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


def test_texts_without_a_common_word_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "BLOCK", 8)  # several parts
    found = heat_graph(csr_matrix(np.eye(4, 4)[[0, 0, 1, 2]]), 3).toarray()
    assert found[0, 1] == found[1, 0] == 1 and found.sum() == 2


def test_bits_are_even_and_by_hand() -> None:
    x = np.random.default_rng(0).normal(size=(31, 7))
    bits = bits_at_median(x)
    assert (bits.sum(axis=0) == 15).all()
    assert bits_at_median(np.array([[3.0], [1.0], [2.0], [9.0]])).ravel().tolist() == [1, 0, 0, 1]


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


@pytest.mark.parametrize("dense", [True, False])
def test_singular_directions(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block, "DENSE", 400 if dense else 0)
    u, s, _ = np.linalg.svd(rows().toarray())
    found = lsa(rows(), 4, 0)
    np.testing.assert_allclose(np.abs(found), np.abs(u[:, :4] * s[:4]), atol=1e-6)


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
