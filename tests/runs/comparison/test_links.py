"""The definitions, on counts that can be checked by hand and against loops."""

import numpy as np
import pytest

from coterie.runs.comparison import jaccard, links, partners, statuses


def slow_links(counts: np.ndarray) -> np.ndarray:
    """More than half of the smaller cluster, written out."""
    out = np.zeros(counts.shape, dtype=bool)
    for a in range(counts.shape[0]):
        for b in range(counts.shape[1]):
            smaller = min(sum(counts[a]), sum(counts[i][b] for i in range(counts.shape[0])))
            out[a, b] = counts[a][b] > smaller / 2
    return out


def slow_jaccard(counts: np.ndarray, a: int, b: int) -> float:
    union = sum(counts[a]) + sum(row[b] for row in counts) - counts[a][b]
    return counts[a][b] / union if union else 0.0


@pytest.mark.parametrize("seed", range(5))
def test_links_and_overlap_are_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.choice([0.3, 2, 9], (rng.integers(1, 7), rng.integers(1, 7))))
    assert (links(counts) == slow_links(counts)).all()
    for a, b in np.ndindex(counts.shape):
        assert jaccard(counts)[a, b] == pytest.approx(slow_jaccard(counts, a, b))


@pytest.mark.parametrize(
    "counts, of_a, of_b",
    [
        ([[8, 0], [0, 5]], ["matched", "matched"], ["matched", "matched"]),
        ([[5, 5]], ["split"], ["split", "split"]),
        ([[5], [5]], ["merged", "merged"], ["merged"]),
        ([[4, 3, 3]], ["split"], ["split"] * 3),
        # Most stay, a few move: still the same two clusters.
        ([[90, 10], [0, 100]], ["matched", "matched"], ["matched", "matched"]),
        # The second is scattered over the others; nothing continues it.
        ([[20, 0, 0, 0], [2, 2, 2, 2], [0, 20, 0, 0], [0, 0, 20, 0], [0, 0, 0, 20]],
         ["matched", "died", "matched", "matched", "matched"], ["matched"] * 4),
        # The third of B takes half of its rows from each: a new cluster.
        ([[20, 0, 3], [0, 20, 3]], ["matched", "matched"], ["matched", "matched", "born"]),
        # No rows in common: the cluster is gone, or new.
        ([[5, 0], [0, 0]], ["matched", "died"], ["matched", "born"]),
        # A small cluster goes into a large one.
        ([[1000], [3]], ["merged", "merged"], ["merged"]),
        # The first of A is split, and a part of it is merged with the second.
        ([[60, 40], [0, 20]], ["split", "merged"], ["split", "merged"]),
    ],
)  # fmt: skip
def test_planted_changes_are_called_by_their_names(counts, of_a, of_b) -> None:
    found = statuses(links(np.array(counts)))
    assert found == (of_a, of_b)


def test_exactly_half_is_no_link() -> None:
    counts = np.array([[2, 9, 0], [2, 0, 9]])  # the first of B is made of two equal halves
    assert links(counts)[:, 0].tolist() == [False, False]


def test_partners_are_the_best_one_to_one_choice() -> None:
    counts = np.array([[6, 5, 0], [5, 0, 0], [0, 0, 4]])
    linked = np.ones((3, 3), dtype=bool)
    # Greedy would take 0-0 (6 of 16) and leave the second alone.
    assert partners(jaccard(counts), linked & (counts > 0)) == {0: 1, 1: 0, 2: 2}


def test_only_linked_clusters_are_partners_and_first_numbers_win_ties() -> None:
    halves = np.array([[5, 5]])
    assert partners(jaccard(halves), links(halves)) == {0: 0}
    assert partners(jaccard(halves.T), links(halves.T)) == {0: 0}
    nothing = np.array([[1, 1], [1, 1]])
    assert partners(jaccard(nothing), links(nothing)) == {}
