"""Clusters of several levels as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coterie.description import Cluster


@dataclass(frozen=True)
class Branch:
    """A cluster with those of the next finer level that it holds.

    Attributes
    ----------
    cluster : Cluster
    children : list of Branch
        The largest first; empty for clusters of the finest level.
    leaf : bool
        Whether the cluster is one of the clustering itself, not of a coarser level.
    """

    cluster: Cluster
    children: list[Branch] = field(default_factory=list)
    leaf: bool = False


def cluster_tree(levels: Sequence[Sequence[Cluster]], clusters: Sequence[Cluster]) -> list[Branch]:
    """Branches of the coarsest level, the largest first.

    A cluster that is the same on several levels is in the tree once, as that of the finest.

    Parameters
    ----------
    levels : sequence of sequences of Cluster
        Coarse to fine, without the clustering itself.
    clusters : sequence of Cluster
        The clustering, with parents.
    """
    below = [Branch(cluster, leaf=True) for cluster in clusters if cluster.size]
    for level in reversed(levels):
        inside: dict[int | None, list[Branch]] = {}
        for branch in below:
            inside.setdefault(branch.cluster.parent, []).append(branch)
        groups = [(cluster, _sorted(inside.get(cluster.id, []))) for cluster in level]
        below = [_joined(cluster, children) for cluster, children in groups if children]
    return _sorted(below)


def _joined(cluster: Cluster, children: list[Branch]) -> Branch:
    """A branch; one that holds a single other is the other, under the place of the former."""
    if len(children) > 1:
        return Branch(cluster, children)
    return replace(children[0], cluster=replace(children[0].cluster, parent=cluster.parent))


def _sorted(branches: list[Branch]) -> list[Branch]:
    return sorted(branches, key=lambda branch: (-branch.cluster.size, branch.cluster.id))
