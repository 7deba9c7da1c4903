"""The order of the rows changes nothing: not the clusters, their numbers, names, levels or map."""

import json
from typing import Any

import numpy as np
import pytest

import coterie
from coterie import make_method


def _made(seed: int) -> list[str]:
    """Texts of few words drawn at random: no clear clusters, some repeats and empty rows."""
    words = "red green old new fast slow car bus apple pear song drum Tax rent ham äpfel".split()
    drawn = np.random.default_rng(seed).choice(words, (120, 3))
    return [*map(" ".join, drawn.tolist()), "old car bus", "OLD car bus", "old car bus", "", "?"]


SETS = {
    "sample": lambda: [text for text in coterie.sample().texts if text][:90],
    "words": lambda: _made(0),
    "pairs": lambda: [text.rsplit(" ", 1)[0] for text in _made(1)],
}


def orders(n: int, count: int) -> list[list[int]]:
    rng = np.random.default_rng(7)
    return [rng.permutation(n).tolist() for _ in range(count)]


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("method", ["kmeans", "auto"])
def test_five_orders_give_the_same_clusters(method: str, kind: str) -> None:
    texts = SETS[kind]()

    def fit(texts: list[str]) -> Any:
        settings = {"effort": "quick"} if method == "auto" else {}
        return make_method(method, 5, encoder="tfidf", random_state=0, **settings).fit(texts)

    model = fit(texts)
    for order in orders(len(texts), 5):
        other = fit([texts[i] for i in order])
        np.testing.assert_array_equal(other.labels_, model.labels_[order])
        np.testing.assert_array_equal(other.probabilities_, model.probabilities_[order])
        np.testing.assert_array_equal(other.vectors_, model.vectors_[order])


def test_vectors_in_another_order(topics) -> None:
    """Also with weights, which repeated vectors have different ones of."""
    x = make_method("kmeans", 3, encoder="tfidf", random_state=0).fit(topics[0]).vectors_
    x, weights = np.concatenate([x, x]), np.random.default_rng(0).random(180)
    order = orders(180, 1)[0]

    def fit(x: Any, weights: Any) -> Any:
        made = make_method("kmeans", 12, encoder="precomputed", random_state=0)
        return made.fit(x, sample_weight=weights).labels_

    np.testing.assert_array_equal(fit(x[order], weights[order]), fit(x, weights)[order])


def test_views_and_labels_go_with_their_rows(topics) -> None:
    texts = [*topics[0], topics[0][0]]
    views = [[f"{text} {i % 7}" for i, text in enumerate(texts)] for _ in range(2)]
    labels = [text.split()[0] if i % 9 == 0 else None for i, text in enumerate(topics[0])] + [None]
    order = orders(91, 1)[0]

    def fit(order: list[int]) -> Any:
        model = make_method("kmeans", 9, encoder="tfidf", random_state=0)
        model.fit([texts[i] for i in order], labels=[labels[i] for i in order])
        given = [[view[i] for i in order] for view in views]
        trained = make_method("sccl", 9, encoder="tfidf", steps=5, batch_size=30, random_state=0)
        return model, trained.fit([texts[i] for i in order], views=given)

    for one, other in zip(fit(list(range(91))), fit(order), strict=True):
        np.testing.assert_array_equal(other.labels_, one.labels_[order])
        np.testing.assert_array_equal(other.probabilities_, one.probabilities_[order])
        assert other.classes_ == one.classes_ and other.corrections_ == one.corrections_


@pytest.mark.full
@pytest.mark.parametrize("asked", [{"levels": (3, 12)}, {"n_clusters": "auto"}])
def test_a_run_in_another_order_says_the_same(asked: dict[str, Any]) -> None:
    """Names, words, examples, levels or themes, outliers and places on the map."""
    texts = [text for text in coterie.sample().texts if text][:250]

    def run(texts: list[str]) -> tuple[str, list[Any]]:
        done = coterie.cluster(texts, method="kmeans", encoder="tfidf", max_outliers=9, **asked)
        described = [cluster.to_dict() for cluster in done.clusters]
        levels = [[c.to_dict() for c in level] for level in done.levels]
        outliers = done.manifest["outliers"]
        assert levels
        x, y = (dict(zip(done.map["rows"], done.map[axis], strict=True)) for axis in "xy")
        rows = [[*row.values(), x[i], y[i]] for i, row in enumerate(done.table.to_pylist())]
        return json.dumps([described, levels, done.map["silhouette"], outliers]), rows

    said, rows = run(texts)
    order = orders(len(texts), 1)[0]
    other, moved = run([texts[i] for i in order])
    assert other == said and moved == [rows[i] for i in order]
