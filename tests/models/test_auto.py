"""The default method: ridge classifier, smoothing, consensus, reassignment, confidence."""

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie import Auto, TwoStep
from coterie.arrays import consensus as runs_module
from coterie.arrays.assign import LinearAssigner, probabilities
from coterie.arrays.consensus import consensus, n_neighbors
from coterie.arrays.graph import knn_smooth, principal_part
from coterie.arrays.kmeans import KMeans
from coterie.arrays.metrics import accuracy
from coterie.arrays.neighbors import nearest_rows
from coterie.arrays.ridge import RidgeClassifier
from coterie.models import auto
from trees import nested_texts


def fit(x, labels, k, weights=None):
    return LinearAssigner(*RidgeClassifier(x, weights).fit(labels, k))


def blobs(n: int = 300, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three clouds; their labels; and the labels with a share of them thrown anywhere."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, n)
    x = (4 * np.eye(3)[truth] + rng.normal(size=(n, 3))).astype(np.float32)
    wrong = rng.random(n) < noise
    return x, truth, np.where(wrong, rng.integers(0, 3, n), truth)


def test_one_factor_serves_several_labels(monkeypatch) -> None:
    """Several labels on one factor, rows in parts: each as if solved on its own."""
    x, labels, noisy = blobs(noise=0.3)
    weights = np.random.default_rng(1).integers(1, 5, len(x)).astype(np.float32)
    whole = RidgeClassifier(x, weights)
    monkeypatch.setattr("coterie.arrays.ridge.BLOCK", 37)
    parts = RidgeClassifier(x, weights)
    rows = np.hstack([x, np.ones((len(x), 1))])
    for given in (labels, noisy):
        square = rows.T @ (weights[:, None] * rows) + np.eye(4)
        solved = np.linalg.solve(square, rows.T @ (weights[:, None] * np.eye(3)[given]))
        for classifier in (whole, parts):
            weight, bias = classifier.fit(given, 3)
            np.testing.assert_allclose(weight, solved[:-1].T, atol=1e-5)
            np.testing.assert_allclose(bias, solved[-1], atol=1e-5)


def test_worked_by_hand() -> None:
    # One text, one number: (x^2 + 1) w + x b = x and x w + (1 + 1) b = 1, with x = 2.
    assigner = fit(np.array([[2.0]], dtype=np.float32), np.array([0]), 1)
    np.testing.assert_allclose(assigner.weight, [[1 / 3]], rtol=1e-6)
    np.testing.assert_allclose(assigner.bias, [1 / 6], rtol=1e-6)


@pytest.mark.parametrize("confidence", [0.45, 0.7, 0.95])
def test_the_mean_confidence_is_as_given_and_labels_stay(confidence: float) -> None:
    x, _, given = blobs(noise=0.3)
    assigner = fit(x, given, 3)
    scaled = assigner.calibrated(x, confidence)
    np.testing.assert_array_equal(
        scaled.logits(x).argmax(axis=1), assigner.logits(x).argmax(axis=1)
    )
    mean = probabilities(scaled.logits(x)).max(axis=1).mean()
    assert mean == pytest.approx(confidence, abs=0.01)
    alone = fit(x, np.zeros(len(x), dtype=np.int64), 1)
    assert alone.calibrated(x, 0.5) is alone


@pytest.fixture(scope="module")
def corpus() -> tuple[list[str], np.ndarray]:
    """600 texts of six skewed topics; words of a topic are many and rare."""
    rng = np.random.default_rng(0)
    labels = rng.choice(6, 600, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    own = [[f"t{k}w{i}" for i in range(25)] for k in range(6)]
    common = [f"c{i}" for i in range(60)]
    texts = [" ".join([*rng.choice(own[k], 4), *rng.choice(common, 3)]) for k in labels]
    return texts, labels


@pytest.fixture(scope="module")
def model(corpus) -> Auto:
    """Fitted to all of it."""
    return Auto(6, encoder="tfidf-svd", random_state=0).fit(corpus[0])


def test_it_finds_topics_at_least_as_well_as_kmeans(corpus, model: Auto) -> None:
    texts, truth = corpus
    plain = TwoStep(6, encoder="tfidf-svd", random_state=0).fit(texts)
    found, before = (adjusted_rand_score(truth, m.labels_) for m in (model, plain))
    assert found >= before - 0.01 and found > 0.9


def test_the_steps_are_those_of_the_description(corpus) -> None:
    """Smoothing, runs, consensus and classifier, written out once more."""
    texts = list(dict.fromkeys(corpus[0]))
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    x = model.distinct_vectors_
    seed = coterie._util.random.derive_seed(model.seed_, "start")
    k = n_neighbors(len(x), 6)
    first = principal_part(x, 100)
    for column in range(first.shape[1]):
        share = first[:, column].std() / first.std(axis=0).max()
        first[:, column] /= share**0.25
    smoothed = knn_smooth(first, nearest_rows(x, k + 1), 8, 0.1)
    ones = np.ones(len(x), dtype=np.float32)
    runs = [
        KMeans(n_clusters=6, seed=coterie._util.random.derive_seed(seed, "run", i), n_init=1)(
            torch.from_numpy(smoothed), ones
        ).labels
        for i in range(20)
    ]
    labels = consensus(runs, 6, ones, seed)
    answers = fit(x, labels, 6, ones).logits(x).argmax(axis=1)
    answers = fit(x, answers, 6, ones).logits(x).argmax(axis=1)
    assert adjusted_rand_score(answers[model.rows_], model.labels_) == 1
    assert model.choice_["neighbors"] == k == 10 and model.choice_["runs"] == 20
    assert model.choice_["moved"] == round(float((answers != labels).mean()), 4)
    stability = np.mean([accuracy(labels, run) for run in runs])
    assert model.choice_["stability"] == pytest.approx(stability, abs=1e-4)


def test_the_classifier_reassigns_what_a_clustering_got_wrong(corpus, monkeypatch) -> None:
    """Labels with a fifth of them thrown anywhere are corrected, and reported."""
    texts, truth = corpus

    def spoiled(*args):
        rng = np.random.default_rng(0)
        first = np.unique(texts, return_index=True)[1]
        true = truth[first]
        return np.where(rng.random(len(true)) < 0.2, rng.integers(0, 6, len(true)), true)

    monkeypatch.setattr(runs_module, "consensus", spoiled)
    monkeypatch.setattr(Auto, "_medium", 1)  # linkage would be better
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    assert 0.1 < model.choice_["moved"] < 0.25
    assert adjusted_rand_score(truth, model.labels_) > 0.9
    assert "reassigned" in model.remarks()[1]


def test_the_mean_confidence_follows_from_the_agreement_with_plain_kmeans(model: Auto) -> None:
    intercept, slope = auto.CONFIDENCE
    expected = 1 / (1 + np.exp(-(intercept + slope * model.choice_["plain"])))
    assert model.probabilities_.max(axis=1).mean() == pytest.approx(expected, abs=0.03)
    plain = KMeans(n_clusters=6, seed=5, n_init=3)(principal_part(model.distinct_vectors_, 100))
    shared = accuracy(model.assigner_.logits(model.distinct_vectors_).argmax(axis=1), plain.labels)
    assert model.choice_["plain"] == pytest.approx(shared, abs=0.15)


@pytest.mark.parametrize("directions", [20, 1_000])
def test_where_a_cluster_would_run_empty_the_nearest_text_decides(
    directions: int, corpus, monkeypatch, tmp_path
) -> None:
    texts, truth = corpus
    monkeypatch.setattr(auto, "DIRECTIONS", directions)
    one = auto.RidgeClassifier.fit

    def empties(self, labels, k):
        return one(self, np.where(labels == 0, 1, labels), k)

    monkeypatch.setattr(auto.RidgeClassifier, "fit", empties)
    known, new = texts[:400], texts[400:]
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(known)
    assigner = model.assigner_.inner
    assert assigner.kind == "neighbors" and assigner.vectors.shape == (400, min(directions, 100))
    assert "moved" not in model.choice_ and len(model.remarks()) == 1
    intercept, slope = auto.CONFIDENCE
    expected = 1 / (1 + np.exp(-(intercept + slope * model.choice_["plain"])))
    assert model.probabilities_.max(axis=1).mean() == pytest.approx(expected, abs=0.05)
    assert len(np.unique(model.labels_)) == 6
    np.testing.assert_array_equal(model.predict(known), model.labels_)
    assert adjusted_rand_score(truth[400:], model.predict(new)) > 0.5
    model.save(tmp_path / "model")
    again = coterie.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(new), model.predict_proba(new), atol=1e-5)


@pytest.fixture(scope="module")
def tail() -> tuple[list[str], np.ndarray]:
    """Four topics of 100 texts and 26 of five."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(30), np.repeat([100, 5], [4, 26]))
    own = [[f"t{k}w{i}" for i in range(25 if k < 4 else 5)] for k in range(30)]
    common = [f"c{i}" for i in range(60)]
    return [" ".join([*rng.choice(own[k], 4), *rng.choice(common, 2)]) for k in labels], labels


@pytest.mark.parametrize("effort", ["standard", "quick"])
def test_unequal_sizes_are_found_by_linkage(effort: str, tail, tmp_path) -> None:
    """Labels are those of linkage; the nearest text decides about others, and how sure it is."""
    texts, truth = tail
    model = Auto(30, encoder="tfidf-svd", effort=effort, random_state=0).fit(texts)
    x = model.distinct_vectors_
    seed = coterie._util.random.derive_seed(model.seed_, "start")
    ones = np.ones(len(x), dtype=np.float32)
    smoothed = runs_module.neighborhood(x, 30, flatten=0.25).smoothed(weighted=True)
    found = runs_module.linked(smoothed, 30, 60, ones, seed)
    assert adjusted_rand_score(found[model.rows_], model.labels_) == 1
    assert accuracy(truth, model.labels_) > 0.95
    assert model.choice_["sizes"] == "unequal" and "moved" not in model.choice_
    assert "unequal" in model.remarks()[1] and "60 centers" in model.remarks()[1]

    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    np.testing.assert_array_equal(model.probabilities_.argmax(axis=1), model.labels_)
    intercept, slope = auto.CONFIDENCE
    expected = 1 / (1 + np.exp(-(intercept + slope * model.choice_["plain"])))
    assert model.probabilities_.max(axis=1).mean() == pytest.approx(expected, abs=0.05)
    model.save(tmp_path / "model")
    again = coterie.load(tmp_path / "model")
    assert again.remarks() == model.remarks()
    new = [text.rsplit(" ", 3)[0] for text in texts]  # fewer words
    assert accuracy(truth, model.predict(new)) > 0.9
    np.testing.assert_allclose(again.predict_proba(new), model.predict_proba(new), atol=1e-5)


def test_a_caller_may_ask_for_the_consensus_alone(tail) -> None:
    texts, truth = tail
    model = Auto(30, encoder="tfidf-svd", effort="quick", random_state=0)
    model._medium = 1
    model.fit(texts)
    assert "sizes" not in model.choice_ and len(np.unique(model.labels_)) == 30
    assert accuracy(truth, model.labels_) < 0.8  # large topics are cut up


def test_labels_do_not_cut_large_clusters_up(tail) -> None:
    texts, truth = tail
    known = np.where(np.arange(len(truth)) % 100 == 0, truth, -1)
    model = Auto(30, encoder="tfidf-svd", effort="quick", random_state=0).fit(texts, labels=known)
    assert model.choice_["sizes"] == "unequal" and "guided" in model.choice_
    assert accuracy(truth, model.labels_) > 0.9


def test_a_weaker_penalty_keeps_small_clusters() -> None:
    """Sixty groups of three texts: the strong penalty gives some up, a weaker one does not."""
    rng = np.random.default_rng(3)
    texts = [
        " ".join(rng.choice([f"g{j}w{i}" for i in range(4)], 3)) for j in range(60) for _ in "abc"
    ]
    texts += [f"other thing {i}" for i in range(300)]
    model = Auto(61, encoder="tfidf-svd", random_state=0).fit(texts)
    assert len(np.unique(model.labels_)) == 61
    np.testing.assert_array_equal(model.predict(texts), model.labels_)


def test_more_texts_than_are_clustered(corpus, monkeypatch) -> None:
    texts, truth = corpus
    monkeypatch.setattr(auto, "CLUSTERED", {"quick": 200, "standard": 200, "best": 200})
    monkeypatch.setattr(auto, "PER_CLUSTER", 10)
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    assert len(model.labels_) == len(texts) and len(np.unique(model.labels_)) == 6
    assert adjusted_rand_score(truth, model.labels_) > 0.5
    np.testing.assert_array_equal(model.predict(texts), model.labels_)


@pytest.mark.parametrize(
    ("effort", "k", "n", "rows"),
    [
        ("standard", 20, 9_000, 9_000),
        ("standard", 20, 40_000, 10_000),
        ("best", 20, 40_000, 40_000),
        ("quick", 20, 40_000, 10_000),
        ("quick", 200, 40_000, 15_000),
        ("quick", 1_000, 40_000, 25_000),
        ("standard", 30_000, 40_000, 30_000),
    ],
)
def test_texts_that_are_clustered(effort: str, k: int, n: int, rows: int) -> None:
    chosen = Auto(k, effort=effort)._rows(n, 0)
    assert len(chosen) == rows and len(np.unique(chosen)) == rows and chosen.max() < n


@pytest.mark.parametrize(
    ("n", "k", "neighbors"),
    [(6_000, 20, 10), (1_095, 140, 4), (1_308, 81, 8), (10, 2, 4), (6, 3, 1), (5, 5, 0)],
)
def test_fewer_neighbours_where_clusters_are_small(n: int, k: int, neighbors: int) -> None:
    assert n_neighbors(n, k) == neighbors


def test_the_consensus_against_scipy_and_a_loop() -> None:
    """Average linkage of the share of runs, then the vote of the companions."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    rng = np.random.default_rng(1)
    truth = rng.integers(0, 5, 80)
    runs = [np.where(rng.random(80) < 0.25, rng.integers(0, 5, 80), truth) for _ in range(12)]
    together = np.array(
        [[np.mean([r[i] == r[j] for r in runs]) for j in range(80)] for i in range(80)]
    )
    tree = linkage(squareform(1 - together, checks=False), "average")
    joined = fcluster(tree, 5, "maxclust") - 1
    votes = np.zeros((80, 5))
    for run in runs:
        for i in range(80):
            companions = joined[run == run[i]]
            votes[i] += [(companions == k).mean() for k in range(5)]
    found = consensus(runs, 5, np.ones(80, dtype=np.float32), 0)
    assert adjusted_rand_score(votes.argmax(axis=1), found) == 1


def test_the_consensus_of_many_texts_joins_some_and_assigns_all(monkeypatch) -> None:
    truth = np.repeat(np.arange(4), 500)
    rng = np.random.default_rng(0)
    runs = [np.where(rng.random(2000) < 0.2, rng.integers(0, 4, 2000), truth) for _ in range(9)]
    ones = np.ones(2000, dtype=np.float32)
    monkeypatch.setattr(runs_module, "LINKED", (200, 300))
    found = consensus(runs, 4, ones, 0)
    assert accuracy(truth, found) > 0.97 > max(accuracy(truth, run) for run in runs)
    np.testing.assert_array_equal(found, consensus(runs, 4, ones, 0))


def test_a_weight_counts_as_repetition_in_the_consensus() -> None:
    rng = np.random.default_rng(0)
    runs = [rng.integers(0, 3, 30) for _ in range(5)]
    weights = rng.integers(1, 4, 30)
    rows = np.repeat(np.arange(30), weights)
    light = consensus(runs, 3, weights.astype(np.float32), 0)
    heavy = consensus([run[rows] for run in runs], 3, np.ones(len(rows), dtype=np.float32), 0)
    assert adjusted_rand_score(light[rows], heavy) == 1


def test_effort_decides_how_many_runs(corpus) -> None:
    texts, _ = corpus
    quick = Auto(6, encoder="tfidf", effort="quick", random_state=0).fit(texts)
    assert quick.choice_["runs"] == 6 and "Consensus of 6" in quick.remarks()[0]


def test_vectors_of_your_own_are_clustered_by_kmeans() -> None:
    x = np.random.default_rng(0).normal(size=(40, 5))
    model = Auto(3, encoder="precomputed", random_state=0).fit(x)
    assert model.choice_ == {} and model.remarks() == ["k-means on the vectors."]
    plain = TwoStep(3, encoder="precomputed", random_state=0).fit(x)
    assert adjusted_rand_score(model.labels_, plain.labels_) == 1


def test_small_changes_of_the_vectors_change_little(corpus, model: Auto, monkeypatch) -> None:
    texts, first = corpus[0], model.labels_
    plain = Auto._initial_assigner

    def moved(self, vectors, weights, seed):
        rng = np.random.default_rng(1)
        size = 1e-3 * np.linalg.norm(vectors, axis=1, keepdims=True) / vectors.shape[1] ** 0.5
        noise = (size * rng.normal(size=vectors.shape)).astype(np.float32)
        return plain(self, vectors + noise, weights, seed)

    monkeypatch.setattr(Auto, "_initial_assigner", moved)
    assert accuracy(first, Auto(6, encoder="tfidf-svd", random_state=0).fit(texts).labels_) > 0.97


def test_a_number_that_is_found_shows_a_cut_of_finer_clusters(topics) -> None:
    """The tree is part of the fit; another fit, or one with a number, knows nothing of it."""
    model = Auto("auto", encoder="tfidf", random_state=0).fit(nested_texts())
    tree, k = model.tree_, model.n_clusters_
    assert tree.at == k == len(np.unique(model.labels_)) < tree.finest
    cut = tree.cut()
    assert [cut[leaf] for leaf in model.leaf_labels_.tolist()] == model.labels_.tolist()
    np.testing.assert_array_equal(model.predict(nested_texts()), model.labels_)
    model.set_params(n_clusters=3).fit(topics[0])
    assert (model.tree_.leaves, model.tree_.at) == ((0, 1, 2), 3)
    np.testing.assert_array_equal(model.leaf_labels_, model.labels_)
