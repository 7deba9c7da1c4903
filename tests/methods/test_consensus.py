"""Consensus: members that differ, and a result nearer to all of them than they are."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie import Consensus
from coterie._errors import UsageError
from coterie._random import derive_seed
from coterie.blocks.kmeans import KMeans
from coterie.blocks.linkage import agglomerate
from coterie.metrics import accuracy


def cloud(n: int = 150, spread: float = 1.6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 6
    x = 3 * np.eye(6, 8)[truth] + rng.normal(scale=spread, size=(n, 8)) + 1
    return x.astype(np.float32), truth


def test_members_are_what_they_are_called() -> None:
    x, _ = cloud()
    model = Consensus(6, encoder="precomputed", n_members=6, random_state=0)
    members = model.members(x, np.ones(150, dtype=np.float32), 0)
    assert len(members) == 6
    for number in (0, 1):
        seed = derive_seed(0, "member", number)
        kmeans = KMeans(n_clusters=6, seed=seed, n_init=1, spherical=number == 1)
        np.testing.assert_array_equal(members[number], kmeans(x).labels)
    np.testing.assert_array_equal(members[4], agglomerate(x, 6, "ward"))
    np.testing.assert_array_equal(members[5], agglomerate(x, 6, "average"))
    for a in range(4):
        for b in range(a):
            assert accuracy(members[a], members[b]) < 1
    assert len(Consensus(6, n_members=3).members(x, np.ones(150, dtype=np.float32), 0)) == 3


def test_the_result_is_nearer_to_the_members_than_they_are_to_each_other() -> None:
    x, _ = cloud()
    model = Consensus(6, encoder="precomputed", n_members=8, random_state=0).fit(x)
    members = model.members(x, np.ones(150, dtype=np.float32), 5)
    between = [accuracy(a, b) for i, a in enumerate(members) for b in members[:i]]
    assert np.mean(model.agreement_) > np.mean(between) + 0.05
    assert len(model.agreement_) == 8
    assert "8 clusterings" in model.remarks()[0]


def test_what_all_members_agree_on_stays() -> None:
    x, truth = cloud(spread=0.2)
    model = Consensus(6, encoder="precomputed", random_state=0).fit(x)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert max(model.agreement_) == 1


def test_linkage_is_left_out_where_it_would_take_too_long(monkeypatch) -> None:
    monkeypatch.setattr("coterie.methods.consensus.LINKED", 100)

    def refused(*_):
        raise AssertionError("linkage was asked")

    monkeypatch.setattr("coterie.methods.consensus.agglomerate", refused)
    model = Consensus(6, encoder="precomputed", n_members=5, random_state=0).fit(cloud()[0])
    assert len(model.agreement_) == 5


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="n_members"):
        Consensus(2, encoder="tfidf", n_members=0).fit(["a cat", "the dog"])
