"""Suites are data: ``suites.toml`` beside this file, and files of the user's in the same form.

A suite has ``datasets`` (names, or groups of data sets), ``seeds`` and ``entries``. An entry is

- a method: ``method``, and the other fields of :class:`Entry`; ``by_dataset`` may name a table of
  ``suites.toml``, and parameters in ``unset`` are None; an ``encoder`` that is a table is a bag of
  words with these settings;
- ``sweep`` and ``values``: an entry for each value of one parameter, ``label`` with a place for it;
- ``use``: the entries of another suite, those in ``only`` or all, with other fields changed;
  ``datasets`` is for entries that have none.

A file of the user's also has ``data``, labelled files as data sets. Everything in it is checked
before the first run, and each message says where in the file.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from coterie._util.validation import check_choice, check_integer
from coterie.errors import UsageError
from coterie_bench.datasets import CARDS, GROUPS, PAIRS


def own_data(name: str) -> dict[str, Any]:
    """The tables of a TOML file of this package."""
    return tomllib.loads((resources.files("coterie_bench") / name).read_text("utf-8"))


PROTOCOLS = ("all", "split")
SUFFIX = ".toml"


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
    draws = [(chosen[0], draw) for draw in range(suite.draws)] if chosen else []
    return [
        Job(name, entry, seed, k, draw)
        for name in suite.datasets
        for entry in suite.entries
        if not entry.datasets or name in entry.datasets
        for k in (("given", "found") if find_k else ("given",))
        for seed, draw in [*((seed, None) for seed in chosen), *draws]
    ]


Types = Mapping[str, type | tuple[type, ...]]
KEYS: Types = {"name": str, "about": str, "datasets": (str, list), "seeds": int, "draws": int,
        "parts": list, "entries": list, "data": list}  # fmt: skip
ENTRY: Types = {"label": str, "method": str, "preset": str, "parameters": dict, "unset": list,
         "views": list, "own_views": str, "by_dataset": (str, dict), "datasets": (str, list),
         "use": str, "only": list, "sweep": str, "values": list}  # fmt: skip
DATA: Types = {
    "name": str,
    "file": str,
    "labels_column": str,
    "text_column": str,
    "n_clusters": int,
}
WORDS: dict[Any, str] = {str: "a text", list: "a list", int: "a whole number", dict: "a table",
         (str, list): "a list", (str, dict): "a table"}  # fmt: skip


def group_members(
    given: str | Sequence[str], known: Collection[str], where: str
) -> tuple[str, ...]:
    """Names of data sets, with groups replaced by their members."""
    listed = [given] if isinstance(given, str) else list(given)
    names = [name for one in listed for name in GROUPS.get(str(one), [one])]
    for name in names if known else ():
        check_choice(f"{where}: each", name, sorted(known))
    _different(names, where)
    return tuple(names)


def _expand(given: dict[str, Any], where: str) -> Iterator[Entry]:
    """The entries that one table of a suite stands for."""
    _check(given, ENTRY, where, needed=())
    more = {k: v for k, v in given.items() if k not in ("use", "only", "sweep", "values", "unset")}
    more = {k: tuple(v) if k == "views" else v for k, v in more.items()}
    if "datasets" in more:
        more["datasets"] = group_members(more["datasets"], (), f"{where}: datasets")
    if isinstance(more.get("by_dataset"), str):
        name = check_choice(f"{where}: by_dataset", more["by_dataset"], _TABLES)
        more["by_dataset"] = _TABLES[name]
    if unset := given.get("unset"):
        more["parameters"] = {**more.get("parameters", {}), **dict.fromkeys(unset)}
    if "use" in given:
        used = _ours(check_choice(f"{where}: use", given["use"], _OWN["suites"])).entries
        sets = more.pop("datasets", ())
        for entry in used:
            if entry.label in given.get("only", [entry.label]):
                yield replace(entry, **more, datasets=entry.datasets or sets)
        return
    if not more.get("method"):
        raise UsageError(f"{where}: method is missing.")
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


def _suite(name: str, given: dict[str, Any], files: tuple[DataFile, ...], where: str) -> Suite:
    known = {*CARDS, "sample", *(f"{n}-sentences" for n in CARDS), *(f.name for f in files)}
    listed = given.get("datasets", [f.name for f in files])
    datasets = group_members(listed, known, f"{where}, datasets")
    if not datasets:
        raise UsageError(f"{where}: datasets is missing; name at least one, such as 'sample'.")
    entries = tuple(
        entry
        for i, one in enumerate(given["entries"])
        for entry in _expand(one, f"{where}, entries[{i}]")
    )
    _different([entry.label for entry in entries], f"{where}, entries: the label")
    seeds = check_integer(f"{where}, seeds", given.get("seeds", 3))
    about, parts = given.get("about", ""), tuple(given.get("parts", ()))
    return Suite(name, about, entries, datasets, seeds, parts, files, given.get("draws", 0))


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


def read_suite(path: Path) -> Suite:
    """The suite that a TOML file describes, checked."""
    if not path.exists():
        raise UsageError(f"there is no suite file {path}.")
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    where = str(path)
    _check(given, KEYS, where, needed=("entries",))
    files = tuple(
        _data(one, path, f"{where}, data[{i}]") for i, one in enumerate(given.get("data", []))
    )
    suite = _suite(given.get("name", path.stem), given, files, where)
    check_entries(suite, where)
    return suite


def check_entries(suite: Suite, where: str) -> None:
    """Refuse entries that cannot run: unknown methods, presets, parameters, values, views."""
    from coterie.methods.augmentation.run import is_kind
    from coterie.models.registry import METHODS

    for entry in suite.entries:
        at = f"{where}, entry {entry.label!r}"
        recipe = METHODS[check_choice(f"{at}: method", entry.method, METHODS)]
        if entry.preset is not None:
            check_choice(f"{at}: preset", entry.preset, recipe.cls.presets)
        by_suite = ("random_state", "device", "verbose")
        known = [f.name for f in dataclasses.fields(recipe.cls) if f.name not in by_suite]
        for name in (*entry.by_dataset, *entry.datasets):
            check_choice(f"{at}: each data set", name, suite.datasets)
        for kind in entry.views:
            check_choice(f"{at}: views: each", kind, sorted({kind for _, kind in PAIRS}))
        own = entry.own_views
        if own is not None and own != "virtual" and not is_kind(own):
            raise UsageError(f"{at}: own_views should be a kind such as 'eda', got {own!r}.")
        if (entry.views or own) and "views" not in known:
            raise UsageError(f"{at}: the method {entry.method!r} takes no views.")
        for more in ({}, *entry.by_dataset.values()):
            parameters = {**entry.parameters, **more}
            for key in parameters:
                check_choice(f"{at}: parameters: each", key, known)
            try:  # values, too, are judged before the first run
                k = parameters.pop("n_clusters", 2)
                recipe.make(k, entry.preset, **parameters)._check_parameters()
            except UsageError as error:
                raise UsageError(f"{at}: {error}") from error


def _data(given: Any, path: Path, where: str) -> DataFile:
    _check(given, DATA, where, needed=("file", "labels_column"))
    file = path.parent / given["file"]
    if not file.exists():
        raise UsageError(f"{where}: there is no file {file}.")
    name = given.get("name", file.stem)
    if name in CARDS or name == "sample":
        raise UsageError(f"{where}: {name!r} is the name of a known data set; choose another name.")
    k = given.get("n_clusters")
    if k is not None:
        check_integer(f"{where}: n_clusters", k)
    return DataFile(name, file, given["labels_column"], given.get("text_column"), k)


def _check(given: Any, known: Types, where: str, needed: Iterable[str]) -> None:
    if not isinstance(given, dict):
        raise UsageError(f"{where} should be a table, got {given!r}.")
    for key, value in given.items():
        kind = known[check_choice(f"{where}: the key", key, known)]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UsageError(f"{where}: {key} should be {WORDS[kind]}, got {value!r}.")
    for key in needed:
        if not given.get(key):
            raise UsageError(f"{where}: {key} is missing.")


def _different(names: Sequence[str], where: str) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{where}: {twice[0]!r} occurs twice.")


_OWN = own_data("suites.toml")
_TABLES: dict[str, dict[str, dict[str, Any]]] = _OWN["by_dataset"]


@cache
def _ours(name: str) -> Suite:
    return _suite(name, _OWN["suites"][name], (), f"suites.toml, {name}")


SUITES: dict[str, Suite] = {name: _ours(name) for name in _OWN["suites"]}
SWEEPS: dict[str, dict[str, dict[str, float]]] = {}  # method, parameter, label, value
for _one in _OWN["suites"]["sensitivity"]["entries"]:
    _labels = {f"{_one['sweep']}={value:g}": float(value) for value in _one["values"]}
    SWEEPS.setdefault(_one["method"], {})[_one["sweep"]] = _labels
