"""Maps of the texts before and after: Figures 1 (SCCL, ClusterBERT), 2 (DECCRL) and 4 (AECL).

The layout is t-SNE of scikit-learn; colors are true classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from coterie._types import Floats, Ints
from coterie.bench.figures.draw import COLORS
from coterie.bench.figures.picture import Picture, Points
from coterie.bench.figures.short import Short


def draw_maps(
    short: Short, method: str, said: str, preset: str | None = None, *, by_stage: bool = False
) -> Picture:
    """Vectors of a method before its first step and after its last.

    Parameters
    ----------
    short : Short
    method, preset : str
    said : str
        The method's name as people write it.
    by_stage : bool
        Also those at the last look of each stage.
    """
    kept: list[Floats] = []

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        kept.append(vectors.cpu().numpy())
        if not by_stage:
            del kept[1:-1]
        return {}

    seen = short.trace(short.make(method, preset), look)
    titles = {0: "before training", len(kept) - 1: f"after training (step {seen[-1]['step']:,})"}
    if by_stage:
        last = {row["stage"]: i for i, row in enumerate(seen)}
        titles |= {i: f"{stage} (step {seen[i]['step']:,})" for stage, i in last.items()}
    panels = [as_points(place(kept[i], short.seed), short.truth, titles[i]) for i in sorted(titles)]
    classes = len(np.unique(short.truth))
    colors = "all" if classes <= len(COLORS) else f"the {len(COLORS)} largest of {classes}"
    told = f"t-SNE; colors: true classes ({colors}{', others grey' * (classes > len(COLORS))})"
    return short.picture(said, list(panels), told)


def place(vectors: Floats, seed: int = 0) -> Floats:
    """Two coordinates for each vector; texts that are the same lie on one point."""
    from sklearn.manifold import TSNE

    distinct, back = np.unique(vectors, axis=0, return_inverse=True)
    perplexity = min(30.0, max(1.0, (len(distinct) - 1) / 3))
    layout = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(distinct)
    return np.asarray(layout[back.ravel()])


def as_points(places: Floats, labels: Ints, title: str) -> Points:
    """A panel with the classes numbered by size; places in thousandths of the map's width."""
    rank = np.empty(int(labels.max()) + 1, dtype=np.int64)
    rank[np.argsort(-np.bincount(labels), kind="stable")] = np.arange(len(rank))
    low, high = places.min(axis=0), places.max(axis=0)
    whole = np.round(1000 * (places - low) / max(float((high - low).max()), 1e-9)).astype(int)
    x, y = whole.T.tolist()
    return Points(x=x, y=y, classes=rank[labels].tolist(), title=title)
