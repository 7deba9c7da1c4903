"""The number of clusters: planted ones are found, the effective dimension decides otherwise."""

import numpy as np
import pytest

from coterie import choose_n_clusters
from coterie.errors import DataError, UsageError
from coterie.models import choose
from coterie.models.choose import (
    adjusted_information,
    effective_dimension,
    expected_number,
    most_of_the_best,
)
from said import raises


def planted(k: int, n: int = 600, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    own = [[f"t{j}w{i}" for i in range(15)] for j in range(k)]
    common = [f"c{i}" for i in range(60)]
    return [
        " ".join([*rng.choice(own[i % k], 5, replace=False), *rng.choice(common, 2)])
        for i in range(n)
    ]


@pytest.mark.parametrize("k", [3, 8])
def test_clear_clusters_are_found_exactly(k: int) -> None:
    choice = choose_n_clusters(planted(k, 300), encoder="tfidf-svd", random_state=0)
    assert choice.n_clusters == k
    assert choice.reason.startswith(f"About {k} clusters (")
    again = choose_n_clusters(planted(k, 300), encoder="tfidf-svd", random_state=0)
    assert again == choice


def test_blobs_without_words_are_found() -> None:
    rng = np.random.default_rng(0)
    centers = 10 * rng.normal(size=(5, 6))
    x = centers[rng.integers(5, size=400)] + rng.normal(size=(400, 6))
    choice = choose_n_clusters(x, encoder="precomputed", random_state=0)
    assert choice.n_clusters == 5


def test_effective_dimension_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 7)) * [3, 2, 1, 1, 0.5, 0.1, 0]
    covariance = np.zeros((7, 7))
    for row in x:
        for i in range(7):
            for j in range(7):
                covariance[i, j] += (row[i] - x[:, i].mean()) * (row[j] - x[:, j].mean())
    variances = np.linalg.eigvals(covariance).real
    shares = [v / sum(variances) for v in variances]
    expected = 1 / np.sqrt(sum(share**3 for share in shares))
    assert effective_dimension(x) == pytest.approx(expected, rel=1e-6)
    assert effective_dimension(5 * x + 3) == pytest.approx(expected, rel=1e-6)
    turn = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    assert effective_dimension(x @ turn) == pytest.approx(expected, rel=1e-6)
    assert 1 <= expected <= 7
    assert effective_dimension(np.ones((4, 3))) == 1.0  # nothing varies


def test_unclear_clusters_get_the_number_of_the_regression() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(200)]  # no clusters at all
    choice = choose_n_clusters(texts, encoder="tfidf-svd", random_state=0)
    vectors, kind = choose._prepare(texts, "tfidf-svd", 0)
    dimension = choose._Smoothed(vectors).dimension()
    estimate = round(expected_number(dimension, len(vectors), choose.LEXICAL_COEFFICIENTS))
    assert kind == "lexical" and max(row["agreement"] for row in choice.curve) < choose.CLEAR
    assert choice.n_clusters == min(estimate, 40)  # a fifth of the texts
    assert choice.low == round(choice.n_clusters / 2.6)


def test_range_and_levels() -> None:
    def described(k: int, n: int) -> choose.Choice:
        return choose._described(k, [{"n_clusters": k, "stability": 0.816}], n // 5, n)

    three = described(27, 3_000)
    assert three.levels == {"broad": 9, "medium": 27, "fine": 108}
    assert three.reason == (
        "About 27 clusters (10 to 70 would be plausible). At 27, 82% of the texts keep their "
        "cluster when half of the data is left out."
    )
    assert described(2, 10).levels == {"medium": 2}
    assert described(200, 3_000).levels["fine"] == 500
    assert described(30, 200).levels == {"broad": 10, "medium": 30, "fine": 40}


def test_most_of_the_best() -> None:
    def rows(*agreements: float) -> list[dict]:
        return [{"n_clusters": k, "agreement": a} for k, a in enumerate(agreements, 2)]

    assert most_of_the_best(rows(0.9, 1.0, 0.98, 0.5)) == 4
    assert most_of_the_best(rows(-0.1, -0.2)) == 2
    assert most_of_the_best(rows(0.0)) == 2


def test_small_and_empty_input() -> None:
    assert choose_n_clusters(["a cat", "the dog"], encoder="tfidf").n_clusters == 1
    same = choose_n_clusters(["a cat"] * 50, encoder="tfidf")
    assert same.n_clusters == 1 and "only 1 different" in same.reason
    with raises(DataError, "all texts are empty"):
        choose_n_clusters(["", None])
    with raises(UsageError, "should be an integer of", "largest"):
        choose_n_clusters(planted(3), encoder="tfidf", largest=0)


def test_the_largest_number_is_kept() -> None:
    choice = choose_n_clusters(planted(8), encoder="tfidf", largest=4, random_state=0)
    assert max(r["n_clusters"] for r in choice.curve) == 4
    assert choice.n_clusters <= 4 and choice.high <= 4


@pytest.mark.parametrize("k", [2, 10, 60])
def test_adjusted_information_is_the_adjusted_mutual_information(k: int) -> None:
    from coterie.arrays.metrics import ami

    rng = np.random.default_rng(k)
    a = rng.integers(k, size=1500)
    for share in (0.0, 0.3, 1.0):
        b = np.where(rng.random(1500) < share, rng.integers(k, size=1500), a)
        assert adjusted_information(a, b, 0) == pytest.approx(ami(a, b), abs=0.03)
