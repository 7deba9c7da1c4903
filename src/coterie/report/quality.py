"""Quality figures, each with a sentence of meaning, and what to do about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._types import Floats, Ints
from coterie.description import Cluster
from coterie.errors import counted
from coterie.metrics import size_entropy
from coterie.summary import CLOSE

MANY = 0.2  # a share of close calls that calls for another try
SMALL = 5  # texts; a smaller cluster deserves a look


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
    start, final = guard["start"], guard.get("final")
    shown = start if guard["fired"] or not final else final
    out = [
        Figure(
            "Neighbour agreement",
            shown["neighbor_agreement"],
            "How much more often than by chance a text and its ten nearest neighbours share a "
            f"cluster; it was {start['neighbor_agreement']:.2f} before training.",
        )
    ]
    if guard.get("agreement") is not None:
        out.append(
            Figure(
                "Change by training",
                1 - guard["agreement"],
                "One minus the NMI of the clusters before and after training: 0 is no change, "
                "1 means nothing in common.",
            )
        )
    return out


def guard_sentence(guard: Mapping[str, Any] | None) -> str:
    """What the guard did, for readers who do not know it; empty where it had nothing to guard."""
    if not guard or guard["fired"]:
        return ""  # where it stepped in, the summary says so already
    return "The start guard compared the clusters before and after training: training did no harm."


def next_steps(clusters: Sequence[Cluster], quality: Sequence[Figure]) -> list[str]:
    """What a reader may do with the result, the most useful first."""
    if not clusters:
        return []
    if len(clusters) == 1:
        return [
            "All texts are in one cluster: ask for more (--clusters) to see themes.",
            "Assign new texts to it with coterie predict.",
        ]
    out = ["Read the names and a few examples of each cluster; similar clusters may be one theme."]
    largest = max(clusters, key=lambda cluster: cluster.size)
    if largest.share > 0.4:
        out.append(
            f"“{largest.name}” holds {100 * largest.share:.0f}% of the texts: "
            "more clusters (--clusters) may split it."
        )
    close = next((figure for figure in quality if figure.name == "Close calls"), None)
    if close is not None and close.number >= MANY:
        out.append(
            f"{close.value} of the texts are close calls: fewer clusters, or another method, may "
            "separate them better."
        )
    small = [cluster for cluster in clusters if cluster.size < SMALL]
    if small:
        them = f"{counted(len(small), 'cluster')} {'has' if len(small) == 1 else 'have'}"
        out.append(f"{them} fewer than {SMALL} texts: rare themes, or outliers.")
    out += _nearest_pair(clusters)
    out.append("Assign new texts to these clusters with coterie predict.")
    return out


def _nearest_pair(clusters: Sequence[Cluster]) -> list[str]:
    pairs = [
        (near.similarity, cluster.name, near.name) for cluster in clusters for near in cluster.near
    ]
    if not pairs:
        return []
    _, one, other = max(pairs, key=lambda pair: pair[0])
    return [f"“{one}” and “{other}” are the most similar clusters: compare them first."]


def leads(probabilities: Floats) -> tuple[Floats, Floats]:
    """Probability of the best cluster of each text, and how far it leads the second best."""
    top = np.sort(probabilities, axis=1)[:, ::-1]
    return top[:, 0], top[:, 0] - (top[:, 1] if top.shape[1] > 1 else 0.0)
