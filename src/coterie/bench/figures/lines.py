"""Figures that are drawn from result lines: bars of ablations, and curves of sweeps.

Scores are those that training left, as in the tables of ablations: where the guard returned the
start instead, that would hide what a part of a method is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coterie.bench.collect import METRICS, Measured, about, entries_of
from coterie.bench.figures.picture import Bars, Lines, Picture
from coterie.bench.keys import Row

LEFT = "as training left it"


def bars_of(rows: Sequence[Row], method: str, labels: Sequence[str], title: str) -> Picture | None:
    """ACC and NMI of entries by data set; None if at most one of them has lines."""
    found = entries_of(rows, [method], labels)
    if len({m.label for m in found}) < 2:
        return None
    datasets = list(dict.fromkeys(m.dataset for m in found))
    panels = [
        Bars(
            y=f"{metric.upper()} in %",
            groups={d: {m.label: _cell(m, metric) for m in found if m.dataset == d}
                    for d in datasets},
        )
        for metric in METRICS
    ]  # fmt: skip
    return Picture(title=title, subtitle=_seeds(found), about=_about(found), panels=list(panels))


def curves_of(
    rows: Sequence[Row], method: str, sweeps: Mapping[str, Mapping[str, float]], title: str
) -> Picture | None:
    """ACC over the values of parameters, a panel each; ``sweeps`` is name, label, value."""
    panels, used = [], []
    for name, values in sweeps.items():
        series: dict[str, list[list[float]]] = {}
        found = entries_of(rows, [method], list(values))
        for m in found:
            point = [values[m.label], *_cell(m, "acc")]
            series.setdefault(m.dataset, []).append(point)
        series = {d: sorted(points) for d, points in series.items() if len(points) > 1}
        if series:
            xs = {point[0] for points in series.values() for point in points}
            log = min(xs) > 0 and max(xs) / min(xs) >= 20
            panels.append(Lines(x=name, y="ACC in %", series=series, log=log))
            used += [m for m in found if m.dataset in series]
    if not panels:
        return None
    title = f"{title} on {', '.join(dict.fromkeys(m.dataset for m in used))}"
    return Picture(title=title, subtitle=_seeds(used), about=_about(used), panels=list(panels))


def _cell(m: Measured, metric: str) -> list[float]:
    found = m.trained(metric)
    return [found.mean, found.deviation]


def _seeds(found: Sequence[Measured]) -> str:
    counts = sorted({len(m.rows) for m in found})
    many = f"{counts[0]} to {counts[-1]} seeds" if len(counts) > 1 else f"{counts[0]} seeds"
    told = "one seed" if many == "1 seeds" else f"mean and deviation of {many}"
    return f"{told}, all texts, {LEFT}"


def _about(found: Sequence[Measured]) -> str:
    rows = {id(row): row for m in found for row in m.rows}
    return about(list(rows.values()))
