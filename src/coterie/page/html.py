"""From a described clustering to one self-contained HTML page.

The map is our own canvas script and not plotly: a plotly bundle adds 4 MB to every page, while
this page should travel by mail. Ours is a few kilobytes, needs no ``unsafe-eval``, is allowed by
its hash alone, and can be read by whoever has to approve it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from coterie._util.files import write_text
from coterie.arrays.tree import Tree
from coterie.describe import Cluster
from coterie.describe.drift import Drift
from coterie.describe.summary import Overview, texts_by_period
from coterie.page.cuts import others, pack_cuts
from coterie.page.looks import looks, plain_look
from coterie.page.page import COLORS, SHAPES, asset, render_page, render_part
from coterie.page.points import Points, pack, safe_json, visible
from coterie.page.points import shorten as shorten  # cut texts are cut alike everywhere
from coterie.page.quality import Figure


def by_size(cluster: Cluster) -> tuple[int, int]:
    """Sorts clusters, the largest first."""
    return -cluster.size, cluster.id


# Of outliers: a thin cross.
ODD = (
    "M-4.5 -3.3L-3.3 -4.5L0 -1.2L3.3 -4.5L4.5 -3.3L1.2 0L4.5 3.3L3.3 4.5L0 1.2L-3.3 4.5L-4.5 3.3"
    "L-1.2 0Z"
)
# Of a page with a map.
SCRIPTS = "map.js", "contours.js", "labels.js", "filters.js", "page.js", "fold.js", "compare.js"
OVER_TIME = "Over time"  # what the page calls periods among columns
SHOWN = 20  # outliers on the page; the table has all
STRANGE = 30  # texts that fit nowhere, on the page of an update


@dataclass(frozen=True)
class Outlier:
    """A text that fits no cluster, its outlier score, and the cluster it is nearest to."""

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
    summary: list[str]  # how large it is
    clusters: Sequence[Cluster]
    notes: list[str] = field(default_factory=list)  # what reading the data noticed
    settings: dict[str, Any] = field(default_factory=dict)  # method, versions, ..., as they are
    quality: Sequence[Figure] = ()
    overview: Overview | None = None  # the first screen
    made: list[str] = field(default_factory=list)  # how it was made, in sentences
    points: Points | None = None  # on the map; without them the page has no script at all
    outliers: Outliers | None = None  # None where no text may be one
    new: Collection[int] = ()  # clusters that the last update has added
    stability: Mapping[str, Any] | None = None  # what coterie stability found
    given: Collection[int] = ()  # clusters that are themes or classes which the user named
    tree: Tree | None = None  # of which the clusters are a cut; the map then has a slider
    nodes: Mapping[int, Cluster] = field(default_factory=dict)  # all clusters of the tree

    @property
    def cuts(self) -> Tree | None:
        """The tree, where the map can show other cuts of it."""
        if self.tree is None or self.points is None or self.points.leaves is None:
            return None
        return self.tree if self.tree.finest > 2 and self.tree.at > 1 else None


def without_texts(data: ReportData) -> ReportData:
    """The same page with words and counts only: no text, no example, no value of a single row."""

    def bare(cluster: Cluster) -> Cluster:
        return replace(cluster, examples=[], diverse=[], borderline=[])

    nodes = {i: bare(c) for i, c in data.nodes.items()}
    points = data.points and replace(data.points, texts=None, columns={}, dates=None)
    outliers = data.outliers and replace(data.outliers, examples=())
    clusters = [*map(bare, data.clusters)]
    glance = data.overview and data.overview.without_texts()
    bared = replace(data, clusters=clusters, points=points, outliers=outliers, nodes=nodes)
    return replace(bared, overview=glance)


def render(data: ReportData, live: Mapping[str, Any] | None = None) -> str:
    """The page as text; all texts are escaped.

    Parameters
    ----------
    data : ReportData
    live : mapping, optional
        For a page that a service sends: what its tools show. The page then asks the service to
        search and to edit.
    """
    script, embedded = "", dict[str, Any]()
    look = {cluster.id: plain_look(cluster.id) for cluster in data.clusters}
    look |= looks(data.tree, data.nodes) if data.tree is not None else {}
    if data.points is not None:
        script = "\n" + "".join(map(asset, SCRIPTS))
        embedded = pack(data.points, data.clusters)
        if data.cuts is not None:
            embedded["cuts"] = pack_cuts(data.cuts, data.nodes, data.points)
        embedded |= {"shapes": SHAPES, "odd": ODD, "colors": COLORS}
        embedded["looks"] = [look[cluster.id] for cluster in data.clusters]
        embedded["compare"] = {c.id: pack_counts(c) for c in data.clusters}
    if live is not None:
        script += asset("live.js")
        embedded["live"] = live
    return render_page(
        "report.html",
        ("first.css", "map.css", "compare.css", *(("live.css",) if live is not None else ())),
        script=script,
        embedded=safe_json(embedded) if embedded else "",
        live=live is not None,
        sentences=data.summary,
        glance=data.overview,
        place=_places(data),
        parts={theme.id: [theme.id] for theme in data.overview.themes} if data.overview else {},
        shown=len(data.clusters) if data.cuts else 0,
        data=data,
        largest=max((cluster.size for cluster in data.clusters), default=1),
        looks=look,
        others=others(data.nodes, {c.id for c in data.clusters}) if data.cuts else [],
        periods=texts_by_period(data.clusters),
    )


def render_first(overview: Overview) -> str:
    """The first screen alone, for a notebook: it has no other part that a link could lead to."""
    return render_part("notebook.html", "first.css", glance=overview, place=None, shown=0)


def _places(data: ReportData) -> Callable[[int], str]:
    """Where the page tells more about one of the themes at its beginning."""
    if data.cuts is None:
        known = {cluster.id for cluster in data.clusters}
        return lambda theme: f"#cluster-{theme}" if theme in known else "#overview"
    return "#cluster-{}".format


def pack_counts(cluster: Cluster) -> dict[str, list[tuple[str, int]]]:
    """What the page compares two clusters by, besides texts: values of columns, and periods."""
    columns = [
        *cluster.by.items(),
        *([(OVER_TIME, cluster.over_time)] if cluster.over_time else []),
    ]
    return {
        visible(column): [(visible(shorten(value)), n) for value, n in values]
        for column, values in columns
    }


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
