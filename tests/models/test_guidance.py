"""Labels and themes: read, checked against each other, and kept by every result."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import SCCL, Auto, TwoStep
from coterie.errors import DataError, UsageError
from coterie.models.guidance import Guidance, read_labels, theme_texts
from said import raises, says

FRUIT = ["red apple", "green apple", "ripe apple", "apple tart"]
CARS = ["fast car", "slow car", "old car", "car wash"]
SKY = ["blue sky", "clear sky", "dark sky", "sky above"]
TEXTS = [*FRUIT, *CARS, *SKY]
STEERED = [TwoStep, Auto, SCCL]


def make(method, n_clusters=3, **parameters):
    if method is SCCL:
        parameters["steps"] = 2
    return method(n_clusters, encoder="tfidf", random_state=0, **parameters)


def test_unlabelled_values_and_the_order_of_classes() -> None:
    y = ["pear", None, float("nan"), "", "  ", -1, "fig ", np.int64(7)]
    assert read_labels(y) == (("7", "fig", "pear"), {0: 2, 6: 1, 7: 0}, 8)
    assert read_labels(np.array([2.0, np.nan, 0.0])) == (("0", "2"), {0: 1, 2: 0}, 3)
    assert read_labels(np.array(["b", -1, "a"])) == (("a", "b"), {0: 1, 2: 0}, 3)  # strings


def test_nothing_known_is_no_guidance() -> None:
    assert Guidance.make() is None
    assert Guidance.make([None, -1, ""]) is None


@pytest.mark.parametrize(
    ("arguments", "kind", "key"),
    [
        ({"labels": ["a"]}, DataError, "rows; give one for"),
        ({"labels": 5}, UsageError, "should be a list or"),
        ({"labels": ["a", 0.5, None]}, DataError, "is not a label. Labels"),
        ({"themes": "cars"}, UsageError, "should be a file, or a list of"),
        ({"themes": []}, DataError, "there are no themes"),
        ({"themes": ["cars", "Cars"]}, DataError, "occurs twice; remove"),
        ({"themes": [{"title": "cars"}]}, DataError, "a theme has no"),
    ],
)
def test_bad_arguments_are_rejected(arguments, kind, key) -> None:
    with raises(kind, key):
        make(TwoStep).fit(TEXTS[:3], **arguments)


def test_themes_come_before_classes_and_share_their_names() -> None:
    themes = ["Cars", {"name": "Sky", "keywords": ["blue", "clear"]}]
    known = Guidance.make(["cars", None, "fruit"], themes=theme_texts(themes))
    assert known.names == ("Cars", "Sky", "fruit") and known.labels == {0: 0, 2: 2}
    assert known.themes == (("Cars",), ("Sky", "blue, clear"))


@pytest.mark.parametrize("method", STEERED)
def test_fit_takes_themes(method) -> None:
    themes = [{"name": "Orchard", "keywords": ["apple", "tart"]}, "volcano", "sky"]
    model = make(method).fit(TEXTS, themes=themes)
    assert model.classes_ == ("Orchard", "sky") and model.empty_classes_ == ("volcano",)
    assert set(model.labels_[:4]) == {0} and set(model.labels_[8:]) == {1}


def test_themes_need_texts() -> None:
    vectors = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    with raises(UsageError, "are compared with"):
        Auto(2, encoder="precomputed").fit(vectors, themes=["cars"])


def test_one_text_cannot_have_two_classes() -> None:
    places = np.array([0, 1, 0])
    with raises(DataError, "correct one of", "0", "2"):
        Guidance.make(["a", None, "b"]).on_texts(places, 2)
    assert Guidance.make(["a", None, "a"]).on_texts(places, 2).labels.tolist() == [0, -1]


def test_a_label_without_a_text_is_rejected() -> None:
    with raises(DataError, "but no text; remove", "1"):
        Guidance.make(["a", "b"]).on_texts(np.array([0, -1]), 1)


@pytest.mark.parametrize("method", STEERED)
def test_classes_are_the_first_clusters_and_keep_their_texts(method, tmp_path) -> None:
    """Also a text whose label is wrong."""
    y = ["car", *["fruit"] * 3, "car", *[None] * 7]
    model = make(method).fit(TEXTS, labels=y)
    assert model.classes_ == ("car", "fruit") and model.n_clusters_ == 3
    assert model.labels_[:5].tolist() == [0, 1, 1, 1, 0]
    np.testing.assert_array_equal(model.probabilities_.argmax(axis=1), model.labels_)
    model.save(tmp_path / "model")
    loaded = method.load(tmp_path / "model")
    assert loaded.classes_ == model.classes_
    for one in (model, loaded):
        np.testing.assert_array_equal(one.predict(TEXTS), model.labels_)


def test_a_fit_without_labels_forgets_those_before() -> None:
    model = make(TwoStep)
    plain = model.fit(TEXTS).labels_
    model.fit(TEXTS, labels=["z", *[None] * 3, "a", *[None] * 7])
    np.testing.assert_array_equal(model.fit(TEXTS).labels_, plain)
    assert model.classes_ == () and model.corrections_ == {}


def test_more_classes_than_clusters_make_more_clusters() -> None:
    with pytest.warns(UserWarning) as caught:
        model = make(TwoStep, 2).fit(
            TEXTS, labels=["a", *[None] * 3, "b", *[None] * 3, "c", *[None] * 3]
        )
    assert says(str(caught[0].message), "each class is a", "3")
    assert model.n_clusters_ == 3


def test_the_number_of_clusters_is_at_least_that_of_the_classes() -> None:
    y = [str(i % 6) if i < 6 else None for i in range(len(TEXTS))]
    assert make(TwoStep, "auto").fit(TEXTS, labels=y).n_clusters_ >= 6


def test_a_method_that_cannot_be_steered_warns() -> None:
    with pytest.warns(UserWarning) as caught:
        model = TwoStep(3, cluster="ward", encoder="tfidf").fit(TEXTS, labels=["a", *[None] * 11])
    assert says(str(caught[0].message), "cannot use labels")
    assert model.classes_ == ()


def test_labels_and_weights_of_zero() -> None:
    weights = [0.0, *[1.0] * 11]
    y = ["fruit", "fruit", None, None, "car", *[None] * 7]
    model = make(TwoStep).fit(TEXTS, labels=y, sample_weight=weights)
    assert model.labels_[0] == model.labels_[1] == 1


def test_vectors_can_be_steered() -> None:
    x = np.array([[0.0, 0], [0, 1], [5, 0], [5, 1]])
    model = TwoStep(2, encoder="precomputed", random_state=0).fit(x, labels=[1, -1, -1, 1])
    assert model.labels_[0] == model.labels_[3] == 0
