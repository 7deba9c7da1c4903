"""Figure 4 of ADSL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from coterie.bench.figures.lines import curves_of
from coterie.bench.figures.picture import Lines, Picture
from coterie.bench.figures.short import Short, columns_of
from coterie.bench.keys import Row
from coterie.bench.sensitivity import ADSL_SWEEPS, label_of
from coterie.metrics import accuracy, nmi


def sharpness(rows: Sequence[Row]) -> Picture | None:
    """Figure 4a: the power of the inverse distance in the soft labels."""
    sweeps = {n: {label_of(n, v): float(v) for v in values} for n, values in ADSL_SWEEPS.items()}
    return curves_of(rows, "adsl", sweeps, "ADSL")


def labels(short: Short) -> Picture:
    """Figure 4b: how right the soft labels are over training."""
    seen = trace_labels(short)
    series = {said: columns_of(seen, said) for said in ("ACC", "NMI")}
    panel = Lines(x="training step", y="score of the soft labels in %", series=series)
    return short.picture("ADSL: soft labels", [panel])


def trace_labels(short: Short) -> list[dict[str, Any]]:
    """``ACC`` and ``NMI`` of the strongest soft label at the start and after each refresh."""
    truth = short.truth

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        found = net.target.argmax(dim=1).cpu().numpy()
        return {"ACC": 100 * accuracy(truth, found), "NMI": 100 * nmi(truth, found)}

    return short.trace(short.make("adsl"), look)
