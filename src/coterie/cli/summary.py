"""The run in a few sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie._types import Floats, Ints
from coterie.base import TextClusterer
from coterie.description import Cluster
from coterie.hierarchy import Hierarchy

BORDERLINE = 0.1  # a margin below this is a close call


def summarize(
    model: TextClusterer, labels: Ints, probabilities: Floats, clusters: Sequence[Cluster]
) -> list[str]:
    """What was found, from the labels and probabilities of all rows."""
    placed = labels >= 0
    top = np.sort(probabilities[placed], axis=1)[:, ::-1]
    margin = top[:, 0] - (top[:, 1] if top.shape[1] > 1 else 0.0)
    out = [
        *about_sizes(int(placed.sum()), len(placed), clusters),
        about_confidence(float(top[:, 0].mean()), float((margin < BORDERLINE).mean())),
    ]
    if model.outlier_limit_ is not None:
        odd = int(((model.labels_ >= 0) & ~placed).sum())
        out.append(about_outliers(odd, int((model.labels_ >= 0).sum())))
    return out + about_model(model)


def about_sizes(placed: int, rows: int, clusters: Sequence[Cluster]) -> list[str]:
    """How many texts are in clusters, and how large the largest is."""
    return [
        f"{placed:,} of {rows:,} texts are in {len(clusters)} clusters; the "
        f"largest holds {100 * max(c.share for c in clusters):.0f}%."
    ]


def about_themes(hierarchy: Hierarchy | None) -> list[str]:
    """How many broad themes the clusters form, where there are any."""
    if hierarchy is None or not hierarchy.themes or not hierarchy.levels:
        return []
    k, n = len(hierarchy.above[0]), len(hierarchy.levels[0])
    return [f"The {k} clusters form {n} broad themes (column theme_name)."]


def about_confidence(mean: float, close: float) -> str:
    """How sure the clustering is of itself."""
    return (
        f"Mean confidence is {mean:.2f}; {100 * close:.0f}% of the texts are "
        "close calls between two clusters."
    )


def about_outliers(odd: int, placed: int) -> str:
    """How many texts fit no cluster; ``placed`` counts them, too."""
    return (
        f"{odd:,} texts fit none of the clusters ({100 * odd / max(placed, 1):.1f}%); the column "
        "nearest_cluster says where they would have been."
    )


def about_model(model: TextClusterer) -> list[str]:
    """What the method itself wants to be known."""
    out = [*model.history_.notes, *model.remarks()]
    if model.kept_start and model.guard_ is not None:
        out.append(
            f"The start guard stepped in: {model.guard_.reason}. These are the clusters before "
            "training."
        )
    return out
