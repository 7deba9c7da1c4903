"""A cluster as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from coterie.description.neighbors import Neighbor


@dataclass(frozen=True)
class Cluster:
    """One cluster as a person reads it; what is not known is left empty.

    Attributes
    ----------
    id : int
    name : str
        Unique among the clusters, made of its most telling words.
    size : int
    share : float
        Of all texts that have a cluster.
    words : list of (str, float)
        Most telling words and pairs with their weights.
    examples : list of str
        The most central texts, each once.
    topics : list of list of str
        Most probable words of each of its topics, from methods that find topics in clusters.
    diverse : list of str
        Texts that cover the cluster, each far from the others.
    borderline : list of str
        Texts with the smallest lead over another cluster.
    near : list of Neighbor
        The nearest clusters, nearest first.
    over_time : list of (str, int)
        Texts in each period; the same periods for all clusters.
    by : dict of str to list of (str, int)
        For each category column, its values and how many texts have them.
    parent : int or None
        Cluster of the next coarser level that holds this one.
    parent_name : str or None
        Its name.
    """

    id: int
    name: str
    size: int
    share: float
    words: list[tuple[str, float]]
    examples: list[str]
    topics: list[list[str]] = field(default_factory=list)
    diverse: list[str] = field(default_factory=list)
    borderline: list[str] = field(default_factory=list)
    near: list[Neighbor] = field(default_factory=list)
    over_time: list[tuple[str, int]] = field(default_factory=list)
    by: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    parent: int | None = None
    parent_name: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without optional fields that are empty."""
        always = [f.name for f in fields(self)][:6]
        return {
            key: value
            for key, value in asdict(self).items()
            if key in always or (value is not None and value != [] and value != {})
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Cluster:
        """A cluster from what :meth:`to_dict` gave, also after a way through JSON."""
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in saved.items() if key in known}
        for key in ("words", "over_time"):
            if key in values:
                values[key] = [(name, number) for name, number in values[key]]
        if "near" in values:
            values["near"] = [
                Neighbor(near["id"], near["name"], near["similarity"], near["more"], near["less"])
                for near in values["near"]
            ]
        if "by" in values:
            values["by"] = {
                column: [(name, number) for name, number in counts]
                for column, counts in values["by"].items()
            }
        return cls(**values)
