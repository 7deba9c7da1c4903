"""Every cut of a merge tree on one page: how each cluster looks, and what the script needs.

A cluster looks the same in every cut that shows it. Those of the medium cut have the colours and
shapes of a page without a tree, by their numbers. A coarser one looks like one of those in it: the
largest whose colour is rare in the cut. Where a cluster is split, one part keeps its look; below
the medium cut this is the larger part, and the other has another shade of the colour.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

from coterie.description import Cluster
from coterie.report.page import COLORS, SHADES, SHAPES
from coterie.report.points import Points, in_base64, shorten, visible
from coterie.tree import Tree

FEW = 5  # examples of a cluster that the run does not show
NOWHERE = 0xFFFF  # leaf of a mark that lies in no cluster


class Look(NamedTuple):
    """How a cluster is drawn: places in ``COLORS``, ``SHADES`` and ``SHAPES``."""

    color: int
    shade: int
    shape: int


def _plain_look(number: int) -> Look:
    """The look of a cluster by its number."""
    return Look(number % COLORS, 0, number % len(SHAPES))


def looks(tree: Tree) -> dict[int, Look]:
    """The look of every cluster but that of all texts; within a cut they differ.

    Examples
    --------
    >>> nodes = {i: Cluster(i, "", size, 0.5, [], []) for i, size in enumerate([9, 5, 3, 2])}
    >>> tree = Tree((0, 2, 3), ((1, 2, 3), (4, 0, 1)), {"medium": 2}, 2, nodes)
    >>> [tuple(look) for _, look in sorted(looks(tree).items())]  # 2, a part of 1, looks like it
    [(0, 0, 0), (1, 0, 1), (1, 0, 1), (1, 1, 2)]
    """
    medium = tree.levels.get("medium", tree.at)  # edits may leave none
    inside = {number: [number] for number in tree.shown(medium)}
    coarser = tree.merges[tree.finest - medium :]
    for union, one, other in coarser:
        inside[union] = sorted(inside[one] + inside[other])  # the largest first
    out: dict[int, Look] = {}
    cut: dict[int, Look] = {}
    for union, *parts in reversed(tree.merges):  # from all texts to the finest
        before = cut.pop(union, None)
        for part in sorted(parts, key=lambda number: (-tree.nodes[number].size, number)):
            choice = [_plain_look(number) for number in inside.get(part, ())]
            if before is not None and before in (choice or [before]):
                out[part] = cut[part] = before
                before = None
            else:
                out[part] = cut[part] = _rarest(choice, cut) if choice else _shade(out[union], cut)
    return out


def _rarest(choice: list[Look], cut: dict[int, Look]) -> Look:
    """The first whose colour the fewest clusters of the cut have."""
    colors = Counter(look.color for look in cut.values())
    return min(choice, key=lambda look: colors[look.color])


def _shade(larger: Look, cut: dict[int, Look]) -> Look:
    """A look that is free in the cut: the colour of the larger part, another shade and shape."""
    used = Counter(cut.values())
    shades = Counter((look.color, look.shade) for look in cut.values())
    choice = (
        Look((larger.color + color) % COLORS, shade, (larger.shape + shape) % len(SHAPES))
        for color in range(COLORS)
        for shape in (*range(1, len(SHAPES)), 0)
        for shade in range(SHADES)
    )

    def cost(look: Look) -> tuple[int, bool, bool, int]:
        same = look.color == larger.color
        return used[look], not same, look.shade == larger.shade, shades[look.color, look.shade]

    return min(choice, key=cost)


def others(tree: Tree, shown: set[int]) -> list[Cluster]:
    """Clusters of other cuts, with what is true of them in every cut."""
    return [
        replace(node, examples=node.examples[:FEW], near=[], borderline=[], diverse=[])
        for number, node in sorted(tree.nodes.items())
        if number not in shown
    ]


def pack_cuts(tree: Tree, points: Points) -> dict[str, Any]:
    """Plain values for the page's script; leaves of points as places in the list of leaves."""
    place = {leaf: i for i, leaf in enumerate(tree.leaves)}
    return {
        "shown": tree.at,
        "levels": dict(tree.levels),
        "leaves": list(tree.leaves),
        "merges": [list(merge) for merge in tree.merges],
        "nodes": [
            [number, visible(shorten(tree.nodes[number].name)), tree.nodes[number].size, *look]
            for number, look in looks(tree).items()
        ],
        "leaf": in_base64(
            [NOWHERE if leaf < 0 else place[leaf] for leaf in points.leaves or ()], "<u2"
        ),
    }
