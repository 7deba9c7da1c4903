"""What a suite is made of: a method with its settings, on data sets, with seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

PROTOCOLS = ("all", "split")


@dataclass(frozen=True)
class Entry:
    """One method with its settings, under the name that tables show.

    Attributes
    ----------
    label, method : str
    parameters : dict
    preset : str, optional
    views : tuple of str
        Kinds of published augmentations; the first that exists for a data set is taken.
    by_dataset : dict of str to dict
        Parameters for one data set, before ``parameters``.
    own_views : str, optional
        The kind of augmentation to make where none was published.
    datasets : tuple of str
        Runs on these alone; empty is all of the suite.
    """

    label: str
    method: str
    parameters: dict[str, Any] = field(default_factory=dict)
    preset: str | None = None
    views: tuple[str, ...] = ()
    by_dataset: dict[str, dict[str, Any]] = field(default_factory=dict)
    own_views: str | None = None
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataFile:
    """A labelled file of the user's as a data set."""

    name: str
    file: Path
    labels_column: str
    text_column: str | None = None
    n_clusters: int | None = None


@dataclass(frozen=True)
class Suite:
    """Every entry on every data set with every seed.

    Attributes
    ----------
    name, about : str
    entries : tuple of Entry
    datasets : tuple of str
    seeds : int
    parts : tuple of str
        Suites with runs in common; what is in their result files is not run again.
    files : tuple of DataFile
        Data sets of the user's own.
    draws : int
        Further runs of the first seed, each on vectors with another draw of noise.
    """

    name: str
    about: str
    entries: tuple[Entry, ...]
    datasets: tuple[str, ...]
    seeds: int
    parts: tuple[str, ...] = ()
    files: tuple[DataFile, ...] = ()
    draws: int = 0


class Job(NamedTuple):
    """One run of a suite; ``k`` is "given" or "found", ``draw`` the number of a draw of noise."""

    dataset: str
    entry: Entry
    seed: int
    k: str = "given"
    draw: int | None = None


def plan(suite: Suite, seeds: Iterable[int] | None = None, *, find_k: bool = False) -> list[Job]:
    """All runs of a suite, data set by data set."""
    chosen = list(seeds) if seeds is not None else list(range(suite.seeds))
    return list(_plan(suite, chosen, ("given", "found") if find_k else ("given",)))


def _plan(suite: Suite, seeds: list[int], ways: tuple[str, ...]) -> Iterator[Job]:
    for name in suite.datasets:
        for entry in suite.entries:
            if entry.datasets and name not in entry.datasets:
                continue
            for k in ways:
                for seed in seeds:
                    yield Job(name, entry, seed, k)
                for draw in range(suite.draws if seeds else 0):
                    yield Job(name, entry, seeds[0], k, draw)


def union(name: str, about: str, suites: Iterable[Suite], seeds: int) -> Suite:
    """One suite of several; each entry keeps to the data sets of the suite that it is from."""
    parts = list(suites)
    entries = [
        replace(entry, datasets=entry.datasets or suite.datasets)
        for suite in parts
        for entry in suite.entries
    ]
    datasets = dict.fromkeys(d for suite in parts for d in suite.datasets)
    known = tuple(suite.name for suite in parts)
    return Suite(name, about, tuple(entries), tuple(datasets), seeds, parts=known)
