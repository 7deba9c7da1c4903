"""A run at a glance: the largest themes, what grows and how sure that is, what needs attention."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pytest

from coterie.arrays.tree import numbered
from coterie.describe import Cluster, Neighbor
from coterie.describe.drift import share_changes
from coterie.describe.summary import Named, Overview, make_overview, plain

WEEKS = [f"2026-W{week:02}" for week in range(1, 5)]


def glance_at(facts: dict[str, Any], clusters: list[Cluster]) -> Overview:
    """Of a run whose tree has no other level."""
    numbers = [c.id for c in clusters]
    merges = [(len(numbers) + i - 1 if i else 0, i + 1) for i in range(len(numbers) - 1)]
    tree = numbered(merges, np.ones(len(numbers), dtype=np.int64), len(numbers), keep=True)
    tree = replace(tree, levels={"fine": tree.finest}).renumbered(dict(enumerate(numbers)))
    return make_overview(facts, clusters, tree, {c.id: c for c in clusters})


def cluster(i: int, size: int, *counts: int, **more: Any) -> Cluster:
    periods = list(zip(WEEKS, counts, strict=True)) if counts else []
    return Cluster(i, f"Name {i}", size, size / 100, [], [f"text {i}"], over_time=periods, **more)


def chance_by_hand(now: int, texts: int, later: int, total: int, *, less: bool = False) -> float:
    """Of so many texts of a cluster, or more (less), among the later ones: counted one by one."""
    ways = 0
    for k in range(texts + 1):
        if (k <= now if less else k >= now) and texts - k <= total - later:
            ways += comb(texts, k) * comb(total - texts, later - k)
    return ways / comb(total, later)


def test_growth_by_hand() -> None:
    """Two clusters of 20 of 40 texts each half: 5 of the first before, 15 now."""
    exact = chance_by_hand(15, 20, 20, 40)
    assert exact == chance_by_hand(5, 20, 20, 40, less=True) == pytest.approx(0.00193, abs=1e-5)
    # Four tests, in pairs that are equally probable: Holm takes four times the smallest.
    assert share_changes([5, 15], [15, 5]) == [
        ("grew", pytest.approx(4 * exact)),
        ("shrank", pytest.approx(4 * exact)),
    ]
    assert [change for change, _ in share_changes([6, 14], [14, 6])] == ["", ""]


def test_growth_is_corrected_for_the_number_of_clusters() -> None:
    rng = np.random.default_rng(0)
    old, new = rng.integers(3, 30, size=(2, 9))
    n, later = int(old.sum() + new.sum()), int(new.sum())
    raw = [
        chance_by_hand(int(b), int(a + b), later, n, less=less)
        for less in (False, True)
        for a, b in zip(old, new, strict=True)
    ]
    adjusted, worst = [0.0] * len(raw), 0.0
    for rank, i in enumerate(sorted(range(len(raw)), key=raw.__getitem__)):
        worst = max(worst, (len(raw) - rank) * raw[i])
        adjusted[i] = min(worst, 1.0)
    for i, (change, chance) in enumerate(share_changes(old, new)):
        assert chance == pytest.approx(min(adjusted[i], adjusted[i + 9]))
        assert bool(change) <= (chance <= 0.01)


def test_nothing_grows_where_the_whole_grows() -> None:
    """Ten times as many texts in the second half, in every cluster."""
    glance = glance_at({}, [cluster(i, 110, 5, 5, 50, 50) for i in range(4)])
    assert not glance.changes
    assert "2026-W03 to 2026-W04" in glance.basis and "No cluster" in glance.basis


def test_what_grows_is_said_with_how_sure_that_is() -> None:
    steady = [cluster(i, 80, 20, 20, 20, 20) for i in range(3)]
    clusters = [*steady, cluster(3, 20, 3, 3, 4, 10), cluster(4, 40, 0, 0, 30, 10)]
    [said] = glance_at({}, clusters).changes
    assert said[0] == Named(4, "Name 4")
    assert plain(said) == (
        "“Name 4” is new: all its 40 texts came in the second half, as did 58% of all texts; "
        "chance alone would do this less than once in 1,000,000."
    )


def test_without_dates_it_says_what_would_tell() -> None:
    glance = glance_at({}, [cluster(0, 10), cluster(1, 10)])
    assert not glance.changes and "column of dates" in glance.basis
    one = glance_at({}, [Cluster(0, "A", 1, 1.0, [], [], over_time=[("2026", 1)])])
    assert "column of dates" in one.basis


def test_after_an_update_its_rows_count() -> None:
    clusters = [cluster(0, 100, 90, 0, 0, 10), cluster(1, 90, 0, 0, 45, 45), cluster(7, 6)]
    glance = glance_at({"figures": {"added": {"0": 40, "7": 6}}}, clusters)
    assert [plain(said).split(":")[0] for said in glance.changes] == [
        "“Name 7” is new", "“Name 0” is growing", "“Name 1” is shrinking",
    ]  # fmt: skip
    assert "last update" in glance.basis
    update = {"figures": {"added": {"0": 40, "7": 6}}, "updates": [{"loose": [1]}]}
    assert len(glance_at(update, clusters).changes) == 2


def test_themes_are_of_the_coarsest_level_that_tells_enough() -> None:
    clusters = [cluster(i, 30 - i, 1, 2, 3, i) for i in range(8)]
    joined = [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11), (12, 13)]
    tree = numbered(joined, np.ones(8, dtype=np.int64), 8, keep=True)
    nodes = {c.id: c for c in clusters}
    for number, inside in tree.inside().items():
        nodes[number] = replace(nodes[inside[0]], id=number, name=f"Group {number}", size=2)
    tree = replace(tree, levels={"broad": 2, "medium": 4, "fine": 8})
    glance = make_overview({}, clusters, tree, nodes)
    assert glance.about == "4 themes"
    assert glance.themes[1].over_time == list(zip(WEEKS, [2, 4, 6, 5], strict=True))
    glance = glance_at({}, clusters)
    assert glance.about == "The 5 largest of 8 clusters"
    assert [theme.id for theme in glance.themes] == [0, 1, 2, 3, 4]


def test_examples_are_readable() -> None:
    texts = ["n/a", "long " * 50, "It broke."]
    one = replace(cluster(0, 3), examples=texts)
    glance = glance_at({}, [one, replace(one, id=1, examples=texts[:2])])
    assert [theme.example for theme in glance.themes] == ["It broke.", "long " * 50]
    assert not any(theme.example for theme in glance.without_texts().themes)
    assert not any("broke" in sentence for sentence in glance.sentences())


def test_what_needs_attention() -> None:
    near = [Neighbor(1, "Name 1", 0.9, [], [])]
    clusters = [cluster(0, 60, near=near), cluster(1, 30), cluster(2, 9), cluster(3, 1)]
    facts = {
        "encoder": {"warnings": ["The encoder reads {no} Thai."]},
        "guard": {"fired": True, "reason": "one cluster took all texts"},
        "guidance": {"empty": ["Volcano"]},
        "figures": {"close_calls": 0.25, "unsure": {"0": 20, "2": 5}},
        "outliers": {"marked": 1},
    }
    said = [plain(one) for one in glance_at(facts, clusters).attention]
    starts = (
        "The encoder reads {no} Thai.",
        "The start guard rejected the training: one cluster took all texts.",
        "Given, but no text fits: Volcano.",
        "“Name 0” holds 60% of the texts",
        "25 texts (25%) are close calls between two clusters; fewer clusters",
        "More than a third are close calls in “Name 2”.",
        "1 text (1%) fits no cluster",
        "1 cluster of one or two texts: “Name 3”.",
        "“Name 0” and “Name 1” are the most similar",
    )
    assert len(said) == len(starts)
    for sentence, start in zip(said, starts, strict=True):
        assert sentence.startswith(start)
    calm = glance_at({}, [cluster(i, 25) for i in range(4)])
    assert calm.attention == []
    [alone] = glance_at({}, [cluster(0, 100)]).attention
    assert "one cluster" in plain(alone)
