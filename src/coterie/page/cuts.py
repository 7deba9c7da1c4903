"""Every cut of a merge tree on one page: what the script needs, and what the page describes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coterie.arrays.tree import Tree
from coterie.describe import Cluster
from coterie.describe.tree import Nodes
from coterie.page.looks import looks
from coterie.page.points import Points, in_base64, shorten, visible

FEW = 5  # examples of a cluster that the run does not show
NOWHERE = 0xFFFF  # leaf of a mark that lies in no cluster


def others(nodes: Nodes, shown: set[int]) -> list[Cluster]:
    """Clusters of other cuts, with what is true of them in every cut."""
    return [
        replace(node, examples=node.examples[:FEW], near=[], borderline=[], diverse=[])
        for number, node in sorted(nodes.items())
        if number not in shown
    ]


def pack_cuts(tree: Tree, nodes: Nodes, points: Points) -> dict[str, Any]:
    """Plain values for the page's script; leaves of points as places in the list of leaves."""
    place = {leaf: i for i, leaf in enumerate(tree.leaves)}
    return {
        "shown": tree.at,
        "levels": dict(tree.levels),
        "leaves": list(tree.leaves),
        "merges": [list(merge) for merge in tree.merges],
        "nodes": [
            [number, visible(shorten(nodes[number].name)), nodes[number].size, *look]
            for number, look in looks(tree, nodes).items()
        ],
        "leaf": in_base64(
            [NOWHERE if leaf < 0 else place[leaf] for leaf in points.leaves or ()], "<u2"
        ),
    }
