"""Labels and constraints: read, checked against each other, and kept by every result."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import SCCL, Auto, TwoStep
from coterie.errors import DataError, UsageError
from coterie.guidance import Guidance, TextGuidance, read_labels
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


def on_rows(guidance: Guidance | None) -> TextGuidance:
    """About rows that all have different texts."""
    assert guidance is not None
    return guidance.on_texts(np.arange(guidance.n), guidance.n)


def test_unlabelled_values_and_the_order_of_classes() -> None:
    y = ["pear", None, float("nan"), "", "  ", -1, "fig ", np.int64(7)]
    assert read_labels(y, 8) == (("7", "fig", "pear"), {0: 2, 6: 1, 7: 0})
    assert read_labels(np.array([2.0, np.nan, 0.0]), 3) == (("0", "2"), {0: 1, 2: 0})
    assert read_labels(np.array(["b", -1, "a"]), 3) == (("a", "b"), {0: 1, 2: 0})  # strings


def test_nothing_known_is_no_guidance() -> None:
    assert Guidance.make(3) is None
    assert Guidance.make(3, [None, -1, ""], [], []) is None


@pytest.mark.parametrize(
    ("arguments", "kind", "key"),
    [
        ({"y": ["a"]}, DataError, "rows; give one for"),
        ({"y": 5}, UsageError, "should be a list or"),
        ({"y": ["a", 0.5, None]}, DataError, "is not a label. Labels"),
        ({"must_link": [3]}, UsageError, "should be a list of pairs"),
        ({"must_link": ["01"]}, UsageError, "should be a list of pairs"),
        ({"must_link": [(0, 3)]}, UsageError, "rows are numbered from 0"),
        ({"cannot_link": [(0, -1)]}, UsageError, "rows are numbered from 0"),
        ({"cannot_link": [(1, 1)]}, UsageError, "a group should"),
        ({"must_link": [(1,)]}, UsageError, "a group should"),
        ({"themes": "cars"}, UsageError, "should be a file, or a list of"),
        ({"themes": []}, DataError, "there are no themes"),
        ({"themes": ["cars", "Cars"]}, DataError, "occurs twice; remove"),
        ({"themes": [{"title": "cars"}]}, DataError, "a theme has no"),
    ],
)
def test_bad_arguments_are_rejected(arguments, kind, key) -> None:
    with raises(kind, key):
        Guidance.make(3, **arguments)


def test_themes_come_before_classes_and_share_their_names() -> None:
    themes = ["Cars", {"name": "Sky", "keywords": ["blue", "clear"]}]
    known = Guidance.make(3, ["cars", None, "fruit"], themes=themes)
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


def test_links_are_transitive_and_labels_spread_over_them() -> None:
    known = on_rows(Guidance.make(5, ["a", None, None, None, "b"], [(0, 2), (2, 3)]))
    assert known.groups.tolist() == [0, 1, 0, 0, 2]
    assert known.labels.tolist() == [0, -1, 0, 0, 1]


def test_contradictions_name_the_rows() -> None:
    with raises(DataError, "correct one of", "0", "3", "'a'", "'b'"):
        on_rows(Guidance.make(4, ["a", None, None, "b"], [(0, 1), (1, 3)]))
    with raises(DataError, "drop one of the constraints", "0", "2") as caught:
        on_rows(Guidance.make(3, None, [(0, 1), (1, 2)], [(0, 2)]))
    assert "0 - 1 - 2" in str(caught.value)
    with raises(DataError, "but both have", "p", "q", "'a'"):
        on_rows(Guidance.make(2, ["a", "a"], None, [(0, 1)], ids=["p", "q"]))


def test_one_text_cannot_have_two_classes_or_be_apart_from_itself() -> None:
    places = np.array([0, 1, 0])
    with raises(DataError, "correct one of", "0", "2"):
        Guidance.make(3, ["a", None, "b"]).on_texts(places, 2)
    with raises(DataError, "drop one of the constraints", "0", "2"):
        Guidance.make(3, None, None, [(0, 2)]).on_texts(places, 2)
    assert Guidance.make(3, ["a", None, "a"]).on_texts(places, 2).labels.tolist() == [0, -1]


def test_a_label_without_a_text_is_rejected() -> None:
    with raises(DataError, "but no text; remove", "1"):
        Guidance.make(2, ["a", "b"]).on_texts(np.array([0, -1]), 1)


def test_settle_keeps_labels_links_and_pairs_apart() -> None:
    rng = np.random.default_rng(0)
    scores, n = rng.normal(size=(60, 5)), 60
    y = [str(i % 3) if i < 9 else None for i in range(n)]
    must = [(10, 11, 12), (13, 14)]
    cannot = [(10, 13), (0, 20), (1, 20), (2, 20), (20, 21), *((30, i) for i in range(31, 50))]
    known = on_rows(Guidance.make(n, y, must, cannot))
    labels = known.settle(scores, np.ones(n))
    assert labels[:9].tolist() == [0, 1, 2] * 3
    assert len(set(labels[[10, 11, 12]])) == 1 and labels[13] == labels[14]
    assert all(labels[a] != labels[b] for a, b in cannot)
    free = [i for i in range(50, 60)]
    assert labels[free].tolist() == scores[free].argmax(axis=1).tolist()


def test_too_few_clusters_for_the_pairs_apart() -> None:
    known = on_rows(Guidance.make(4, None, None, [(0, 1, 2, 3)]))
    with raises(DataError, "pairs could not all", "3"):
        known.settle(np.zeros((4, 3)), np.ones(4))
    assert len(set(known.settle(np.zeros((4, 4)), np.ones(4)))) == 4


def test_groups_apart_from_each_other_start_clusters() -> None:
    known = on_rows(
        Guidance.make(8, None, [(0, 1, 2), (3, 4), (5, 6)], [(0, 3), (3, 5), (5, 0), (7, 0)])
    )
    assert known.seeds(5).tolist() == [0, 0, 0, 1, 1, 2, 2, -1]
    assert known.seeds(2).tolist() == [0, 0, 0, 1, 1, -1, -1, -1]


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


@pytest.mark.parametrize("method", STEERED)
def test_constraints_hold_in_labels_and_predictions(method, tmp_path) -> None:
    must, cannot = [(0, 11), (5, 8)], [(1, 2), (4, 5, 6)]
    model = make(method).fit(TEXTS, must_link=must, cannot_link=cannot)
    model.save(tmp_path / "model")
    for labels in (
        model.labels_,
        model.predict(TEXTS),
        method.load(tmp_path / "model").predict(TEXTS),
    ):
        assert labels[0] == labels[11] and labels[5] == labels[8]
        assert labels[1] != labels[2] and len(set(labels[[4, 5, 6]])) == 3


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
