"""New vectors beside clustered ones."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.arrays.novelty import THEME_TEXTS, Placement, _p_values, fewest_texts, place_new


def cloud(theme: int, n: int, seed: int, noise: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.eye(30)[theme] + noise * rng.normal(size=(n, 30))


def clouds(themes: list[int], n: int, seed: int) -> np.ndarray:
    return np.concatenate([cloud(theme, n, seed + theme) for theme in themes])


OLD, LABELS = clouds([0, 1, 2], 50, 0), np.repeat([7, 3, 12], 50)


def test_old_themes_keep_their_numbers() -> None:
    placed = place_new(OLD, LABELS, clouds([0, 1, 2], 10, 100), 20)
    assert placed.new == []
    assert placed.labels.tolist() == np.repeat([7, 3, 12], 10).tolist()
    assert placed.strange.mean() < 0.05  # by chance
    assert not placed.alarm


@pytest.mark.parametrize("n", [THEME_TEXTS + 3, 30])
def test_several_new_themes_are_several_clusters(n: int) -> None:
    new = np.concatenate([clouds([0, 2], 15, 100), clouds([5, 6], n, 200)])
    placed = place_new(OLD, LABELS, new, 20)
    assert placed.new == [20, 21]
    assert placed.labels[:30].tolist() == np.repeat([7, 12], 15).tolist()
    assert set(placed.labels[30 : 30 + n]) | set(placed.labels[30 + n :]) == {20, 21}
    assert len(set(placed.labels[30 : 30 + n])) == 1
    assert placed.strange[30:].mean() > 0.8
    assert placed.alarm


def test_few_clusters_are_compared_in_few_directions() -> None:
    """Three themes differ in three directions of 300; in 200 of them, noise hides the new one."""
    rng = np.random.default_rng(0)
    themes = 3 * np.eye(300)[:3]
    old = np.repeat(themes[:2], 100, axis=0) + rng.normal(size=(200, 300))
    new = np.repeat(themes, 50, axis=0) + rng.normal(size=(150, 300))
    placed = place_new(old.astype(np.float32), np.repeat([0, 1], 100), new.astype(np.float32), 2)
    assert placed.new == [2]
    assert (placed.labels[100:] == 2).sum() >= 40


def test_fewer_texts_than_make_a_cluster_join_old_ones() -> None:
    placed = place_new(OLD, LABELS, cloud(5, THEME_TEXTS - 1, 300), 20)
    assert placed.new == []
    assert set(placed.labels) <= set(LABELS)


def test_the_same_theme_in_a_new_part_raises_no_alarm() -> None:
    """Parts drawn from the same clouds: hardly a new cluster in 40 trials."""
    false = sum(
        bool(place_new(OLD, LABELS, clouds([0, 1, 2], 12, 1000 + 10 * i), 20).new)
        for i in range(40)
    )
    assert false <= 1


@pytest.mark.parametrize("seed", [3, 4])
def test_smoothing_joins_few_small_new_themes(seed: int) -> None:
    """Sixteen themes of three texts come beside forty clusters of two texts."""
    rng = np.random.default_rng(seed)
    themes = rng.normal(size=(56, 60))
    themes /= np.linalg.norm(themes, axis=1, keepdims=True)
    before, after = np.repeat(np.arange(40), 2), np.repeat(np.arange(56), [2] * 40 + [3] * 16)
    old, new = (themes[t] + 0.08 * rng.normal(size=(len(t), 60)) for t in (before, after))
    placed = place_new(old.astype(np.float32), before, new.astype(np.float32), 40)
    assert placed.labels[:80].tolist() == after[:80].tolist()
    assert [len(set(three)) for three in placed.labels[80:].reshape(16, 3)] == [1] * 16
    assert len(placed.new) >= 14


def test_where_clusters_are_small_three_texts_may_be_a_new_one() -> None:
    """Twelve themes of three texts each; another one comes with three."""
    themes = list(range(12))
    old, labels = clouds(themes, 3, 0), np.repeat(themes, 3)
    new = np.concatenate([clouds(themes, 1, 100), cloud(20, 3, 300)])
    assert fewest_texts(len(old), len(new), 12) == 2
    placed = place_new(old, labels, new, 40)
    assert placed.new == [40]
    assert placed.labels.tolist() == [*themes, 40, 40, 40]
    assert not placed.alarm  # too few texts


def test_an_alarm_needs_five_texts_that_fit_nowhere_in_one_new_cluster() -> None:
    labels = np.array([8] * 5 + [9] * 5 + [0] * 5)
    odd = np.ones(15, dtype=bool)
    assert Placement(labels, [8, 9], odd).alarm
    assert not Placement(labels, [], odd).alarm
    odd[[0, 5]] = False  # four are left in each new cluster
    assert not Placement(labels, [8, 9], odd).alarm


@pytest.mark.parametrize("n", [1, 2, 6])
def test_few_texts_of_any_kind(n: int) -> None:
    placed = place_new(OLD[:3], np.array([0, 0, 1]), cloud(9, n, 5), 2)
    assert len(placed.labels) == n
    assert set(placed.labels) <= {0, 1, 2}


def test_texts_without_a_known_word_are_no_cluster() -> None:
    placed = place_new(OLD, LABELS, np.zeros((12, 30)), 20)
    assert placed.new == []


def test_p_values_by_a_loop() -> None:
    """An old text is left out of the mean of its own cluster."""
    rng = np.random.default_rng(0)
    codes = np.array([0, 0, 0, 1, 1, 1, 1])
    before, after = (rng.normal(size=(n, 3)) for n in (7, 4))
    before, after = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (before, after))
    sums = np.stack([before[codes == j].sum(axis=0) for j in range(2)])

    def nearest(text, means) -> float:
        return max(float(text @ mean / np.linalg.norm(mean)) for mean in means)

    usual = [
        nearest(text, [sums[j] - (text if j == code else 0) for j in range(2)])
        for text, code in zip(before, codes, strict=True)
    ]
    wanted = [(1 + sum(u <= nearest(text, sums) for u in usual)) / 8 for text in after]
    np.testing.assert_allclose(_p_values(before, codes, sums, after), wanted)


def test_texts_of_a_small_new_cluster_fit_nowhere_only_by_the_tests() -> None:
    """A new theme counts whole, a cluster that may be chance does not."""
    labels = np.array([8] * 6 + [9] * 4 + [0] * 2)
    strange = np.array([True] * 5 + [False] + [True] + [False] * 5)
    placed = Placement(labels, [8, 9], strange)
    assert placed.themes == [8]
    assert placed.nowhere.tolist() == [True] * 7 + [False] * 5
