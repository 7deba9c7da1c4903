"""Suites are data: ``suites.toml`` beside this file.

A suite has ``datasets`` (names, or groups of data sets), ``seeds`` and ``entries``. An entry is

- a method: ``method``, and the other fields of :class:`Entry`; ``by_dataset`` may name a table of
  ``suites.toml``, and parameters in ``unset`` are None; an ``encoder`` that is a table is a bag of
  words with these settings;
- ``sweep`` and ``values``: an entry for each value of one parameter, ``label`` with a place for it;
- ``use``: the entries of another suite, those in ``only`` or all, with other fields changed;
  ``datasets`` is for entries that have none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from coterie._util.validation import check_choice
from coterie_bench.datasets import CARDS, GROUPS


def own_data(name: str) -> dict[str, Any]:
    """The tables of a TOML file of this package."""
    return tomllib.loads((resources.files("coterie_bench") / name).read_text("utf-8"))


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
        Parameters for one data set, which go before ``parameters``.
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
    draws : int
        Further runs of the first seed, each on vectors with another draw of noise.
    """

    name: str
    about: str
    entries: tuple[Entry, ...]
    datasets: tuple[str, ...]
    seeds: int
    parts: tuple[str, ...] = ()
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
    draws = [(chosen[0], draw) for draw in range(suite.draws)] if chosen else []
    return [
        Job(name, entry, seed, k, draw)
        for name in suite.datasets
        for entry in suite.entries
        if not entry.datasets or name in entry.datasets
        for k in (("given", "found") if find_k else ("given",))
        for seed, draw in [*((seed, None) for seed in chosen), *draws]
    ]


def group_members(
    given: str | Sequence[str], known: Collection[str], where: str
) -> tuple[str, ...]:
    """Names of data sets, with groups replaced by their members."""
    listed = [given] if isinstance(given, str) else list(given)
    names = [name for one in listed for name in GROUPS.get(str(one), [one])]
    for name in names if known else ():
        check_choice(f"{where}: each", name, sorted(known))
    return tuple(dict.fromkeys(names))


def _expand(given: dict[str, Any]) -> Iterator[Entry]:
    """The entries that one table of a suite stands for."""
    more = {k: v for k, v in given.items() if k not in ("use", "only", "sweep", "values", "unset")}
    more = {k: tuple(v) if k == "views" else v for k, v in more.items()}
    if "datasets" in more:
        more["datasets"] = group_members(more["datasets"], (), "datasets")
    if isinstance(more.get("by_dataset"), str):
        more["by_dataset"] = _TABLES[more["by_dataset"]]
    if unset := given.get("unset"):
        more["parameters"] = {**more.get("parameters", {}), **dict.fromkeys(unset)}
    if "use" in given:
        sets = more.pop("datasets", ())
        for entry in _ours(given["use"]).entries:
            if entry.label in given.get("only", [entry.label]):
                yield replace(entry, **more, datasets=entry.datasets or sets)
        return
    if "sweep" not in given:
        yield Entry(**{"label": more["method"], **more})
        return
    name = given["sweep"]
    label = more.pop("label", f"{name}={{:g}}")
    own = more.pop("by_dataset", {})
    more["by_dataset"] = {d: {k: v for k, v in t.items() if k != name} for d, t in own.items()}
    fixed = more.pop("parameters", {})
    for value in given.get("values", []):
        yield Entry(label.format(value), parameters={name: value, **fixed}, **more)


def entries_for(methods: Iterable[str]) -> tuple[Entry, ...]:
    """One entry for each method at its defaults, under the label that the suites give it.

    Trained systems run as in the suite ``systems``.
    """
    from coterie.models.registry import METHODS

    listed = [e for name in ("two-step", "dev") for e in SUITES[name].entries]
    known = {entry.method: entry for entry in (*listed, *SUITES["systems"].entries)}
    return tuple(
        known.get(name) or Entry(name, check_choice("--methods: each", name, METHODS))
        for name in methods
    )


_OWN = own_data("suites.toml")
_TABLES: dict[str, dict[str, dict[str, Any]]] = _OWN["by_dataset"]


@cache
def _ours(name: str) -> Suite:
    given = _OWN["suites"][name]
    known = {*CARDS, "sample", *(f"{n}-sentences" for n in CARDS)}
    datasets = group_members(given["datasets"], known, f"suites.toml, {name}, datasets")
    entries = tuple(entry for one in given["entries"] for entry in _expand(one))
    parts, draws = tuple(given.get("parts", ())), given.get("draws", 0)
    return Suite(name, given["about"], entries, datasets, given.get("seeds", 3), parts, draws)


SUITES: dict[str, Suite] = {name: _ours(name) for name in _OWN["suites"]}
SWEEPS: dict[str, dict[str, dict[str, float]]] = {}  # method, parameter, label, value
for _one in _OWN["suites"]["sensitivity"]["entries"]:
    _labels = {f"{_one['sweep']}={value:g}": float(value) for value in _one["values"]}
    SWEEPS.setdefault(_one["method"], {})[_one["sweep"]] = _labels
