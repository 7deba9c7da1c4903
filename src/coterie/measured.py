"""What commands have measured of the clusters of a run: how stable they are, how they change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._trust import LARGE, check_shape, inside, read_json
from coterie._types import Ints
from coterie.run_files import shape_of

STABILITY_FILE, TIMELINE_FILE = "stability.json", "timeline.json"


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


@dataclass(frozen=True)
class Step:
    """A cluster in a period.

    Attributes
    ----------
    cluster : int
    name : str
    period : str
        Such as "2026-03" or "2026-W09".
    texts : int
    share : float
        Of all texts of the period that have a cluster.
    entered, left : list of str
        Words that are much more frequent than in the period before, and much less.
    shift : float or None
        How far the centre has moved since then, from 0 to 2; None where there are too few texts.
    """

    cluster: int
    name: str
    period: str
    texts: int
    share: float
    entered: list[str]
    left: list[str]
    shift: float | None


@dataclass(frozen=True)
class Timeline:
    """The clusters of a run over time.

    Attributes
    ----------
    column : str
        Column of the dates.
    unit : str
        One of "day", "week", "month", "quarter", "year".
    periods : list of str
        From the first to the last.
    undated : int
        Rows without a date that can be read.
    steps : list of Step
        Cluster by cluster, in the order of time.
    """

    column: str
    unit: str
    periods: list[str]
    undated: int
    steps: list[Step]

    @property
    def table(self) -> pa.Table:
        """One row for each cluster and period."""
        rows = [asdict(step) for step in self.steps]
        for row in rows:
            row |= {key: ", ".join(row[key]) for key in ("entered", "left")}
        kinds = [
            ("cluster", pa.int64()),
            ("name", pa.string()),
            ("period", pa.string()),
            ("texts", pa.int64()),
            ("share", pa.float64()),
            ("entered", pa.string()),
            ("left", pa.string()),
            ("shift", pa.float64()),
        ]
        return pa.Table.from_pylist(rows, schema=pa.schema(kinds))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def to_file(found: Stability | Timeline, labels: Ints) -> dict[str, Any]:
    """What a file holds: the result, and a digest of the clusters that it is about."""
    return {"labels": _digest(labels), **found.to_dict()}


def read_measured(folder: Path, name: str, labels: Ints) -> dict[str, Any] | None:
    """What a command has measured of the clusters; None if it has not, or of other clusters.

    ``name`` is that of the file: ``stability.json`` or ``timeline.json``.
    """
    path = inside(folder, name)
    if not path.exists():
        return None
    shape = shape_of(Stability if name == STABILITY_FILE else Timeline)
    saved = check_shape(read_json(path, LARGE), {"labels": str, **shape}, str(path))
    return dict(saved) if saved["labels"] == _digest(labels) else None


def _digest(labels: Ints) -> str:
    """Tells whether the clusters of all rows are the same."""
    return sha256(np.ascontiguousarray(labels, dtype=np.int64).tobytes()).hexdigest()
