"""A figure as numbers (JSON), and its drawing (SVG, by matplotlib)."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._util.files import atomic_path, plain, write_text
from coterie._util.validation import need

DIGITS = 5  # that count, of every number in a file


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Curves over a number, or over named places: ``ticks`` are those of 0, 1, 2 on the x axis.

    ``series`` are of [x, y], or of [x, y, deviation].
    """

    x: str
    y: str
    series: dict[str, list[list[float]]]
    title: str = ""
    ticks: list[str] | None = None
    log: bool = False


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Bars side by side; ``groups`` is group, then bar, then [mean, deviation]."""

    y: str
    groups: dict[str, dict[str, list[float]]]
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Points:
    """A map; ``classes`` has a number for each point, 0 for the largest class."""

    x: list[float]
    y: list[float]
    classes: list[int]
    title: str = ""


Panel = Lines | Bars | Points


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One figure, with at most so many ``columns`` of panels.

    The title has method and data set, ``about`` where the numbers are from, which is not drawn.
    """

    title: str
    panels: list[Panel]
    subtitle: str = ""
    about: str = ""
    columns: int = 3


def _short(value: Any) -> Any:
    """Numbers cut to the digits that can be seen in a picture; NaN is no JSON and becomes null."""
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(inner) for inner in value]
    if isinstance(value, float):
        return None if value != value else float(f"{value:.{DIGITS}g}")
    return value


if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
OTHERS = "#cfd4da"  # of a map's classes that have no color of their own
MARKERS = "os^DvPX*"
DASHES = ("-", "--", "-.", ":")
SIZE = (4.6, 3.2)  # inches of a panel
LETTERS = 14  # that fit into an inch
FEW = 6  # values on an axis that get a tick each
STYLE = {
    "svg.hashsalt": "coterie",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#e3e7eb",
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "axes.edgecolor": "#5f6b76",
    "figure.titlesize": 10,
}


def draw(picture: Picture) -> Figure:
    """The figure of a picture."""
    matplotlib: Any = need("matplotlib", "plots")
    figure_module: Any = need("matplotlib.figure", "plots")
    across = min(len(picture.panels), picture.columns)
    down = -(-len(picture.panels) // across)
    names = names_of(picture)
    width = SIZE[0] * max(across, 1.25)  # a single panel needs room for its title
    with matplotlib.rc_context(STYLE):
        figure: Figure = figure_module.Figure(
            figsize=(width, SIZE[1] * down + 0.6), layout="constrained"
        )
        for i, panel in enumerate(picture.panels):
            axes = figure.add_subplot(down, across, i + 1)
            axes.set_title(panel.title, loc="left")
            _draw(axes, panel, names)
        head = (picture.title, picture.subtitle)
        rows = [row for text in head for row in textwrap.wrap(text, int(LETTERS * width))]
        figure.suptitle("\n".join(rows), x=0.01, ha="left")
        _legend(figure, names, width)
    return figure


def names_of(picture: Picture) -> list[str]:
    """Names of all series, in the order of their colors; none where a name says nothing new."""
    found: list[list[str]] = []
    for panel in picture.panels:
        if isinstance(panel, Lines):
            found.append(list(panel.series))
        elif isinstance(panel, Bars):
            found.append([name for bars in panel.groups.values() for name in bars])
    names = list(dict.fromkeys(name for inner in found for name in inner))
    return names if any(len(set(inner)) > 1 for inner in found) else []


def _legend(figure: Figure, names: list[str], width: float) -> None:
    shown: dict[str, Any] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            shown.setdefault(label, handle)
    if not names:
        return
    longest = max(len(name) for name in names) + 8
    columns = max(1, min(len(names), int(LETTERS * width) // longest))
    figure.legend(
        [shown[n] for n in names], names, loc="outside lower center", ncols=columns, frameon=False
    )


def _place(names: list[str], name: str) -> int:
    return names.index(name) if name in names else 0


def _lines(axes: Any, panel: Lines, names: list[str]) -> None:
    for name, points in panel.series.items():
        i = _place(names, name)
        there = [point for point in points if point[1] is not None]  # no silhouette of one cluster
        xs, ys, *spread = zip(*there, strict=True) if there else ((), ())
        axes.errorbar(
            xs,
            ys,
            yerr=spread[0] if spread and any(spread[0]) else None,
            capsize=2,
            marker=MARKERS[i % len(MARKERS)],
            linestyle=DASHES[i % len(DASHES)],
            color=COLORS[i % len(COLORS)],
            label=name,
        )
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    if panel.ticks is not None:
        axes.set_xticks(range(len(panel.ticks)), panel.ticks)
    else:
        _ticks(axes, panel)


def _ticks(axes: Any, panel: Lines) -> None:
    """A tick at every measured value, where there are few."""
    values = sorted({point[0] for points in panel.series.values() for point in points})
    if panel.log:
        axes.set_xscale("log")
    if panel.log or len(values) <= FEW:
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.set_xticks([], minor=True)


def _bars(axes: Any, panel: Bars, names: list[str]) -> None:
    own = list(dict.fromkeys(name for bars in panel.groups.values() for name in bars))
    width = 0.8 / max(len(own), 1)
    for number, name in enumerate(own):
        places = [g for g, bars in enumerate(panel.groups.values()) if name in bars]
        cells = [bars[name] for bars in panel.groups.values() if name in bars]
        drawn = axes.bar(
            [g + width * (number - (len(own) - 1) / 2) for g in places],
            [mean for mean, _ in cells],
            width,
            yerr=[spread or nan for _, spread in cells],
            color=COLORS[_place(names, name) % len(COLORS)],
            label=name,
            linewidth=0.5,
            edgecolor="white",
            error_kw={"elinewidth": 1, "capsize": 2},
        )
        if len(own) * len(panel.groups) <= 10:
            axes.bar_label(drawn, fmt="%.1f", fontsize=7, padding=1)
    turned = len(panel.groups) > 4
    axes.set_xticks(
        range(len(panel.groups)),
        list(panel.groups),
        rotation=30 if turned else 0,
        ha="right" if turned else "center",
    )
    axes.set_ylabel(panel.y)


def _points(axes: Any, panel: Points) -> None:
    size = min(16.0, max(2.0, 8000 / max(len(panel.x), 1)))  # fewer texts, larger points
    marked = [COLORS[c] if c < len(COLORS) else OTHERS for c in panel.classes]
    order = sorted(range(len(marked)), key=lambda i: marked[i] != OTHERS)  # grey lies below
    # As plain pixels also in the SVG: thousands of circles, or soft edges, would make it large.
    axes.scatter(
        [panel.x[i] for i in order],
        [panel.y[i] for i in order],
        s=size,
        c=[marked[i] for i in order],
        linewidths=0,
        rasterized=True,
        antialiased=False,
    )
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw(axes: Any, panel: Panel, names: list[str]) -> None:
    if isinstance(panel, Lines):
        _lines(axes, panel, names)
    elif isinstance(panel, Bars):
        _bars(axes, panel, names)
    else:
        _points(axes, panel)


def save(picture: Picture, folder: Path, name: str) -> list[Path]:
    """Write NAME.json and NAME.svg; the same numbers give the same bytes."""
    matplotlib: Any = need("matplotlib", "plots")
    numbers, drawn = folder / f"{name}.json", folder / f"{name}.svg"
    text = json.dumps(_short(dataclasses.asdict(picture)), ensure_ascii=False, default=plain)
    write_text(numbers, f"{text}\n")
    figure = draw(picture)
    with matplotlib.rc_context(STYLE), atomic_path(drawn) as temporary:
        metadata = {"Title": picture.title, "Date": None}
        figure.savefig(temporary, format="svg", metadata=metadata, dpi=150)
    return [numbers, drawn]
