"""Figures of a run by matplotlib: what the page shows, for notebooks and papers.

Clusters have the colours and shapes of the page. Figures are made without pyplot, so that no state
of a program changes; matplotlib is imported when the first one is drawn.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Sequence
from functools import cache, cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from coterie._types import Ints
from coterie._validation import PositiveInt, check_numbers, checked, need, wrong_kind
from coterie.description import Cluster, find_periods
from coterie.errors import UsageError, counted
from coterie.report.html import by_size, cluster_looks
from coterie.report.looks import Look
from coterie.report.page import asset
from coterie.report.points import shorten, visible
from coterie.run_files import RunFiles
from coterie.tree import need_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

MARKERS = "os^DvP"  # the shapes of the page
MANY = 5_000  # marks; more are a picture in a PDF or SVG, which would open slowly
NAME = 44  # characters of a name in a row
SMALL = 8  # points of a letter
WIDE = 22  # characters of a line of a name on the map
AWAY = (0.6, 1.2, 2.0)  # of its width and height that a name may stand off its cluster
SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8))
TICKS = (2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)  # numbers of clusters
MEASURED = {
    "stability": "texts that keep their cluster on half of the data (stability)",
    "agreement": "shared information of two halves beyond chance (agreement)",
}
# Fonts with letters that the font of matplotlib lacks; those that are installed are used.
FONTS = (
    "Noto Sans CJK JP",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Noto Sans Thai",
    "Arial Unicode MS",
)


class Style(NamedTuple):
    """How a cluster is drawn."""

    color: str
    marker: str


class Plots(RunFiles):
    """The figures of a finished run."""

    @checked
    def plot_map(
        self,
        *,
        level: int | str | None = None,
        top: PositiveInt | None = None,
        ax: Axes | None = None,
        figsize: Sequence[float] | None = None,
    ) -> Figure:
        """Draw the map: a mark for each text, and the names of clusters.

        Parameters
        ----------
        level : int or str, optional
            Of a run with a merge tree: number of clusters, or "broad", "medium" or "fine".
            Default: the clusters that the run shows.
        top : int, optional
            Name only so many, the largest. Default: all that have room for their names.
        ax : matplotlib Axes, optional
            Draw there. Default: a new figure.
        figsize : tuple of float, optional
            Width and height of a new figure in inches.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it, and ``savefig("map.pdf")`` writes it as PDF, SVG or PNG.
        """
        _check(ax, figsize)
        saved = self.map
        if saved is None:
            raise UsageError("this run has no map; make one by clustering its texts again.")
        clusters, labels = self._at(level)
        ax = _axes(ax, figsize or (8.0, 6.5))
        ax.set_axis_off()
        ax.set(xlim=(-300, 10_300), ylim=(10_300, -300))  # from the top, as on the page
        x, y, shown = np.asarray(saved["x"]), np.asarray(saved["y"]), labels[saved["rows"]]
        area = float(np.clip(16_000 / max(len(x), 1), 3, 40))
        style: dict[str, Any] = {"s": area, "rasterized": len(x) > MANY}
        alone, (color, marker), paper = shown < 0, self._style(-1), _palette()["paper"]
        ax.scatter(x[alone], y[alone], marker=marker, color=color, linewidths=0.6, **style)
        names = []
        for cluster in clusters:
            own, (color, marker) = shown == cluster.id, self._style(cluster.id)
            ax.scatter(
                x[own],
                y[own],
                marker=marker,
                color=color,
                edgecolors=paper,
                linewidths=0.2,
                **style,
            )
            if own.any():
                names.append((cluster.name, float(np.median(x[own])), float(np.median(y[own]))))
        _title(ax, f"{counted(saved['total'], 'text')} in {counted(len(clusters), 'cluster')}")
        _name_places(ax, names[:top])
        return _figure(ax)

    @checked
    def plot_sizes(
        self,
        *,
        level: int | str | None = None,
        top: PositiveInt = 30,
        ax: Axes | None = None,
        figsize: Sequence[float] | None = None,
    ) -> Figure:
        """Draw how many texts each cluster has, the largest first.

        Parameters
        ----------
        level : int or str, optional
            Of a run with a merge tree: number of clusters, or "broad", "medium" or "fine".
        top : int, default=30
            Draw only so many.
        ax : matplotlib Axes, optional
            Draw there. Default: a new figure.
        figsize : tuple of float, optional
            Width and height of a new figure in inches. Default: by the number of bars.

        Returns
        -------
        matplotlib.figure.Figure
        """
        _check(ax, figsize)
        clusters, _ = self._at(level)
        shown = clusters[:top]
        ax = _axes(ax, figsize or (8.0, 0.6 + 0.25 * len(shown)))
        bars = ax.barh(
            range(len(shown)),
            [cluster.size for cluster in shown],
            color=[self._style(cluster.id).color for cluster in shown],
            height=0.75,
        )
        said = [f"{cluster.size:,} ({100 * cluster.share:.1f}%)" for cluster in shown]
        ax.bar_label(bars, said, padding=4, fontsize=SMALL, color=_palette()["soft"])
        _name_rows(ax, [_short(cluster.name) for cluster in shown])
        ax.margins(x=0.15)
        ax.xaxis.set_visible(False)
        _title(ax, f"Texts of {_largest(len(shown), len(clusters))}")
        return _figure(ax)

    @checked
    def plot_over_time(
        self,
        *,
        level: int | str | None = None,
        top: PositiveInt = 15,
        share: bool = False,
        date_column: str | None = None,
        ax: Axes | None = None,
        figsize: Sequence[float] | None = None,
    ) -> Figure:
        """Draw how many texts clusters have in each period, all on one scale.

        The number stands at the highest bar of each.

        Parameters
        ----------
        level : int or str, optional
            Of a run with a merge tree: number of clusters, or "broad", "medium" or "fine".
        top : int, default=15
            Draw only so many.
        share : bool, default=False
            Draw the share of the texts of the period that have a cluster.
        date_column : str, optional
            Default: the column of the table that holds dates.
        ax : matplotlib Axes, optional
            Draw there. Default: a new figure.
        figsize : tuple of float, optional
            Width and height of a new figure in inches.

        Returns
        -------
        matplotlib.figure.Figure
        """
        _check(ax, figsize)
        clusters, labels = self._at(level)
        given, about = self.cells.drop_columns(list(self.own.values())), self.manifest["data"]
        _, found = find_periods(given, about["text_column"], about.get("id_column"), date_column)
        shown, width, dated = clusters[:top], len(found.names), found.of_row >= 0
        total = np.bincount(found.of_row[dated & (labels >= 0)], minlength=width)
        counts = np.array(
            [
                np.bincount(found.of_row[dated & (labels == cluster.id)], minlength=width)
                for cluster in shown
            ]
        )
        values = 100 * counts / np.maximum(total, 1) if share else counts
        ax = _axes(ax, figsize or (9.0, 0.9 + 0.36 * len(shown)))
        soft, highest = _palette()["soft"], max(values.max(), 1)
        for i, (cluster, row) in enumerate(zip(shown, values, strict=True)):
            color, peak = self._style(cluster.id).color, int(row.argmax())
            ax.bar(range(width), -0.75 * row / highest, 0.85, i + 0.4, color=color)
            ax.axhline(i + 0.4, color=_palette()["line"], linewidth=0.6, zorder=0)
            top_of = peak, i + 0.4 - 0.75 * row[peak] / highest
            said = f"{row[peak]:.0f}%" if share else f"{row[peak]:,}"
            _write(ax, said, top_of, (0, 1), fontsize=SMALL - 2, color=soft)
        _name_rows(ax, [_short(cluster.name) for cluster in shown])
        step = -(-width // 8)  # so that the names of periods have room
        ax.set_xticks(range(0, width, step), found.names[::step])
        drawn = f"Share of the texts of a {found.unit}" if share else f"Texts per {found.unit}"
        _title(ax, f"{drawn}: {_largest(len(shown), len(clusters))}")
        return _figure(ax)

    @checked
    def plot_tree(
        self,
        *,
        level: int | str | None = None,
        ax: Axes | None = None,
        figsize: Sequence[float] | None = None,
    ) -> Figure:
        """Draw the merge tree from all texts down to a cut, with the named levels as lines.

        The axis counts clusters: a vertical line at 20 crosses the 20 clusters of that cut.

        Parameters
        ----------
        level : int or str, optional
            The finest clusters to draw: their number, or "broad", "medium" or "fine". Default:
            those that the run shows.
        ax : matplotlib Axes, optional
            Draw there. Default: a new figure.
        figsize : tuple of float, optional
            Width and height of a new figure in inches. Default: by the number of clusters.

        Returns
        -------
        matplotlib.figure.Figure
        """
        _check(ax, figsize)
        tree = need_tree(self.tree)
        n = tree.number(tree.at if level is None else level)
        merges = tree.merges[tree.finest - n :]
        inside = {union: parts for union, *parts in merges}
        leaves = tree.shown(n)
        if merges:
            leaves = [i for i in _from_the_top(merges[-1][0], inside) if i not in inside]
        row = {leaf: float(i) for i, leaf in enumerate(leaves)}
        at = dict.fromkeys(leaves, float(n))
        ax = _axes(ax, figsize or (9.0, 1.0 + 0.24 * n))
        ax.set_xscale("log")
        for i, (union, *parts) in enumerate(merges):
            at[union] = math.sqrt((n - i) * (n - i - 1))  # between the two numbers of clusters
            row[union] = (row[parts[0]] + row[parts[1]]) / 2
            color = self._style(union).color if union in tree.nodes else _palette()["ink"]
            ax.plot([at[union]] * 2, [row[part] for part in parts], color=color, linewidth=1.2)
            for part in parts:
                color = self._style(part).color
                ax.plot([at[union], at[part]], [row[part]] * 2, color=color, linewidth=1.2)
        for leaf in leaves:
            color, marker = self._style(leaf)
            ax.plot(n, row[leaf], color=color, marker=marker, clip_on=False)
        _name_rows(ax, [f"{_short(tree.nodes[i].name)} ({tree.nodes[i].size:,})" for i in leaves])
        ax.yaxis.tick_right()
        ax.tick_params(axis="y", pad=8)
        ax.set_xlim(1.2, max(n, 2))
        named = {name: k for name, k in tree.levels.items() if k <= n}
        _levels(ax, named)
        for node in tree.shown(min(named.values())) if named else ():
            if node in inside:  # others have their names at the right
                at_level = min(named.values()), row[node]
                _write(ax, _short(tree.nodes[node].name), at_level, (-3, 3), ha="right", **_halo())
        return _figure(ax)

    @checked
    def plot_number(
        self, *, ax: Axes | None = None, figsize: Sequence[float] | None = None
    ) -> Figure:
        """Draw how stable each number of clusters was that the run tried.

        The range of plausible numbers is shaded.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Draw there. Default: a new figure.
        figsize : tuple of float, optional
            Width and height of a new figure in inches.

        Returns
        -------
        matplotlib.figure.Figure
        """
        _check(ax, figsize)
        found = self.manifest.get("number_of_clusters") or {}
        if not found.get("curve"):
            raise UsageError(
                "no numbers of clusters were tried for this run: it was given one, or its texts "
                "are too few. Run coterie cluster without `n_clusters`, on a dozen texts or more."
            )
        ax = _axes(ax, figsize or (8.0, 3.5))
        ax.set_xscale("log")
        tried = [row["n_clusters"] for row in found["curve"]]
        for color, (name, said) in zip(("c0", "c1"), MEASURED.items(), strict=True):
            values = [row[name] for row in found["curve"]]
            ax.plot(tried, values, color=_palette()[color], marker=".", label=said)
        ax.axvspan(found["low"], found["high"], color=_palette()["raised"], zorder=-1)
        ax.set_ylim(0, 1.05)
        ax.legend(fontsize=SMALL, frameon=False, loc="lower left")
        _levels(ax, {"suggested": found["n_clusters"]})
        _title(ax, "How stable a number of clusters is")
        return _figure(ax)

    def _at(self, level: int | str | None) -> tuple[list[Cluster], Ints]:
        """The clusters of a cut, the largest first, and that of each row; -1 for none."""
        clusters, labels = self.clusters, self.labels
        if level is not None:
            tree = need_tree(self.tree)
            cut = tree.cut(level)
            leaves = self.cells[self.own[tree.column]].to_pylist()
            rows = zip(leaves, labels.tolist(), strict=True)
            labels = np.array([-1 if label < 0 else cut[leaf] for leaf, label in rows])
            clusters = [tree.nodes[number] for number in tree.shown(level)]
        return sorted(clusters, key=by_size), labels

    @cached_property
    def _looks(self) -> dict[int, Look]:
        levels = [] if self.hierarchy is None else self.hierarchy.levels
        return cluster_looks(self.clusters, levels, self.tree)

    def _style(self, cluster: int) -> Style:
        """Colour and shape of a cluster, as on the page; -1 stands for outliers."""
        if cluster < 0:
            return Style(_palette()["soft"], "x")
        look, palette = self._looks[cluster], _palette()
        other, part = (("ink", 0.0), ("ink", 0.4), ("paper", 0.45))[look.shade]  # as in page.css
        pairs = zip(_rgb(palette[f"c{look.color}"]), _rgb(palette[other]), strict=True)
        mixed = (round((1 - part) * own + part * more) for own, more in pairs)
        return Style("#" + "".join(f"{value:02x}" for value in mixed), MARKERS[look.shape])


@cache
def _palette() -> dict[str, str]:
    """The colours of the page by day."""
    light = asset("page.css").partition("}")[0]
    return dict(re.findall(r"--(\w+): (#\w{6})", light))


def _rgb(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


@cache
def _figure_class() -> Any:
    """The figure of matplotlib, which a notebook shows also if pyplot was never imported."""
    base: Any = need("matplotlib.figure", "plots").Figure

    class NotebookFigure(base):
        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(file, format="png")
            return file.getvalue()

    return NotebookFigure


def _check(ax: object, figsize: Sequence[float] | None) -> None:
    """Refuse what cannot be drawn into, before anything is read."""
    if not isinstance(ax, (need("matplotlib.axes", "plots").Axes, NoneType)):
        raise wrong_kind("ax", ax, "Axes of matplotlib, or left out")
    if figsize is not None:
        sides = check_numbers("figsize", figsize, "side")
        if len(sides) != 2 or not all(0 < side <= 300 for side in sides):
            raise wrong_kind("figsize", figsize, "width and height in inches, up to 300")


def _axes(ax: Axes | None, figsize: Sequence[float]) -> Axes:
    """Where to draw: what the user gave, or the one place of a new figure."""
    if ax is None:
        ax = cast("Axes", _figure_class()(figsize=figsize, layout="constrained").add_subplot())
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize=SMALL)
    return ax


def _figure(ax: Axes) -> Figure:
    return cast("Figure", ax.figure)


@cache
def _fonts() -> list[str]:
    """The font of the figures, then installed ones that have other letters."""
    manager, matplotlib = need("matplotlib.font_manager", "plots"), need("matplotlib", "plots")
    known = set(manager.get_font_names())
    return [*matplotlib.rcParams["font.family"], *(name for name in FONTS if name in known)]


def _letters() -> dict[str, Any]:
    """How names are written; a dollar sign in them begins no formula."""
    return {"fontsize": SMALL, "family": _fonts(), "parse_math": False}


def _write(
    ax: Axes, said: str, at: tuple[float, float], off: tuple[float, float], **more: Any
) -> Annotation:
    """Write beside a place; ``off`` are points."""
    style = {"textcoords": "offset points", "ha": "center", **_letters(), **more}
    return ax.annotate(said, at, off, **style)


def _halo() -> dict[str, Any]:
    """Lets what is written stand out from marks and lines."""
    effects: Any = need("matplotlib.patheffects", "plots")
    return {"path_effects": [effects.withStroke(linewidth=2.5, foreground=_palette()["paper"])]}


def _short(name: str) -> str:
    return visible(shorten(name, NAME))


def _largest(shown: int, total: int) -> str:
    """What is drawn of the clusters, in words."""
    return f"the {shown} largest of {total}" if shown < total else counted(total, "cluster")


def _title(ax: Axes, said: str) -> None:
    ax.set_title(said, loc="left", fontsize=10, color=_palette()["ink"])


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names beside rows, the first at the top."""
    ax.set_yticks(range(len(names)), names, **_letters())
    ax.set_ylim(len(names) - 0.4, -0.6)


def _levels(ax: Axes, levels: dict[str, int]) -> None:
    """Lines at the named cuts of a tree, and an axis of numbers of clusters."""
    for name, number in levels.items():
        ax.axvline(number, color=_palette()["soft"], linewidth=0.8, linestyle=":", zorder=0)
        _write(ax, f"{name} ({number})", (number, 1), (0, 3), xycoords=ax.get_xaxis_transform())
    last = ax.get_xlim()[1]
    ticks = [tick for tick in TICKS if tick <= last]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("number of clusters", fontsize=SMALL)


def _from_the_top(root: int, inside: dict[int, list[int]]) -> list[int]:
    """The nodes of a tree, each before those in it."""
    out, left = list[int](), [root]
    while left:
        out.append(node := left.pop())
        left += reversed(inside.get(node, []))
    return out


def _name_places(ax: Axes, names: Sequence[tuple[str, float, float]]) -> None:
    """Names on the map, the first first: where no other stands, at their place or near it.

    A name that finds no room is left out.
    """
    figure = _figure(ax)
    figure.draw_without_rendering()  # settles where the axes are
    frame, dots, taken = ax.get_window_extent(), figure.dpi / 72, list[Any]()
    for name, x, y in names:
        lines = textwrap.fill(visible(shorten(name, 3 * WIDE)), WIDE)
        text = _write(ax, lines, (x, y), (0, 0), va="center", zorder=4, **_halo())
        box = text.get_window_extent()
        steps = [(0.0, 0.0), *((far * a, far * b) for far in AWAY for a, b in SIDES)]
        for a, b in steps:
            moved = box.translated(a * box.width, b * box.height)
            room = frame.x0 <= moved.x0 and moved.x1 <= frame.x1
            room &= frame.y0 <= moved.y0 and moved.y1 <= frame.y1
            if room and not any(moved.overlaps(other) for other in taken):
                text.set_position((a * box.width / dots, b * box.height / dots))
                taken.append(moved)
                break
        else:
            text.remove()
