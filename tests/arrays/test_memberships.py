"""The consensus: distances count disagreements, and a majority wins."""

import numpy as np
import pytest

from coterie.arrays.memberships import memberships


@pytest.mark.parametrize("seed", range(3))
def test_squared_distances_are_twice_the_clusterings_that_disagree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labelings = [rng.integers(k, size=20) for k in (2, 3, 7)]
    rows = memberships(labelings)
    for i in range(20):
        for j in range(20):
            apart = sum(int(labels[i] != labels[j]) for labels in labelings)
            assert ((rows[i] - rows[j]) ** 2).sum() == 2 * apart
