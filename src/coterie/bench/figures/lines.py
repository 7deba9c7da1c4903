"""Figures that are drawn from result lines: bars of ablations, and curves of sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from coterie.bench.collect import METRICS, Measured, entries_of
from coterie.bench.figures.draw import draw_bars, draw_lines, new_figure
from coterie.bench.keys import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def select(rows: Sequence[Row], method: str, labels: Sequence[str]) -> list[Measured]:
    """What was measured of these entries, in their order."""
    return entries_of(rows, [method], labels)


def bars_of(rows: Sequence[Row], method: str, labels: Sequence[str], title: str) -> Figure | None:
    """ACC and NMI of entries by data set; None if at most one of them has lines."""
    found = select(rows, method, labels)
    if len({m.label for m in found}) < 2:
        return None
    datasets = list(dict.fromkeys(m.dataset for m in found))
    figure, axes = new_figure(len(METRICS))
    for metric, panel in zip(METRICS, axes, strict=True):
        groups = {d: {m.label: m.score(metric) for m in found if m.dataset == d} for d in datasets}
        draw_bars(panel, groups, title, f"{metric.upper()} in %")
    return figure


def curves_of(
    rows: Sequence[Row], method: str, sweeps: Mapping[str, Mapping[str, float]], title: str
) -> Figure | None:
    """ACC over the values of parameters, a panel each; ``sweeps`` is name, label, value."""
    panels = {}
    for name, values in sweeps.items():
        series: dict[str, list[tuple[float, float]]] = {}
        for m in select(rows, method, list(values)):
            series.setdefault(m.dataset, []).append((values[m.label], m.score("acc").mean))
        series = {d: sorted(points) for d, points in series.items() if len(points) > 1}
        if series:
            panels[name] = series
    if not panels:
        return None
    figure, axes = new_figure(len(panels))
    for (name, series), panel in zip(panels.items(), axes, strict=True):
        draw_lines(panel, series, title, name, "ACC in %")
        xs = {x for points in series.values() for x, _ in points}
        if min(xs) > 0 and max(xs) / min(xs) >= 20:
            panel.set_xscale("log")
    return figure
