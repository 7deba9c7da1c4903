"""Words: cutting, stemming, counting, and vectors from three sources."""

from pathlib import Path

import numpy as np
import pytest

from coterie.errors import DataError, UsageError
from coterie.methods.word_vectors import make_word_vectors, read_word_vectors, width_of
from coterie.texts.words import Vocabulary, split_words, stem
from said import raises


@pytest.mark.parametrize("word", ["a", "is", "c#", "4.5", "straße", "as400", ""])
def test_what_is_no_english_word_keeps_its_form(word: str) -> None:
    assert stem(word) == word


def test_words_of_programmers_stay_whole() -> None:
    assert split_words("C# vs. C++: isn't ASP.NET-MVC 2.0 \u2018new\u2019?") == [
        "c#", "vs", "c++", "isn't", "asp.net-mvc", "2.0", "new"]  # fmt: skip
    assert split_words("  ...  ") == []


def test_vocabulary_keeps_the_most_frequent_words_and_breaks_ties_by_name() -> None:
    texts = ["pear apple", "apple the pear", "apple plum", "plum"]
    assert Vocabulary.build(texts).words == ["apple", "pear", "plum"]
    assert Vocabulary.build(texts, max_size=1).words == ["apple"]
    assert "the" in Vocabulary.build(texts, stop_words=False, min_count=1).words
    assert Vocabulary.build(["one apple", "two pears"], stems=True).words == ["appl", "pear"]


def test_counts_equal_a_loop() -> None:
    texts = ["connect connected car", "", "cars unknown", "cars cars connecting"]
    vocabulary = Vocabulary.build(texts, stems=True)
    assert vocabulary.words == ["car", "connect"]
    found = vocabulary.counts(texts).toarray()
    slow = [[sum(stem(w) == v for w in t.split()) for v in vocabulary.words] for t in texts]
    np.testing.assert_array_equal(found, slow)
    assert vocabulary.ids(texts[3]) == [0, 0, 1]


def topical(n: int = 3000) -> list[str]:
    rng = np.random.default_rng(0)
    topics = ["red blue green pink grey".split(), "dog cat cow pig hen".split()]
    return [" ".join(rng.choice(topics[i % 2], 4)) for i in range(n)]


@pytest.mark.parametrize("source", ["ppmi", "skipgram"])
def test_words_of_one_topic_have_similar_vectors(source: str) -> None:
    if source == "skipgram":
        pytest.importorskip("gensim")
    texts = topical()
    vocabulary = Vocabulary.build(texts)
    vectors = make_word_vectors(source, texts, vocabulary, 6, seed=0)
    assert vectors.shape == (10, width_of(source, 6)) == (10, 6)
    assert np.square(vectors).sum(axis=1).mean() == pytest.approx(1, rel=1e-4)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    color = np.array([word in "red blue green pink grey" for word in vocabulary.words])
    cosine = unit @ unit.T
    assert cosine[np.ix_(color, color)].mean() > cosine[np.ix_(color, ~color)].mean() + 0.1


@pytest.mark.parametrize("source", ["skipgram", "ppmi"])
def test_word_vectors_follow_the_seed(source: str) -> None:
    """Not the numbers alone, which a rotation changes: the angles between words, too."""
    if source == "skipgram":
        pytest.importorskip("gensim")
    texts = topical(40)
    vocabulary = Vocabulary.build(texts)
    made = [make_word_vectors(source, texts, vocabulary, 6, seed=seed) for seed in (0, 0, 1)]
    angles = [vectors @ vectors.T for vectors in made]
    np.testing.assert_array_equal(made[0], made[1])
    assert np.abs(angles[0] - angles[2]).max() > 1e-3


def test_vectors_from_files_with_and_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("dog 3 4\ncat 0 5\nnew york 1 2\n")
    (tmp_path / "w2v.txt").write_text("2 2\ndog 3 4\ncat 0 5\n")
    assert read_word_vectors(tmp_path / "glove.txt").keys() == {"dog", "cat", "new york"}
    vocabulary = Vocabulary(["cat", "hen", "dog"])
    for name in ("glove.txt", "w2v.txt"):
        assert width_of(str(tmp_path / name), 9) == 2
        vectors = make_word_vectors(tmp_path / name, [], vocabulary, 9, seed=0)
        assert vectors.shape == (3, 2)
        np.testing.assert_allclose(vectors[2] / vectors[0, 1], [0.6, 0.8], rtol=1e-5)
        # A word without a vector lies near the mean of the others.
        np.testing.assert_allclose(vectors[1], vectors[[0, 2]].mean(axis=0), atol=0.2)


def test_wrong_sources_are_refused_clearly(tmp_path: Path) -> None:
    with raises(UsageError, "is neither auto", "`word_vectors='None'`"):
        width_of(None, 7)
    with raises(UsageError, "is neither auto", "`word_vectors='nowhere.txt'`"):
        make_word_vectors("nowhere.txt", ["a b"], Vocabulary(["a"]), 3, seed=0)
    (tmp_path / "bad.txt").write_text("dog 1 2\ncat 1 x\n")
    with raises(DataError, "numbers, as in the", "2", "2"):
        read_word_vectors(tmp_path / "bad.txt")
    with raises(DataError, "has no vector for"):
        read_word_vectors(tmp_path / "bad.txt", {"hen"})


def test_a_corpus_of_one_word_has_vectors_too() -> None:
    vectors = make_word_vectors("ppmi", ["dog"], Vocabulary(["dog"]), 4, seed=0)
    assert vectors.shape == (1, 4) and np.isfinite(vectors).all()
