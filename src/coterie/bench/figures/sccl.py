"""Figures 3 to 5 of SCCL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from coterie._random import derive_seed
from coterie.bench.collect import about
from coterie.bench.figures.lines import LEFT, bars_of
from coterie.bench.figures.picture import Histogram, Lines, Panel, Picture
from coterie.bench.figures.short import Short, columns_of
from coterie.bench.keys import Row
from coterie.bench.papers import SCCL_ABLATIONS
from coterie.bench.tables import cell
from coterie.blocks.kmeans import KMeans
from coterie.metrics import cluster_distances

LABELS = [entry.label for entry in SCCL_ABLATIONS.entries]
STRENGTHS = [label for label in LABELS if label.startswith("pairs: ")]
OBJECTIVES = [label for label in LABELS if label not in STRENGTHS]
# Lines of benchmarks/views.py: how much was changed, with and without swapped letters on top.
RATES = (10, 20, 30)
FORMS = ("contextual", "contextual + CharSwap")
UNIT = " %"  # as the result lines write it
KINDS = ("predicted", "true")  # clusters
OBJECTIVE_FORMS = {"SCCL": "joint", "instances only": "instance", "clusters only": "clustering"}
COSINE_EDGES = tuple(float(edge) for edge in np.arange(-4, 21) / 20)


def objectives(rows: Sequence[Row]) -> Picture | None:
    """Figure 3: one term, one after the other, or both."""
    return bars_of(rows, "sccl", OBJECTIVES, "SCCL: terms of the loss")


def strengths(rows: Sequence[Row]) -> Picture | None:
    """Figure 5 on the published pairs: how strong they are."""
    return bars_of(rows, "sccl", STRENGTHS, "SCCL: strength of the published pairs")


def views(rows: Sequence[Row]) -> Picture | None:
    """Figure 5: substitution alone or with swapped letters, and how far it moves a text.

    Parameters
    ----------
    rows : sequence of dict
        Lines of ``sccl-views`` and ``view-cosines``.
    """
    runs = [row for row in rows if "scores" in row]
    moved = [row for row in rows if "cosine" in row]
    panels: list[Panel] = []
    columns = 2
    for name in dict.fromkeys(row["dataset"] for row in rows):
        scores = scores_by_rate([row for row in runs if row["dataset"] == name])
        cosines = cosines_by_rate([row for row in moved if row["dataset"] == name])
        if not scores or not cosines:
            continue
        columns = max(columns, 1 + len(cosines))  # a row for each data set
        panels.append(Lines(x="words substituted in %", y="ACC in %", series=scores,
                            title=f"{name}: accuracy"))  # fmt: skip
        panels += [
            Histogram(x="cosine of a text and its wording", y="share of wordings in %",
                      edges=list(COSINE_EDGES), series=series,
                      title=f"{name}: {rate}% substituted, before training")
            for rate, series in cosines.items()
        ]  # fmt: skip
    if not panels:
        return None
    seeds = len({row["seed"] for row in runs})
    told = f"1,000 steps, {seeds} seed{'s' * (seeds > 1)}, {LEFT}; histograms: 2,000 texts"
    return Picture(title="SCCL: contextual wordings alone, and with swapped letters",
                   subtitle=told, about=about(runs), panels=panels, columns=columns)  # fmt: skip


def scores_by_rate(runs: Sequence[Row]) -> dict[str, list[list[float]]]:
    """ACC over the share of words changed, for each form, and that of the start."""
    out: dict[str, list[list[float]]] = {}
    for form in FORMS:
        for rate in RATES:
            own = [r for r in runs if r["label"] == f"SCCL, {form} {rate}{UNIT}"]
            if own:
                left = [{"scores": r["trained_scores"] or r["scores"]} for r in own]
                found = cell(left, "acc")
                out.setdefault(form, []).append([rate, found.mean, found.deviation])
    if out:
        start = cell(runs, "acc", "start_scores").mean
        ends = sorted({point[0] for points in out.values() for point in points})
        out["before training (k-means)"] = [[rate, start, 0.0] for rate in ends]
    return out


def cosines_by_rate(moved: Sequence[Row]) -> dict[int, dict[str, list[float]]]:
    """Share of wordings in each bin of cosines, in per cent, by rate, then form.

    The newest line of a label counts.
    """
    newest = {row["label"]: row["cosine"]["histogram"] for row in moved}
    out: dict[int, dict[str, list[float]]] = {}
    for rate in RATES:
        for form in FORMS:
            counts = newest.get(f"{form} {rate}{UNIT}")
            if counts is not None:
                shares = [100 * count / sum(counts) for count in counts]
                out.setdefault(rate, {})[form] = shares
    return out


def distances(short: Short) -> Picture:
    """Figure 4: distances inside and between clusters over training, predicted and true.

    Predicted clusters are those of k-means, as the paper scores them.
    """
    seen = {said: trace_distances(short, form) for said, form in OBJECTIVE_FORMS.items()}
    panels: list[Panel] = []
    for who in KINDS:
        for kind, said in (("intra", "text to own centroid"), ("inter", "to nearest centroid")):
            series = {name: columns_of(rows, f"{kind} {who}") for name, rows in seen.items()}
            panels.append(Lines(x="training step", y=f"mean distance, {said}", series=series,
                                title=f"{who} clusters: {kind}-cluster distance"))  # fmt: skip
    return short.picture("SCCL: distances", panels, columns=2)


def trace_distances(short: Short, objective: str = "joint") -> list[dict[str, Any]]:
    """``intra`` and ``inter`` distances of predicted and true clusters over training."""
    truth, seed = short.truth, derive_seed(short.seed, "look")
    cluster = KMeans(n_clusters=short.data.n_clusters, seed=seed, n_init=3)

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        labels = dict(zip(KINDS, (cluster(vectors.float()).labels, truth), strict=True))
        points = vectors.cpu().numpy()
        found = {who: cluster_distances(points, own) for who, own in labels.items()}
        return {f"{kind} {who}": v for who, both in found.items() for kind, v in both.items()}

    return short.trace(short.make("sccl", objective=objective), look)
