"""The default method: what it tries, how it decides, what it says."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie import Auto, TwoStep
from coterie._errors import UsageError
from coterie.base import ways
from coterie.methods import auto
from coterie.words import word_information, word_presence


@pytest.fixture(scope="module")
def corpus() -> tuple[list[str], np.ndarray]:
    """600 texts of six skewed topics; words of a topic are many and rare."""
    rng = np.random.default_rng(0)
    labels = rng.choice(6, 600, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    own = [[f"t{k}w{i}" for i in range(25)] for k in range(6)]
    common = [f"c{i}" for i in range(60)]
    texts = [" ".join([*rng.choice(own[k], 4), *rng.choice(common, 3)]) for k in labels]
    return texts, labels


def test_words_and_neighbours_decide(corpus) -> None:
    texts, truth = corpus
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    told, together = model.choice_["information"], model.choice_["agreement"]
    assert told.keys() >= {"k-means", "graph 10x5, words 0", "average"}
    products = {name: told[name] * together[name] for name in told}
    assert model.choice_["chosen"] in sorted(products, key=products.get)[-auto.FINALISTS :]
    plain = TwoStep(6, encoder="tfidf-svd", random_state=0).fit(texts)
    found, before = (adjusted_rand_score(truth, m.labels_) for m in (model, plain))
    assert found >= before - 0.01 and found > 0.9


def test_what_the_witnesses_say_is_true(corpus, monkeypatch) -> None:
    texts = list(dict.fromkeys(corpus[0]))
    labels = TwoStep(6, encoder="tfidf-svd", n_init=4, random_state=0).fit(texts).labels_
    monkeypatch.setattr(ways.Trial, "kmeans", lambda *args: labels)
    model = Auto(6, encoder="tfidf-svd", effort="quick", random_state=0).fit(texts)
    vectors = model.transform(texts)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    near = np.argsort(-cosines, axis=1)[:, :10]
    together = np.mean([[labels[i] == labels[j] for j in near[i]] for i in range(len(texts))])
    told = word_information(word_presence(texts), labels, 0)
    assert model.choice_["agreement"]["k-means"] == pytest.approx(together, abs=0.02)
    assert model.choice_["information"]["k-means"] == pytest.approx(told, rel=0.03)


def test_a_second_look_says_more_about_the_words(corpus, monkeypatch) -> None:
    texts, truth = corpus
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    monkeypatch.setattr(auto, "ROUNDS", 0)
    first = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    assert first.choice_["rounds"] == 0 and len(first.remarks()) == 1
    presence = word_presence(texts)
    before, after = (word_information(presence, m.labels_, 0) for m in (first, model))
    if model.choice_["rounds"]:
        assert after > before and model.choice_["moved"] > 0
    else:
        np.testing.assert_array_equal(model.labels_, first.labels_)
    again = np.asarray(model.labels_)
    assert len(np.unique(again)) == 6 and adjusted_rand_score(truth, again) > 0.9


def test_a_classifier_moves_what_a_clustering_got_wrong(corpus, monkeypatch) -> None:
    """Labels with a fifth of them thrown anywhere are mended, and told."""
    texts, truth = corpus

    def spoiled(self, *args):
        rng = np.random.default_rng(0)
        first = np.unique(texts, return_index=True)[1]
        true = truth[np.sort(first)]
        return np.where(rng.random(len(true)) < 0.2, rng.integers(0, 6, len(true)), true)

    monkeypatch.setattr(ways.Trial, "kmeans", spoiled)
    monkeypatch.setattr(ways.Trial, "average", spoiled)
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    assert model.choice_["rounds"] > 0 and 0.1 < model.choice_["moved"] < 0.25
    assert adjusted_rand_score(truth, model.labels_) > 0.9
    assert "second look" in model.remarks()[1]
    np.testing.assert_array_equal(model.predict(texts), model.labels_)
    assert 0.5 < model.probabilities_.max(axis=1).mean() < 1


@pytest.mark.parametrize("dim", [20, 1_000])
def test_where_the_classifier_is_not_heard_the_nearest_text_decides(
    dim: int, corpus, monkeypatch, tmp_path
) -> None:
    """In the directions that were looked at, or in all if there are no more than those."""
    texts, truth = corpus
    monkeypatch.setattr(auto, "ROUNDS", 0)
    monkeypatch.setattr(auto, "DIM", dim)
    known, new = texts[:400], texts[400:]
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(known)
    rule = model.rule_.inner if dim == 20 else model.rule_
    assert rule.kind == "neighbors" and rule.vectors.shape == (400, min(dim, 100))
    np.testing.assert_array_equal(model.predict(known), model.labels_)
    assert adjusted_rand_score(truth[400:], model.predict(new)) > 0.5
    model.save(tmp_path / "model")
    again = coterie.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(new), model.predict_proba(new), atol=1e-5)


def test_more_texts_than_are_clustered(corpus, monkeypatch) -> None:
    texts, truth = corpus
    monkeypatch.setattr(auto, "MOST", {"quick": 200, "standard": 200, "best": 200})
    monkeypatch.setattr(auto, "EACH", 10)
    monkeypatch.setattr(ways, "LINKED", 100)
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    assert len(model.labels_) == len(texts) and len(np.unique(model.labels_)) == 6
    assert adjusted_rand_score(truth, model.labels_) > 0.5
    np.testing.assert_array_equal(model.predict(texts), model.labels_)


@pytest.mark.parametrize(
    ("effort", "k", "n", "rows"),
    [("standard", 20, 9_000, 9_000), ("standard", 20, 40_000, 25_000),
     ("quick", 20, 40_000, 10_000), ("quick", 200, 40_000, 15_000),
     ("quick", 1_000, 40_000, 25_000),
     ("standard", 30_000, 40_000, 30_000)],
)  # fmt: skip
def test_texts_that_ways_are_tried_on(effort: str, k: int, n: int, rows: int) -> None:
    chosen = Auto(k, effort=effort)._rows(n, 0)
    assert len(chosen) == rows and len(np.unique(chosen)) == rows and chosen.max() < n


def test_effort_decides_how_much_is_tried(corpus) -> None:
    texts, _ = corpus
    quick = Auto(6, encoder="tfidf", effort="quick", random_state=0).fit(texts)
    assert quick.choice_["information"].keys() == {"k-means", "graph 10x5, words 0"}
    with pytest.raises(UsageError, match="effort"):
        Auto(6, effort="some").fit(texts)


def test_without_words_it_is_kmeans_and_says_so(topics) -> None:
    x = np.random.default_rng(0).normal(size=(40, 5))
    model = Auto(3, encoder="precomputed", random_state=0).fit(x)
    assert model.choice_["chosen"] == "k-means" and "too few words" in model.remarks()[0]
    plain = TwoStep(3, encoder="precomputed", random_state=0).fit(x)
    assert adjusted_rand_score(model.labels_, plain.labels_) == 1


def test_the_choice_is_told_and_kept(corpus, tiny_encoder, tmp_path) -> None:
    texts, _ = corpus
    model = Auto(6, encoder=str(tiny_encoder), random_state=0).fit(texts)
    remark = model.remarks()[0]
    assert ways.WAYS[model.choice_["chosen"]].sentence in remark
    model.save(tmp_path / "m")
    again = coterie.load(tmp_path / "m")
    assert again.choice_ == model.choice_
    np.testing.assert_array_equal(again.predict(texts), model.labels_)
