"""The folder of a run: read, written, changed, and put back.

No other module opens the files of a run. A folder may come from anybody, and a disk or a person may
have damaged it: what is read fits :mod:`coterie.runs.facts`, or is refused with the file and the
field. No name in a file leads to another file.

A change is made in a new folder of links to the files of the old one (nothing large is copied),
which then takes its place by renames. Before it, links to the files as they are go to
``earlier/0001``, ``earlier/0002`` and so on, for :func:`undo`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from coterie._util.facts import now
from coterie._util.files import sha256_file, write_json, write_text
from coterie._util.folders import held, is_litter, mend_folder, one_state, replace_folder
from coterie._util.trust import LARGE, check_file, damaged, inside, open_file, parse_json, read_json
from coterie.arrays.tree import Tree
from coterie.describe import Cluster
from coterie.describe.summary import summarise
from coterie.errors import DataError, UsageError
from coterie.models.storage import save_clusters
from coterie.runs.clustering import Clustering
from coterie.runs.exports import refresh, write_page
from coterie.runs.facts import (
    HIGHEST_ID,
    ClustersFile,
    Manifest,
    MapFile,
    StabilityFile,
    Stored,
)
from coterie.runs.page_data import PageRows
from coterie.runs.table import own_columns
from coterie.texts import write_rows
from coterie.texts.source import LONGEST_ROW
from coterie.texts.write import result_kind

MANIFEST, EARLIER = "manifest.json", "earlier"
TRAINING = "training"  # where the checkpoints of a method lie
RESULT = re.compile(
    r"(manifest|clusters|map|stability)\.json"
    r"|assignments(-no-texts|-spreadsheet)?\.(csv|jsonl|parquet|xlsx)|clusters(-no-texts)?\.xlsx"
    r"|(report(-no-texts)?|changes)\.html|history\.jsonl|model/.+"
)
KEPT = re.compile(rf"{EARLIER}/([0-9]{{4,9}})/.+")
CHANGES, SENTENCES, LETTERS = 100, 20, 500  # the last changes in the manifest, and how long each is

T = TypeVar("T")


# Reading --------------------------------------------------------------------------------------


def read(folder: Path) -> Clustering:
    """The finished run in a folder, from one state of it; the model is loaded when it is needed."""

    def read_all() -> Clustering:
        facts = read_manifest(folder)
        clusters, tree, nodes = read_clusters(folder)
        return Clustering(
            folder,
            facts,
            _read_table(folder),
            clusters,
            tree,
            nodes,
            _read_json(folder, "map.json", MapFile),
            version=version_of(folder),
            stability=_read_json(folder, "stability.json", StabilityFile),
        )

    return one_state([folder], read_all)


def version_of(folder: Path) -> str:
    """Tells one state of a run from another; after an undo it is the earlier one again."""
    return sha256_file(inside(folder, MANIFEST))[:32]


def read_manifest(folder: Path) -> dict[str, Any]:
    """How a run was made and changed."""
    found = _read_json(folder, MANIFEST, Manifest)
    if found is None:
        raise DataError(
            f"{folder} holds no run: there is no manifest.json. Name a folder that coterie "
            "cluster has written."
        )
    return found


def read_clusters(folder: Path) -> tuple[list[Cluster], Tree, dict[int, Cluster]]:
    """The described clusters of a run, its merge tree, and all clusters of that."""
    saved = _read_json(folder, "clusters.json", ClustersFile)
    if saved is None:
        raise DataError(f"{folder} is damaged: it has no clusters.json.")
    clusters = [Cluster.from_dict(cluster) for cluster in saved["clusters"]]
    told = saved["tree"]
    merges = tuple((union, one, other) for union, one, other in told["merges"])
    tree = Tree(tuple(told["leaves"]), merges, dict(told["levels"]), told["at"])
    others = [Cluster.from_dict(node) for node in told["nodes"]]
    return clusters, tree, {c.id: c for c in (*clusters, *others)}


def _read_json(folder: Path, name: str, model: type[Stored]) -> dict[str, Any] | None:
    """A file of a run that fits its model; None where it is missing."""
    path = inside(folder, name)
    if not os.path.lexists(path):
        return None
    with open_file(path, LARGE) as file:
        data = file.read(LARGE + 1)
    found: dict[str, Any] = parse_json(data, str(path), LARGE)
    model.check(data, str(path))
    return found


def table_of(folder: Path) -> Path:
    """The table of a run."""
    return inside(folder, "assignments.csv")


def _read_table(folder: Path) -> pa.Table:
    """The table of a run: columns of the input as texts, those of coterie with their kinds."""
    import pyarrow.csv

    path = table_of(folder)
    block = min(LONGEST_ROW, check_file(path).st_size)  # Arrow reads no row that is longer
    how = (
        pyarrow.csv.ReadOptions(use_threads=False, block_size=max(block, 1)),
        pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
    )
    with damaged(path, "a table of coterie"):
        names = pyarrow.csv.open_csv(path, *how).schema.names
        if len({*names}) != len(names):
            raise DataError(f"{path} names a column twice.")
        own = own_columns(names)
        kinds = {n: result_kind(n) if n in own.values() else pa.string() for n in names}
        as_kinds = pyarrow.csv.ConvertOptions(
            column_types=kinds, null_values=[""], strings_can_be_null=False
        )
        reader = pyarrow.csv.open_csv(path, *how, as_kinds)
        table = pa.Table.from_batches(reader, reader.schema)
    labels = table[own["cluster"]]
    known = pc.min_max(labels)
    low, high = known["min"].as_py(), known["max"].as_py()
    if labels.null_count or (len(table) and not -1 <= low <= high < HIGHEST_ID):
        raise DataError(f"{path}: the column 'cluster' has numbers that no cluster has.")
    return table


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


# Changes --------------------------------------------------------------------------------------


@contextmanager
def opened(
    folder: Path, *, version: str | None = None, to_write: bool = True
) -> Iterator[Clustering]:
    """The run in a folder; if it is to be written, nobody else can change it inside the block.

    ``version`` refuses any other state than the one that the caller has seen.
    """
    mend_folder(folder)
    read_manifest(folder)  # before a lock is put beside it
    with held(folder) if to_write else nullcontext():
        _check_version(folder, version)
        yield read(folder)


def _check_version(folder: Path, version: str | None) -> None:
    if version is not None and version != version_of(folder):
        raise DataError(
            f"{folder} is not in the state {version:.40} any more: somebody has changed it since "
            "you read it. Nothing was written; look at it again.",
            code="edit.other_version",
        )


def save(
    before: Clustering,
    after: Clustering,
    *,
    done: Sequence[str] | None = None,
    beside: Callable[[Path], None] | None = None,
) -> None:
    """Let a clustering take the place of the one it was made of; the caller holds the folder.

    Parameters
    ----------
    before, after : Clustering
    done : sequence of str, optional
        What was done, in sentences; then :func:`undo` can take it back.
    beside : callable, optional
        Writes further files into the folder that it is given.
    """
    if done is not None:
        said = [sentence[:LETTERS] for sentence in done[:SENTENCES]]
        changes = [*after.facts.get("changes", []), {"when": now(), "done": said}]
        after = replace(after, facts={**after.facts, "changes": changes[-CHANGES:]})

    def fill(fresh: Path) -> None:
        if version_of(fresh) != before.version:
            raise DataError(
                f"{before.folder} was changed by another command in the meantime; try again.",
                code="edit.changed_meanwhile",
            )
        if done is not None:
            kept = fresh / EARLIER / f"{_last_change(fresh) + 1:04}"
            link_files(fresh, kept, filter(RESULT.fullmatch, files_of(fresh)))
        write(fresh, after, before, beside)

    _swap(before.folder, fill)


def add_files(folder: Path, write_files: Callable[[Path, Clustering], T]) -> T:
    """Add files that say what the run says, such as pages; returns what ``write_files`` does."""
    found: list[T] = []
    with opened(folder) as run:
        _swap(folder, lambda fresh: found.append(write_files(fresh, run)))
    return found[0]


def undo(folder: Path, *, version: str | None = None) -> int:
    """Put back the files before the last change; returns its number.

    Pages and exports that were made since are written anew, other files stay.
    """
    mend_folder(folder)
    read_manifest(folder)  # and no more: an undo may repair what else is damaged
    with held(folder):
        _check_version(folder, version)
        folder = folder.resolve()
        number, names = _last_change(folder), files_of(folder)
        if not number:
            raise DataError(f"{folder} has no edits to undo.", code="edit.nothing_to_undo")
        kept = f"{EARLIER}/{number:04}"
        back = files_of(inside(folder, kept))

        def fill(fresh: Path) -> None:
            stay = (n for n in names if not RESULT.fullmatch(n) and not n.startswith(f"{kept}/"))
            link_files(folder, fresh, stay)
            link_files(folder / kept, fresh, filter(RESULT.fullmatch, back))
            refresh(fresh, read(fresh), set(names) - set(back))

        replace_folder(folder, fill)
    return number


def undoable(run: Clustering) -> str:
    """What the last change that can be undone has done, in a sentence; empty if there is none."""
    changes = run.facts.get("changes")
    return "; ".join(changes[-1]["done"]) if changes else ""


def _last_change(folder: Path) -> int:
    """Number of the last change that can be undone, 0 if there is none."""
    found = (KEPT.fullmatch(name) for name in files_of(folder))
    return max((int(match[1]) for match in found if match), default=0)


def _swap(folder: Path, fill: Callable[[Path], None]) -> None:
    """Let ``fill`` work on links to the files of a run, and swap the new folder in.

    ``fill`` must replace files, not write into them: they are shared with the old folder.
    """
    folder = folder.resolve()

    def filled(fresh: Path) -> None:
        link_files(folder, fresh, (name for name in files_of(folder) if not is_litter(name)))
        fill(fresh)

    replace_folder(folder, filled)


def files_of(folder: Path) -> list[str]:
    """Names of all files below a folder; links are files, and are not followed."""
    found = []
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        found += [(Path(place) / n).relative_to(folder).as_posix() for n in (*names, *links)]
    return sorted(found)


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


# Writing --------------------------------------------------------------------------------------


def write(
    folder: Path,
    after: Clustering,
    before: Clustering | None = None,
    beside: Callable[[Path], None] | None = None,
    rows: PageRows | None = None,
) -> None:
    """Write the files of a clustering but its model.

    Parameters
    ----------
    folder : Path
        Which nobody reads yet.
    after : Clustering
    before : Clustering, optional
        Whose files are there: parts that are the same are not written. Default: none are.
    beside : callable, optional
        Writes further files, before the page.
    rows : PageRows, optional
        What the page needs of a table that was already written, and counted.
    """

    def is_new(part: str) -> bool:
        return before is None or getattr(after, part) is not getattr(before, part)

    facts = dict(after.facts)
    if after.fitted is not None and before is not None and is_new("fitted"):
        grown = len(after.table) > len(before.table)
        save_clusters(after.fitted, folder / "model", outliers=grown)
    if rows is None and is_new("table"):
        write_rows(folder / "assignments.csv", after.table, {})
        facts["figures"] = after.figures()
    if is_new("clusters") or is_new("nodes") or is_new("tree"):
        write_clusters(folder, after.clusters, after.tree, after.nodes)
    if after.map is not None and is_new("map"):
        write_text(folder / "map.json", json.dumps(after.map, separators=(",", ":")) + "\n")
    if after.stability is not None and is_new("stability"):
        write_json(folder / "stability.json", after.stability)
    facts["levels"] = dict(after.tree.levels)
    facts["summary"] = summarise(facts, after.clusters, after.tree, after.nodes)
    write_json(folder / MANIFEST, facts)
    if beside is not None:
        beside(folder)
    after = replace(after, facts=facts)
    if before is None:
        write_page(folder / "report.html", after, rows=rows)
    else:
        refresh(folder, after, set(files_of(folder)))


def write_clusters(
    folder: Path, clusters: Sequence[Cluster], tree: Tree, nodes: Mapping[int, Cluster]
) -> None:
    """Write ``clusters.json``: the clusters that are shown, the merge tree, and its others."""
    shown = {cluster.id for cluster in clusters}
    saved = {
        "clusters": [cluster.to_dict() for cluster in clusters],
        "tree": {
            "levels": dict(tree.levels),
            "at": tree.at,
            "leaves": list(tree.leaves),
            "merges": [list(merge) for merge in tree.merges],
            "nodes": [node.to_dict() for i, node in nodes.items() if i not in shown],
        },
    }
    write_json(folder / "clusters.json", saved)


def copy_run(folder: Path, target: Path, *, overwrite: bool = False) -> None:
    """Put a run into another folder, too; ``overwrite`` replaces the run that is there."""
    refuse_taken(target, overwrite=overwrite)
    with held(target):
        replace_folder(
            target, lambda fresh: link_files(folder, fresh, filter(is_part, files_of(folder)))
        )


# What a command may write ---------------------------------------------------------------------


def refuse_taken(path: Path, *, resume: bool = False, overwrite: bool = False) -> None:
    """Reject a folder that holds something; ``overwrite`` replaces a run and nothing else."""
    mend_folder(path)
    if path.exists() and not path.is_dir():
        raise UsageError(f"`folder={str(path)!r}` is a file; a run needs a folder.")
    names = [name for name in files_of(path) if not is_litter(name)]
    if not names:
        return
    trained = any(name.startswith(f"{TRAINING}/") for name in names)
    other = [n for n in names if not (n.startswith(f"{TRAINING}/") or is_part(n))]
    if other or not (trained or is_run(path)):
        raise UsageError(
            f"`folder={str(path)!r}` holds {min(other or names)}, which is no file of a run; "
            "choose another folder."
        )
    if overwrite or (resume and trained):
        return
    if trained:
        raise UsageError(
            f"`folder={str(path)!r}` holds a training that was stopped; `resume` continues it, "
            "`overwrite` starts again."
        )
    raise UsageError(f"`folder={str(path)!r}` holds a run; `overwrite` replaces it.")


def is_part(name: str) -> bool:
    """Whether a run may have a file of this name."""
    return RESULT.fullmatch(name) is not None or KEPT.fullmatch(name) is not None


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run, and not the manifest of another program."""
    try:
        found = read_json(inside(folder, MANIFEST), LARGE)
    except DataError:
        return False
    return isinstance(found, dict) and {"method", "parameters", "data"} <= found.keys()
