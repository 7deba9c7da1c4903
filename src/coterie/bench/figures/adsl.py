"""Figure 4 of ADSL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from coterie.bench.figures.draw import draw_lines, new_figure
from coterie.bench.figures.lines import curves_of
from coterie.bench.figures.short import Short, columns
from coterie.bench.keys import Row
from coterie.bench.sensitivity import ADSL_SWEEPS, label_of
from coterie.metrics import accuracy, nmi

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sharpness(rows: Sequence[Row]) -> Figure | None:
    """Figure 4a: the power of the inverse distance in the soft labels."""
    sweeps = {n: {label_of(n, v): float(v) for v in values} for n, values in ADSL_SWEEPS.items()}
    return curves_of(rows, "adsl", sweeps, "ADSL")


def labels(short: Short) -> Figure:
    """Figure 4b: how right the soft labels are over training."""
    figure, (panel,) = new_figure()
    seen = trace_labels(short)
    series = {said: columns(seen, said) for said in ("ACC", "NMI")}
    draw_lines(panel, series, f"ADSL on {short.data.name}", "step", "of the soft labels, in %")
    return figure


def trace_labels(short: Short) -> list[dict[str, Any]]:
    """``ACC`` and ``NMI`` of the strongest soft label at the start and after each refresh."""
    truth = short.truth

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        found = net.target.argmax(dim=1).cpu().numpy()
        return {"ACC": 100 * accuracy(truth, found), "NMI": 100 * nmi(truth, found)}

    return short.trace(short.make("adsl"), look)
