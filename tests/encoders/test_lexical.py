"""Counted words and vectors that the user brings."""

import copy
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from coterie import TwoStep
from coterie.encoders import (
    BagOfWords,
    CharNgrams,
    MixedEncoder,
    VectorEncoder,
    load_encoder,
    load_saved,
)
from coterie.encoders.lexical import (
    hashed_counts,
)
from coterie.errors import DataError, UsageError
from encoded import encoded
from said import raises

TEXTS = ["red apple pie", "green apple", "fast red car", "green apple", "car car car", "!"]
NGRAM_TEXTS = [
    "Red apples",
    "a red  apple",
    "Straße 5",
    "東京タワー 東京",
    "né à Zürich",
    "🙂🙂 ok",
    "a",
]


def counted(texts: list[str]) -> np.ndarray:
    return CountVectorizer().fit_transform(texts).toarray()


def log_max(texts: list[str]) -> np.ndarray:
    rows = np.log1p(counted(texts))
    return rows / np.maximum(rows.max(axis=1, keepdims=True), 1e-9)


@pytest.mark.parametrize(
    ("encoder", "expected"),
    [
        (load_encoder("tfidf"), lambda texts: TfidfVectorizer().fit_transform(texts).toarray()),
        (load_encoder("bow"), counted),
        (BagOfWords("log-max"), log_max),
    ],
)
def test_words_are_counted_as_by_scikit_learn(encoder: BagOfWords, expected) -> None:
    encoder.learn(TEXTS)
    np.testing.assert_allclose(encoded(encoder, TEXTS), expected(TEXTS), atol=1e-6)


def test_svd_equals_scikit_learn_up_to_sign(topics: tuple[list[str], list[str]]) -> None:
    texts, _ = topics
    encoder = BagOfWords(svd=3, seed=5)
    encoder.learn(texts)
    tfidf = TfidfVectorizer().fit_transform(texts)
    expected = TruncatedSVD(3, random_state=5).fit_transform(tfidf)
    found = encoded(encoder, texts)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
    assert encoder.dim == 3


def test_the_most_frequent_words_are_kept_and_equal_rows_are_one_item() -> None:
    encoder = BagOfWords(max_features=2)
    encoder.learn(TEXTS)
    assert encoder.vocabulary == ["apple", "car"]
    items, rows = encoder.prepare(TEXTS)
    assert len(items) == 3  # apple, car, nothing
    assert rows.tolist() == [0, 0, 1, 0, 1, 2]


def test_texts_without_words_are_refused() -> None:
    with raises(DataError, "no text has a word of"):
        load_encoder("tfidf").learn(["a", "b", "?"])


SAVED = [
    BagOfWords(),
    BagOfWords(svd=2),
    CharNgrams((2, 3), svd=5),
]


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("encoder", SAVED, ids=lambda encoder: type(encoder).__name__)
def test_saving_and_loading(encoder, trained: bool, tmp_path: Path) -> None:
    encoder = copy.deepcopy(encoder)
    encoder.learn(TEXTS * 2)
    if trained:
        encoder.make_trainable()
        encoder.map.weight.data += 0.3
    encoder.save(tmp_path / "e")
    again = load_saved(tmp_path / "e")
    new = [*TEXTS, "red unheard", ""]
    np.testing.assert_array_equal(encoded(again, new), encoded(encoder, new))
    assert again.dim == encoder.dim


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


def test_one_word_needs_no_reduction() -> None:
    encoder = BagOfWords("tfidf", svd=100)
    encoder.learn(["hello", "hello hello"])
    assert encoder.dim == 1 and encoded(encoder, ["hello", "other"]).tolist() == [[1.0], [0.0]]


def test_emoji_are_words_of_counting_encoders() -> None:
    texts = ["👍", "👍👍", "😡", "thank you 👍", "very angry 😡"]
    model = TwoStep(2, encoder="tfidf", random_state=0).fit(texts)
    good, again, bad, thanks, angry = model.labels_
    assert good == again == thanks and bad == angry != good


def slow_ngrams(text: str, lengths: tuple[int, ...]) -> Counter[str]:
    """Windows of each word with a space before and after it."""
    found: Counter[str] = Counter()
    for word in text.lower().split():
        padded = f" {word} "
        for length in lengths:
            for begin in range(len(padded) - length + 1):
                found[padded[begin : begin + length]] += 1
    return found


@pytest.mark.parametrize("lengths", [(2,), (3, 5), (2, 3, 4)])
def test_counts_are_those_of_a_loop(lengths: tuple[int, ...], monkeypatch) -> None:
    monkeypatch.setattr("coterie.encoders.lexical.TEXTS_AT_ONCE", 3)
    counts = hashed_counts(NGRAM_TEXTS, lengths)
    assert counts.shape == (len(NGRAM_TEXTS), 1 << 20)
    alone = {}
    for row, text in enumerate(NGRAM_TEXTS):
        expected = slow_ngrams(text, lengths)
        assert sorted(counts[row].data) == sorted(expected.values())
        for ngram in expected:  # the same n-gram has the same number in every text
            alone.setdefault(ngram, set()).update([row])
    shared = [g for g, rows in alone.items() if rows == {0, 1}]
    both = set(counts[0].indices) & set(counts[1].indices) - set(counts[2:].indices)
    assert len(both) == len(shared) > 3


def test_weights_worked_by_hand() -> None:
    """Two texts share " a" and "a "; "b" is in one of them twice."""
    encoder = CharNgrams((2,), max_features=100, svd=2)
    encoder.learn(["a", "a", "a b b", "c"])
    assert encoder.features.size == 2  # " a" and "a ", the only ones in two texts or more
    weighted = encoder._weighted(encoder._counts(["a b b"])).toarray()[0]
    np.testing.assert_allclose(encoder.idf, 2 * [math.log(5 / 4) + 1], rtol=1e-6)
    np.testing.assert_allclose(weighted, [math.sqrt(0.5)] * 2, rtol=1e-6)
    few = CharNgrams((2,), max_features=2, svd=1)
    few.learn(["x", "x", "x", "yy", "yy"])  # of four n-grams the most frequent
    assert few._counts(["x"]).sum() == 2 and few._counts(["yy"]).sum() == 0


def test_repeated_ngrams_count_by_the_logarithm() -> None:
    encoder = CharNgrams((2,), svd=2)
    encoder.learn(["aaa b", "aaa b", "b"])
    found = dict(zip(*np.unique(encoder._counts(["aaa b"]).data, return_counts=True), strict=True))
    assert found == {1.0: 4, 2.0: 1}  # " a", "a ", " b", "b " once, "aa" twice
    raw = encoder._weighted(encoder._counts(["aaa b"])).toarray()[0]
    by_hand = np.where(encoder._counts(["aaa b"]).toarray()[0] == 2, 1 + math.log(2), 1.0)
    by_hand = by_hand * encoder.idf
    np.testing.assert_allclose(raw, by_hand / np.linalg.norm(by_hand), rtol=1e-5)


def test_vectors_are_the_projection_on_the_components() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdef"), 5)) for _ in range(40)]
    texts = [" ".join(rng.choice(words, 4)) for _ in range(120)]
    encoder = CharNgrams(svd=20, seed=3)
    encoder.learn(texts)
    vectors = encoded(encoder, texts)
    assert vectors.shape == (120, 20) and encoder.dim == 20
    weighted = encoder._weighted(encoder._counts(texts)).toarray()
    np.testing.assert_allclose(vectors, weighted @ encoder.components.T, atol=1e-5)
    # The directions hold nearly as much as those of an exact SVD.
    exact = np.linalg.svd(weighted, compute_uv=False)[:20]
    held = np.square(vectors).sum() / np.square(exact).sum()
    assert 0.93 < held <= 1.0001


@pytest.mark.parametrize(
    "texts", [["x"], ["", ""], ["a", "b"], ["!!", "??", "!!"], ["\ud800", "b"]]
)
def test_hardly_any_text(texts: list[str]) -> None:
    encoder = CharNgrams()
    encoder.learn(texts)
    vectors = encoded(encoder, texts)
    assert vectors.shape == (len(texts), encoder.dim) and np.isfinite(vectors).all()


def test_each_part_has_its_length_and_texts_share_items(tiny_encoder: Path, topics) -> None:
    texts = [*topics[0], topics[0][3]]
    encoder = MixedEncoder(load_encoder(str(tiny_encoder)), 0.5)
    encoder.learn(texts)
    items, rows = encoder.prepare(texts)
    assert rows[-1] == rows[3] and len(items) == len(set(texts))
    vectors = encoder.encode(items)
    for part, length in zip(np.split(vectors, [32], axis=1), (1, 0.5), strict=True):
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), length, rtol=1e-4)
    some = np.array([5, 2])
    np.testing.assert_allclose(encoder.encode(items, some), vectors[some], atol=1e-6)
    with raises(UsageError, "an encoder with lexical"):
        encoder.make_trainable()
