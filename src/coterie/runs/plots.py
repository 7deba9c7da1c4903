"""Figures of a run by matplotlib: what the page shows, for notebooks and papers.

Clusters have the colours and shapes of the page. Figures are made without pyplot, so that no state
of a program changes; matplotlib is imported when the first one is drawn.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from coterie._util.types import Ints
from coterie._util.validation import need, wrong_kind
from coterie.describe import Cluster, find_periods
from coterie.errors import UsageError, counted
from coterie.page.html import by_size
from coterie.page.looks import looks, plain_look
from coterie.page.page import asset
from coterie.page.points import shorten, visible
from coterie.runs.clustering import Clustering

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "os^DvP"  # the shapes of the page
MANY = 5_000  # marks; more are a picture in a PDF or SVG, which would open slowly
NAME = 44  # characters of a name in a row
WIDE = 22  # characters of a line of a name on the map
SMALL = 8  # points of a letter
# Fonts with letters that the font of matplotlib lacks; those that are installed are used.
FONTS = ("Noto Sans CJK JP", "Hiragino Sans", "Microsoft YaHei", "Noto Sans Thai")


class Plots(ABC):
    """The figures of a finished run.

    Each method returns a ``matplotlib.figure.Figure``: a notebook shows it, and
    ``savefig("map.pdf")`` writes it as PDF, SVG or PNG. ``level`` is a cut of a run with a merge
    tree: a number of clusters, or "broad", "medium" or "fine"; default: what the run shows. ``ax``
    are matplotlib Axes to draw into; default: those of a new figure.
    """

    @property
    @abstractmethod
    def state(self) -> Clustering:
        """The run as it is drawn."""

    def plot_map(
        self,
        *,
        level: int | str | None = None,
        top: int | None = None,
        ax: Axes | None = None,
    ) -> Figure:
        """Draw the map: a mark for each text, and the names of clusters that have room.

        ``top`` names only so many, the largest.
        """
        _check(ax)
        saved = self.state.map
        if saved is None:
            raise UsageError("this run has no map; make one by clustering its texts again.")
        clusters, labels = self._at(level)
        ax = _axes(ax, (8.0, 6.5))
        ax.set_axis_off()
        ax.set(xlim=(-300, 10_300), ylim=(10_300, -300))  # from the top, as on the page
        x, y, shown = np.asarray(saved["x"]), np.asarray(saved["y"]), labels[saved["rows"]]
        area = float(np.clip(16_000 / max(len(x), 1), 3, 40))
        names = []
        for number, name in [(-1, ""), *((c.id, c.name) for c in clusters)]:
            own, (color, marker) = shown == number, self._style(number)
            ax.scatter(
                x[own],
                y[own],
                s=area,
                marker=marker,
                color=color,
                linewidths=0.2,
                rasterized=len(x) > MANY,
            )
            if name and own.any():
                names.append((name, float(np.median(x[own])), float(np.median(y[own]))))
        _title(ax, f"{counted(saved['total'], 'text')} in {counted(len(clusters), 'cluster')}")
        _name_places(ax, names[:top])
        return _figure(ax)

    def plot_sizes(
        self, *, level: int | str | None = None, top: int = 30, ax: Axes | None = None
    ) -> Figure:
        """Draw how many texts each cluster has, the ``top`` largest first."""
        _check(ax)
        clusters, _ = self._at(level)
        shown = clusters[:top]
        ax = _axes(ax, (8.0, 0.6 + 0.25 * len(shown)))
        colors = [self._style(cluster.id)[0] for cluster in shown]
        bars = ax.barh(range(len(shown)), [c.size for c in shown], color=colors, height=0.75)
        sizes = [f"{c.size:,} ({100 * c.share:.1f}%)" for c in shown]
        ax.bar_label(bars, sizes, padding=4, fontsize=SMALL)
        _name_rows(ax, [_short(cluster.name) for cluster in shown])
        ax.margins(x=0.15)
        ax.xaxis.set_visible(False)
        _title(ax, f"Texts of {_largest(len(shown), len(clusters))}")
        return _figure(ax)

    def plot_over_time(
        self,
        *,
        level: int | str | None = None,
        top: int = 15,
        share: bool = False,
        date_column: str | None = None,
        ax: Axes | None = None,
    ) -> Figure:
        """Draw how many texts the ``top`` largest clusters have in each period, on one scale.

        ``share`` draws the share of the texts of the period that have a cluster. The dates are
        those of ``date_column``; default: the column of the table that holds dates.
        """
        _check(ax)
        clusters, labels = self._at(level)
        shown = clusters[:top]
        ax = _axes(ax, (9.0, 0.9 + 0.36 * len(shown)))
        run = self.state
        _, periods = find_periods(run.input, run.text_column, run.id_column, date_column)
        width, dated = len(periods.names), periods.of_row >= 0
        total = np.bincount(periods.of_row[dated & (labels >= 0)], minlength=width)
        counts = [
            np.bincount(periods.of_row[dated & (labels == c.id)], minlength=width) for c in shown
        ]
        values = 100 * np.array(counts) / np.maximum(total, 1) if share else np.array(counts)
        highest = max(values.max(), 1)
        for i, (cluster, row) in enumerate(zip(shown, values, strict=True)):
            ax.bar(
                range(width), -0.75 * row / highest, 0.85, i + 0.4, color=self._style(cluster.id)[0]
            )
            peak = int(row.argmax())
            number = f"{row[peak]:.0f}%" if share else f"{row[peak]:,}"
            place = peak, i + 0.4 - 0.75 * row[peak] / highest
            ax.annotate(number, place, ha="center", va="bottom", fontsize=SMALL - 2)
        _name_rows(ax, [_short(cluster.name) for cluster in shown])
        step = -(-width // 8)  # so that the names of periods have room
        ax.set_xticks(range(0, width, step), periods.names[::step])
        drawn = f"Share of the texts of a {periods.unit}" if share else f"Texts per {periods.unit}"
        _title(ax, f"{drawn}: {_largest(len(shown), len(clusters))}")
        return _figure(ax)

    def plot_tree(self, *, level: int | str | None = None, ax: Axes | None = None) -> Figure:
        """Draw the merge tree from all texts down to a cut.

        The axis counts clusters: a vertical line at 20 crosses the 20 clusters of that cut.
        """
        _check(ax)
        tree, nodes = self.state.tree, self.state.nodes
        n = tree.number(tree.at if level is None else level)
        merges = tree.merges[tree.finest - n :]
        inside = {union: parts for union, *parts in merges}
        leaves = tree.shown(n)
        if merges:
            leaves = [i for i in _from_the_top(merges[-1][0], inside) if i not in inside]
        row = {leaf: float(i) for i, leaf in enumerate(leaves)}
        at = dict.fromkeys(leaves, float(n))
        ax = _axes(ax, (9.0, 1.0 + 0.24 * n))
        ax.set_xscale("log")
        for i, (union, *parts) in enumerate(merges):
            at[union] = math.sqrt((n - i) * (n - i - 1))  # between the two numbers of clusters
            row[union] = (row[parts[0]] + row[parts[1]]) / 2
            color = self._style(union)[0] if union in nodes else "black"
            ax.plot([at[union]] * 2, [row[part] for part in parts], color=color, linewidth=1.2)
            for part in parts:
                across = [at[union], at[part]], [row[part]] * 2
                ax.plot(*across, color=self._style(part)[0], linewidth=1.2)
        for leaf in leaves:
            color, marker = self._style(leaf)
            ax.plot(n, row[leaf], color=color, marker=marker, clip_on=False)
        _name_rows(ax, [f"{_short(nodes[i].name)} ({nodes[i].size:,})" for i in leaves])
        ax.yaxis.tick_right()
        ax.tick_params(axis="y", pad=8)
        ax.set_xlim(1.2, max(n, 2))
        named = {k: f"{name} ({k})" for name, k in tree.levels.items() if k <= n}
        for k in named:
            ax.axvline(k, color="gray", linewidth=0.8, linestyle=":", zorder=0)
        ax.set_xticks(list(named), list(named.values()))
        ax.set_xticks([], minor=True)
        return _figure(ax)

    def _at(self, level: int | str | None) -> tuple[list[Cluster], Ints]:
        """The clusters of a cut, the largest first, and that of each row; -1 for none."""
        run = self.state
        clusters, labels = run.clusters, run.labels
        if level is not None:
            tree, nodes = self.state.tree, self.state.nodes
            cut = tree.cut(level)
            leaves = run.table[run.own[tree.column]].to_pylist()
            rows = zip(leaves, labels.tolist(), strict=True)
            labels = np.array([-1 if label < 0 else cut[leaf] for leaf, label in rows])
            clusters = [nodes[number] for number in tree.shown(level)]
        return sorted(clusters, key=by_size), labels

    def _style(self, cluster: int) -> tuple[str, str]:
        """Colour and shape of a cluster, as on the page; -1 stands for outliers."""
        palette = _palette()
        if cluster < 0:
            return palette["soft"], "x"
        run = self.state
        look = looks(run.tree, run.nodes).get(cluster, plain_look(cluster))
        other, part = (("ink", 0.0), ("ink", 0.4), ("paper", 0.45))[look.shade]  # as in page.css
        pairs = zip(_rgb(palette[f"c{look.color}"]), _rgb(palette[other]), strict=True)
        mixed = (round((1 - part) * own + part * more) for own, more in pairs)
        return "#" + "".join(f"{value:02x}" for value in mixed), MARKERS[look.shape]


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


def _check(ax: object) -> None:
    """Refuse what cannot be drawn into, before anything is read."""
    if not isinstance(ax, (need("matplotlib.axes", "plots").Axes, NoneType)):
        raise wrong_kind("ax", ax, "Axes of matplotlib, or left out")


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Where to draw: what the user gave, or the one place of a new figure."""
    if ax is None:
        ax = cast("Axes", _figure_class()(figsize=size, layout="constrained").add_subplot())
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelsize=SMALL)
    return ax


def _figure(ax: Axes) -> Figure:
    return cast("Figure", ax.figure)


@cache
def _letters() -> dict[str, Any]:
    """How names are written; a dollar sign in them begins no formula."""
    manager, matplotlib = need("matplotlib.font_manager", "plots"), need("matplotlib", "plots")
    known = set(manager.get_font_names())
    fonts = [*matplotlib.rcParams["font.family"], *(name for name in FONTS if name in known)]
    return {"fontsize": SMALL, "family": fonts, "parse_math": False}


def _short(name: str) -> str:
    return visible(shorten(name, NAME))


def _largest(shown: int, total: int) -> str:
    """What is drawn of the clusters, in words."""
    return f"the {shown} largest of {total}" if shown < total else counted(total, "cluster")


def _title(ax: Axes, title: str) -> None:
    ax.set_title(title, loc="left", fontsize=10)


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names beside rows, the first at the top."""
    ax.set_yticks(range(len(names)), names, **_letters())
    ax.set_ylim(len(names) - 0.4, -0.6)


def _from_the_top(root: int, inside: dict[int, list[int]]) -> list[int]:
    """The nodes of a tree, each before those in it."""
    out, left = list[int](), [root]
    while left:
        out.append(node := left.pop())
        left += reversed(inside.get(node, []))
    return out


def _name_places(ax: Axes, names: Sequence[tuple[str, float, float]]) -> None:
    """Names on the map, the first first; one that finds no room is left out."""
    effects: Any = need("matplotlib.patheffects", "plots")
    halo = [effects.withStroke(linewidth=2.5, foreground="white")]
    _figure(ax).draw_without_rendering()  # settles where the axes are
    taken = list[Any]()
    for name, x, y in names:
        lines = textwrap.fill(visible(shorten(name, 3 * WIDE)), WIDE)
        text = ax.text(x, y, lines, ha="center", va="center", path_effects=halo, **_letters())
        box = text.get_window_extent()
        if any(box.overlaps(other) for other in taken):
            text.remove()
        else:
            taken.append(box)
