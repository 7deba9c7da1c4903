"""K-means: solved by hand, against scikit-learn, and what it does with awkward data."""

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans as Reference
from sklearn.datasets import make_blobs

from coterie.arrays.kmeans import KMeans, _means, nearest


@pytest.fixture(params=["sklearn", "torch"])
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


def test_four_points_by_hand(backend: str) -> None:
    x = np.array([[0, 0], [0, 2], [10, 0], [10, 2]], dtype=np.float32)
    found = KMeans(n_clusters=2, seed=0, backend=backend)(x)
    assert sorted(map(tuple, found.centers.tolist())) == [(0, 1), (10, 1)]
    assert found.inertia == pytest.approx(4)
    assert found.labels[0] == found.labels[1] != found.labels[2] == found.labels[3]


def test_is_as_good_as_scikit_learn(backend: str) -> None:
    x, _ = make_blobs(600, n_features=8, centers=12, cluster_std=2.0, random_state=3)
    x = x.astype(np.float32)
    reference = Reference(12, n_init=10, random_state=0).fit(x).inertia_
    found = KMeans(n_clusters=12, seed=0, backend=backend)(x)
    assert found.inertia <= 1.03 * reference


def test_weights_are_repetitions(backend: str) -> None:
    x = np.array([[0.0], [1.0], [9.0], [10.0]], dtype=np.float32)
    weights = np.array([3, 1, 1, 1], dtype=np.float32)
    found = KMeans(n_clusters=2, seed=0, backend=backend)(x, weights)
    assert sorted(found.centers.ravel().tolist()) == pytest.approx([0.25, 9.5])
    assert found.inertia == pytest.approx(0.75 + 0.5)


def test_same_seed_same_result(backend: str) -> None:
    x = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
    kmeans = KMeans(n_clusters=7, seed=4, n_init=2, backend=backend)
    np.testing.assert_array_equal(kmeans(x).labels, kmeans(x).labels)


def test_leaves_the_global_random_state_alone(backend: str) -> None:
    torch.manual_seed(4321)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    KMeans(n_clusters=2, seed=0, n_init=1, backend=backend)(torch.randn(20, 3).numpy())
    torch.manual_seed(4321)
    assert torch.equal(before, torch.get_rng_state())
    np.testing.assert_array_equal(numpy_before, np.random.get_state()[1])  # noqa: NPY002


def test_every_cluster_is_used_when_starts_coincide() -> None:
    # 40 copies of one point and 4 others: k-means++ may draw the same place twice.
    x = np.concatenate([np.zeros((40, 2)), 5 * np.eye(2), -5 * np.eye(2)]).astype(np.float32)
    for seed in range(10):
        found = KMeans(n_clusters=5, seed=seed, n_init=1, backend="torch")(x)
        assert len(np.unique(found.labels)) == 5


def test_an_empty_cluster_moves_to_the_point_that_fits_worst() -> None:
    x = torch.tensor([[0.0], [1.0], [7.0]])
    centers = torch.tensor([[1.0], [100.0]])
    labels, distances = nearest(x, centers)
    moved = _means(x, torch.ones(3), labels, distances, centers)
    torch.testing.assert_close(moved, torch.tensor([[8 / 3], [7.0]]))


def test_spherical_centers_have_unit_length_and_ignore_scale() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 6)).astype(np.float32)
    kmeans = KMeans(n_clusters=4, seed=0, spherical=True)
    found = kmeans(x)
    np.testing.assert_allclose(np.linalg.norm(found.centers, axis=1), 1, rtol=1e-5)
    scaled = kmeans(x * rng.uniform(1, 9, size=(200, 1)).astype(np.float32))
    np.testing.assert_array_equal(found.labels, scaled.labels)


def test_nearest_works_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, centers = torch.randn(50, 3), torch.randn(4, 3)
    labels, distances = nearest(x, centers)
    monkeypatch.setattr("coterie.arrays.neighbors.BLOCK", 8)
    again = nearest(x, centers)
    assert torch.equal(labels, again[0])
    torch.testing.assert_close(distances, again[1])
    torch.testing.assert_close(distances, torch.cdist(x, centers).min(dim=1).values.square())


@pytest.mark.gpu
def test_gpu_agrees_with_cpu() -> None:
    x, _ = make_blobs(500, n_features=5, centers=6, random_state=0)
    x = torch.from_numpy(x.astype(np.float32))
    cpu = KMeans(n_clusters=6, seed=0)(x)
    gpu = KMeans(n_clusters=6, seed=0)(x.cuda())
    assert gpu.inertia == pytest.approx(cpu.inertia, rel=1e-3)


def test_many_rows_start_on_a_part_and_end_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.arrays.kmeans.SEEDED", (300, 10))
    x, _ = make_blobs(2000, n_features=8, centers=12, cluster_std=2.5, random_state=0)
    x = x.astype(np.float32)
    sizes = []
    fit = Reference.fit

    def counted(self: Reference, rows: np.ndarray, **options: object) -> Reference:
        sizes.append(len(rows))
        return fit(self, rows, **options)

    monkeypatch.setattr(Reference, "fit", counted)
    found = KMeans(n_clusters=12, seed=0, n_init=10)(x)
    assert sizes == [300] * 10 + [2000] * 3
    monkeypatch.setattr(Reference, "fit", fit)
    best = Reference(12, n_init=10, random_state=0).fit(x).inertia_
    assert found.inertia <= 1.01 * best
    means = np.stack([x[found.labels == i].mean(axis=0) for i in range(12)])
    np.testing.assert_allclose(means, found.centers, atol=0.05)  # Lloyd's rounds are at their end
    again = KMeans(n_clusters=12, seed=0, n_init=10)(x)
    np.testing.assert_array_equal(found.labels, again.labels)
