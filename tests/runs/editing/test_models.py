"""Edits on a fitted model, in Python."""

import numpy as np
import pytest

from coterie import TwoStep, edit, load
from coterie.errors import UsageError
from said import raises


@pytest.fixture(scope="module")
def model(topics):
    return TwoStep(5, encoder="tfidf", random_state=0).fit(topics[0])


def test_the_copy_is_edited_and_the_model_is_not(model, topics) -> None:
    before, p = model.labels_.copy(), model.probabilities_
    new = edit(model, [{"merge": [0, 3]}, {"split": 1}])
    assert np.array_equal(model.labels_, before) and np.array_equal(model.probabilities_, p)
    assert isinstance(new, TwoStep) and new is not model
    assert sorted(set(new.labels_)) == [0, 1, 2, 4, 5] and new.n_clusters_ == 5
    assert ((new.labels_ == 0) == np.isin(before, (0, 3))).all()
    assert np.isin(new.labels_, (1, 5)).tolist() == (before == 1).tolist()


def test_a_moved_text_is_saved_as_its_digest(model, topics, tmp_path) -> None:
    to = int((model.labels_[2] + 1) % 5)
    new = edit(model, [{"move": {"rows": [3], "to": to}}], texts=topics[0])
    new.save(tmp_path / "saved")
    assert load(tmp_path / "saved").predict(topics[0][2:3]).tolist() == [to]
    assert topics[0][2] not in (tmp_path / "saved" / "config.json").read_text()


def test_edits_of_edits_and_a_new_fit(model, topics) -> None:
    once = edit(model, [{"split": 0}], texts=topics[0])
    twice = edit(once, [{"merge": [5, 1]}, {"split": {"cluster": 5, "into": 2}}])
    assert sorted(set(twice.labels_)) == [0, 2, 3, 4, 5, 6]
    assert np.array_equal(twice.predict(topics[0]), twice.labels_)
    moved = edit(model, [{"move": {"rows": [1], "to": int((model.labels_[0] + 1) % 5)}}],
                 texts=topics[0])  # fmt: skip
    moved.fit(topics[0])
    assert np.array_equal(moved.labels_, model.labels_) and moved.corrections_ == {}


def test_vectors_can_be_edited_too() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    model = TwoStep(4, encoder="precomputed", random_state=0).fit(x)
    new = edit(model, {"merge": [1, 2]})
    assert np.array_equal(new.predict(x), np.where(model.labels_ == 2, 1, model.labels_))


def test_what_a_model_cannot_do_is_said(model, topics, tmp_path) -> None:
    with raises(UsageError, "texts: pass the texts"):
        edit(model, [{"move": {"rows": [1], "to": 0}}])
    with raises(UsageError, "for a model of", "2", "90"):
        edit(model, [{"merge": [0, 1]}], texts=["a", "b"])
    model.save(tmp_path / "m")
    with raises(UsageError, "edit: the model was"):
        edit(load(tmp_path / "m"), [{"merge": [0, 1]}])
