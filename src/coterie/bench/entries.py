"""What a suite is made of: a method with its settings, on data sets, with seeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One method with its settings, under the name that tables show."""

    label: str
    method: str
    parameters: dict[str, Any] = field(default_factory=dict)
    preset: str | None = None
    views: tuple[str, ...] = ()  # kinds of published augmentations; the first that exists is taken
    by_dataset: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """Every entry on every data set with every seed."""

    name: str
    about: str
    entries: tuple[Entry, ...]
    datasets: tuple[str, ...]
    seeds: int
