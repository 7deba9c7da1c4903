"""From a described clustering to one self-contained HTML page.

The map is our own canvas script and not plotly: a plotly bundle adds 4 MB to every page, while
this page should travel by mail. Ours is a few kilobytes, needs no ``unsafe-eval``, is allowed by
its hash alone, and can be read by whoever has to approve it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from coterie._files import write_text
from coterie.description import Cluster
from coterie.drift import Drift
from coterie.report.cuts import looks, others, pack_cuts
from coterie.report.page import COLORS, SHAPES, asset, render_page
from coterie.report.points import Points, pack, safe_json, visible
from coterie.report.points import shorten as shorten  # cut texts are cut alike everywhere
from coterie.report.quality import Figure
from coterie.tree import Tree


@dataclass(frozen=True)
class Branch:
    """A cluster with those of the next finer level that it holds."""

    cluster: Cluster
    children: list[Branch] = field(default_factory=list)  # the largest first
    leaf: bool = False  # whether it is of the clustering itself, not of a coarser level


def cluster_tree(levels: Sequence[Sequence[Cluster]], clusters: Sequence[Cluster]) -> list[Branch]:
    """Branches of the coarsest level, the largest first.

    ``levels`` are coarse to fine, without the clustering itself. A cluster that is the same on
    several levels is in the tree once, as that of the finest.
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
    return sorted(branches, key=lambda branch: by_size(branch.cluster))


def by_size(cluster: Cluster) -> tuple[int, int]:
    """Sorts clusters, the largest first."""
    return -cluster.size, cluster.id


# Of outliers: a thin cross.
ODD = (
    "M-4.5 -3.3L-3.3 -4.5L0 -1.2L3.3 -4.5L4.5 -3.3L1.2 0L4.5 3.3L3.3 4.5L0 1.2L-3.3 4.5L-4.5 3.3"
    "L-1.2 0Z"
)
BROAD_THEME = "broad theme"  # column of the points
UNFOLDED = 60  # clusters of the second level that the tree shows at once
SHOWN = 20  # outliers on the page; the table has all
STRANGE = 30  # texts that fit nowhere, on the page of an update


@dataclass(frozen=True)
class Outlier:
    """A text that fits no cluster, how lonely it is, and the cluster it is nearest to."""

    text: str
    score: float
    nearest: int
    name: str


@dataclass(frozen=True)
class Outliers:
    """Outliers: how many, their share of the texts, and those with the highest scores."""

    count: int
    share: float
    examples: Sequence[Outlier] = ()

    @classmethod
    def of(
        cls, rows: Iterable[tuple[str, float, int]], names: Mapping[int, str], texts: int
    ) -> Outliers:
        """From text, score and nearest cluster of each; ``texts`` counts all that have a score."""
        odd = [Outlier(text, score, i, names.get(i, f"Cluster {i}")) for text, score, i in rows]
        first: dict[str, Outlier] = {}
        for one in sorted(odd, key=lambda one: (-one.score, one.text)):
            first.setdefault(one.text, one)
        return cls(len(odd), len(odd) / max(texts, 1), list(first.values())[:SHOWN])


@dataclass(frozen=True)
class ReportData:
    """Everything the page shows; what is empty is left out."""

    title: str
    summary: list[str]
    clusters: Sequence[Cluster]
    notes: list[str] = field(default_factory=list)  # what reading the data noticed
    settings: dict[str, Any] = field(default_factory=dict)  # method, versions, ..., as they are
    quality: Sequence[Figure] = ()
    next_steps: list[str] = field(default_factory=list)  # what the reader may do now
    points: Points | None = None  # on the map; without them the page has no script at all
    levels: Sequence[Sequence[Cluster]] = ()  # above the clusters, coarse to fine
    themes: bool = False  # whether the one level are broad themes: the page begins with them
    outliers: Outliers | None = None  # None where no text may be one
    new: Collection[int] = ()  # clusters that the last update has added
    stability: Mapping[str, Any] | None = None  # what coterie stability found
    timeline: Mapping[str, Any] | None = None  # what coterie timeline found
    given: Collection[int] = ()  # clusters that are themes or classes which the user named
    tree: Tree | None = None  # of which the clusters are a cut; the map then has a slider

    @property
    def cuts(self) -> Tree | None:
        """The tree, where the map can show other cuts of it."""
        if self.tree is None or self.points is None or self.points.leaves is None:
            return None
        return self.tree if self.tree.finest > 2 and self.tree.at > 1 else None


def without_texts(data: ReportData) -> ReportData:
    """The same page with words and counts only: no text, no example, no value of a single row."""

    def bare(cluster: Cluster) -> Cluster:
        return replace(cluster, examples=[], diverse=[], borderline=[], quotes=[])

    tree = data.tree and replace(data.tree, nodes={i: bare(c) for i, c in data.tree.nodes.items()})
    points = data.points and replace(data.points, texts=None, columns={})
    outliers = data.outliers and replace(data.outliers, examples=())
    clusters = [*map(bare, data.clusters)]
    return replace(data, clusters=clusters, points=points, outliers=outliers, tree=tree)


def render(data: ReportData, live: Mapping[str, Any] | None = None) -> str:
    """The page as text; all texts are escaped.

    Parameters
    ----------
    data : ReportData
    live : mapping, optional
        For a page that a service sends: ``version`` of the run, when it was ``made``, and numbers
        of the clusters that are ``locked`` and ``done``; ``last``, what the last edit did. The
        page then asks the service to search and to edit.
    """
    script, embedded, held = "", dict[str, Any](), 0
    if data.points is not None:
        script = "\n" + asset("map.js") + asset("page.js")
        marks = data.points.held()
        held = 0 if marks is None else len(marks)
        first = BROAD_THEME if data.themes else None  # what the map is coloured by
        tree = pack_tree(cluster_tree(data.levels, data.clusters), data.clusters)
        embedded = {**pack(data.points, data.clusters), "tree": tree if data.levels else None}
        if data.cuts is not None:
            embedded["cuts"] = pack_cuts(data.cuts, data.points)
        embedded |= {"shapes": SHAPES, "odd": ODD, "colors": COLORS, "first": first}
    if live is not None:
        script += asset("live.js")
        listed = [{"id": c.id, "name": visible(c.name), "size": c.size} for c in data.clusters]
        embedded["live"] = {**live, "clusters": listed}
    return render_page(
        "report.html",
        ("live.css",) if live is not None else (),
        script=script,
        embedded=safe_json(embedded) if embedded else "",
        live=live is not None,
        held=held,
        sentences=data.summary,
        data=data,
        largest=max((cluster.size for cluster in data.clusters), default=1),
        tree=[] if data.themes or not data.levels else cluster_tree(data.levels, data.clusters),
        themes=[
            (theme, sorted((c for c in data.clusters if c.parent == theme.id), key=by_size))
            for level in (data.levels if data.themes else ())
            for theme in level
        ],
        looks={} if data.tree is None else looks(data.tree),
        others=others(data.cuts, {c.id for c in data.clusters}) if data.cuts else [],
        unfold=len([*data.levels, data.clusters][1]) <= UNFOLDED if data.levels else False,
        periods=_periods(data.clusters),
        moves=_moves(data.timeline),
    )


def pack_tree(branches: Sequence[Branch], clusters: Sequence[Cluster]) -> list[dict[str, Any]]:
    """The tree for the page's script; a leaf is the place of its cluster in the list.

    Examples
    --------
    >>> one, other = Cluster(3, "Late", 2, 0.4, [], []), Cluster(7, "Lost", 3, 0.6, [], [])
    >>> both = Branch(Cluster(0, "Post", 5, 1.0, [], []), [Branch(one, leaf=True)])
    >>> pack_tree([both, Branch(other, leaf=True)], [one, other])
    [{'name': 'Post', 'size': 5, 'inside': [{'cluster': 0}]}, {'cluster': 1}]
    """
    place = {cluster.id: i for i, cluster in enumerate(clusters)}
    out: list[dict[str, Any]] = []
    for branch in branches:
        own = branch.cluster
        if branch.leaf:
            out.append({"cluster": place[own.id]})
        else:
            inside = pack_tree(branch.children, clusters)
            name = visible(shorten(own.name))
            out.append({"name": name, "size": own.size, "inside": inside})
    return out


def write_report(path: str | Path, data: ReportData) -> None:
    """Write the page, whole or not at all."""
    write_text(Path(path), render(data))


def write_changes(
    path: Path,
    title: str,
    sentences: Sequence[str],
    drift: Drift,
    new: Sequence[Cluster] = (),
    strange: Sequence[str] = (),
) -> None:
    """Write what an update changed: new clusters, shares before and now, texts that fit nowhere."""
    shown: dict[str, Any] = {"title": title, "sentences": sentences, "drift": drift, "new": new}
    write_text(path, render_page("changes.html", strange=strange[:STRANGE], **shown))


def _moves(timeline: Mapping[str, Any] | None) -> list[tuple[int, str, list[Mapping[str, Any]]]]:
    """For each cluster whose words change, its number, its name and the periods in which."""
    out: dict[int, tuple[int, str, list[Mapping[str, Any]]]] = {}
    for step in timeline["steps"] if timeline else ():
        if step["entered"] or step["left"]:
            out.setdefault(step["cluster"], (step["cluster"], step["name"], []))[2].append(step)
    return list(out.values())


def _periods(clusters: Sequence[Cluster]) -> list[tuple[str, int]]:
    """Texts of all clusters per period, in the order of time."""
    total: dict[str, int] = {}
    for cluster in clusters:
        for period, count in cluster.over_time:
            total[period] = total.get(period, 0) + count
    return sorted(total.items())
