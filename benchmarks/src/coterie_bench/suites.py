"""All suites by name, and suites from a TOML or JSON file: what to run, as data.

A file has ``datasets``, ``seeds`` and a list of ``entries``; ``data`` names labelled files as data
sets. Everything is checked before the first run, and each message says where in the file.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from coterie._validation import check_choice, check_integer
from coterie.augmentation.run import is_kind
from coterie.errors import UsageError
from coterie.methods import METHODS
from coterie_bench.datasets import CARDS, PAIRS
from coterie_bench.entries import DataFile, Entry, Suite
from coterie_bench.papers import (
    ABLATIONS,
    AECL_PRINTED,
    AECL_RELEASED,
    BASELINES,
    BENCHMARKS,
    DEV,
    LANGUAGES,
    PAPER_SUITES,
    PAPERS,
    PRESETS,
    SECOND_STEPS,
    SENSITIVITY,
    SYSTEMS,
    UNTRAINED,
)
from coterie_bench.speed import SAME, SPEED

KMEANS, AUTO = Entry("encoder + k-means", "kmeans"), Entry("auto", "auto")

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "encoder",
            "the default encoder and k-means on the eight benchmarks: is the data path right?",
            (KMEANS,),
            BENCHMARKS,
            3,
        ),
        Suite(
            "dev",
            "the default and k-means on the thirteen development sets, where settings are chosen",
            (KMEANS, AUTO),
            DEV,
            3,
        ),
        replace(
            SYSTEMS,
            name="dev-systems",
            about="five trained systems on the development sets: what the start guard returns",
            datasets=DEV,
            seeds=1,
            parts=(),
        ),
        Suite(
            "lang",
            "the default and k-means on six sets in other languages than English",
            (KMEANS, AUTO),
            LANGUAGES,
            3,
        ),
        Suite(
            "stability",
            "spread over five seeds, and over five draws of noise on the vectors, on 21 sets",
            (KMEANS, AUTO),
            (*BENCHMARKS, *DEV),
            5,
            draws=5,
        ),
        Suite(
            "two-step",
            "everything that trains nothing, on the eight benchmarks",
            UNTRAINED,
            BENCHMARKS,
            3,
        ),
        Suite(
            "auto",
            "the default of the command line, at standard and quick effort",
            (
                AUTO,
                Entry("auto, quick", "auto", {"effort": "quick"}),
            ),
            BENCHMARKS,
            3,
        ),
        Suite(
            "sample",
            "the bundled messages by every method, SCCL on dropout pairs; wants a GPU",
            (
                Entry("BoW + k-means", "bow-kmeans"),
                Entry("TF-IDF + k-means", "tfidf-kmeans"),
                Entry("encoder + k-means", "kmeans"),
                Entry("encoder + UMAP + k-means", "umap-kmeans"),
                Entry("encoder + average linkage", "average"),
                Entry("encoder + Ward", "ward"),
                Entry("auto", "auto"),
                Entry(
                    "SCCL, official-code-virtual preset",
                    "sccl",
                    {"max_length": 64},
                    "official-code-virtual",
                ),
                Entry("SCCL, default", "sccl", {"max_length": 64}),
            ),
            ("sample",),
            3,
        ),
        Suite(
            "smoke",
            "the bundled sample in a minute: does everything run?",
            (
                Entry("TF-IDF + k-means", "tfidf-kmeans"),
                Entry("encoder + k-means", "kmeans"),
                Entry(
                    "SCCL (20 small steps)",
                    "sccl",
                    {"steps": 20, "batch_size": 64, "max_length": 64},
                    "official-code-virtual",
                ),
            ),
            ("sample",),
            1,
        ),
        BASELINES,
        SECOND_STEPS,
        *PAPER_SUITES,
        PAPERS,
        PRESETS,
        AECL_PRINTED,
        AECL_RELEASED,
        SYSTEMS,
        ABLATIONS,
        SENSITIVITY,
        SPEED,
        SAME,
    )
}


def entries_for(methods: Iterable[str]) -> tuple[Entry, ...]:
    """One entry for each method at its defaults, under the label that the suites give it.

    Trained systems run as in the suite ``systems``.
    """
    plain = [e for e in (*UNTRAINED, AUTO) if not e.parameters and e.preset is None]
    known = {entry.method: entry for entry in (*plain, *SYSTEMS.entries)}
    return tuple(
        known.get(name) or Entry(name, check_choice("--methods: each", name, METHODS))
        for name in methods
    )


SUFFIXES = (".toml", ".json")
KEYS = {"name": str, "about": str, "datasets": list, "seeds": int, "entries": list, "data": list}
ENTRY = {
    "label": str,
    "method": str,
    "preset": str,
    "parameters": dict,
    "views": list,
    "own_views": str,
    "by_dataset": dict,
    "datasets": list,
}
DATA = {"name": str, "file": str, "labels_column": str, "text_column": str, "n_clusters": int}
WORDS = {str: "a text", list: "a list", int: "a whole number", dict: "a table"}


def read_suite(path: Path) -> Suite:
    """The suite that a file describes.

    Parameters
    ----------
    path : Path
        Ends with .toml or .json.
    """
    given = _parse(path)
    where = str(path)
    _check(given, KEYS, where, needed=("entries",))
    files = tuple(
        _data(one, path, f"{where}, data[{i}]") for i, one in enumerate(given.get("data", []))
    )
    known = {*CARDS, "sample", *(f"{n}-sentences" for n in CARDS), *(f.name for f in files)}
    default = [f.name for f in files]
    datasets = _names(given.get("datasets", default), f"{where}, datasets", known)
    if not datasets:
        raise UsageError(f"{where}: datasets is missing; name at least one, such as 'sample'.")
    entries = [
        _entry(one, f"{where}, entries[{i}]", datasets) for i, one in enumerate(given["entries"])
    ]
    _different([entry.label for entry in entries], f"{where}, entries: the label")
    seeds = check_integer(f"{where}, seeds", given.get("seeds", 3))
    name = given.get("name", path.stem)
    return Suite(name, given.get("about", ""), tuple(entries), datasets, seeds, files=files)


def _parse(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise UsageError(f"there is no suite file {path}.")
    text = path.read_text("utf-8")
    try:
        given = json.loads(text) if path.suffix == ".json" else _toml(text)
    except ValueError as error:  # of both formats
        raise UsageError(f"{path} cannot be read: {error}.") from error
    if not isinstance(given, dict):
        raise UsageError(f"{path} should hold a table with entries and datasets.")
    return given


def _toml(text: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib

        return tomllib.loads(text)
    import tomli

    return tomli.loads(text)


def _entry(given: Any, where: str, datasets: tuple[str, ...]) -> Entry:
    _check(given, ENTRY, where, needed=("method",))
    method = check_choice(f"{where}: method", given["method"], METHODS)
    label = given.get("label", method)
    where = f"{where} ({label})"
    cls = METHODS[method].cls
    if "preset" in given:
        check_choice(f"{where}: preset", given["preset"], cls.presets)
    parameters = _parameters(given.get("parameters", {}), f"{where}: parameters", cls)
    by_dataset = {}
    for name, own in given.get("by_dataset", {}).items():
        check_choice(f"{where}: by_dataset", name, datasets)
        by_dataset[name] = _parameters(own, f"{where}: by_dataset.{name}", cls)
    kinds = {kind for _, kind in PAIRS}
    views = _names(given.get("views", []), f"{where}: views", kinds)
    own_views = given.get("own_views")
    if own_views is not None and own_views != "virtual" and not is_kind(own_views):
        raise UsageError(f"{where}: own_views should be a kind such as 'eda', got {own_views!r}.")
    if (views or own_views) and "views" not in _fields(cls):
        raise UsageError(f"{where}: the method {method!r} takes no views.")
    only = _names(given.get("datasets", []), f"{where}: datasets", datasets)
    entry = Entry(
        label, method, parameters, given.get("preset"), views, by_dataset, own_views, only
    )
    for more in ({}, *by_dataset.values()):  # values, too, are judged before the first run
        model = METHODS[method].make(2, entry.preset, **{**parameters, **more})
        try:
            model._check_parameters()
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error
    return entry


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


def _check(given: Any, known: Mapping[str, type], where: str, needed: Iterable[str]) -> None:
    if not isinstance(given, dict):
        raise UsageError(f"{where} should be a table, got {given!r}.")
    for key, value in given.items():
        check_choice(f"{where}: the key", key, known)
        if not isinstance(value, known[key]) or isinstance(value, bool):
            raise UsageError(f"{where}: {key} should be {WORDS[known[key]]}, got {value!r}.")
    for key in needed:
        if not given.get(key):
            raise UsageError(f"{where}: {key} is missing.")


def _parameters(given: Any, where: str, cls: type[Any]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise UsageError(f"{where} should be a table, got {given!r}.")
    for key in given:
        check_choice(f"{where}: each", key, _fields(cls))
    return dict(given)


def _fields(cls: type[Any]) -> list[str]:
    set_by_the_suite = ("n_clusters", "random_state", "device", "verbose")
    return [f.name for f in dataclasses.fields(cls) if f.name not in set_by_the_suite]


def _names(given: Iterable[Any], where: str, known: Iterable[str]) -> tuple[str, ...]:
    listed, allowed = list(given), sorted(known)
    for name in listed:
        check_choice(f"{where}: each", name, allowed)
    _different(listed, where)
    return tuple(listed)


def _different(names: list[str], where: str) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{where}: {twice[0]!r} occurs twice.")
