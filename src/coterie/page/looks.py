"""How clusters look: one colour and shape each, the same in every part of the page.

The colour is that of the broad theme which a cluster lies in; clusters of one theme have other
shades of it and other shapes.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from coterie.arrays.tree import Tree
from coterie.describe.tree import Nodes
from coterie.page.page import COLORS, SHADES, SHAPES


class Look(NamedTuple):
    """How a cluster is drawn: places in ``COLORS``, ``SHADES`` and ``SHAPES``."""

    color: int
    shade: int
    shape: int


def plain_look(number: int) -> Look:
    """The look of a cluster by its number."""
    return Look(number % COLORS, 0, number % len(SHAPES))


def looks(tree: Tree, nodes: Nodes) -> dict[int, Look]:
    """The look of every cluster of a tree but that of all texts; it is the same in every cut.

    Those of the broad cut are the themes. A coarser one looks like one of those in it: the largest
    whose colour is rare in the cut. Where a cluster is split, the larger part keeps its look, and
    the other has another shade of the colour.

    Examples
    --------
    >>> from coterie.describe import Cluster
    >>> nodes = {i: Cluster(i, "", size, 0.5, [], []) for i, size in enumerate([9, 5, 3, 2])}
    >>> tree = Tree((0, 2, 3), ((1, 2, 3), (4, 0, 1)), {"broad": 2}, 2)
    >>> [tuple(look) for _, look in sorted(looks(tree, nodes).items())]  # 2, in 1, looks like it
    [(0, 0, 0), (1, 0, 1), (1, 0, 1), (1, 1, 2)]
    """
    few = min(COLORS, tree.finest)  # edits may leave no such level
    broad = tree.levels.get("broad", tree.levels.get("level_1", few))
    themes = sorted(tree.shown(broad), key=lambda number: (-nodes[number].size, number))
    plain = {number: plain_look(i) for i, number in enumerate(themes)}
    inside = {number: [number] for number in themes}
    for union, one, other in tree.merges[tree.finest - broad :]:
        inside[union] = sorted(inside[one] + inside[other], key=themes.index)
    out: dict[int, Look] = {}
    cut: dict[int, Look] = {}
    for union, *parts in reversed(tree.merges):  # from all texts to the finest
        before = cut.pop(union, None)
        for part in sorted(parts, key=lambda number: (-nodes[number].size, number)):
            choice = [plain[number] for number in inside.get(part, ())]
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
    """The colour of the larger part in another shade and shape that are rare in the cut."""
    used = Counter(cut.values())
    shades = Counter(look.shade for look in cut.values() if look.color == larger.color)
    choice = (
        Look(larger.color, shade, (larger.shape + shape) % len(SHAPES))
        for shape in (*range(1, len(SHAPES)), 0)
        for shade in range(SHADES)
    )
    return min(
        choice, key=lambda look: (used[look], look.shade == larger.shade, shades[look.shade])
    )
