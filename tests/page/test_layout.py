"""The layout of the map: bounded, repeatable, and neighbours stay neighbours."""

import numpy as np
import pytest

from coterie.page import layout
from coterie.page.layout import SIDE, discs, map_texts, sample_rows
from coterie.runs.page_data import make_map


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
    monkeypatch.setattr(layout, "FEW_TEXTS", fewest)
    vectors, labels = blobs([120, 80, 60, 40])
    points, kind = map_texts(vectors, labels, seed=3)
    assert kind == ("neighbors" if fewest == 200 else "discs")
    assert points.shape == (300, 2) and points.dtype == np.int64
    assert points.min(axis=0).tolist() == [0, 0] and points.max(axis=0).tolist() == [SIDE, SIDE]
    assert own_share(points, labels) > 0.95
    again, _ = map_texts(vectors, labels, seed=3)
    assert np.array_equal(points, again)


@pytest.mark.parametrize(("marks", "fewest"), [(4000, 200), (200, 200), (4000, 700)])
def test_last_digits_of_the_vectors_do_not_move_the_map(
    marks: int, fewest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other batches change the last digits of vectors: by 4e-7 of them, seen with MiniLM."""
    monkeypatch.setattr(layout, "MARKS", marks)
    monkeypatch.setattr(layout, "FEW_TEXTS", fewest)
    vectors, labels = blobs([240, 160, 120, 80])
    vectors[::2, 0] = vectors[1::2, 0]  # which of the two is first is for last digits to say
    vectors[5] = vectors[300]  # equal texts stay equal
    noise = 1 + 4e-7 * np.random.default_rng(1).normal(size=vectors.shape)
    noise[5] = noise[300]
    other = (vectors * noise).astype(np.float32)
    assert 0 < np.abs(other / vectors - 1).max() < 1e-5
    first, second = make_map(vectors, labels, seed=3), make_map(other, labels, seed=3)
    assert first["layout"] == ("discs" if fewest == 700 else "neighbors")
    for axis in ("x", "y"):
        moved = np.abs(np.subtract(first[axis], second[axis]))
        assert moved.max() <= (fewest == 700), f"{(moved > 0).sum()} of 600 texts lie elsewhere"
        assert first[axis][5] == first[axis][300]


def test_of_many_texts_some_are_laid_out_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others end among their own, beside the marks that are like them, and not on top."""
    vectors, labels = blobs([240, 160, 120, 80])
    monkeypatch.setattr(layout, "MARKS", 200)
    seen: list[int] = []
    plain = layout.nearest_rows

    def count(x, more):
        seen.append(len(x))
        return plain(x, more)

    monkeypatch.setattr(layout, "nearest_rows", count)
    points, kind = map_texts(vectors, labels, seed=3)
    assert kind == "neighbors" and seen == [200]
    assert own_share(points, labels) > 0.95
    assert len(np.unique(points, axis=0)) > 0.96 * len(points)
    assert ((points >= 0) & (points <= SIDE)).all()
    assert np.array_equal(points, map_texts(vectors, labels, seed=3)[0])


@pytest.mark.parametrize("wide", [10, 1_000])
def test_principal_coordinates_keep_what_varies_most(
    wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly, and by random projections where vectors are very wide: the same but for the sign."""
    monkeypatch.setattr(layout, "WIDE", wide)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 40)) * 0.7 ** np.arange(40) + 5
    found = layout._reduce(vectors, 3, seed=0)
    u, s, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    signs = np.sign((found * u[:, :3]).sum(axis=0))
    np.testing.assert_allclose(found, signs * u[:, :3] * s[:3], atol=1e-4)


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
