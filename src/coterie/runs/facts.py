"""What the JSON files of a run hold, as pydantic models that check them before they are used.

The checked files stay plain values; keys that are unknown here are kept. A file that does not fit
is refused with its name and the field.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from coterie.describe import Cluster
from coterie.errors import DataError
from coterie.runs.measured import ClusterStability

HIGHEST_ID = 1_000_000  # of a cluster: tables have a column for each
Count = Annotated[int, Field(ge=0, lt=1 << 53)]
ClusterId = Annotated[int, Field(ge=0, lt=HIGHEST_ID)]
LevelName = Annotated[str, Field(pattern=r"^(broad|medium|fine|level_\d+)$")]


class Stored(BaseModel):
    """A part of a file: no kind of value stands for another one."""

    model_config = ConfigDict(strict=True)

    @classmethod
    def check(cls, data: bytes, where: str) -> None:
        """Refuse JSON that does not fit; ``where`` names the file."""
        try:
            cls.model_validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))[:100] or "its values"
            raise DataError(f"{where} is damaged: {place}: {first['msg']:.200}.") from error


class _Data(Stored):
    rows: Count
    text_column: str
    id_column: str | None = None
    sha256: str
    notes: list[str]
    types: dict[str, str] = {}
    texts: Count = 0
    different_texts: Count = 0


class _Figures(Stored):
    confidence: float
    close_calls: float
    unsure: dict[int, Count] = {}
    added: dict[int, Count] = {}


class _Encoder(Stored):
    used: str
    precision: str = ""
    warnings: list[str] = []


class _Agreement(Stored):
    neighbor_agreement: float


class _Guard(Stored):
    fired: bool
    reason: str = ""
    start: _Agreement
    final: _Agreement | None = None
    agreement: float | None = None


class _Handover(Stored):
    levels: list[Count] = []
    max_outliers: str | None = None
    write: list[str] = []


class _Number(Stored):
    reason: str
    n_clusters: Count
    low: Count
    high: Count


class _Given(Stored):
    labels: dict[int, str]
    themes: list[list[str]]


class _Guidance(Stored):
    given: list[str]
    empty: list[str] = []
    found: int = 0
    numbers: list[ClusterId] = []
    kept: _Given


class _Outliers(Stored):
    marked: Count


class _Names(Stored):
    by: str = ""
    before: dict[int, str] = {}


class _Kept(Stored):
    run: str
    matched: Count
    clusters: Count
    new: Count
    known: Count
    predicted: Count


class _Editing(Stored):
    edits: Count = 0
    named: list[ClusterId] = []
    next_id: ClusterId = 0
    kept: _Kept | None = None


class _Update(Stored):
    when: str
    rows: Count
    sha256: str
    new: list[ClusterId]
    fit_nowhere: Count = 0
    loose: list[ClusterId] = []
    first: Count = 0


class _Change(Stored):
    when: str
    done: list[str]


class Manifest(Stored):
    """``manifest.json``: how a run was made and changed."""

    started: str = ""
    method: str
    parameters: dict[str, Any]
    data: _Data
    summary: list[str]
    figures: _Figures
    remarks: list[str] = []
    seconds: dict[str, Any] | float
    versions: dict[str, Any]
    hardware: dict[str, Any]
    peak_memory: dict[str, Count] = {}
    encoder: _Encoder | None = None
    finished: str
    seed: int | None = None
    guard: _Guard | None
    handover: _Handover | None = None
    number_of_clusters: _Number | None = None
    levels: dict[str, Count] = {}
    fit_sample: Count = 0
    guidance: _Guidance | None = None
    outliers: _Outliers | None = None
    names: _Names | None = None
    editing: _Editing | None = None
    updates: list[_Update] = []
    changes: list[_Change] = []


def _numbers(clusters: list[Cluster]) -> set[int]:
    """The numbers of clusters, each of which is there once."""
    seen: set[int] = set()
    for cluster in clusters:
        for number in (cluster.id, cluster.parent or 0):
            if not 0 <= number < HIGHEST_ID:
                raise ValueError(f"no cluster has the number {number}")
        if cluster.id in seen:
            raise ValueError(f"cluster {cluster.id} occurs twice")
        seen.add(cluster.id)
    return seen


class _Tree(Stored):
    levels: dict[LevelName, Count]
    at: Count
    leaves: list[ClusterId]
    merges: list[tuple[ClusterId, ClusterId, ClusterId]]
    nodes: list[Cluster]

    @model_validator(mode="after")
    def _is_a_tree(self) -> Self:
        loose = set(self.leaves)
        known, described, k = set(loose), _numbers(self.nodes), len(self.leaves)
        if len(loose) != k:
            raise ValueError("a leaf occurs twice")
        for union, one, other in self.merges:
            if union in known or one == other or not {one, other} <= loose:
                raise ValueError(f"it cannot merge {one} and {other}")
            known.add(union)
            loose = loose - {one, other} | {union}
        if len(loose) != 1 or described - known:
            raise ValueError("it has other clusters than it describes")
        numbers = list(self.levels.values())
        rising = numbers == sorted({*numbers}) and numbers[-1:] == [k]
        if not rising or not 1 <= min(self.at, *numbers) or self.at > k:
            raise ValueError(f"its levels are none of a tree of {k} clusters")
        return self


class ClustersFile(Stored):
    """``clusters.json``."""

    clusters: list[Cluster]
    tree: _Tree

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        shown, tree = _numbers(self.clusters), self.tree
        known = {*tree.leaves, *(union for union, _, _ in tree.merges)}
        told = shown | {node.id for node in tree.nodes}
        top = {tree.merges[-1][0]} if tree.merges else set()
        if shown - known or known - told - top:
            raise ValueError("the tree has other clusters than are described")
        return self


class MapFile(Stored):
    """``map.json``: where texts are on the map."""

    layout: str
    total: Count
    silhouette: FiniteFloat | None
    rows: list[Count]
    x: list[FiniteFloat]
    y: list[FiniteFloat]

    @model_validator(mode="after")
    def _has_places(self) -> Self:
        if not len(self.rows) == len(self.x) == len(self.y):
            raise ValueError("rows and coordinates differ in number")
        if any(a >= b for a, b in pairwise(self.rows)):
            raise ValueError("its rows do not ascend")
        return self


class StabilityFile(Stored):
    """``stability.json``; ``labels`` is a digest of the clusters that it is about."""

    labels: str
    rows: Count
    seeds: float
    halves: float
    wording: float
    clusters: list[ClusterStability]
