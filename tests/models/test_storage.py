"""Model folders: what is in them and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import coterie
from coterie import DEC, SCCL, Auto, TwoStep
from coterie.errors import DataError, UsageError
from said import raises


@pytest.fixture
def saved(topics, tmp_path: Path) -> Path:
    TwoStep(3, encoder="tfidf", random_state=0).fit(topics[0]).save(tmp_path / "m")
    return tmp_path / "m"


POINTING = [  # models over a sentence encoder that training leaves alone
    TwoStep(3, random_state=0),
    Auto(3, random_state=0),
    DEC(3, random_state=0, ae_layers=(40, 10), ae_steps=40, steps=10, guard=False),
]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("model", POINTING, ids=["embedding", "views", "codes"])
def test_an_untrained_encoder_is_named_and_copied_only_where_asked_for(
    model, whole: bool, topics, tiny_encoder: Path, tmp_path: Path
) -> None:
    model = clone(model).set_params(encoder=str(tiny_encoder)).fit(topics[0])
    model.save(tmp_path / "m", include_encoder=whole)
    assert bool(list((tmp_path / "m").rglob("modules.json"))) == whole
    configs = "".join(f.read_text() for f in (tmp_path / "m").rglob("encoder.json"))
    assert ("weights_sha256" in configs) != whole
    again = coterie.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(topics[0]), model.labels_)
    new = ["ripe pear juice", "unheard of"]
    np.testing.assert_allclose(again.predict_proba(new), model.predict_proba(new), atol=1e-6)
    assert again.remarks() == model.remarks()


def test_a_trained_encoder_is_an_ordinary_sentence_transformers_folder(
    topics, tiny_encoder: Path, tmp_path: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    texts = topics[0][:30]
    model = SCCL(3, encoder=str(tiny_encoder), steps=3, batch_size=10, random_state=0).fit(texts)
    model.save(tmp_path / "m")
    vectors = SentenceTransformer(str(tmp_path / "m" / "encoder"), device="cpu").encode(texts)
    np.testing.assert_allclose(vectors, model.vectors_, atol=1e-5)
    np.testing.assert_array_equal(coterie.load(tmp_path / "m").predict(texts), model.labels_)


def test_saving_again_replaces_the_model_and_nothing_else(saved: Path, topics) -> None:
    TwoStep(2, encoder="bow", random_state=0).fit(topics[0]).save(saved)
    assert coterie.load(saved).n_clusters_ == 2
    other = saved.parent / "other"
    other.mkdir()
    (other / "precious.txt").write_text("x")
    with raises(UsageError, "is not empty and not"):
        TwoStep(2, encoder="bow", random_state=0).fit(topics[0]).save(other)
    assert (other / "precious.txt").exists()


def test_another_format_is_refused(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**config, "format": 99, "coterie": "9.9"}))
    with raises(DataError, "this version reads", "9.9", "99"):
        coterie.load(saved)


@pytest.mark.parametrize("content", ["", "not json", "[1]", "{}"])
def test_broken_configurations_are_refused(saved: Path, content: str) -> None:
    (saved / "config.json").write_text(content)
    with pytest.raises(DataError, match=r"config\.json"):
        coterie.load(saved)


def test_folders_of_something_else_are_refused(saved: Path, tmp_path: Path) -> None:
    with raises(DataError, "is not a saved model"):
        coterie.load(tmp_path)
    with raises(UsageError, "holds a model of", "'two-step'", "'sccl'"):
        SCCL.load(saved)


def test_parameters_come_back_also_as_numbers_of_numpy(topics, tmp_path: Path) -> None:
    asked = {"steps": np.int32(2), "eta": np.float32(3.5), "random_state": np.int64(4)}
    model = SCCL(np.int64(3), encoder="tfidf", **asked).fit(topics[0])
    model.save(tmp_path / "m")
    again = SCCL.load(tmp_path / "m")
    assert again.get_params() == model.get_params() and again.seed_ == 4
    assert again.guard_ == model.guard_
