"""Outlier scores: against a loop, by hand, on planted texts; marking: ties, shares, clusters."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import coterie
from coterie import make_method, sample
from coterie.arrays import outliers
from coterie.arrays.neighbors import nearest_rows
from coterie.arrays.outliers import (
    NEIGHBORS,
    POWER,
    OutlierLimit,
    allowed_rows,
    fit_neighbor_index,
    mark_outliers,
    outlier_scores,
)
from coterie.errors import UsageError
from coterie.models.clusterer import TextClusterer
from said import raises

ODD = [
    "Whisk three eggs with sugar until the mixture is pale and fluffy.",
    "The moons of Jupiter were first seen by Galileo in 1610.",
    "Photosynthesis turns sunlight and carbon dioxide into sugar.",
    "The striker scored twice in the second half of the final.",
    "Medieval monks copied manuscripts by candlelight.",
    "Glaciers in the Alps have lost a third of their ice.",
    "She plays the cello in a quartet every Thursday.",
    "The prime minister resigned after losing the vote.",
    "Bees communicate the direction of flowers by dancing.",
    "A prime number has exactly two divisors.",
    "The bridge was built by Roman engineers.",
    "Penguins breed on the sea ice in winter.",
]

TEXTS = [*sample().texts[:300], *ODD]


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Three clusters of forty, some rows twice, five rows far from all, one without a text."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, 5)) * 6
    labels = np.repeat([0, 1, 2], 40)
    x = centers[labels] + rng.normal(size=(120, 5))
    x[10:14] = x[10]
    far = rng.normal(size=(5, 5)) * 30
    x = np.concatenate([x, far, np.zeros((1, 5))]).astype(np.float32)
    near = ((far[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    return x, np.concatenate([labels, near, [-1]])


def loop_scores(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The formula of the module, row by row."""
    rows = [i for i in range(len(x)) if labels[i] >= 0]
    means = {}
    for i in rows:
        others = sorted(float(np.linalg.norm(x[i] - x[j])) for j in rows if j != i)
        means[i] = sum(others[:10]) / 10
    # The median is over different texts: copies of one have one say.
    different = {x[i].tobytes(): value for i, value in means.items()}
    typical = float(np.median(list(different.values())))
    out = np.full(len(x), np.nan)
    for i in rows:
        rho = (means[i] / typical) ** 8
        out[i] = rho / (1 + rho)
    return out


def test_equals_the_loop(blobs) -> None:
    np.testing.assert_allclose(outlier_scores(*blobs), loop_scores(*blobs), rtol=1e-3, atol=1e-6)


def test_by_hand() -> None:
    # Mean distances to the two others are 1.5, 1 and 1.5 (neighbours: all there are).
    x = np.array([[0.0], [1.0], [2.0]])
    rho = (1 / 1.5) ** 8
    assert outlier_scores(x).tolist() == pytest.approx([0.5, rho / (1 + rho), 0.5])
    assert outlier_scores(np.array([[3.0, 4.0]])).tolist() == [0.0]  # nobody to be far from


def test_scale_and_order_do_not_matter(blobs) -> None:
    x, labels = blobs
    order = np.random.default_rng(1).permutation(len(x))
    scores = outlier_scores(x, labels)
    np.testing.assert_allclose(outlier_scores(7 * x, labels), scores, rtol=1e-3)
    np.testing.assert_allclose(outlier_scores(x[order], labels[order]), scores[order], rtol=1e-4)


def test_a_text_said_a_dozen_times_is_no_outlier() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(60, 4)), np.full((12, 4), 20.0), [[0, 0, 0, -20.0]]])
    scores = outlier_scores(x)
    assert (scores[60:72] < 0.01).all() and scores.argmax() == 72


def test_a_vector_of_nothing_is_like_no_other() -> None:
    """Texts of which no word is known have the vector zero, which is not near to anything."""
    unit = np.random.default_rng(0).normal(size=(50, 8))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    known = fit_neighbor_index(unit)
    assert known.distances(np.zeros((1, 8), dtype=np.float32))[0] == pytest.approx(np.sqrt(2))
    with_zero = fit_neighbor_index(np.concatenate([unit, np.zeros((2, 8))]))
    assert with_zero.distances(np.zeros((1, 8), dtype=np.float32))[0] == pytest.approx(np.sqrt(2))


def test_a_choice_of_texts_keeps_small_clusters(monkeypatch: pytest.MonkeyPatch, blobs) -> None:
    monkeypatch.setattr(outliers, "NUMBERS", 0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3)).astype(np.float32)
    labels = np.zeros(3000, dtype=np.int64)
    labels[::300] = 1  # ten rows
    known = fit_neighbor_index(x, labels=labels, seed=3)
    kept = {row.tobytes() for row in known.vectors}
    assert len(known.vectors) == 1000
    assert all(row.tobytes() in kept for row in x[labels == 1])
    far = np.full((1, 3), 30, dtype=np.float32)
    assert known.scores(far)[0] > 0.99 > np.median(known.scores(x)) > 0.3


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ("5%", 5),
        (0.05, 5),
        ("0.05", 5),
        (7, 7),
        ("7", 7),
        ("0", 0),
        (0.0, 0),
        ("2.5 %", 2),
        (1, 1),
        ("50%", 50),
    ],
)
def test_shares_and_numbers(given, rows) -> None:
    assert allowed_rows(given, 100) == rows


def test_a_share_is_a_maximum_and_no_quota() -> None:
    """Where no text stands out none is marked; the few that do are, however many are allowed."""
    rng = np.random.default_rng(0)
    sphere = rng.normal(size=(600, 20))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    assert mark_outliers(outlier_scores(sphere), "20%")[0].mean() < 0.02
    scores = outlier_scores(np.concatenate([sphere, 4 * sphere[:9] + rng.normal(size=(9, 20))]))
    marked = mark_outliers(scores, "20%")[0]
    assert marked[600:].all() and marked.sum() < 30


def test_clean_messages_have_few_outliers() -> None:
    """Messages of one kind: with 5% allowed, the share that is marked is far below."""
    texts = [text for text in sample().texts if text][:400]
    model = make_method("kmeans", 8, encoder="tfidf-svd", random_state=0).fit(texts)
    assert model.mark_outliers("5%").mean() < 0.02


@pytest.mark.parametrize("given", ["many", "-3", "5%%", "", "nan", True, "51%", 0.6, 1.0, "80"])
def test_impossible_shares_are_refused(given) -> None:
    with pytest.raises(UsageError) as caught:
        allowed_rows(given, 100, "--max-outliers")
    parts = ("should be a share", "would allow more")
    assert any(part in str(caught.value) for part in parts)


def test_at_most_as_many_as_allowed_and_the_highest() -> None:
    rng = np.random.default_rng(0)
    scores = np.append(rng.uniform(0.2, 0.6, 400), rng.uniform(0.9, 1, 100))
    for allowed in (0, 1, 30, 200):
        marked, limit = mark_outliers(scores, allowed)
        assert marked.sum() == min(allowed, 100)
        assert allowed == 0 or scores[marked].min() > limit.limit > scores[~marked].max()
        np.testing.assert_array_equal(limit.marks(scores, np.zeros(500, dtype=np.int64)), marked)


def test_ties_stay_in_together() -> None:
    scores = np.array([0.9, 0.8, 0.8, 0.8, 0.7, 0.2])
    marked, limit = mark_outliers(scores, 3)
    assert marked.tolist() == [True] + [False] * 5
    assert limit.limit == pytest.approx(0.85)  # room for the last digits of either
    assert mark_outliers(np.array([0.9, 0.9, 0.9, 0.6, 0.1, 0.1]), 2)[0].sum() == 0
    assert mark_outliers(scores, "50%")[0].sum() == 1


def test_no_cluster_is_emptied() -> None:
    scores = np.array([0.95, 0.97, 0.9, 0.8, 0.6, 0.5, 0.4, 0.3])
    labels = np.array([2, 2, 0, 0, 0, 1, 1, 0])
    marked, limit = mark_outliers(scores, 2, labels)
    assert marked.tolist() == [False, False, True, True, False, False, False, False]
    assert set(limit.kept) == {2}
    np.testing.assert_array_equal(limit.marks(scores, labels), marked)
    # What is still lonelier than all of that cluster belongs to it no more.
    assert limit.marks(np.array([0.96, 0.999]), np.array([2, 2])).tolist() == [False, True]
    assert OutlierLimit.from_dict(limit.to_dict()) == limit


@pytest.fixture(scope="module")
def planted(kept_vectors: Path) -> tuple[TextClusterer, np.ndarray]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_CACHE", str(kept_vectors))
        model = make_method("kmeans", 8, random_state=0, n_init=2).fit(TEXTS)
    return model, np.arange(len(TEXTS)) >= len(TEXTS) - len(ODD)


def test_planted_texts_are_found_and_better_than_by_confidence(planted) -> None:
    model, odd = planted
    placed = model.labels_ >= 0
    ours = average_precision_score(odd[placed], model.outlier_scores()[placed])
    unsure = average_precision_score(odd[placed], 1 - model.probabilities_.max(axis=1)[placed])
    assert ours > 0.7 > 10 * unsure


def test_a_model_marks_and_remembers(planted, tmp_path: Path) -> None:
    model, odd = planted
    marked = model.mark_outliers("5%")
    assert marked.sum() == 15 and marked[odd].sum() >= 8
    expected = np.where(marked, -1, model.labels_)[-20:]
    some = TEXTS[-20:]
    np.testing.assert_array_equal(model.predict(some, outliers=True), expected)
    np.testing.assert_array_equal(model.predict(some), model.labels_[-20:])
    model.save(tmp_path / "m")
    loaded = coterie.load(tmp_path / "m")
    assert loaded.outlier_limit_ == model.outlier_limit_
    new = ["The telescope has found a new planet.", "where is my parcel", ""]
    assert loaded.predict(new, outliers=True)[0] == -1
    assert loaded.predict(new, outliers=True)[1] == loaded.predict(new)[1] >= 0
    np.testing.assert_allclose(loaded.outlier_scores(some), model.outlier_scores()[-20:], atol=1e-4)
    assert (loaded.predict(new[1:2], outliers=0.0) == -1).all()
    for name, ask in (("outlier_scores", ()), ("mark_outliers", ("5%",))):
        with raises(UsageError, "the model was loaded, and", str(name)):
            getattr(loaded, name)(*ask)


def test_what_a_model_cannot_know_is_said(topics) -> None:
    model = make_method("kmeans", 3, encoder="tfidf", random_state=0).fit(topics[0])
    with raises(UsageError, "outliers=True: the"):
        model.predict(topics[0], outliers=True)
    model.mark_outliers(0.05)
    model.fit(topics[0][:60])  # another fit forgets the limit
    assert model.outlier_limit_ is None and len(model.outlier_scores()) == 60


@pytest.mark.parametrize("allowed", [1, 5, 9])
def test_of_usual_distances_none_stands_out(allowed: int) -> None:
    """Values of a normal curve: also the highest is where it is expected."""
    from statistics import NormalDist

    usual = np.array([1 + 0.15 * NormalDist().inv_cdf((i + 0.5) / 100) for i in range(100)])
    scores = usual**POWER / (1 + usual**POWER)
    assert mark_outliers(scores, allowed)[0].sum() == 0
    lonely = np.array([2.5, 3.0]) ** POWER
    marked = mark_outliers(np.append(scores, lonely / (1 + lonely)), allowed)[0]
    assert marked[-min(2, allowed) :].all() and marked.sum() <= allowed


def test_known_neighbours_give_the_same_distances() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 12)).astype(np.float32)
    x[7] = x[9]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    counts = rng.integers(1, 4, 300)
    near = nearest_rows(x, NEIGHBORS + 1)
    plain, known = fit_neighbor_index(x, counts), fit_neighbor_index(x, counts, near=near)
    assert known.own is not None and plain.own is not None
    np.testing.assert_allclose(known.own, plain.own, atol=2e-6)
    assert known.typical == pytest.approx(plain.typical, abs=1e-6)
    # By cosine the nearest are others than by distance if lengths differ: they are searched for.
    longer = x * rng.uniform(1, 3, (300, 1)).astype(np.float32)
    again = fit_neighbor_index(longer, counts, near=nearest_rows(longer, NEIGHBORS + 1))
    np.testing.assert_array_equal(again.own, fit_neighbor_index(longer, counts).own)
