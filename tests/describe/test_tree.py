"""The clusters of a tree: names, parents and levels."""

from __future__ import annotations

import numpy as np

from coterie.arrays.tree import Tree
from coterie.describe import Cluster
from coterie.describe.tree import TreeRows, level_clusters, node_names, rename_nodes, with_parents

TREE = Tree(
    (0, 1, 2, 3, 4),
    ((7, 0, 1), (8, 2, 3), (9, 7, 8), (10, 9, 4)),
    {"broad": 2, "medium": 3, "fine": 5},
    3,
)
NODES = {i: Cluster(i, f"name {i}", 1, 0.1, [], []) for i in (0, 1, 2, 3, 4, 7, 8, 9)}


def test_names_that_are_given_stay_and_others_give_way() -> None:
    nodes = {i: Cluster(i, name, 1, 1.0, [], []) for i, name in enumerate(["Card", "Tax"])}
    assert node_names(rename_nodes(nodes, {1: "card"})) == {0: "Card (2)", 1: "card"}


def test_parents_are_on_the_next_coarser_level() -> None:
    shown = with_parents(TREE, NODES, [NODES[i] for i in TREE.shown()])
    assert {c.id: (c.parent, c.parent_name) for c in shown} == {
        4: (4, "name 4"), 7: (9, "name 9"), 8: (9, "name 9"),
    }  # fmt: skip
    fine = level_clusters(TREE, NODES, "fine")
    assert {c.id: c.parent for c in fine} == {0: 7, 1: 7, 2: 8, 3: 8, 4: 4}
    assert [(c.id, c.parent) for c in level_clusters(TREE, NODES, "broad")] == [
        (4, None),
        (9, None),
    ]


def test_columns_of_the_other_levels() -> None:
    """An outlier has no cluster but on the finest level, from which other cuts are made."""
    rows = TreeRows(TREE, node_names(NODES), np.array([0, 2, -1, 3]))
    found = rows.columns([7, 8, -1, -1], ["name 7", "name 8", "-", "odd"])
    assert found == {
        "broad": [9, 9, -1, -1],
        "broad_name": ["name 9", "name 9", "-", "odd"],
        "fine": [0, 2, -1, 3],
        "fine_name": ["name 0", "name 2", "-", "odd"],
    }
