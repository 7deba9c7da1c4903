"""Edits read from YAML or JSON files, or from Python values, and checked one by one.

The usual reading of YAML turns ``no`` into False and ``1.10`` into a number, which is wrong for
names of clusters. Here every value is the text that was written. Aliases and repeated keys are
rejected, because they hide what a file does.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coterie._util.validation import did_you_mean, whole_number
from coterie.describe.names import NO_CLUSTER, NONE_OF_THESE
from coterie.errors import DataError, UsageError
from coterie.texts.corpus import clean_name as visible

LARGEST = 8 << 20  # bytes of a file
DEPTH = 20  # lists and mappings in one another
NAME_LENGTH = 100  # characters
FILES = {".yaml", ".yml", ".json"}
EXAMPLES = {
    "merge": "merge: [3, 7]",
    "split": "split: {cluster: 4, into: 2}",
    "rename": 'rename: {2: "Refunds"}',
    "move": 'move: {rows: [12, {contains: "late"}], to: 5}',
    "reassign": "reassign: outliers",
    "delete": "delete: [4]",
}
# Keys of edits that are mappings; the value alone is that of the first.
KEYS = {
    "merge": ("clusters", "name"),
    "split": ("cluster", "into", "names"),
    "move": ("rows", "to"),
    "reassign": ("rows",),
}


@dataclass(frozen=True)
class Edit:
    """One edit."""

    kind: str  # one of EXAMPLES
    where: str  # where it was written, for messages
    clusters: tuple[int, ...]  # those it is about; of "move", the one to move to
    # Of "rename" for each cluster, of "merge" and "split" for the results; may be empty
    names: tuple[str, ...] = ()
    into: int = 0  # parts of a split
    rows: tuple[Any, ...] = ()  # what to move: numbers, ids or mappings
    told: Mapping[Any, Any] | None = None  # as it was written


def read_edits(source: object) -> list[Edit]:
    """Edits from a YAML or JSON file, from YAML in a string, or from the same as Python values."""
    name, entries = "edits", source
    if isinstance(source, str) and ":" in source and Path(source).suffix.lower() not in FILES:
        entries = _entries(_read_yaml(source, name), name)
    elif isinstance(source, (str, Path)):
        name, entries = str(source), read_entries(Path(source))
    elif isinstance(source, Mapping):
        entries = [{kind: value} for kind, value in source.items()]
    if not isinstance(entries, Iterable):
        raise UsageError(
            f"edits should be a file, or a list such as [{{'merge': [3, 7]}}]; got {source!r:.80}."
        )
    found = [_read(entry, f"{name}, edit {number}") for number, entry in enumerate(entries, 1)]
    if not found:
        raise DataError(
            f"{name}: there are no edits in it; write e.g. '- {EXAMPLES['merge']}'.",
            code="edit.no_edits",
        )
    return found


def read_entries(path: Path) -> list[Any]:
    """The entries of a YAML or JSON list, or of a mapping one by one."""
    suffix = path.suffix.lower()
    if suffix not in FILES:
        raise UsageError(f"{path}: expected a .yaml or .json file.")
    text = _read_text(path)
    if suffix != ".json":
        return _entries(_read_yaml(text, str(path)), str(path))
    try:
        value = json.loads(text, object_pairs_hook=once)
    except (RecursionError, ValueError) as error:
        raise DataError(f"{path}: this is not JSON that can be read: {error}.") from error
    return _entries(value, str(path))


def _entries(value: Any, name: str) -> list[Any]:
    if isinstance(value, dict):
        return [{key: inner} for key, inner in value.items()]
    if value is None or isinstance(value, list):
        return value or []
    raise DataError(f"{name}: expected a list or a mapping, not a single value.")


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise DataError(f"{path}: such a file has at most {LARGEST:,} bytes; split it.")
        return data.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8; save it as UTF-8.") from error


def _read_yaml(text: str, name: str) -> Any:
    """A YAML document whose values are all texts; None for an empty one."""
    import yaml

    class Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            return once(self.construct_pairs(node, deep=True))

    try:
        depth = 0
        for event in yaml.parse(text, Loader=Loader):  # before anything is built of it
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH or isinstance(event, yaml.AliasEvent):
                raise ValueError("aliases and deep nesting are not read; write it out")
        return yaml.load(text, Loader=Loader)
    except (yaml.YAMLError, TypeError, ValueError) as error:
        said = " ".join(str(error).split())
        raise DataError(f"{name}: this is not YAML that can be read: {said}.") from error


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping whose keys all differ, for ``json.loads``."""
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"the key {key[:60]!r} occurs twice")
        out[key] = value
    return out


def _read(entry: object, where: str) -> Edit:
    given = list(entry) if isinstance(entry, Mapping) else []
    kinds = [key for key in given if key in EXAMPLES]
    if not isinstance(entry, Mapping) or len(kinds) != 1:
        hint = did_you_mean(given[0], EXAMPLES) if given and not kinds else ""
        raise DataError(
            f"{where}: expected exactly one of {', '.join(EXAMPLES)}; got {entry!r:.80}.{hint}",
            code="edit.one_kind",
        )
    kind, value = kinds[0], entry[kinds[0]]
    keys, where = KEYS.get(kind, ("clusters",)), f"{where} ({kind})"
    told = dict(value) if isinstance(value, Mapping) and kind in KEYS else {keys[0]: value}
    told |= {key: more for key, more in entry.items() if key != kind}
    try:
        for key in told:
            if key not in keys:
                raise ValueError(f"{key!r} is not known here.{did_you_mean(key, keys)}")
        return replace(_make(kind, where, told), told=entry)
    except ValueError as error:
        said = f"{where}: {error} Write it as in '{EXAMPLES[kind]}'."
        raise DataError(said, code=getattr(error, "code", None)) from error


def _make(kind: str, where: str, told: Mapping[str, Any]) -> Edit:
    """An edit from the values of its keys; ValueErrors say what is wrong with them."""
    if kind == "rename":
        names = told["clusters"] if isinstance(told["clusters"], Mapping) else {}
        return Edit(kind, where, _numbers(list(names)), tuple(map(clean_name, names.values())))
    if kind == "move":
        rows = _listed(told.get("rows"))
        if not rows or any(row is None or isinstance(row, (list, bool)) for row in rows):
            raise ValueError("Name the rows.")
        return Edit(kind, where, _numbers([told.get("to")]), rows=tuple(rows))
    if kind == "split":
        (into,) = _numbers([told.get("into", 2)])
        parts = told.get("names") or ()
        if into < 2 or not isinstance(parts, (list, tuple)) or len(parts) not in (0, into):
            raise ValueError(f"'into' is 2 or more, and 'names' a list of so many; got {into}.")
        cluster, called = _numbers([told.get("cluster")]), tuple(map(clean_name, parts))
        return Edit(kind, where, cluster, called, into=into)
    if kind == "reassign":
        if _listed(told.get("rows")) != ["outliers"]:
            raise ValueError("Only outliers are reassigned.")
        return Edit(kind, where, ())
    clusters = _numbers(_listed(told["clusters"]))
    if kind == "merge" and len(clusters) < 2:
        raise ValueError("Name at least two clusters.")
    given = () if told.get("name") is None else (clean_name(told["name"]),)
    return Edit(kind, where, clusters, given)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _numbers(values: list[Any]) -> tuple[int, ...]:
    """Numbers of clusters, each once."""
    if not values:
        raise ValueError("No cluster is named.")
    found = [None if isinstance(v, bool) else whole_number(str(v).strip()) for v in values]
    out = tuple(number for number in found if number is not None)
    if len(set(out)) < len(values):
        said = ", ".join(map(repr, values))
        raise ValueError(f"Clusters are different whole numbers from 0 on; got {said:.80}.")
    return out


def clean_name(value: object) -> str:
    """A name on one line without control characters."""
    name = visible(value if isinstance(value, str) else repr(value))
    plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    if not plain or not name or len(name) > NAME_LENGTH:
        raise DataError(
            f"A name has 1 to {NAME_LENGTH} characters that can be seen; got {name[:40]!r}.",
            code="edit.bad_name_length",
        )
    if name in (NO_CLUSTER, NONE_OF_THESE):
        raise DataError(f"{name!r} is the name of rows without a cluster; choose another one.")
    return unicodedata.normalize("NFC", name)
