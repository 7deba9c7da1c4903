"""The clusters of a merge tree with their names: levels, parents, and columns of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coterie._util.types import Ints
from coterie.arrays.tree import Tree
from coterie.describe.describe import Cluster, final_names, rename_clusters

LEVEL_COLUMN = re.compile(r"(level_\d+|broad|medium|fine)(_name)?")  # of the table

Nodes = Mapping[int, Cluster]  # all clusters of a tree but the one that holds all texts


def by_number(nodes: Nodes, *others: Iterable[Cluster]) -> dict[int, Cluster]:
    """The clusters of a tree, some of them with other descriptions."""
    return {**nodes, **{cluster.id: cluster for some in others for cluster in some}}


def node_names(nodes: Nodes) -> dict[int, str]:
    """Names of clusters by their numbers."""
    return {number: cluster.name for number, cluster in nodes.items()}


def rename_nodes(nodes: Nodes, names: Mapping[int, str | None]) -> dict[int, Cluster]:
    """The clusters with names that were given; others change where they would be the same."""
    called = final_names(node_names(nodes), names)
    return by_number({}, rename_clusters([*nodes.values()], called))


def with_parents(
    tree: Tree, nodes: Nodes, clusters: Sequence[Cluster], level: str | None = None
) -> list[Cluster]:
    """Clusters of a cut, each with the one that it lies in on the next coarser level.

    ``level`` is the name of the cut; default: the one that is shown.
    """
    names = list(tree.levels)
    coarser = tree.coarser if level is None else names[: names.index(level)]
    if not coarser:
        return [replace(cluster, parent=None, parent_name=None) for cluster in clusters]
    here, higher = tree.cut(level), tree.cut(coarser[-1])
    above = {here[leaf]: higher[leaf] for leaf in tree.leaves}
    return [replace(c, parent=above[c.id], parent_name=nodes[above[c.id]].name) for c in clusters]


def level_clusters(tree: Tree, nodes: Nodes, level: str) -> list[Cluster]:
    """The clusters of a named level, each with its parent."""
    known = [nodes[number] for number in tree.shown(level) if number in nodes]
    return with_parents(tree, nodes, known, level)


def levels_above(tree: Tree, nodes: Nodes) -> list[list[Cluster]]:
    """The clusters of the named levels that are coarser than what is shown, coarse to fine."""
    return [level_clusters(tree, nodes, level) for level in tree.coarser]


@dataclass(frozen=True)
class TreeRows:
    """A tree, the names of its clusters, and the finest cluster of each row of a table."""

    tree: Tree
    names: Mapping[int, str]
    finest: Ints

    def columns(self, labels: Sequence[int], names: Sequence[str]) -> dict[str, list[Any]]:
        """Columns with number and name of each row's cluster on the levels that are not shown.

        Parameters
        ----------
        labels : sequence of int
            The cluster that is shown, -1 for outliers and rows without a text.
        names : sequence of str
            Its name. An outlier keeps that on all levels; its number on the finest level is that
            of the nearest cluster, from which other cuts are made.
        """
        out: dict[str, list[Any]] = {}
        tree, last = self.tree, list(self.tree.levels)[-1]
        for level, n in tree.levels.items():
            if n == tree.at:
                continue
            cut = {**tree.cut(level), -1: -1}
            places = [cut[leaf] for leaf in self.finest.tolist()]
            rows = list(zip(places, labels, names, strict=True))
            out[level] = places if level == last else [p if i >= 0 else -1 for p, i, _ in rows]
            called = [self.names.get(p, name) if i >= 0 else name for p, i, name in rows]
            out[f"{level}_name"] = called
        return out
