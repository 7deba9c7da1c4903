"""Maps of the texts before and after training: Figures 1 (SCCL, ClusterBERT), 2 (DECCRL), 4 (AECL).

The layout is t-SNE of scikit-learn; colors are true labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from coterie._types import Floats
from coterie.bench.figures.draw import COLORS, new_figure
from coterie.bench.figures.short import Short

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_maps(short: Short, method: str, preset: str | None = None) -> Figure:
    """Vectors of a method before its first step and after its last."""
    kept: list[Floats] = []

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        kept[1:] = [vectors.cpu().numpy()]  # the first stays, the newest follows it
        return {}

    model = short.make(method, preset)
    short.trace(model, look)
    figure, axes = new_figure(2)
    for title, vectors, panel in zip(
        (f"{short.data.name}, before", f"after {method}"), (kept[0], kept[-1]), axes, strict=True
    ):
        _scatter(panel, place(vectors, short.seed), short.truth)
        panel.set_title(title, loc="left")
    return figure


def place(vectors: Floats, seed: int = 0) -> Floats:
    """Two coordinates for each vector; texts that are the same lie on one point."""
    from sklearn.manifold import TSNE

    distinct, back = np.unique(vectors, axis=0, return_inverse=True)
    perplexity = min(30.0, max(1.0, (len(distinct) - 1) / 3))
    layout = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(distinct)
    return np.asarray(layout[back.ravel()])


def _scatter(panel: Any, points: Floats, labels: Any) -> None:
    largest = np.argsort(-np.bincount(labels), kind="stable")[: len(COLORS)]
    colors = np.full(len(labels), "#d4d4d4", dtype=object)  # the many small classes
    for color, label in zip(COLORS, largest, strict=False):
        colors[labels == label] = color
    size = min(20.0, max(2.0, 6000 / len(points)))  # fewer texts, larger points
    panel.scatter(points[:, 0], points[:, 1], s=size, c=list(colors), linewidths=0)
    panel.set_xticks([])
    panel.set_yticks([])
