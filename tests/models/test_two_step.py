"""Two-step methods and the consensus: what is clustered, how, and where new texts go."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.cluster import HDBSCAN
from sklearn.cluster import KMeans as LibraryKMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from coterie import Consensus, TwoStep
from coterie._util.random import derive_seed
from coterie.arrays.kmeans import KMeans
from coterie.arrays.linkage import agglomerate
from coterie.arrays.metrics import accuracy
from coterie.errors import DataError, MissingError
from coterie.methods.dec import IDEC
from coterie.models.two_step import (
    dense_groups,
    kept_threads,
    mixture_labels,
    reduce_by_umap,
)
from said import raises


@pytest.fixture
def umap() -> Any:
    """Only for tests that need it: the others run where it is not installed, too."""
    return pytest.importorskip("umap")


@pytest.mark.full
@pytest.mark.usefixtures("umap")
def test_neighbours_stay_together_and_a_seed_repeats() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 30)
    x = (np.eye(3)[labels] + 0.05 * rng.normal(size=(90, 3))).astype(np.float32)
    y = reduce_by_umap(x, dim=2, seed=1)
    assert y.shape == (90, 2) and y.dtype == np.float32
    np.testing.assert_array_equal(y, reduce_by_umap(x, dim=2, seed=1))
    assert reduce_by_umap(x[:6], dim=5).shape == (6, 4)  # few rows have fewer dimensions
    centers = np.stack([y[labels == k].mean(axis=0) for k in range(3)])
    nearest = ((y[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.98


def cloud(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=n)
    x = 5 * np.eye(4, 7)[labels] + rng.normal(size=(n, 7)) + 1
    return x.astype(np.float32), labels


def test_kmeans_equals_scikit_learn() -> None:
    x, _ = cloud()
    expected = LibraryKMeans(4, n_init=10, random_state=0).fit(x)
    model = TwoStep(4, encoder="precomputed", random_state=0).fit(x)
    assert adjusted_rand_score(expected.labels_, model.labels_) == 1
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_, axis=0),
        np.sort(expected.cluster_centers_, axis=0),
        atol=1e-3,
    )


def test_missing_umap_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "umap", None)
    with raises(MissingError, "is not installed", "umap"):
        TwoStep(2, reduce="umap", encoder="precomputed").fit(cloud()[0])


def test_vectors_for_a_text_encoder_are_refused_with_the_remedy() -> None:
    with pytest.raises(DataError, match="precomputed"):
        TwoStep(2, encoder="tfidf").fit(np.zeros((4, 3)))


@pytest.mark.parametrize("covariance", ["diag", "full", "spherical", "tied"])
def test_mixture_equals_scikit_learn(covariance: str) -> None:
    x, _ = cloud()
    reference = GaussianMixture(4, covariance_type=covariance, n_init=10, random_state=1)
    expected = reference.fit_predict(x.astype(np.float64))
    model = TwoStep(4, cluster="gmm", covariance=covariance, encoder="precomputed", random_state=0)
    assert adjusted_rand_score(expected, model.fit(x).labels_) == 1


def test_a_row_that_occurs_twice_counts_twice_in_a_mixture() -> None:
    x, _ = cloud(60)
    weights = np.repeat([2.0, 1.0], 30)
    again = np.repeat(x, weights.astype(int), axis=0)
    reference = GaussianMixture(3, covariance_type="diag", random_state=0).fit(again.astype(float))
    np.testing.assert_array_equal(
        mixture_labels(x, 3, weights, seed=0), reference.predict(x.astype(float))
    )


def test_hdbscan_equals_scikit_learn_where_it_has_an_opinion() -> None:
    x, _ = cloud(200)
    x = x[np.argsort(x.view(f"V{x[:1].nbytes}").ravel())]  # ties fall as in the fit
    expected = HDBSCAN(min_cluster_size=10, min_samples=5, copy=True).fit_predict(x)
    assert expected.max() == 3 and (expected < 0).any()
    model = TwoStep(4, cluster="hdbscan", min_cluster_size=10, encoder="precomputed").fit(x)
    sure = expected >= 0
    assert adjusted_rand_score(expected[sure], model.labels_[sure]) == 1
    known, labels = x[sure], model.labels_[sure]
    for i in np.flatnonzero(~sure):  # the nearest text that is somewhere decides
        assert model.labels_[i] == labels[np.square(known - x[i]).sum(axis=1).argmin()]


@pytest.mark.parametrize("n_clusters", [2, 4, 9])
def test_hdbscan_honours_the_number_of_clusters(n_clusters: int) -> None:
    x, truth = cloud(200)
    model = TwoStep(n_clusters, cluster="hdbscan", encoder="precomputed", random_state=0).fit(x)
    assert sorted(set(model.labels_)) == list(range(n_clusters))
    if n_clusters == 4:
        assert adjusted_rand_score(truth, model.labels_) > 0.95


def test_the_least_size_of_a_dense_place_is_looked_for() -> None:
    rng = np.random.default_rng(0)
    far = np.repeat([[0, 0], [20, 0], [0, 20], [20, 20]], 36, axis=0)
    close = np.tile(np.repeat([[0, 0], [2, 0], [0, 2]], 12, axis=0), (4, 1))
    x = far + close + rng.normal(scale=0.15, size=(144, 2))  # four groups of three groups of twelve

    def groups(size: int) -> np.ndarray:
        return HDBSCAN(min_cluster_size=size, min_samples=5, copy=True).fit_predict(x)

    counts = {size: groups(size).max() + 1 for size in range(2, 37)}
    largest = max(size for size, number in counts.items() if number >= 4)
    found = dense_groups(x, 4, np.ones(144))
    np.testing.assert_array_equal(found, groups(largest))
    assert counts[2] > counts[largest] == 4


def test_idec_is_a_second_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.methods.dec.HIDDEN", (30,))
    monkeypatch.setattr("coterie.methods.dec.AE_FEWEST", 250)
    monkeypatch.setattr("coterie.methods.dec.AE_MOST", 250)
    x, truth = cloud(80)
    model = TwoStep(4, cluster="idec", encoder="precomputed", random_state=0)
    labels = model.fit(x).labels_
    assert adjusted_rand_score(truth, labels) > 0.95
    assert model.assigner_.kind == "neighbors"
    np.testing.assert_array_equal(model.predict(x), labels)


def test_clusters_that_idec_leaves_empty_are_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.methods.dec.HIDDEN", (30,))
    monkeypatch.setattr("coterie.methods.dec.AE_FEWEST", 250)
    monkeypatch.setattr("coterie.methods.dec.AE_MOST", 250)
    noise = np.random.default_rng(0).normal(scale=0.01, size=(80, 6))
    x = (3 * np.eye(4, 6)[np.arange(80) % 4] + noise).astype(np.float32)
    given = {"encoder": "precomputed", "random_state": 0}
    own = IDEC(20, steps=300, guard=False, **given).fit(x).labels_
    assert own.max() < 19  # the last clusters are empty
    model = TwoStep(20, cluster="idec", **given).fit(x)
    assert set(model.labels_) == set(range(20))
    np.testing.assert_array_equal(model.predict(x), model.labels_)


def test_umap_reduces_to_one_more_than_the_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def reduced(vectors, dim, n_neighbors, seed):
        seen.append((dim, n_neighbors))
        return vectors

    monkeypatch.setattr("coterie.models.two_step.reduce_by_umap", reduced)
    x, _ = cloud()
    for dim in (None, 7):
        TwoStep(4, reduce="umap", reduced_dim=dim, encoder="precomputed").fit(x)
    assert seen == [(5, 15), (7, 15)]


def groups(n: int = 150, spread: float = 1.6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 6
    x = 3 * np.eye(6, 8)[truth] + rng.normal(scale=spread, size=(n, 8)) + 1
    return x.astype(np.float32), truth


def test_members_are_what_they_are_called() -> None:
    x, _ = groups()
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
    x, _ = groups()
    model = Consensus(6, encoder="precomputed", n_members=8, random_state=0).fit(x)
    members = model.members(x, np.ones(150, dtype=np.float32), 5)
    between = [accuracy(a, b) for i, a in enumerate(members) for b in members[:i]]
    assert np.mean(model.agreement_) > np.mean(between) + 0.05
    assert len(model.agreement_) == 8
    assert "8 clusterings" in model.remarks()[0]


def test_linkage_is_left_out_where_it_would_take_too_long(monkeypatch) -> None:
    monkeypatch.setattr("coterie.models.two_step.LINKED", 100)

    def refused(*_):
        raise AssertionError("linkage was asked")

    monkeypatch.setattr("coterie.models.two_step.agglomerate", refused)
    model = Consensus(6, encoder="precomputed", n_members=5, random_state=0).fit(groups()[0])
    assert len(model.agreement_) == 5


def test_threads_are_as_before() -> None:
    before = torch.get_num_threads()
    with kept_threads():
        torch.set_num_threads(before + 1)
    assert torch.get_num_threads() == before
    with pytest.raises(ValueError), kept_threads():
        torch.set_num_threads(before + 1)
        raise ValueError
    assert torch.get_num_threads() == before
