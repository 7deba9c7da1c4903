"""Merge trees: cuts are nested and keep their numbers, and stay cuts when a person changes them."""

from __future__ import annotations

from itertools import combinations, count, pairwise

import numpy as np
import pytest
import torch

from coterie.arrays.graph import knn_smooth
from coterie.arrays.metrics import accuracy
from coterie.arrays.neighbors import nearest_rows
from coterie.arrays.tree import Tree, grow, merge_order, numbered, unequal
from coterie.errors import UsageError
from said import raises

SEEDS = range(30)


def random_tree(seed: int) -> Tree:
    """Some 3 to 30 finest clusters, merged in any order, at any cut."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 31))
    merges, open_ = [], list(range(k))
    for i in range(k - 1):
        pair = rng.choice(len(open_), 2, replace=False)
        merges.append((open_[pair[0]], open_[pair[1]]))
        open_ = [place for place in open_ if place not in merges[-1]] + [k + i]
    tree = numbered(merges, rng.integers(1, 50, k), int(rng.integers(2, k + 1)))
    return Tree(tree.leaves, tree.merges, tree.levels, int(rng.integers(2, k + 1)))


def check(tree: Tree) -> None:
    """What holds for every tree, whatever was done to it."""
    known, loose = {*tree.leaves}, {*tree.leaves}
    assert len(known) == len(tree.leaves) == len(tree.merges) + 1
    for union, one, other in tree.merges:
        assert union not in known and one != other and {one, other} <= loose
        known.add(union)
        loose = loose - {one, other} | {union}
    assert len(tree.shown()) == tree.at
    levels = list(tree.levels.values())
    assert levels[-1] == tree.finest and all(a < b for a, b in pairwise(levels))
    sizes = tree.sizes({leaf: 1 + leaf for leaf in tree.leaves})
    for n in {tree.at, *levels}:
        assert sum(sizes[i] for i in tree.shown(n)) == sum(1 + leaf for leaf in tree.leaves)


def held(tree: Tree) -> dict[int, set[int]]:
    """The finest clusters inside those that are shown."""
    return {i: set(tree.below(i)) for i in tree.shown()}


def test_cuts_by_hand() -> None:
    # 7: 0 and 1, 8: 2 and 3, 9: 7 and 8, 10: 9 and 4
    levels = {"broad": 2, "medium": 3, "fine": 5}
    tree = Tree((0, 1, 2, 3, 4), ((7, 0, 1), (8, 2, 3), (9, 7, 8), (10, 9, 4)), levels, 3)
    assert tree.shown() == tree.shown("medium") == [4, 7, 8]
    assert tree.shown("broad") == [4, 9] and tree.shown(4) == [2, 3, 4, 7]
    assert tree.touched([2, 4]) == {2, 4, 8, 9}  # 10 holds both, and the others neither
    joined = tree.joined([4, 8])  # across: 9 is now what 7 was, and is gone
    assert joined.leaves == (0, 1, 4) and joined.merges == ((7, 0, 1), (10, 7, 4))
    assert (joined.at, joined.levels) == (2, {"medium": 2, "fine": 3})
    opened, parts = tree.opened(7, 2)
    assert parts == [0, 1] and opened.shown() == [0, 1, 4, 8]
    assert opened.merges == ((8, 2, 3), (7, 0, 1), (9, 7, 8), (10, 9, 4))
    assert (opened.at, opened.levels) == (4, {"broad": 2, "medium": 4, "fine": 5})
    assert tree.opened(7, 3) is None
    divided = tree.divided(7, [11, 12, 13], count(20))  # which was 0 and 1
    assert divided.leaves == (2, 3, 4, 11, 12, 13) and divided.shown() == [4, 8, 11, 12, 13]
    assert divided.merges == ((8, 2, 3), (20, 11, 12), (7, 20, 13), (9, 7, 8), (10, 9, 4))
    assert divided.levels == {"broad": 2, "medium": 5, "fine": 6} and divided.shown(3) == [4, 7, 8]
    new = tree.with_new(11, 8, count(20))
    assert new.shown() == [4, 7, 8, 11] and new.shown("broad") == [4, 9]
    assert new.below(9) == [0, 1, 2, 3, 11] and new.shown("fine") == [0, 1, 2, 3, 4, 11]
    assert tree.with_new(11, 4, count(20)).shown("broad") == [4, 9, 11]  # as 4 is shown there
    pruned, steps = tree.without([2])
    assert steps == [((2, 3), 8)]  # it holds nothing but 3, and is shown
    assert pruned.leaves == (0, 1, 4, 8) and pruned.shown() == [4, 7, 8]
    pruned, steps = tree.at_level("broad").without([2])
    assert steps == [((2, 3), 3)] and pruned.leaves == (0, 1, 3, 4) and pruned.shown() == [4, 9]
    pruned, steps = tree.without([4])  # which is shown
    assert steps == [((4, 0), 0)] and pruned.shown() == [7, 8] and pruned.finest == 4


@pytest.mark.parametrize("seed", SEEDS)
def test_changes_leave_what_is_shown_a_cut(seed: int) -> None:
    rng, tree = np.random.default_rng(seed), random_tree(seed)
    free = count(1000)
    check(tree)
    for _ in range(12):
        before, shown = held(tree), tree.shown()
        kind = rng.choice(["join", "open", "divide", "new", "prune", "cut"])
        chosen = rng.choice(shown, min(len(shown), 2), replace=False).tolist()
        if kind == "join" and len(shown) > 2:
            tree = tree.joined(chosen)
            after = {i: held for i, held in before.items() if i not in chosen}
            assert held(tree) == {**after, chosen[0]: {chosen[0]}}
        elif kind == "open":
            found = tree.opened(chosen[0], 2)
            assert (found is None) == (len(before[chosen[0]]) < 2)
            if found is not None:
                tree, parts = found
                now = held(tree)
                assert now.pop(parts[0]) | now.pop(parts[1]) == before.pop(chosen[0])
                assert now == before
        elif kind == "divide":
            parts = [next(free), next(free), next(free)]
            tree = tree.divided(chosen[0], parts, free)
            del before[chosen[0]]
            assert held(tree) == {**before, **{part: {part} for part in parts}}
            assert {*tree.below(chosen[0])} == {*parts}
        elif kind == "new":
            number = next(free)
            tree = tree.with_new(number, chosen[0], free)
            assert held(tree) == {**before, number: {number}}
        elif kind == "prune":
            inner = sorted({*tree.leaves} - {*shown})
            empty = rng.choice(inner, min(len(inner), 3), replace=False).tolist() if inner else []
            finer = [leaf for leaf in empty if {*tree.below(tree.cut()[leaf])} - {*empty}]
            tree, steps = tree.without(finer)
            assert tree.shown() == shown and not {*finer} & {*tree.leaves} - {*shown}
            assert len(steps) == len(finer)
        elif kind == "cut":
            tree = tree.at_level(int(rng.integers(2, tree.finest + 1)) if tree.finest > 1 else 1)
        check(tree)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_level_that_an_edit_does_not_touch_stays_as_it_is(seed: int) -> None:
    tree = random_tree(seed)
    one, other = tree.shown()[:2]
    if tree.at > 2:
        joined, gone = tree.joined([one, other]), {*tree.below(one), *tree.below(other)}
        for name in joined.levels:
            others = {i for i in tree.shown(name) if not gone & {*tree.below(i)}}
            assert others <= {*joined.shown(name)}
    new = tree.with_new(1000, one, count(1001))
    assert new.levels.keys() == tree.levels.keys()
    for name in new.levels:
        after = new.cut(name)
        alone = after.pop(1000) == 1000
        assert after == tree.cut(name)
        assert alone == (one in tree.shown(name) or tree.number(name) >= tree.at)


@pytest.mark.parametrize("said", [0, 1, 6, -1, "x", "1.5", "finest", 2.0, None])
def test_a_cut_that_is_none_is_refused_with_what_is_possible(said: object) -> None:
    levels = {"medium": 2, "fine": 5}
    tree = Tree((0, 1, 2, 3, 4), ((5, 0, 1), (6, 2, 3), (7, 5, 6), (8, 7, 4)), levels, 2)
    with raises(UsageError, "clusters", repr(said), "2 to 5", "medium (2)", "fine (5)") as caught:
        tree.number(said)
    assert "`" not in str(caught.value)  # predict calls it `level`


def test_a_cut_may_be_a_number_of_numpy() -> None:
    assert random_tree(3).number(np.int64(2)) == 2


def test_merges_are_in_the_order_of_their_heights_and_unions_follow_their_parts() -> None:
    """By hand: 0 and 1 first, then 2 with them, whose height rounding put too low; 3 last."""
    found = [(1.0, 0, 1), (0.9, 0, 2), (5.0, 0, 3)]
    assert merge_order(found, 4) == [(0, 1), (4, 2), (5, 3)]
    assert merge_order([(3.0, 0, 1), (1.0, 2, 3), (4.0, 0, 2)], 4) == [(2, 3), (0, 1), (5, 4)]


def spread(sizes: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts of long classes of these sizes; finer labels cut those of 20 texts or more across."""
    rng, k = np.random.default_rng(0), len(sizes)
    truth = np.repeat(np.arange(k), sizes)
    centers = rng.normal(size=(k, 40))
    x = (centers / np.linalg.norm(centers, axis=1, keepdims=True))[truth]
    along = rng.normal(size=(k, 40))[truth] / 40**0.5
    place = np.where(sizes[truth] >= 20, rng.uniform(-1, 1, len(truth)), 0)
    x = (x + place[:, None] * along + 0.3 * rng.normal(size=x.shape) / 40**0.5).astype(np.float32)
    part = np.floor((place + 1) / 2 * split * 0.999).astype(int)
    return x, truth, np.unique(truth * split + part, return_inverse=True)[1]


def test_parts_of_a_class_are_merged_before_classes_are() -> None:
    x, truth, labels = spread(np.repeat(30, 12), 4)
    tree = grow(x, labels, 12, 0)
    check(tree)
    cut = tree.cut()
    found = np.array([cut[tree.leaves[label]] for label in labels])
    assert tree.levels["fine"] == labels.max() + 1 and accuracy(truth, found) == 1


def test_wards_rule_counts_a_cluster_by_the_root_of_its_size() -> None:
    """All pairs are looked at, one merge after the other."""
    x, _, labels = spread(np.array([60, 5, 40, 3, 30, 20, 9, 8]), 2)
    tree = grow(x, labels, 8, 0)
    smooth = knn_smooth(x, nearest_rows(torch.from_numpy(x), 16), 8, 0.1)
    left = {
        leaf: (smooth[labels == i].mean(axis=0), float((labels == i).sum()) ** 0.5)
        for i, leaf in enumerate(tree.leaves)
    }

    def cost(pair: tuple[int, int]) -> float:
        (a, wa), (b, wb) = left[pair[0]], left[pair[1]]
        return float(wa * wb / (wa + wb) * ((a - b) ** 2).sum())

    for union, one, other in tree.merges:
        assert {one, other} == set(min(combinations(left, 2), key=cost))
        (a, wa), (b, wb) = left.pop(one), left.pop(other)
        left[union] = ((wa * a + wb * b) / (wa + wb), wa + wb)


@pytest.mark.parametrize("limit", [0.0, 9.0], ids=["Ward", "average"])
def test_average_linkage_keeps_large_classes_whole(
    monkeypatch: pytest.MonkeyPatch, limit: float
) -> None:
    """Ward's rule puts small classes together before it makes the large ones whole."""
    x, truth, labels = spread(np.repeat([200, 4], [6, 40]), 4)
    monkeypatch.setattr("coterie.arrays.tree.UNEQUAL", limit)
    tree = grow(x, labels, 46, 0)
    cut = tree.cut()
    found = accuracy(truth, np.array([cut[tree.leaves[label]] for label in labels]))
    assert found == 1 if limit else found < 0.7


def test_linkage_is_taken_if_it_keeps_clearly_more_neighbours_together() -> None:
    """Twenty classes of two parts: all neighbours of a text are in the other part of its class."""
    labels = np.repeat(np.arange(40), 5)
    near = np.array([np.flatnonzero(labels == label ^ 1) for label in labels])
    top = [(40 + 2 * i, 41 + 2 * i) for i in range(19)]  # the order above the classes is the same
    whole = [(2 * i, 2 * i + 1) for i in range(20)] + top
    torn = [(2 * i, (2 * i + 3) % 40) for i in range(20)] + top
    assert unequal(torn, whole, labels, near, 20)
    assert not unequal(whole, torn, labels, near, 20) and not unequal(
        whole, whole, labels, near, 20
    )


def test_numbers_of_the_places_may_stay() -> None:
    x, _, labels = spread(np.repeat(30, 4), 1)
    tree = grow(x, labels, 4, 0, keep=True)
    assert tree.leaves == (0, 1, 2, 3) and sorted(tree.inside()) == [4, 5, 6]
    assert "fine" not in tree.levels
    other = tree.renumbered({0: 7, 3: 9, 4: 20})
    assert other.leaves == (1, 2, 7, 9) and sorted(other.inside()) == [5, 6, 20]
