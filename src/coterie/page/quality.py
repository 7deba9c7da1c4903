"""Quality figures, each with a sentence of meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.describe import Cluster
from coterie.describe.summary import CLOSE


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
    facts: Mapping[str, Any], clusters: Sequence[Cluster], silhouette: float | None = None
) -> list[Figure]:
    """Figures of a clustering.

    Parameters
    ----------
    facts : mapping
        The manifest, with what :func:`coterie.describe.summary.measure` found.
    clusters : sequence of Cluster
    silhouette : float, optional
    """
    sizes = np.array([cluster.size for cluster in clusters if cluster.size])
    k, guard = len(sizes), facts.get("guard")
    if k < 2:  # nothing to be unsure about
        return _guard_figures(guard) if k and guard else []
    share = sizes / sizes.sum()
    out = [
        Figure(
            "Mean confidence",
            facts["figures"]["confidence"],
            "Mean probability of the assigned cluster: 1 is certain, "
            f"{1 / k:.2f} is a random guess among {k} clusters.",
        ),
        Figure(
            "Close calls",
            facts["figures"]["close_calls"],
            f"Texts whose best and second-best cluster differ by less than {CLOSE} in probability.",
            percent=True,
        ),
        Figure(
            "Evenness of sizes",
            float(-(share * np.log(share)).sum() / np.log(k)),
            "Normalized entropy of the cluster sizes: 1 if all are equally large, near 0 if one "
            "cluster has almost all texts.",
        ),
    ]
    if silhouette is not None:
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
