"""The consensus: distances count disagreements, and a majority wins."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie.blocks.consensus import memberships
from coterie.blocks.kmeans import KMeans


@pytest.mark.parametrize("seed", range(3))
def test_squared_distances_are_twice_the_clusterings_that_disagree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labelings = [rng.integers(k, size=20) for k in (2, 3, 7)]
    rows = memberships(labelings)
    for i in range(20):
        for j in range(20):
            apart = sum(int(labels[i] != labels[j]) for labels in labelings)
            assert ((rows[i] - rows[j]) ** 2).sum() == 2 * apart


def test_single_mistakes_are_outvoted() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    voters = []
    for _ in range(5):
        labels = truth.copy()
        wrong = rng.random(200) < 0.15
        labels[wrong] = rng.integers(4, size=wrong.sum())
        voters.append(rng.permutation(4)[labels])
    found = KMeans(n_clusters=4, seed=0)(memberships(voters)).labels
    best = max(adjusted_rand_score(truth, labels) for labels in voters)
    assert adjusted_rand_score(truth, found) > max(best, 0.95)
