"""A merge tree over the finest clusters of a run: any number of clusters is a cut of it.

The same texts have five sections and sixty stories: no number of clusters is the right one. So a
run that is given none makes one fine clustering and merges its clusters, two at a time, down to
one. A cut shows the clusters at one moment of that; a cluster has the same number, name and texts
in every cut that shows it. Three cuts have names: broad, medium and fine.

Clusters are merged, not texts: each counts as the mean of its texts, after smoothing over near
neighbours. Ward's rule joins those whose union adds least to the sum of squares. Where sizes are
very unequal it would cut large clusters up; average linkage takes its place there, if it keeps
clearly more neighbours together at the numbers of clusters around the medium level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from coterie._types import Ints
from coterie._validation import whole_number
from coterie.description import Cluster
from coterie.errors import UsageError

Merge = tuple[int, int, int]  # number of the union, then those of its two parts


@dataclass(frozen=True)
class Tree:
    """Clusters, from the finest to all texts, and which two make up each.

    Attributes
    ----------
    leaves : tuple of int
        Numbers of the finest clusters.
    merges : tuple of (int, int, int)
        Number of the union and of its two parts, nearest parts first; one fewer than leaves.
    levels : mapping of str to int
        Number of clusters of each named cut: "broad", "medium", "fine".
    nodes : mapping of int to Cluster
        Descriptions of all clusters but the one that holds all texts.

    Examples
    --------
    >>> tree = Tree((0, 2, 3, 4), ((1, 3, 4), (5, 0, 2), (6, 5, 1)), {"broad": 2, "medium": 3})
    >>> tree.cut(3)
    {0: 0, 2: 2, 3: 1, 4: 1}
    >>> tree.shown(2), tree.below(5)
    ([1, 5], [0, 2])
    """

    leaves: tuple[int, ...]
    merges: tuple[Merge, ...]
    levels: Mapping[str, int]
    nodes: Mapping[int, Cluster] = field(default_factory=dict)

    @property
    def finest(self) -> int:
        """The largest number of clusters that a cut can have."""
        return len(self.leaves)

    @property
    def names(self) -> dict[int, str]:
        """Names of all clusters by their numbers."""
        return {number: cluster.name for number, cluster in self.nodes.items()}

    def number(self, said: object) -> int:
        """How many clusters a cut has that is asked for by a level's name or by a number."""
        if isinstance(said, str) and said in self.levels:
            return self.levels[said]
        n = whole_number(str(said)) if isinstance(said, (int, str)) else None
        if n is None or not 2 <= n <= self.finest:
            named = ", ".join(f"{name} ({count})" for name, count in self.levels.items())
            raise UsageError(
                f"`clusters={said!r}`: a cut of this run has 2 to {self.finest} clusters; give "
                f"a number, or a level: {named}.",
                code="cut.number",
            )
        return n

    def cut(self, said: int | str) -> dict[int, int]:
        """The cluster that each of the finest lies in, in the cut of so many clusters."""
        above: dict[int, int] = {}
        for union, *parts in self.merges[: self.finest - self.number(said)]:
            above |= dict.fromkeys(parts, union)
        out = {}
        for leaf in self.leaves:
            top = leaf
            while top in above:
                top = above[top]
            out[leaf] = top
        return out

    def shown(self, said: int | str) -> list[int]:
        """Numbers of the clusters of a cut."""
        return sorted(set(self.cut(said).values()))

    def inside(self) -> dict[int, tuple[int, int]]:
        """The two parts of each cluster that has any."""
        return {union: (one, other) for union, one, other in self.merges}

    def below(self, number: int) -> list[int]:
        """The finest clusters that a cluster holds; itself, if it is one of them."""
        parts = self.inside().get(number)
        return [number] if parts is None else sorted(leaf for p in parts for leaf in self.below(p))

    def to_dict(self, shown: Iterable[int]) -> dict[str, Any]:
        """Plain values for JSON; clusters that are shown are described elsewhere."""
        left = set(shown)
        return {
            "levels": dict(self.levels),
            "leaves": list(self.leaves),
            "merges": [list(merge) for merge in self.merges],
            "nodes": [node.to_dict() for i, node in self.nodes.items() if i not in left],
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any], shown: Sequence[Cluster]) -> Tree:
        """What :meth:`to_dict` gave, with the clusters that are shown."""
        nodes = [*shown, *(Cluster.from_dict(node) for node in saved["nodes"])]
        merges = tuple((union, one, other) for union, one, other in saved["merges"])
        tree = cls(tuple(saved["leaves"]), merges, dict(saved["levels"]))
        known = {union for union, _, _ in merges} | set(tree.leaves)
        return replace(tree, nodes={node.id: node for node in nodes if node.id in known})


def numbered(merges: Sequence[tuple[int, int]], sizes: Ints, medium: int) -> Tree:
    """The tree of merges of places ``0`` to ``k - 1``, with numbers for people.

    The clusters of the medium cut are 0, 1, 2 and so on, the largest first, whatever lies above or
    below them; coarser ones follow, then finer ones as the cut reaches them.

    Parameters
    ----------
    merges : sequence of (int, int)
        Places that are joined, nearest first; the union of merge ``i`` has the place ``k + i``.
    sizes : ndarray of shape (k,)
        Texts of each.
    medium : int
        Clusters of the medium cut.

    Returns
    -------
    Tree
        Its ``leaves`` are the numbers of the places ``0`` to ``k - 1``, in their order.

    Examples
    --------
    >>> tree = numbered([(0, 1), (3, 2)], np.array([1, 2, 9]), 2)
    >>> tree.leaves, tree.merges
    ((4, 3, 0), ((1, 4, 3), (2, 1, 0)))
    """
    k = len(sizes)
    total = [*map(int, sizes)]
    for one, other in merges:
        total.append(total[one] + total[other])
    done = k - medium
    joined = {place for pair in merges[:done] for place in pair}
    cut = [place for place in range(k + done) if place not in joined]
    order = sorted(cut, key=lambda place: (-total[place], place))
    order += range(k + done, k + len(merges))
    for one, other in reversed(merges[:done]):
        order += sorted((one, other), key=lambda place: (-total[place], place))
    number = {place: i for i, place in enumerate(order)}
    named = tuple(
        (number[k + i], number[one], number[other]) for i, (one, other) in enumerate(merges)
    )
    return Tree(tuple(number[place] for place in range(k)), named, {"medium": medium})


def merge_order(found: Sequence[tuple[float, int, int]], k: int) -> list[tuple[int, int]]:
    """Merges by height as pairs of places; the union of the first has the place ``k``.

    Parameters
    ----------
    found : sequence of (float, int, int)
        From :func:`coterie.blocks.linkage.chain`: height, kept, gone.
    k : int
    """
    height = np.full(k, -math.inf)
    raised = []
    for high, kept, gone in found:  # rounding may put a union below its parts
        height[kept] = max(high, height[kept], height[gone])
        raised.append((height[kept], kept, gone))
    place = list(range(k))
    out = []
    for i, (_, kept, gone) in enumerate(sorted(raised, key=lambda merge: merge[0])):
        out.append((place[kept], place[gone]))
        place[kept] = k + i
    return out
