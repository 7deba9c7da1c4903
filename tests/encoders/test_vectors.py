"""Counted words and vectors that the user brings."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from coterie import TwoStep
from coterie._errors import DataError
from coterie.encoders import BagOfWords, VectorEncoder, load_encoder, load_saved

TEXTS = ["red apple pie", "green apple", "fast red car", "green apple", "car car car", "!"]


def encoded(encoder: BagOfWords, texts: list[str]) -> np.ndarray:
    items, rows = encoder.prepare(texts)
    return encoder.encode(items)[rows]


def test_tfidf_equals_scikit_learn() -> None:
    encoder = load_encoder("tfidf")
    encoder.learn(TEXTS)
    expected = TfidfVectorizer(max_features=1500).fit_transform(TEXTS).toarray()
    np.testing.assert_allclose(encoded(encoder, TEXTS), expected, atol=1e-6)


def test_bow_counts_words() -> None:
    encoder = load_encoder("bow")
    encoder.learn(TEXTS)
    expected = CountVectorizer().fit_transform(TEXTS).toarray()
    np.testing.assert_array_equal(encoded(encoder, TEXTS), expected)


def test_svd_equals_scikit_learn_up_to_sign(topics: tuple[list[str], list[str]]) -> None:
    texts, _ = topics
    encoder = BagOfWords(svd=3, seed=5)
    encoder.learn(texts)
    tfidf = TfidfVectorizer().fit_transform(texts)
    expected = TruncatedSVD(3, random_state=5).fit_transform(tfidf)
    found = encoded(encoder, texts)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
    assert encoder.dim == 3


def test_only_the_most_frequent_words_are_kept() -> None:
    encoder = BagOfWords(max_features=2)
    encoder.learn(TEXTS)
    assert encoder.vocabulary == ["apple", "car"]


def test_equal_rows_are_one_item() -> None:
    encoder = BagOfWords(max_features=2)
    encoder.learn(TEXTS)
    items, rows = encoder.prepare(TEXTS)
    assert len(items) == 3  # apple, car, nothing
    assert rows.tolist() == [0, 0, 1, 0, 1, 2]


def test_texts_without_words_are_refused() -> None:
    with pytest.raises(DataError, match="no text has a word"):
        load_encoder("tfidf").learn(["a", "b", "?"])


@pytest.mark.parametrize("svd", [None, 2])
@pytest.mark.parametrize("trained", [False, True])
def test_saving_and_loading(tmp_path: Path, svd: int | None, trained: bool) -> None:
    encoder = BagOfWords(svd=svd)
    encoder.learn(TEXTS)
    if trained:
        encoder.make_trainable()
        encoder.map.weight.data += 0.3
    encoder.save(tmp_path)
    again = load_saved(tmp_path, {"kind": encoder.kind})
    np.testing.assert_array_equal(encoded(again, TEXTS), encoded(encoder, TEXTS))


def test_vectors_pass_through_and_duplicates_are_one_item() -> None:
    x = np.array([[1, 2], [3, 4], [1, 2]], dtype=np.float64)
    encoder = VectorEncoder()
    items, rows = encoder.prepare(x)
    assert len(items) == 2
    np.testing.assert_array_equal(encoder.encode(items)[rows], x)


def test_the_trained_map_starts_as_the_identity() -> None:
    encoder = VectorEncoder()
    items, _ = encoder.prepare(np.random.default_rng(0).normal(size=(5, 3)))
    before = encoder.encode(items)
    encoder.make_trainable()
    np.testing.assert_array_equal(encoder.encode(items), before)


def test_dropout_makes_two_views_in_training() -> None:
    encoder = VectorEncoder(dropout=0.5)
    items, _ = encoder.prepare(np.ones((1, 50)))
    encoder.make_trainable()
    encoder.train()
    torch.manual_seed(0)
    a, b = encoder(items.batch(np.array([0, 0])))
    assert not torch.equal(a, b)


def test_log_max_equals_its_loop() -> None:
    encoder = BagOfWords("log-max")
    encoder.learn(TEXTS)
    counts = CountVectorizer().fit_transform(TEXTS).toarray()
    for found, row in zip(encoded(encoder, TEXTS), counts, strict=True):
        largest = max(np.log(1 + n) for n in row)
        wanted = [np.log(1 + n) / largest if largest else 0.0 for n in row]
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_one_word_needs_no_reduction() -> None:
    encoder = BagOfWords("tfidf", svd=100)
    encoder.learn(["hello", "hello hello"])
    items, rows = encoder.prepare(["hello", "other"])
    assert encoder.dim == 1 and encoder.encode(items)[rows].tolist() == [[1.0], [0.0]]


def test_emoji_are_words_of_counting_encoders() -> None:
    texts = ["👍", "👍👍", "😡", "thank you 👍", "very angry 😡"]
    model = TwoStep(2, encoder="tfidf", random_state=0).fit(texts)
    good, again, bad, thanks, angry = model.labels_
    assert good == again == thanks and bad == angry != good
