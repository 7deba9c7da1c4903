"""The default method: what it tries, how it decides, what it says."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import coterie
from coterie import Auto, TwoStep
from coterie._errors import UsageError
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


def test_the_words_decide(corpus) -> None:
    texts, truth = corpus
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    rated = model.choice_["information"]
    assert rated.keys() >= {"k-means", "smooth", "words", "more words", "average"}
    assert rated[model.choice_["chosen"]] == max(rated.values())
    presence = word_presence(list(dict.fromkeys(texts)))
    first = np.unique(texts, return_index=True)[1]
    labels = model.labels_[np.sort(first)]
    assert word_information(presence, labels, 0) == pytest.approx(max(rated.values()), rel=0.02)
    plain = TwoStep(6, encoder="tfidf-svd", random_state=0).fit(texts)
    found, before = (adjusted_rand_score(truth, m.labels_) for m in (model, plain))
    assert found >= before - 0.01 and found > 0.9


def test_effort_decides_how_much_is_tried(corpus) -> None:
    texts, _ = corpus
    quick = Auto(6, encoder="tfidf", effort="quick", random_state=0).fit(texts)
    assert quick.choice_["information"].keys() == {"k-means", "words"}
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
    (remark,) = model.remarks()
    assert "nats" in remark and "words" in remark
    model.save(tmp_path / "m")
    again = coterie.load(tmp_path / "m")
    assert again.choice_ == model.choice_
    np.testing.assert_array_equal(again.predict(texts), model.labels_)


def test_the_consensus_of_the_others_is_tried(corpus) -> None:
    texts, _ = corpus
    model = Auto(6, encoder="tfidf-svd", random_state=0).fit(texts)
    assert "consensus" in model.choice_["information"]
    few = Auto(6, encoder="tfidf-svd", effort="quick", random_state=0).fit(texts)
    assert "consensus" not in few.choice_["information"]  # two cannot outvote each other
