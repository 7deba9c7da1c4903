"""Drawing with matplotlib, without its global state: lines, bars, and files that do not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._validation import need
from coterie.bench.tables import Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#c14c8a", "#ca9849", "#64748b", "#b91c1c")
SIZE = (4.6, 3.4)  # inches of a panel
STYLE = {
    "svg.hashsalt": "coterie", "svg.fonttype": "none", "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip
Points = Sequence[tuple[float, float]]


def new_figure(panels: int = 1, columns: int = 3) -> tuple[Figure, list[Any]]:
    """A figure with so many panels, and the panels."""
    matplotlib: Any = need("matplotlib", "plots")
    figure_module: Any = need("matplotlib.figure", "plots")
    across = min(panels, columns)
    down = -(-panels // columns)
    with matplotlib.rc_context(STYLE):
        figure = figure_module.Figure(
            figsize=(SIZE[0] * across, SIZE[1] * down), layout="constrained"
        )
        axes = [figure.add_subplot(down, across, i + 1) for i in range(panels)]
    return figure, axes


def draw_lines(axes: Any, series: Mapping[str, Points], title: str, x: str, y: str) -> None:
    """A line for each series."""
    for number, (name, points) in enumerate(series.items()):
        xs, ys = zip(*points, strict=True) if points else ((), ())
        axes.plot(xs, ys, marker=".", color=COLORS[number % len(COLORS)], label=name)
    axes.set_title(title, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if len(series) > 1:
        axes.legend(frameon=False)


def draw_bars(axes: Any, groups: Mapping[str, Mapping[str, Cell]], title: str, y: str) -> None:
    """Bars of each group side by side, with deviations; ``groups`` is group, then bar."""
    names = list(dict.fromkeys(name for bars in groups.values() for name in bars))
    width = 0.8 / max(len(names), 1)
    for number, name in enumerate(names):
        places = [g for g, bars in enumerate(groups.values()) if name in bars]
        cells = [bars[name] for bars in groups.values() if name in bars]
        axes.bar(
            [g + width * (number - (len(names) - 1) / 2) for g in places],
            [c.mean for c in cells],
            width,
            yerr=[c.deviation for c in cells],
            color=COLORS[number % len(COLORS)],
            label=name,
        )
    axes.set_xticks(range(len(groups)), list(groups), rotation=30 if len(groups) > 4 else 0)
    axes.set_title(title, loc="left")
    axes.set_ylabel(y)
    axes.legend(frameon=False, fontsize=8)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.svg and NAME.png; the same figure gives the same bytes."""
    matplotlib: Any = need("matplotlib", "plots")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    with matplotlib.rc_context(STYLE):
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=150)
    return paths
