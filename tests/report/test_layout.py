"""The layout of the map: bounded, repeatable, and neighbours stay neighbours."""

import numpy as np
import pytest

from coterie.report import layout
from coterie.report.layout import SIDE, discs, map_texts, sample_rows, whole_numbers


def blobs(sizes: list[int], dim: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centers = 4 * rng.normal(size=(len(sizes), dim))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return (centers[labels] + rng.normal(size=(len(labels), dim))).astype(np.float32), labels


def own_share(points: np.ndarray, labels: np.ndarray) -> float:
    """Share of points whose nearest other point is of their cluster, by a slow loop."""
    hits = 0
    for i, point in enumerate(points):
        distance = np.square(points - point).sum(axis=1).astype(float)
        distance[i] = np.inf
        hits += labels[distance.argmin()] == labels[i]
    return hits / len(points)


@pytest.mark.parametrize("fewest", [200, 400])
def test_clusters_stay_together_on_the_map(fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "FEWEST", fewest)
    vectors, labels = blobs([120, 80, 60, 40])
    points, kind = map_texts(vectors, labels, seed=3)
    assert kind == ("neighbors" if fewest == 200 else "discs")
    assert points.shape == (300, 2) and points.dtype == np.int64
    assert points.min(axis=0).tolist() == [0, 0] and points.max(axis=0).tolist() == [SIDE, SIDE]
    assert own_share(points, labels) > 0.95
    again, _ = map_texts(vectors, labels, seed=3)
    assert np.array_equal(points, again)


def test_of_many_texts_some_are_placed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others end among their own, beside the marks that are like them, and not on top."""
    vectors, labels = blobs([240, 160, 120, 80])
    monkeypatch.setattr(layout, "MARKS", 200)
    seen: list[int] = []
    plain = layout.nearest_rows

    def counted(x, k):
        seen.append(len(x))
        return plain(x, k)

    monkeypatch.setattr(layout, "nearest_rows", counted)
    points, kind = map_texts(vectors, labels, seed=3)
    assert kind == "neighbors" and seen == [200]
    assert own_share(points, labels) > 0.95
    assert len(np.unique(points, axis=0)) > 590
    assert np.array_equal(points, map_texts(vectors, labels, seed=3)[0])


def test_discs_do_not_overlap_and_are_as_large_as_their_share() -> None:
    vectors, labels = blobs([400, 100, 100])
    points = discs(vectors, labels, seed=0)
    middles = [points[labels == i].mean(axis=0) for i in range(3)]
    reach = [np.linalg.norm(points[labels == i] - middles[i], axis=1).max() for i in range(3)]
    # Radii are the roots of the shares: 4 to 1 in texts is 2 to 1 in reach.
    assert reach[0] / reach[1] == pytest.approx(2, rel=0.2)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(middles[i] - middles[j]) > 0.9 * (reach[i] + reach[j])


@pytest.mark.parametrize(
    ("vectors", "labels"),
    [
        (np.empty((0, 3)), []),
        (np.ones((1, 3)), [0]),
        (np.ones((5, 3)), [0, 0, 0, 0, 0]),  # all alike
        (np.ones((4, 1)), [0, 1, 2, 3]),  # one dimension, one text a cluster
        (np.eye(3), [0, 2, 2]),  # a cluster without texts
        (np.zeros((250, 8)), [0] * 250),
    ],
)
def test_odd_corpora(vectors: np.ndarray, labels: list[int]) -> None:
    points, _ = map_texts(vectors, np.array(labels, dtype=np.int64), seed=0)
    assert points.shape == (len(labels), 2)
    assert ((points >= 0) & (points <= SIDE)).all()


def test_whole_numbers_keep_the_order() -> None:
    values = np.random.default_rng(0).normal(size=(100, 2))
    points = whole_numbers(values)
    for axis in (0, 1):
        assert (np.diff(points[np.argsort(values[:, axis]), axis]) >= 0).all()


def test_a_sample_forgets_no_cluster() -> None:
    labels = np.repeat([0, 1, 2, -1], [5000, 1000, 7, 50])
    rows = sample_rows(labels, seed=0, limit=600)
    assert len(rows) == len(set(rows.tolist())) == 600
    assert (np.diff(rows) > 0).all()
    counts = np.bincount(labels[rows], minlength=3)
    assert counts[2] == 7  # all of the small one
    # Beyond the few sure ones, shares are those of the corpus: 5 to 1 within chance.
    assert 0.75 < (counts[0] - 20) / (600 - 47) < 0.9
    assert np.array_equal(rows, sample_rows(labels, seed=0, limit=600))
    assert not np.array_equal(rows, sample_rows(labels, seed=1, limit=600))


def test_more_clusters_than_room() -> None:
    labels = np.arange(1000) % 100
    rows = sample_rows(labels, seed=0, limit=150)
    assert len(rows) == 150 and len(np.unique(labels[rows])) == 100
