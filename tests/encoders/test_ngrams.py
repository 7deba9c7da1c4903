"""Character n-grams: counts against a loop, weights by hand, saving."""

import math
from collections import Counter

import numpy as np
import pytest

from coterie.encoders import CharNgrams
from coterie.encoders.ngrams import hashed_counts
from coterie.encoders.vectors import load_vector_encoder

TEXTS = ["Red apples", "a red  apple", "Straße 5", "東京タワー 東京", "né à Zürich", "🙂🙂 ok", "a"]


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
    monkeypatch.setattr("coterie.encoders.ngrams.CHUNK", 3)
    counts = hashed_counts(TEXTS, lengths)
    assert counts.shape == (len(TEXTS), 1 << 20)
    alone = {}
    for row, text in enumerate(TEXTS):
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
    counts = encoder._counts(["a b b"])
    assert encoder.features.size == 2  # " a" and "a ", the only ones in two texts or more
    weighted = encoder._weighted(counts).toarray()[0]
    np.testing.assert_allclose(encoder.idf, 2 * [math.log(5 / 4) + 1], rtol=1e-6)
    np.testing.assert_allclose(weighted, [math.sqrt(0.5)] * 2, rtol=1e-6)


def test_repeated_ngrams_count_by_the_logarithm() -> None:
    encoder = CharNgrams((2,), svd=2)
    encoder.learn(["aaa b", "aaa b", "b"])
    found = dict(zip(*np.unique(encoder._counts(["aaa b"]).data, return_counts=True), strict=True))
    assert found == {1.0: 4, 2.0: 1}  # " a", "a ", " b", "b " once, "aa" twice
    raw = encoder._weighted(encoder._counts(["aaa b"])).toarray()[0]
    by_hand = np.where(encoder._counts(["aaa b"]).toarray()[0] == 2, 1 + math.log(2), 1.0)
    by_hand = by_hand * encoder.idf
    np.testing.assert_allclose(raw, by_hand / np.linalg.norm(by_hand), rtol=1e-5)


def test_the_most_frequent_are_kept() -> None:
    encoder = CharNgrams((2,), max_features=2, svd=1)
    encoder.learn(["x", "x", "x", "yy", "yy"])
    assert len(encoder.features) == 2
    assert encoder._counts(["x"]).sum() == 2 and encoder._counts(["yy"]).sum() == 0


def test_vectors_are_the_projection_on_the_components() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdef"), 5)) for _ in range(40)]
    texts = [" ".join(rng.choice(words, 4)) for _ in range(120)]
    encoder = CharNgrams(svd=20, seed=3)
    encoder.learn(texts)
    items, rows = encoder.prepare(texts)
    vectors = encoder.encode(items)[rows]
    assert vectors.shape == (120, 20) and encoder.dim == 20
    weighted = encoder._weighted(encoder._counts(texts)).toarray()
    np.testing.assert_allclose(vectors, weighted @ encoder.components.T, atol=1e-5)
    # The directions hold nearly as much as those of an exact SVD.
    exact = np.linalg.svd(weighted, compute_uv=False)[:20]
    held = np.square(vectors).sum() / np.square(exact).sum()
    assert 0.93 < held <= 1.0001


def test_saved_and_loaded(tmp_path) -> None:
    encoder = CharNgrams(svd=5)
    encoder.learn(TEXTS * 2)
    encoder.save(tmp_path / "e")
    again = load_vector_encoder(tmp_path / "e", CharNgrams)
    items, rows = encoder.prepare(["red apple", "東京", ""])
    others, same = again.prepare(["red apple", "東京", ""])
    np.testing.assert_array_equal(encoder.encode(items)[rows], again.encode(others)[same])
    assert again.dim == encoder.dim and again.lengths == (2, 3, 4)


@pytest.mark.parametrize(
    "texts", [["x"], ["", ""], ["a", "b"], ["!!", "??", "!!"], ["\ud800", "b"]]
)
def test_hardly_any_text(texts: list[str]) -> None:
    encoder = CharNgrams()
    encoder.learn(texts)
    items, rows = encoder.prepare(texts)
    vectors = encoder.encode(items)[rows]
    assert vectors.shape == (len(texts), encoder.dim) and np.isfinite(vectors).all()
