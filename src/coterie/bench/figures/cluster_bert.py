"""Figures 3 and 4 of ClusterBERT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coterie.analysis import stage_indices
from coterie.bench.figures.draw import draw_lines, new_figure
from coterie.bench.figures.lines import bars_of
from coterie.bench.figures.short import Short
from coterie.bench.keys import Row
from coterie.bench.papers import CLUSTER_BERT_ABLATIONS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INDICES = {"nmi": "NMI", "acc": "ACC", "silhouette": "silhouette", "dunn": "Dunn index"}


def stages(short: Short) -> Figure:
    """Figure 3: NMI, ACC, silhouette and Dunn index after each stage."""
    seen = trace_stages(short)
    figure, axes = new_figure(len(INDICES), columns=2)
    names = [str(row["stage"]) for row in seen]
    for (key, said), panel in zip(INDICES.items(), axes, strict=True):
        points = [(i, row[key]) for i, row in enumerate(seen) if row[key] is not None]
        draw_lines(panel, {said: points}, f"ClusterBERT on {short.data.name}", "after", said)
        panel.set_xticks(range(len(names)), names)
    return figure


def trace_stages(short: Short) -> list[dict[str, Any]]:
    """Indices of the clusters at the start and after each stage."""
    model = short.make("cluster-bert", "fast", record_stages=True).fit(short.data.texts)
    return stage_indices(model, short.data.labels)


def reconstruction(rows: Sequence[Row]) -> Figure | None:
    """Figure 4, its left half: with and without reconstruction in the later stages."""
    labels = [entry.label for entry in CLUSTER_BERT_ABLATIONS.entries]
    return bars_of(rows, "cluster-bert", labels, "ClusterBERT: reconstruction")
