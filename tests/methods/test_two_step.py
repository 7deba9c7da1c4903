"""The baselines: what is special in each second step."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from coterie import TwoStep
from coterie._errors import MissingError, UsageError


def cloud(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=n)
    x = 5 * np.eye(4, 7)[labels] + rng.normal(size=(n, 7)) + 1
    return x.astype(np.float32), labels


@pytest.mark.parametrize("cluster", ["average", "ward"])
def test_linkage_equals_scipy(cluster: str) -> None:
    x, _ = cloud()
    metric = "cosine" if cluster == "average" else "euclidean"
    expected = fcluster(linkage(x, cluster, metric), 4, "maxclust")
    model = TwoStep(4, cluster=cluster, encoder="precomputed").fit(x)
    assert adjusted_rand_score(expected, model.labels_) == 1


def test_kmeans_equals_scikit_learn() -> None:
    x, _ = cloud()
    expected = KMeans(4, n_init=10, random_state=0).fit(x)
    model = TwoStep(4, encoder="precomputed", random_state=0).fit(x)
    assert adjusted_rand_score(expected.labels_, model.labels_) == 1
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_, axis=0),
        np.sort(expected.cluster_centers_, axis=0),
        atol=1e-3,
    )


def test_repeated_rows_count_as_often_as_they_occur() -> None:
    x = np.array([[0.0, 0], [0, 1], [9, 0]] + [[0.0, 0]] * 9, dtype=np.float32)
    model = TwoStep(2, encoder="precomputed", random_state=0).fit(x)
    near_origin = model.cluster_centers_[model.labels_[0]]
    np.testing.assert_allclose(near_origin, [0, 1 / 11], atol=1e-6)


def test_spherical_kmeans_ignores_length() -> None:
    x, _ = cloud()
    scales = np.random.default_rng(1).uniform(0.1, 10, size=(len(x), 1)).astype(np.float32)
    a = TwoStep(4, cluster="spherical-kmeans", encoder="precomputed", random_state=0).fit(x)
    b = TwoStep(4, cluster="spherical-kmeans", encoder="precomputed", random_state=0).fit(
        x * scales
    )
    assert adjusted_rand_score(a.labels_, b.labels_) == 1
    np.testing.assert_array_equal(a.predict(3 * x), a.labels_)


def test_umap_reduces_before_kmeans() -> None:
    pytest.importorskip("umap")
    x, truth = cloud()
    model = TwoStep(4, reduce="umap", encoder="precomputed", random_state=0).fit(x)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    assert model.transform(x).shape == x.shape  # new texts are compared in the encoder's space


def test_missing_umap_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(MissingError, match=r"pip install 'coterie\[umap\]'"):
        TwoStep(2, reduce="umap", encoder="precomputed").fit(cloud()[0])


@pytest.mark.parametrize("wrong", [{"cluster": "meanshift"}, {"reduce": "pca"}, {"n_init": 0}])
def test_wrong_parameters_are_refused(wrong: dict) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        TwoStep(2, encoder="tfidf", **wrong).fit(["a cat", "the dog"])


def test_vectors_for_a_text_encoder_are_refused_with_the_remedy() -> None:
    with pytest.raises(UsageError, match="precomputed"):
        TwoStep(2, encoder="tfidf").fit(np.zeros((4, 3)))
