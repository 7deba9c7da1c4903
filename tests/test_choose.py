"""The number of clusters: planted ones are found, the curve decides, odd input is survived."""

from itertools import pairwise

import numpy as np
import pytest

from coterie import choose, choose_n_clusters
from coterie._errors import DataError, UsageError
from coterie.choose import confirmed, decide, numbers_to_try


def planted(k: int, n: int = 600, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    own = [[f"t{j}w{i}" for i in range(15)] for j in range(k)]
    common = [f"c{i}" for i in range(60)]
    return [
        " ".join([*rng.choice(own[i % k], 5, replace=False), *rng.choice(common, 2)])
        for i in range(n)
    ]


@pytest.mark.parametrize("k", [3, 8])
def test_planted_clusters_are_found(k: int) -> None:
    choice = choose_n_clusters(planted(k), encoder="tfidf-svd", random_state=0)
    assert choice.low <= k <= choice.high or abs(choice.n_clusters - k) <= 1
    assert choice.curve[0]["n_clusters"] == 2 and choice.reason.startswith(
        f"{choice.n_clusters} clusters"
    )
    again = choose_n_clusters(planted(k), encoder="tfidf-svd", random_state=0)
    assert again == choice


def test_blobs_without_words_are_found() -> None:
    rng = np.random.default_rng(0)
    centers = 10 * rng.normal(size=(5, 6))
    x = centers[rng.integers(5, size=400)] + rng.normal(size=(400, 6))
    choice = choose_n_clusters(x, encoder="precomputed", random_state=0)
    assert choice.n_clusters == 5
    assert all(row["information"] is None for row in choice.curve)


def row(k: int, stability: float, information: float | None) -> dict:
    score = stability if information is None else stability * information
    return {"n_clusters": k, "stability": stability, "agreement": stability,
            "information": information, "score": score}  # fmt: skip


def test_the_best_score_is_taken_with_a_range_around_it() -> None:
    curve = [row(2, 1.0, 0.2), row(5, 0.9, 0.5), row(10, 0.8, 0.57), row(15, 0.5, 0.6)]
    choice = decide(curve)  # products 0.2, 0.45, 0.456, 0.3
    assert (choice.n_clusters, choice.low, choice.high) == (10, 6, 18)
    assert "80%" in choice.reason and "6 to 18" in choice.reason
    alone = decide([row(2, 1.0, 1.0)])
    assert (alone.n_clusters, alone.low, alone.high) == (2, 1, 4)


def test_the_score_is_computed_from_its_criteria() -> None:
    """Word information times the share of neighbours together."""
    texts = planted(4)
    found = choose_n_clusters(texts, encoder="tfidf-svd", random_state=0)
    for one in found.curve:
        product = one["together"] * one["information"]
        assert one["score"] == pytest.approx(product, rel=0.01, abs=1e-4)


def test_a_curve_without_any_score_gives_the_smallest_number() -> None:
    assert decide([row(2, 0.0, 0.0), row(3, 0.0, 0.0)]).n_clusters == 2
    assert decide([row(2, -0.1, 0.5), row(3, -0.2, 0.5)]).n_clusters == 2


def test_numbers_to_try_grow_and_end() -> None:
    grid = numbers_to_try(250)
    assert grid[:5] == [2, 3, 4, 5, 6] and grid[-1] <= 250
    assert all(b > a for a, b in pairwise(grid))
    assert numbers_to_try(1) == []


def test_small_and_empty_input() -> None:
    assert choose_n_clusters(["a cat", "the dog"], encoder="tfidf").n_clusters == 1
    same = choose_n_clusters(["a cat"] * 50, encoder="tfidf")
    assert same.n_clusters == 1 and "only 1 different" in same.reason
    with pytest.raises(DataError, match="empty"):
        choose_n_clusters(["", None])
    with pytest.raises(UsageError, match="largest"):
        choose_n_clusters(planted(3), encoder="tfidf", largest=0)


def test_the_largest_number_is_kept() -> None:
    choice = choose_n_clusters(planted(8), encoder="tfidf", largest=4, random_state=0)
    assert max(r["n_clusters"] for r in choice.curve) == 4


@pytest.mark.parametrize("k", [2, 10, 60])
def test_confirmed_is_the_adjusted_mutual_information(k: int) -> None:
    from coterie.metrics import ami

    rng = np.random.default_rng(k)
    a = rng.integers(k, size=1500)
    for share in (0.0, 0.3, 1.0):
        b = np.where(rng.random(1500) < share, rng.integers(k, size=1500), a)
        assert confirmed(a, b, 0) == pytest.approx(ami(a, b), abs=0.03)


def test_numbers_far_behind_are_computed_once_and_end_the_search(monkeypatch) -> None:
    texts = planted(8)
    asked: list[tuple[int, int]] = []
    plain = choose.Criteria.add

    def counted(self, vectors, neighbors, presence, draw):
        asked.append((draw[0], draw[2]))
        plain(self, vectors, neighbors, presence, draw)

    monkeypatch.setattr(choose.Criteria, "add", counted)
    found = choose_n_clusters(texts, encoder="tfidf-svd", random_state=0)
    times = {k: len([1 for other, _ in asked if other == k]) for k, _ in asked}
    assert times[found.n_clusters] == choose.SPLITS and times[2] == 1
    assert max(times) < max(numbers_to_try(120))  # 600 texts: numbers up to 120 are allowed
    monkeypatch.setattr(choose, "WORTH", -1.0)
    whole = choose_n_clusters(texts, encoder="tfidf-svd", random_state=0)
    assert whole.n_clusters == found.n_clusters
    assert max(r["n_clusters"] for r in whole.curve) == max(numbers_to_try(120))
    for one, other in zip(found.curve, whole.curve, strict=False):
        assert one == other or times[one["n_clusters"]] < choose.SPLITS
