"""Quality figures, each with a sentence of meaning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._types import Floats, Ints
from coterie.metrics import size_entropy
from coterie.summary import CLOSE


@dataclass(frozen=True)
class Figure:
    """A number, as the page shows it, and what it means in one sentence."""

    name: str
    number: float
    meaning: str
    percent: bool = False

    @property
    def value(self) -> str:
        """The number as text."""
        return f"{100 * self.number:.0f}%" if self.percent else f"{self.number:.2f}"


def figures(
    labels: Ints,
    confidence: Floats,
    margin: Floats,
    *,
    silhouette: float | None = None,
    guard: Mapping[str, Any] | None = None,
) -> list[Figure]:
    """Figures of a clustering.

    Parameters
    ----------
    labels, confidence, margin : ndarray of shape (n,)
        Of all rows; -1 marks those without a cluster, which are left out.
    silhouette : float, optional
    guard : mapping, optional
        What the start guard saw, as in the manifest.
    """
    placed = labels >= 0
    if not placed.any():
        return []
    k = len(set(labels[placed].tolist()))  # numbers may have gaps
    if k == 1:  # nothing to be unsure about
        return _guard_figures(guard) if guard else []
    close = float((margin[placed] < CLOSE).mean())
    out = [
        Figure(
            "Mean confidence",
            float(confidence[placed].mean()),
            "Mean probability of the assigned cluster: 1 is certain, "
            f"{1 / k:.2f} is a random guess among {k} clusters.",
        ),
        Figure(
            "Close calls",
            close,
            f"Texts whose best and second-best cluster differ by less than {CLOSE} in probability.",
            percent=True,
        ),
        Figure(
            "Evenness of sizes",
            size_entropy(labels[placed], k),
            "Normalized entropy of the cluster sizes: 1 if all are equally large, near 0 if one "
            "cluster has almost all texts.",
        ),
    ]
    if silhouette is not None and math.isfinite(silhouette):
        out.append(
            Figure(
                "Silhouette",
                silhouette,
                "How much closer texts are to their own cluster than to the next, from −1 to 1; "
                "use it to compare two runs on the same texts.",
            )
        )
    return out + (_guard_figures(guard) if guard else [])


def _guard_figures(guard: Mapping[str, Any]) -> list[Figure]:
    start = guard["start"]
    shown = start if guard["fired"] else guard["final"]
    return [
        Figure(
            "Neighbour agreement",
            shown["neighbor_agreement"],
            "How much more often than by chance a text and its ten nearest neighbours share a "
            f"cluster; it was {start['neighbor_agreement']:.2f} before training.",
        ),
        Figure(
            "Change by training",
            1 - guard["agreement"],
            "One minus the NMI of the clusters before and after training: 0 is no change, "
            "1 means nothing in common.",
        ),
    ]


def leads(probabilities: Floats) -> tuple[Floats, Floats]:
    """Probability of the best cluster of each text, and how far it leads the second best."""
    top = np.sort(probabilities, axis=1)[:, ::-1]
    return top[:, 0], top[:, 0] - (top[:, 1] if top.shape[1] > 1 else 0.0)
