"""Word information: a loop, bounds, and that it falls when a clustering is spoiled."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from coterie.words import word_information, word_presence
from coterie.words.vocabulary import _information


def test_mutual_information_equals_a_loop() -> None:
    presence = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], dtype=np.float32)
    labels = np.array([3, 3, 7, 7])
    pairs = [(labels[i], w) for i in range(4) for w in range(3) if presence[i, w]]
    total, expected = len(pairs), 0.0
    for c in (3, 7):
        for w in range(3):
            p = pairs.count((c, w)) / total
            pc = sum(a == c for a, _ in pairs) / total
            pw = sum(b == w for _, b in pairs) / total
            expected += p * math.log(p / (pc * pw)) if p else 0.0
    assert _information(csr_matrix(presence), labels) == pytest.approx(expected)


def corpus(n: int = 600) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    words = [[f"w{topic}x{i}" for i in range(30)] for topic in range(3)]
    common = [f"c{i}" for i in range(40)]
    texts = [" ".join([*rng.choice(words[t], 3), *rng.choice(common, 3)]) for t in labels]
    return texts, labels


def test_it_is_highest_for_the_true_clusters_and_falls_with_every_spoiled_text() -> None:
    texts, labels = corpus()
    presence = word_presence(texts)
    rng = np.random.default_rng(1)
    values = []
    for share in (0.0, 0.05, 0.2, 0.5, 1.0):
        spoiled = np.where(rng.random(len(labels)) < share, rng.integers(0, 3, 600), labels)
        values.append(word_information(presence, spoiled))
    assert values == sorted(values, reverse=True)
    assert values[0] > 0.3 and abs(values[-1]) < 0.02
    assert word_information(presence, np.zeros(600, dtype=int)) == 0


def test_names_of_clusters_do_not_matter() -> None:
    texts, labels = corpus(200)
    presence = word_presence(texts)
    other = np.array([9, 4, 5])[labels]
    assert word_information(presence, other) == pytest.approx(word_information(presence, labels))


def test_too_few_words_say_nothing() -> None:
    assert word_presence(["a cat", "the dog"] * 20) is None
