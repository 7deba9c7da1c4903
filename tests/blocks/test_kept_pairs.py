"""Pairs that stand out: against the matrix of all pairs."""

import numpy as np
import pytest
import torch

from coterie import neighbors
from coterie.blocks import kept_pairs as block
from coterie.blocks.kept_pairs import kept_pairs, row_statistics


def unit(n: int, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n, 6)) + 1
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def loop(x: np.ndarray, number: int) -> list[tuple[int, int]]:
    """The best pairs by the larger of their two standard scores, from all pairs."""
    n = len(x)
    s = x.astype(np.float64) @ x.T.astype(np.float64)
    scores = {}
    for i in range(n):
        others = [s[i, j] for j in range(n) if j != i]
        m, sd = np.mean(others), np.std(others)
        for j in range(n):
            if j != i:
                pair = (min(i, j), max(i, j))
                scores[pair] = max(scores.get(pair, -np.inf), (s[i, j] - m) / sd)
    return sorted(sorted(scores, key=lambda pair: -scores[pair])[:number])


def test_statistics_of_rows_equal_their_loop() -> None:
    x, counts = unit(12), np.array([1, 2, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1])
    repeated = np.repeat(x, counts, axis=0).astype(np.float64)
    mean, deviation = row_statistics(torch.from_numpy(x), torch.from_numpy(counts))
    places = np.cumsum(counts) - counts
    for i, place in enumerate(places):
        others = np.delete(repeated @ repeated[place], place)
        assert mean[i] == pytest.approx(others.mean(), abs=1e-6)
        assert deviation[i] == pytest.approx(others.std(), abs=1e-6)


@pytest.mark.parametrize(("n_clusters", "factor"), [(3, 1.0), (5, 1.0), (5, 0.5)])
def test_the_pairs_kept_are_those_of_the_loop(n_clusters: int, factor: float) -> None:
    x = unit(30)
    found = kept_pairs(x, n_clusters, np.ones(30), factor)
    number = int(factor * 30 * (30 / n_clusters - 1) / 2)
    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == loop(x, number)
    expected = (x[found.first] * x[found.second]).sum(axis=1)
    np.testing.assert_allclose(found.similarities, expected, atol=1e-6)


def test_two_clusters_of_two_by_hand() -> None:
    # Four texts, two clusters: 4 * (4 / 2 - 1) / 2 = 2 pairs, one inside each.
    x = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], dtype=np.float32)
    found = kept_pairs(x, 2, np.ones(4))
    assert found.first.tolist() == [0, 2] and found.second.tolist() == [1, 3]


def test_a_pair_may_pass_by_either_text() -> None:
    """Row 3 is near to nobody, so even its faint similarity to row 0 stands out for it."""
    x = np.eye(4, 5, dtype=np.float32)
    x[1, 0] = x[2, 0] = 3  # 0, 1, 2 are close together
    x[3, 0] = 0.2
    found = kept_pairs(x, 1, np.ones(4), factor=4 / 6)
    assert (0, 3) in set(zip(found.first.tolist(), found.second.tolist(), strict=True))


def test_where_all_pairs_are_too_many_rows_bring_their_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = unit(40)
    whole = kept_pairs(x, 10, np.ones(40), 0.5)
    monkeypatch.setattr(block, "CANDIDATES", 40 * 12)
    monkeypatch.setattr(neighbors, "BLOCK", 100)
    part = kept_pairs(x, 10, np.ones(40), 0.5)
    np.testing.assert_array_equal(part.first, whole.first)
    np.testing.assert_array_equal(part.second, whole.second)
    monkeypatch.setattr(block, "CANDIDATES", 40)
    one = kept_pairs(x, 10, np.ones(40))
    nearest = {(min(i, j), max(i, j)) for i, j in enumerate((x @ x.T - 9 * np.eye(40)).argmax(1))}
    assert set(zip(one.first.tolist(), one.second.tolist(), strict=True)) == nearest
