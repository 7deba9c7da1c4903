"""Figures 3 to 5 of SCCL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from coterie.bench.figures.draw import draw_lines, new_figure
from coterie.bench.figures.lines import bars_of
from coterie.bench.figures.short import Short, columns
from coterie.bench.keys import Row
from coterie.bench.papers import SCCL_ABLATIONS
from coterie.metrics import cluster_distances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = [entry.label for entry in SCCL_ABLATIONS.entries]
STRENGTHS = [label for label in LABELS if label.startswith("pairs: ")]
OBJECTIVES = [label for label in LABELS if label not in STRENGTHS]


def objectives(rows: Sequence[Row]) -> Figure | None:
    """Figure 3: one term, one after the other, or both."""
    return bars_of(rows, "sccl", OBJECTIVES, "SCCL: terms of the loss")


def strengths(rows: Sequence[Row]) -> Figure | None:
    """Figure 5: how strong the augmented pairs are."""
    return bars_of(rows, "sccl", STRENGTHS, "SCCL: strength of the pairs")


def distances(short: Short) -> Figure:
    """Figure 4: distances inside and between clusters over training, true and predicted."""
    figure, axes = new_figure(2)
    seen = trace_distances(short)
    for kind, panel in zip(("intra", "inter"), axes, strict=True):
        series = {who: columns(seen, f"{kind} {who}") for who in ("true", "predicted")}
        said = "to the own centroid" if kind == "intra" else "to the nearest other centroid"
        draw_lines(panel, series, f"SCCL on {short.data.name}", "step", f"mean distance {said}")
    return figure


def trace_distances(short: Short) -> list[dict[str, Any]]:
    """``intra`` and ``inter`` distances of true and predicted clusters over training."""
    truth = short.truth

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        predicted = net.assign(vectors).argmax(dim=1).cpu().numpy()
        points = vectors.cpu().numpy()
        kinds = {"true": truth, "predicted": predicted}
        found = {who: cluster_distances(points, labels) for who, labels in kinds.items()}
        return {f"{kind} {who}": v for who, both in found.items() for kind, v in both.items()}

    return short.trace(short.make("sccl"), look)
