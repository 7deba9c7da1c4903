"""How stable the clusters of a run are, as ``coterie stability`` has measured it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from coterie._util.types import Ints


@dataclass(frozen=True)
class ClusterStability:
    """How stable and coherent one cluster is.

    Attributes
    ----------
    id : int
    name : str
    size : int
        Rows that were looked at.
    seeds, halves : float
        Mean of the largest Jaccard index with a cluster of a fit with another seed, and of a fit on
        half of the texts.
    wording : float
        Share of its texts that stay in it when they are reworded a little.
    npmi, embedding : float or None
        Coherence of its words: mean NPMI, and mean cosine of their embeddings.
    survives : bool
        Whether it has a match of 0.5 or more on average, over seeds and over halves.
    """

    id: int
    name: str
    size: int
    seeds: float
    halves: float
    wording: float
    npmi: float | None
    embedding: float | None
    survives: bool


@dataclass(frozen=True)
class Stability:
    """How stable a run is.

    Attributes
    ----------
    rows : int
        Rows that were looked at.
    seeds, halves : float
        Mean agreement (ARI) with fits with other seeds, and on halves of the texts.
    wording : float
        Share of the texts that keep their cluster when they are reworded a little.
    clusters : list of ClusterStability
        The least stable first.
    """

    rows: int
    seeds: float
    halves: float
    wording: float
    clusters: list[ClusterStability]

    def sentences(self) -> list[str]:
        """The result in a few sentences."""
        lost = [cluster for cluster in self.clusters if not cluster.survives]
        out = [
            f"Agreement (ARI) with other seeds {self.seeds:.2f}, with halves of the texts "
            f"{self.halves:.2f}. {100 * self.wording:.0f}% of the texts keep their cluster when "
            "they are reworded a little."
        ]
        named = ", ".join(f"{c.id} ({c.name})" for c in lost)
        out.append(
            f"{len(lost)} of {len(self.clusters)} clusters {'is' if len(lost) == 1 else 'are'} "
            f"unstable (below 0.5): {named}."
            if lost
            else "No cluster is unstable (below 0.5)."
        )
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def to_file(found: Stability, labels: Ints) -> dict[str, Any]:
    """What a file holds: the result, and a digest of the clusters that it is about."""
    return {"labels": _digest(labels), **found.to_dict()}


def current(saved: dict[str, Any] | None, labels: Ints) -> dict[str, Any] | None:
    """What was measured; None if nothing was, or of other clusters."""
    return saved if saved is not None and saved["labels"] == _digest(labels) else None


def _digest(labels: Ints) -> str:
    """Tells whether the clusters of all rows are the same."""
    return sha256(np.ascontiguousarray(labels, dtype=np.int64).tobytes()).hexdigest()
