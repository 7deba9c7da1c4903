"""Examples: against slow loops, and at the edges."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from coterie.describe.describe import by_distance, close_calls, once, spread


def loop_spread(points: np.ndarray, start: int, n: int) -> list[int]:
    """Farthest-point choice written out."""
    chosen = [start]
    while len(chosen) < n:
        gaps = [min(np.linalg.norm(p - points[c]) for c in chosen) for p in points]
        chosen.append(int(np.argmax(np.round(gaps, 6))))
    return chosen


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_spread_equals_a_loop(kind: object) -> None:
    points = np.random.default_rng(0).normal(size=(15, 3))
    rows = np.arange(15)
    texts = [str(i) for i in rows]
    expected = [str(i) for i in loop_spread(points, 0, 5)]
    assert spread(rows, kind(points), texts, 5) == expected


def test_spread_leaves_the_oddest_out_of_many() -> None:
    points = np.append(np.linspace(0, 1, 29), 100.0)[:, None]
    order = by_distance(np.arange(30), points)
    assert "29" not in spread(order, points, [str(i) for i in range(30)], 5)


def test_spread_of_equal_points_is_one() -> None:
    assert spread(np.arange(4), np.ones((4, 2)), ["a", "b", "c", "d"], 3) == ["a"]


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_nearest_to_the_mean_first(kind: object) -> None:
    points = np.random.default_rng(1).normal(size=(12, 4))
    rows = np.array([1, 3, 5, 7, 9])
    middle = points[rows].mean(axis=0)
    expected = sorted(rows, key=lambda row: np.linalg.norm(points[row] - middle))
    assert by_distance(rows, kind(points)).tolist() == [int(i) for i in expected]


def test_close_calls_are_measured_from_the_own_cluster() -> None:
    p = np.array([[0.9, 0.05, 0.05], [0.5, 0.45, 0.05], [0.4, 0.35, 0.25], [0.3, 0.6, 0.1]])
    # The last text is in cluster 0 though another is likelier: a lead below zero comes first.
    leads = [0.85, 0.05, 0.05, -0.3]
    order = close_calls(np.arange(4), 0, p)
    assert [leads[i] for i in order] == sorted(leads)


def test_texts_that_differ_in_case_and_blanks_are_shown_once() -> None:
    assert once(np.arange(4), ["Hello", "hello ", "Hello  there", "x"], 3) == [
        "Hello", "Hello  there", "x"
    ]  # fmt: skip
