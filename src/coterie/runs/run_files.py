"""The folder of a run: its files read and checked, which of them are coterie's, how they change.

A run may come from anybody, and a disk or a person may have damaged it. What is read has the shape
that coterie writes, or is rejected with the file and the place in it (:mod:`coterie._util.trust`).

The manifest lists the results with their digests. A change is made on a copy of the folder (of
links: nothing large is copied), which then takes its place.
"""

from __future__ import annotations

import csv
import filecmp
import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie._util.files import sha256_file, write_json
from coterie._util.folders import is_litter, one_state, replace_folder
from coterie._util.trust import (
    HIGHEST_ID,
    LARGE,
    ClusterId,
    Count,
    Label,
    Real,
    Row,
    check_file,
    check_shape,
    damaged,
    inside,
    open_file,
    read_json,
)
from coterie._util.types import Bools, Floats, Ints
from coterie._util.validation import check_path, need
from coterie.describe import Cluster
from coterie.describe.hierarchy import Hierarchy
from coterie.describe.names import NO_CLUSTER, NONE_OF_THESE
from coterie.describe.tree import Tree, TreeRows
from coterie.errors import DataError
from coterie.texts.corpus import CleanTexts, cell_values, clean_values
from coterie.texts.source import LONGEST_ROW
from coterie.texts.write import bare_name, result_kind

MANIFEST = "manifest.json"
HEADER = 1 << 20  # bytes that its header has at most
TABLE = r"assignments(-no-texts|-spreadsheet)?\.(csv|jsonl|parquet|xlsx)"
RESULT = re.compile(
    rf"{TABLE}|rows\.csv|clusters(-no-texts)?\.xlsx"
    r"|(clusters|levels|map|stability)\.json"
    r"|(report(-no-texts)?|changes)\.html"
    r"|history\.jsonl|model/.+"
)
# Files that change without the manifest.
LOGS = re.compile(r"manifest\.json|(names|edits)\.jsonl|earlier/.+")


def shape_of(cls: type) -> dict[str, Any]:
    """The shape of a dataclass in a file, for ``check_shape``; fields with a default may miss."""
    hints = get_type_hints(cls)
    out = {}
    for field in fields(cls):
        needed = field.default is MISSING and field.default_factory is MISSING
        out[field.name if needed else f"{field.name}?"] = _shape(hints[field.name], field.name)
    return out


def _shape(kind: Any, name: str) -> Any:
    inner = [None if part is type(None) else _shape(part, name) for part in get_args(kind)]
    if is_dataclass(kind) and isinstance(kind, type):
        return shape_of(kind)
    if kind is int:
        return ClusterId if name in ("id", "cluster", "parent") else Count
    if get_origin(kind) is list:
        return inner
    if get_origin(kind) is dict:
        return {inner[0]: inner[1]}
    if get_origin(kind) is tuple:
        return Row(*inner)
    return tuple(inner) or kind


GUARD_SHAPE = {"neighbor_agreement": Real}
MANIFEST_SHAPE: dict[str, Any] = {
    "started?": str,
    "method": str,
    "parameters": dict,
    "data": {
        "rows": Count,
        "text_column": str,
        "id_column?": (str, None),
        "sha256": str,
        "notes": [str],
        "types?": {str: str},
        "texts?": Count,
        "different_texts?": Count,
    },
    "summary": [str],
    "figures": {
        "confidence": Real,
        "close_calls": Real,
        "unsure?": {int: Count},
        "added?": {int: Count},
    },
    "remarks?": [str],
    "seconds": (dict, Real),
    "versions": dict,
    "hardware": dict,
    "peak_memory?": {str: Count},
    "encoder?": {"used": str, "precision?": str, "warnings?": [str]},
    "finished": str,
    "seed?": (int, None),
    "guard": (
        {
            "fired": bool,
            "reason?": str,
            "start": GUARD_SHAPE,
            "final?": (GUARD_SHAPE, None),
            "agreement?": (Real, None),
        },
        None,
    ),
    "handover?": {
        "levels?": [Count],
        "max_outliers?": (str, None),
        "write?": [str],
    },
    "number_of_clusters?": (
        {
            "reason": str,
            "n_clusters": Count,
            "low": Count,
            "high": Count,
        },
        None,
    ),
    "levels?": {str: Count},
    "fit_sample?": Count,
    "guidance?": {
        "given": [str],
        "empty?": [str],
        "found?": int,
        "numbers?": [ClusterId],
        "kept": {"labels": {int: str}, "themes": [[str]]},
    },
    "outliers?": {"marked": Count},
    "files?": {str: str},
    "names?": {"by?": str, "before?": {int: str}},
    "editing?": {
        "edits?": Count,
        "named?": [ClusterId],
        "next_id?": ClusterId,
        "kept?": {
            "run": str,
            **dict.fromkeys(("matched", "clusters", "new", "known", "predicted"), Count),
        },
    },
    "updates?": [
        {
            "when": str,
            "rows": Count,
            "sha256": str,
            "new": [ClusterId],
            "fit_nowhere?": Count,
            "loose?": [ClusterId],
            "first?": Count,
        }
    ],
}
CLUSTER_SHAPE = shape_of(Cluster)
LEVELS = {"broad", "medium", "fine"}  # of a merge tree
CLUSTERS_SHAPE = {
    "clusters": [CLUSTER_SHAPE],
    "tree?": {
        "levels": {str: Count},
        "at": Count,
        "leaves": [ClusterId],
        "merges": [Row(ClusterId, ClusterId, ClusterId)],
        "nodes": [CLUSTER_SHAPE],
    },
}
LEVELS_SHAPE = {
    "levels": [{"of_cluster": {int: Label}, "clusters": [CLUSTER_SHAPE]}],
}
MAP_SHAPE = {
    "layout": str,
    "total": Count,
    "silhouette": (float, None),
    "rows": [Count],
    "x": [float],
    "y": [float],
}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run."""
    path = inside(folder, MANIFEST)
    if not path.exists():
        raise DataError(
            f"{folder} holds no run: there is no manifest.json. Name a folder that coterie "
            "cluster has written."
        )
    found: dict[str, Any] = check_shape(read_json(path), MANIFEST_SHAPE, str(path))
    return found


def read_clusters(folder: Path) -> tuple[list[Cluster], Tree | None]:
    """The described clusters of a run, and its merge tree; None where it has none."""
    path = inside(folder, "clusters.json")
    saved = check_shape(read_json(path, LARGE), CLUSTERS_SHAPE, str(path))
    _check_ids((c["id"] for c in saved["clusters"]), str(path))
    clusters = [Cluster.from_dict(cluster) for cluster in saved["clusters"]]
    if "tree" not in saved:
        return clusters, None
    _check_tree(saved["tree"], {c.id for c in clusters}, str(path))
    return clusters, Tree.from_dict(saved["tree"], clusters)


def _check_tree(saved: Mapping[str, Any], shown: set[int], where: str) -> None:
    """Refuse a tree in which a cluster is missing, occurs twice, or holds itself."""
    loose = _check_ids(saved["leaves"], where)
    known = set(loose)
    for union, one, other in saved["merges"]:
        if union in known or one == other or not {one, other} <= loose:
            raise DataError(f"{where} is damaged: the tree cannot merge {one} and {other}.")
        known.add(union)
        loose = loose - {one, other} | {union}
    described = _check_ids((node["id"] for node in saved["nodes"]), where)
    told, top = described | shown, loose if saved["merges"] else set()
    if len(loose) != 1 or told - known or known - told - top:
        raise DataError(f"{where} is damaged: its tree has other clusters than it describes.")
    levels, k = list(saved["levels"].values()), len(saved["leaves"])
    rising = levels == sorted({*levels}) and levels[-1:] == [k]
    if not rising or not 1 <= min(saved["at"], *levels) or not {*saved["levels"]} <= LEVELS:
        raise DataError(f"{where} is damaged: its levels are none of a tree of {k} clusters.")
    if saved["at"] > k:
        raise DataError(f"{where} is damaged: it shows more clusters than its tree has.")


def read_levels(folder: Path, tree: Tree | None) -> Hierarchy | None:
    """The coarser levels of a run: of its merge tree, or of their file; None where it has none."""
    if tree is not None:
        return tree.above()
    path = inside(folder, "levels.json")
    if not path.exists():
        return None
    saved = check_shape(read_json(path, LARGE), LEVELS_SHAPE, str(path))
    for level in saved["levels"]:
        known = _check_ids((c["id"] for c in level["clusters"]), str(path))
        for cluster, place in level["of_cluster"].items():
            if place not in known:
                raise DataError(
                    f"{path} is damaged: cluster {cluster} lies in {place}, which does not exist."
                )
    return Hierarchy.from_dict(saved)


def read_map(folder: Path) -> dict[str, Any] | None:
    """Where texts are on the map; None where there is no map."""
    path = inside(folder, "map.json")
    if not path.exists():
        return None
    saved: dict[str, Any] = check_shape(read_json(path), MAP_SHAPE, str(path))
    if not len(saved["rows"]) == len(saved["x"]) == len(saved["y"]):
        raise DataError(f"{path} is damaged: rows and coordinates differ in number.")
    if any(a >= b for a, b in pairwise(saved["rows"])):
        raise DataError(f"{path} is damaged: its rows do not ascend.")
    return saved


class RunFiles:
    """A finished run as its files have it; each is read and checked when it is first asked for."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = check_path("folder", folder)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """How the run was made: method, parameters, data, seconds, summary, versions."""
        return one_state([self.folder], lambda: read_manifest(self.folder))

    @cached_property
    def _described(self) -> tuple[list[Cluster], Tree | None]:
        return one_state([self.folder], lambda: read_clusters(self.folder))

    @property
    def clusters(self) -> list[Cluster]:
        """The clusters with names, words and examples, the largest first."""
        return self._described[0]

    @cached_property
    def hierarchy(self) -> Hierarchy | None:
        """The coarser levels and which cluster lies where; None where there are none."""
        return one_state([self.folder], lambda: read_levels(self.folder, self.tree))

    @property
    def tree(self) -> Tree | None:
        """The merge tree that the clusters are a cut of; None where there is none."""
        return self._described[1]

    @cached_property
    def map(self) -> dict[str, Any] | None:
        """Where texts are on the map; None where there is no map."""
        return one_state([self.folder], lambda: read_map(self.folder))

    @cached_property
    def cells(self) -> pa.Table:
        """The rows as the file has them: columns of the input as texts."""
        return one_state([self.folder], lambda: read_assignments(self.folder))

    @cached_property
    def version(self) -> str:
        """Digest of the manifest, which lists the digests of all results.

        It tells one state of the run from another. After an undo it is the earlier one again.
        """
        path = inside(self.folder, MANIFEST)
        return one_state([self.folder], lambda: sha256_file(path)[:32])

    @property
    def own(self) -> dict[str, str]:
        """Result columns of the table by what they are; see :func:`own_columns`."""
        return own_columns(self.cells.column_names)

    @property
    def labels(self) -> Ints:
        """Cluster of each row; -1 for rows without a text and for outliers."""
        found = np.array(self.cells[self.own["cluster"]].to_numpy(), dtype=np.int64)
        check_known(found.tolist(), self.clusters, self.folder)
        return found

    @cached_property
    def texts(self) -> CleanTexts:
        """The text of each row as the run read it: cleaned, empty where there is no word."""
        return clean_values(self.column(self.manifest["data"]["text_column"]))

    def column(self, name: str) -> list[Any]:
        """The cells of a column of the table."""
        if name not in self.cells.column_names:
            raise DataError(f"{self.folder}: assignments.csv has no column {name!r}.")
        return cell_values(self.cells[name])

    def check(self) -> None:
        """Refuse a folder that is no finished run, or whose results cannot be read."""
        _ = self.manifest, self.clusters, self.hierarchy, self.map
        if table_of(self.folder).exists():
            check_file(table_of(self.folder))


def table_of(folder: Path) -> Path:
    """The table of a run."""
    return inside(folder, "assignments.csv")


def read_assignments(folder: Path) -> pa.Table:
    """The table of a run: columns of the input as texts, those of coterie with their kinds."""
    parts = table_parts(table_of(folder))
    first = next(parts)
    return pa.Table.from_batches([first, *parts])


def table_parts(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a table that coterie wrote, in parts, of which there is one at least."""
    import pyarrow.csv

    names = read_header(path)
    own = own_columns(names)
    block = min(LONGEST_ROW + HEADER, check_file(path).st_size)  # Arrow reads no row that is longer
    with damaged(path, "a table of coterie"):
        kinds = {n: result_kind(n) if n in own.values() else pa.string() for n in names}
        reader = pyarrow.csv.open_csv(
            path,
            pyarrow.csv.ReadOptions(
                use_threads=False, block_size=block, column_names=names, skip_rows_after_names=1
            ),
            pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            pyarrow.csv.ConvertOptions(
                column_types=kinds, null_values=[""], strings_can_be_null=False
            ),
        )
        done = 0
        for part in reader:
            _check_labels(part, own, path)
            done += len(part)
            yield part
        if not done:
            yield pa.RecordBatch.from_pylist([], pa.schema(kinds))


def _check_labels(part: pa.RecordBatch, own: Mapping[str, str], path: Path) -> None:
    labels = part.column(own["cluster"])
    known = pc.min_max(labels)
    low, high = known["min"].as_py(), known["max"].as_py()
    if labels.null_count or (len(part) and not -1 <= low <= high < HIGHEST_ID):
        raise DataError(f"{path}: the column 'cluster' has numbers that no cluster has.")


def with_types(table: pa.Table, manifest: Mapping[str, Any]) -> pa.Table:
    """Columns of texts with the types that the run was given.

    A column that has become another one, as by an update with other cells, stays texts.
    """
    for name, said in manifest["data"].get("types", {}).items():
        zone = re.fullmatch(r"timestamp\[(s|ms|us|ns), tz=(.+)\]", said)
        with suppress(KeyError, ValueError, pa.ArrowException):
            column = table[name]
            filled = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            inside = re.match(r"dictionary<values=(\w+)", said)  # categories
            alias = inside[1] if inside else said
            typed = filled.cast(pa.timestamp(*zone.groups()) if zone else pa.type_for_alias(alias))
            typed = typed.dictionary_encode() if inside else typed
            table = table.set_column(table.column_names.index(name), name, typed)
    return table


def mark_outliers(table: pa.Table) -> pa.Table:
    """The table of a run with outliers as booleans; files say yes and no."""
    name = own_columns(table.column_names)["outlier"]
    marks = pc.equal(table[name], "yes")
    return table.set_column(table.column_names.index(name), name, marks)


def index_of(data: Any) -> tuple[Any, set[str]]:
    """The index of a frame or a series of pandas, and what Arrow calls it; None for others."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, (pandas.DataFrame, pandas.Series)):
        return None, set()
    names = {
        str(n) for i, name in enumerate(data.index.names) for n in (name, f"__index_level_{i}__")
    }
    return data.index, names - set(map(str, getattr(data, "columns", ())))


def as_frame(table: pa.Table, index: Any, names: Collection[str]) -> Any:
    """The table of a run as pandas, with the index that :func:`index_of` found; else as it is."""
    if index is None:
        return table
    frame = to_frame(table)
    if len(frame) != len(index):  # rows were added since
        return frame
    own = own_columns(table.column_names).values()
    return frame[[n for n in frame if n in own or n not in names]].set_axis(index)


def to_frame(table: pa.Table) -> Any:
    """The table of a run as pandas; whole numbers stay whole where some rows have none."""
    need("pandas", "pandas")
    frame = table.to_pandas(ignore_metadata=True)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_integer(column.type) and column.null_count:
            frame[name] = column.to_pandas(integer_object_nulls=True).astype("Int64")
    return frame


def read_header(path: Path) -> list[str]:
    """Names of the columns of a table that coterie wrote."""
    with open_file(path) as file:
        head = file.read(HEADER).decode("utf-8", "replace")
    try:
        names = next(csv.reader(io.StringIO(head, newline="")), [])
    except csv.Error:
        names = []
    if not names or len(set(names)) != len(names):
        raise DataError(f"{path} has no header, or one that names a column twice.")
    return names


def result_columns(
    labels: Ints,
    probabilities: Floats,
    names: Sequence[str | None],
    scores: Floats,
    outliers: Bools | None = None,
    hierarchy: Hierarchy | TreeRows | None = None,
) -> dict[str, list[Any]]:
    """The columns that coterie adds to the input's own.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        The nearest cluster, also of outliers; -1 for rows without a text.
    probabilities : ndarray of shape (n, width)
    names : sequence of str or None
        By the number of the cluster; None for numbers that no cluster has.
    scores : ndarray of shape (n,)
        Outlier scores; not a number for rows without a text.
    outliers : ndarray of shape (n,), optional
        None where no text may be one: then there is no column ``nearest_cluster``.
    hierarchy : Hierarchy or TreeRows, optional
        Other levels.
    """
    order, rows = np.argsort(-probabilities, axis=1, kind="stable"), np.arange(len(labels))
    best = margin = probabilities[rows, order[:, 0]]
    runner_up: list[int | None] = [None] * len(labels)
    if probabilities.shape[1] > 1:
        margin = best - probabilities[rows, order[:, 1]]
        pairs = zip(order[:, 1].tolist(), labels, strict=True)
        runner_up = [None if i < 0 or names[second] is None else second for second, i in pairs]
    odd = np.zeros(len(labels), dtype=bool) if outliers is None else outliers
    out: dict[str, list[Any]] = {
        "cluster": np.where(odd, -1, labels).tolist(),
        "name": [
            NONE_OF_THESE if o else NO_CLUSTER if i < 0 else names[i] or f"Cluster {i}"
            for i, o in zip(labels, odd, strict=True)
        ],
        "confidence": [round(value, 4) for value in best.tolist()],
        "runner_up": runner_up,
        "margin": [round(value, 4) for value in margin.tolist()],
        "outlier": ["yes" if o else "no" for o in odd],
        "outlier_score": [None if s != s else round(s, 4) for s in scores.tolist()],
    }
    if outliers is not None:
        out["nearest_cluster"] = [None if i < 0 else i for i in labels.tolist()]
    if hierarchy is not None:
        out |= hierarchy.columns(out["cluster"], out["name"])
    return out


def replace_columns(table: pa.Table, fresh: Mapping[str, Sequence[Any]]) -> pa.Table:
    """The table of a run with other values in those result columns that it has."""
    own = own_columns(table.column_names)
    for name, values in fresh.items():
        if name in own:
            place = table.column_names.index(own[name])
            table = table.set_column(place, own[name], pa.array(values, result_kind(name)))
    return table


def result_column(columns: Sequence[str], name: str) -> str:
    """The name under which a result column was written: it stands behind the input's columns."""
    for column in reversed(list(columns)):
        if bare_name(column) == name:
            return column
    raise DataError(f"the table has no column {name!r}; is it the assignments.csv of a run?")


def own_columns(columns: Sequence[str]) -> dict[str, str]:
    """Result columns of a table by what they are: the name under which each was written.

    They begin with that of the cluster; whatever stands before it came with the texts.
    """
    names = list(columns)
    start = names.index(result_column(names, "cluster"))
    return {bare_name(name): name for name in names[start:]}


def model_folder(folder: Path) -> Path:
    """The model of a run, or ``folder`` itself if it is a model."""
    path = inside(folder, "model")
    if (path / "config.json").exists():
        return path
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}; name that of a run or of a saved model.")
    if not (folder / "config.json").exists():
        raise DataError(f"{folder} holds no model (neither model/config.json nor config.json).")
    return folder


def check_known(labels: Iterable[int], clusters: Iterable[Cluster], folder: Path) -> None:
    """Refuse a table with clusters that are not described; -1 stands for none."""
    strange = set(labels) - {cluster.id for cluster in clusters} - {-1}
    if strange:
        raise DataError(
            f"{folder} is damaged: assignments.csv has rows in cluster {min(strange)}, which "
            "clusters.json does not describe."
        )


def _check_ids(ids: Iterable[int], where: str) -> set[int]:
    seen: set[int] = set()
    for number in ids:
        if number in seen:
            raise DataError(f"{where} is damaged: cluster {number} occurs twice.")
        seen.add(number)
    return seen


def is_run(manifest: object) -> bool:
    """Whether this is the manifest of a clustering run, and not of another program."""
    return isinstance(manifest, dict) and {"method", "parameters", "data"} <= set(manifest)


def given_numbers(guidance: Mapping[str, Any]) -> list[int]:
    """Clusters of the classes that were given to a run, in the order of their names."""
    return list(guidance.get("numbers", range(len(guidance["given"]))))


def run_files(folder: Path) -> dict[str, Path]:
    """All files below a folder by their names in it; links are files, and are not followed."""
    found: dict[str, Path] = {}
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in (*names, *links):
            path = Path(place) / name
            found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))


def seal(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest with the digests of all results, as the last step of a change."""
    results = {n: path for n, path in run_files(folder).items() if RESULT.fullmatch(n)}
    files = {name: sha256_file(path) for name, path in results.items()}
    write_json(folder / MANIFEST, {**manifest, "files": files})


def swap_run(run: Path, change: Callable[[Path], None]) -> None:
    """Let ``change`` work on a copy of the run, and swap the copy in.

    ``change`` must replace files, not write into them: they are shared with the old folder.
    """
    run = run.resolve()

    def fill(fresh: Path) -> None:
        link_files(run, fresh, (name for name in run_files(run) if not is_litter(name)))
        change(fresh)
        seal(fresh, read_json(fresh / MANIFEST))

    replace_folder(run, fill)


def link_files(source: Path, target: Path, names: Iterable[str]) -> None:
    """Put files of one folder into another, as links where the file system has them."""
    for name in names:
        path, place = source / name, target / name
        if path.is_symlink():
            raise DataError(
                f"{path} is a link. Runs with links are not changed: put the files themselves "
                "there, or run coterie cluster with another --out."
            )
        check_file(path)  # a pipe would be waited for
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, place)
        except OSError:  # a file system without hard links
            shutil.copy2(path, place)


def differ(one: Path, other: Path) -> bool:
    """Whether two files hold something else."""
    return not one.samefile(other) and not filecmp.cmp(one, other, shallow=False)
