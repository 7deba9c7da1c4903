"""A merge tree over the finest clusters of a run: any number of clusters is a cut of it.

The same texts have five sections and sixty stories: no number of clusters is the right one. So a
run that is given none makes one fine clustering and merges its clusters, two at a time, down to
one. A cut shows the clusters at one moment of that; a cluster has the same number, name and texts
in every cut that shows it. Three cuts have names: broad, medium and fine.

Clusters are merged, not texts: each counts as the mean of its texts, after smoothing over 15
neighbours. Ward's rule joins those whose union adds least to the sum of squares, in which a cluster
counts by the square root of its size. Where sizes are very unequal it would cut large clusters up;
average linkage of means that are smoothed less takes its place there, if it keeps clearly more
neighbours together at the numbers of clusters around the medium level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from coterie._util.random import some_rows
from coterie._util.types import Floats, Ints
from coterie._util.validation import whole_number
from coterie.arrays.consensus import COMPARED, RESTART, ROUNDS, UNEQUAL, Neighborhood, neighborhood
from coterie.arrays.graph import knn_smooth, modularity
from coterie.arrays.linkage import MatrixSpace, chain
from coterie.arrays.metrics import cluster_means
from coterie.arrays.neighbors import unit_rows
from coterie.errors import UsageError

MERGED = 10_000  # texts whose vectors are smoothed; more change the means by little
AROUND = 1.0, math.sqrt(2), 2.0  # numbers of clusters, by the medium one, at which trees compare

BROAD, FINE = 3, 4  # the medium number of clusters is divided and multiplied by this
FINEST = 500  # clusters

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
        Number of clusters of each named cut, coarse to fine; the last has all leaves.
    at : int
        Clusters of the cut that the run shows.

    Examples
    --------
    >>> levels = {"broad": 2, "medium": 3, "fine": 4}
    >>> tree = Tree((0, 2, 3, 4), ((1, 3, 4), (5, 0, 2), (6, 5, 1)), levels, 3)
    >>> tree.cut(3)
    {0: 0, 2: 2, 3: 1, 4: 1}
    >>> tree.shown(2), tree.below(5)
    ([1, 5], [0, 2])
    """

    leaves: tuple[int, ...]
    merges: tuple[Merge, ...]
    levels: Mapping[str, int]
    at: int

    @property
    def finest(self) -> int:
        """The largest number of clusters that a cut can have."""
        return len(self.leaves)

    @property
    def highest(self) -> int:
        """The highest number of a cluster."""
        return max([*self.leaves, *self.inside()])

    def number(self, said: object) -> int:
        """How many clusters a cut has that is asked for by a level's name or by a number."""
        if isinstance(said, str) and said in self.levels:
            return self.levels[said]
        n = whole_number(str(said)) if isinstance(said, (Integral, str)) else None
        if n == self.finest == 1 or n == self.at:  # as after merges by hand
            return n
        if n is None or not 2 <= n <= self.finest:
            named = ", ".join(f"{name} ({count})" for name, count in self.levels.items())
            raise UsageError(
                f"{said!r:.80} is no cut of this run, which has {min(2, self.finest)} to "
                f"{self.finest} clusters; give a number, or a level: {named}.",
                code="cut.number",
            )
        return n

    def cut(self, said: int | str | None = None) -> dict[int, int]:
        """The cluster that each of the finest lies in, in the cut of so many clusters.

        Default: the cut that is shown.
        """
        if said is None:
            said = self.at
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

    def shown(self, said: int | str | None = None) -> list[int]:
        """Numbers of the clusters of a cut; default: of the one that is shown."""
        return sorted(set(self.cut(said).values()))

    @property
    def coarser(self) -> list[str]:
        """Names of the levels that are coarser than what is shown, coarse to fine."""
        return [name for name, n in self.levels.items() if n < self.at]

    def with_levels(self, asked: Sequence[int]) -> Tree:
        """The tree whose levels are these numbers of clusters, coarse to fine, and all leaves."""
        coarser = [n for n in asked if 1 < n < self.finest]
        levels = {f"level_{i}": n for i, n in enumerate([*coarser, self.finest], 1)}
        return replace(self, levels=levels)

    def at_level(self, said: int | str) -> Tree:
        """The tree that shows another cut."""
        return replace(self, at=self.number(said))

    def inside(self) -> dict[int, tuple[int, int]]:
        """The two parts of each cluster that has any."""
        return {union: (one, other) for union, one, other in self.merges}

    def below(self, number: int) -> list[int]:
        """The finest clusters that a cluster holds; itself, if it is one of them."""
        return sorted({*self.leaves}.intersection(self.nodes_in(number)))

    def touched(self, clusters: Iterable[int]) -> set[int]:
        """Clusters that have texts of some of these, but not of all of them."""
        inside = {leaf for cluster in clusters for leaf in self.below(cluster)}
        held = {leaf: {leaf} & inside for leaf in self.leaves}
        for union, one, other in self.merges:
            held[union] = held[one] | held[other]
        return {number for number, leaves in held.items() if leaves and leaves != inside}

    @property
    def column(self) -> str:
        """The result column with the finest cluster of each row."""
        last = list(self.levels)[-1]
        return "cluster" if self.at == self.finest else last

    def sizes(self, leaves: Mapping[int, int]) -> dict[int, int]:
        """Texts of every cluster, from those of the finest."""
        out = {leaf: leaves.get(leaf, 0) for leaf in self.leaves}
        for union, one, other in self.merges:
            out[union] = out[one] + out[other]
        return out

    # Changes by edits and updates. What is shown stays a cut: merges are put where it needs them.

    def joined(self, clusters: Sequence[int]) -> Tree:
        """The tree in which clusters that are shown are one, the first, which no cut divides."""
        into, *others = clusters
        gone = {node for cluster in clusters for node in self.nodes_in(cluster)}
        now: dict[int, int | None] = {**dict.fromkeys(gone), into: into}
        merges = []
        for union, one, other in self.merges:
            if union in gone:
                continue
            parts = [
                part for part in (now.get(one, one), now.get(other, other)) if part is not None
            ]
            now[union] = parts[0] if len(parts) == 1 else union if parts else None
            if len(parts) == 2:
                merges.append((union, *parts))
        leaves = (*(leaf for leaf in self.leaves if leaf not in gone), into)
        return self._changed(leaves, merges, self.at - len(others))

    def divided(self, cluster: int, into: Sequence[int], free: Iterator[int]) -> Tree:
        """The tree that shows these new parts in the place of a cluster; what it had is gone.

        Coarser cuts show the cluster again. Unions of some of three parts or more get free numbers.
        """
        tree = self if cluster in self.leaves else self.joined([cluster])
        unions = [next(free) for _ in into[2:]] + [cluster]
        inside = list(zip(unions, [into[0], *unions[:-1]], into[1:], strict=True))
        done = tree.finest - tree.at
        leaves = [leaf for leaf in tree.leaves if leaf != cluster]
        merges = [*tree.merges[:done], *inside, *tree.merges[done:]]
        return tree._changed([*leaves, *into], merges, tree.at + len(into) - 1)

    def with_new(self, new: int, beside: int, free: Iterator[int]) -> Tree:
        """The tree with a new cluster, shown in all cuts that show a certain one of those shown.

        In coarser cuts they are together; so no other cluster has another number in any.
        """
        ends = (i for i, merge in enumerate(self.merges) if beside in merge[1:])
        place, union = next(ends, len(self.merges)), next(free)
        merges: list[tuple[int, ...]] = [*self.merges[:place], (union, beside, new)]
        for whole, *parts in self.merges[place:]:
            merges.append((whole, *(union if part == beside else part for part in parts)))
        return self._changed((*self.leaves, new), merges, self.at + 1)

    def opened(self, cluster: int, n: int) -> tuple[Tree, list[int]] | None:
        """The tree that shows ``n`` parts in the place of a cluster; None if it has fewer."""
        inside, parts = self.inside(), [cluster]
        order = {union: i for i, (union, _, _) in enumerate(self.merges)}
        while len(parts) < n:
            last = max(parts, key=lambda part: order.get(part, -1))
            if last not in inside:
                return None
            parts = [part for part in parts if part != last] + [*inside[last]]
        below = {node for part in parts for node in self.nodes_in(part)}
        taken = {*self.nodes_in(cluster)} - below
        done = self.finest - self.at
        kept = [merge for merge in self.merges[:done] if merge[0] not in taken]
        back = [merge for merge in self.merges[:done] if merge[0] in taken]
        merges = [*kept, *back, *self.merges[done:]]
        return self._changed(self.leaves, merges, self.at + n - 1), sorted(parts)

    def without(self, empty: Iterable[int]) -> tuple[Tree, list[tuple[tuple[int, ...], int]]]:
        """The tree without finest clusters that have no text.

        Also returns which of the finest become which, one step after the other. What held an empty
        cluster and one other is the same as that now, and is called as the one that is shown.
        """
        tree, steps = self, list[tuple[tuple[int, ...], int]]()
        for leaf in empty:
            here = next(i for i, merge in enumerate(tree.merges) if leaf in merge[1:])
            union, *parts = tree.merges[here]
            beside = parts[0] if parts[1] == leaf else parts[1]
            number = union if union in tree.shown() else beside
            first = tree.below(beside)[0]
            into = number if beside in tree.leaves else first
            steps.append(((leaf, first), into))
            merges = [
                (whole, *(beside if part == union else part for part in inside))
                for whole, *inside in (*tree.merges[:here], *tree.merges[here + 1 :])
            ]
            left = [one for one in tree.leaves if one != leaf]
            tree = tree._changed(left, merges, tree.at - (leaf in tree.shown()))
            tree = tree.renumbered({beside: number})
        return tree, steps

    def renumbered(self, number: Mapping[int, int]) -> Tree:
        """The tree in which some clusters have other numbers."""
        merges = tuple(
            (number.get(union, union), number.get(one, one), number.get(other, other))
            for union, one, other in self.merges
        )
        leaves = tuple(sorted(number.get(leaf, leaf) for leaf in self.leaves))
        return replace(self, leaves=leaves, merges=merges)

    def nodes_in(self, cluster: int) -> list[int]:
        """A cluster and all that are inside it."""
        inside, out = self.inside(), [cluster]
        for node in out:
            out.extend(inside.get(node, ()))
        return out

    def _changed(self, leaves: Sequence[int], merges: Sequence[tuple[int, ...]], at: int) -> Tree:
        """The tree with other merges. Named levels stay where they are between the merges.

        The level that is shown is what is shown. Levels that are no longer any are left out.
        """
        order = {union: i for i, (union, _, _) in enumerate(self.merges)}
        last, finest = list(self.levels)[-1], len(leaves)
        levels = {last: finest}
        for name, n in reversed([*self.levels.items()]):
            done = self.finest - n
            if n < self.at:  # what was to be merged, and new clusters just before, still is
                to_do = [order.get(merge[0], -1) >= done for merge in merges]
                first = to_do.index(True) if any(to_do) else len(merges)
                while first and merges[first - 1][0] not in order:
                    first -= 1
                n = len(merges) - first + 1
            else:
                n = finest - sum(order[merge[0]] < done for merge in merges[: finest - at])
            if 1 < n < min(levels.values()):
                levels[name] = n
        pairs = tuple((union, one, other) for union, one, other in merges)
        return Tree(tuple(sorted(leaves)), pairs, dict(reversed(levels.items())), at)


def grow(
    vectors: Floats,
    labels: Ints,
    medium: int,
    seed: int,
    around: Neighborhood | None = None,
    *,
    keep: bool = False,
) -> Tree:
    """Merge the clusters of a fine clustering, two at a time, down to one.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
        Of different texts.
    labels : ndarray of shape (n,)
        Their clusters, from 0 on.
    medium : int
        Clusters of the medium level, at most as many as there are.
    seed : int
        Draws the texts that are smoothed, where there are more than 10,000.
    around : Neighborhood, optional
        Of all texts, if it is known and there are no more than 10,000.
    keep : bool, default=False
        Whether the medium level is the finest one, whose clusters keep their numbers; there are
        ``medium``, of which some may have no text.

    Returns
    -------
    Tree
        ``leaves`` has the number of each cluster, in the order of labels.
    """
    k = medium if keep else int(labels.max()) + 1
    if k == 1:
        return numbered([], np.bincount(labels), 1)
    rows = some_rows(len(vectors), MERGED, seed, "tree")
    rows = np.union1d(rows, np.unique(labels, return_index=True)[1])  # some of every cluster
    around = neighborhood(vectors[rows], medium) if around is None else around.suited(medium)
    smoothed = knn_smooth(around.searched, around.near[:, : COMPARED + 1], ROUNDS, RESTART)
    means = cluster_means(smoothed, labels[rows], k)[0].astype(np.float32)
    sizes = np.maximum(np.bincount(labels, minlength=k), 1)
    ward = MatrixSpace(means - means.mean(axis=0), np.sqrt(sizes), "ward")
    merges = merge_order(chain(ward, k), k)
    near_means = cluster_means(around.smoothed(weighted=True), labels[rows], k)[0]
    average = MatrixSpace(unit_rows(near_means.astype(np.float32)), np.ones(k), "average")
    others = merge_order(chain(average, k), k)
    graph = around.near[:, 1 : COMPARED + 1]
    if unequal(merges, others, labels[rows], graph, medium):
        merges = others
    return numbered(merges, sizes, medium, keep=keep)


def unequal(
    ward: Sequence[tuple[int, int]],
    average: Sequence[tuple[int, int]],
    labels: Ints,
    near: Ints,
    medium: int,
) -> bool:
    """Whether average linkage keeps clearly more neighbours together than Ward's rule.

    Compared are the means, over cuts of the medium number of clusters and somewhat more, of what
    the modularity of one lacks to 1, by what that of the other lacks; see
    :func:`coterie.arrays.consensus.by_sizes`.
    """
    k = len(ward) + 1
    ratios = []
    for factor in AROUND:
        n = min(round(factor * medium), k)
        lacks = [1 - modularity(_places(m, k, n)[labels], near) for m in (average, ward)]
        ratios.append(lacks[0] / max(lacks[1], 1e-9))
    return bool(near.shape[1] and np.mean(ratios) < UNEQUAL)


def _places(merges: Sequence[tuple[int, int]], k: int, n: int) -> Ints:
    """The cluster of each of ``k`` places in the cut of ``n``, from 0 on."""
    top = np.arange(2 * k - 1)
    for i in reversed(range(k - n)):  # the last first: parts take over where their union lies
        top[list(merges[i])] = top[k + i]
    return np.unique(top[:k], return_inverse=True)[1].astype(np.int64)


def numbered(
    merges: Sequence[tuple[int, int]],
    sizes: Ints,
    medium: int,
    *,
    keep: bool = False,
) -> Tree:
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
    keep : bool, default=False
        Whether the clusters have the numbers of their places, where the medium cut is the finest.

    Returns
    -------
    Tree
        Its ``leaves`` are the numbers of the places ``0`` to ``k - 1``, in their order.

    Examples
    --------
    >>> tree = numbered([(0, 1), (3, 2)], np.array([1, 2, 9]), 2)
    >>> tree.leaves, tree.merges, tree.levels
    ((4, 3, 0), ((1, 4, 3), (2, 1, 0)), {'medium': 2, 'fine': 3})
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
    number = {place: place if keep else i for i, place in enumerate(order)}
    named = tuple(
        (number[k + i], number[one], number[other]) for i, (one, other) in enumerate(merges)
    )
    levels = find_levels(medium, k) | ({"fine": k} if k > medium else {})
    return Tree(tuple(number[place] for place in range(k)), named, levels, medium)


def find_levels(medium: int, largest: int) -> dict[str, int]:
    """Clusters of the three levels, if the medium one has so many, and ``largest`` is possible.

    Examples
    --------
    >>> find_levels(27, 400), find_levels(2, 5)
    ({'broad': 9, 'medium': 27, 'fine': 108}, {'medium': 2, 'fine': 5})
    """
    found = {
        "broad": max(2, round(medium / BROAD)),
        "medium": medium,
        "fine": min(FINE * medium, largest, FINEST),
    }
    if found["fine"] <= medium:
        del found["fine"]
    if found["broad"] >= medium:
        del found["broad"]
    return found


def merge_order(found: Sequence[tuple[float, int, int]], k: int) -> list[tuple[int, int]]:
    """Merges by height as pairs of places; the union of the first has the place ``k``.

    Parameters
    ----------
    found : sequence of (float, int, int)
        From :func:`coterie.arrays.linkage.chain`: height, kept, gone.
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
