"""Numbers of clusters kept from one clustering to the next."""

from itertools import permutations

import numpy as np

from coterie.blocks.align import align


def test_a_renumbered_clustering_gets_its_numbers_back() -> None:
    rng = np.random.default_rng(0)
    old = rng.integers(5, size=200)
    shuffle = rng.permutation(5)
    np.testing.assert_array_equal(align(shuffle[old], old, 5)[shuffle[old]], old)


def test_agreement_is_the_best_of_all_permutations() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        old, new = rng.integers(4, size=(2, 30))
        best = max((np.array(p)[new] == old).sum() for p in permutations(range(4)))
        numbers = align(new, old, 4)
        assert sorted(numbers.tolist()) == [0, 1, 2, 3]
        assert (numbers[new] == old).sum() == best


def test_clusters_that_are_empty_on_either_side_get_the_numbers_left() -> None:
    numbers = align(np.array([0, 0, 1]), np.array([2, 2, 0]), 4)
    assert numbers[0] == 2 and numbers[1] == 0
    assert sorted(numbers.tolist()) == [0, 1, 2, 3]
