"""The files of a run folder, read and checked: every verb that opens a run reads it here.

A run may come from anybody, and a disk or a person may have damaged it. What is read has the shape
that coterie writes, or is refused with the file and the place in it; see :mod:`coterie._trust`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from coterie._errors import DataError
from coterie._trust import (
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
    read_json,
)
from coterie.description import Cluster
from coterie.hierarchy import Hierarchy

MANIFEST = "manifest.json"
SIGNS = {"neighbor_agreement": Real}
DONE: dict[str, Any] = {
    "status": str,
    "method": str,
    "parameters": dict,
    "data": {
        "rows": Count, "text_column": str, "id_column?": (str, None), "sha256": str,
        "notes": [str],
    },
    "summary": [str],
    "seconds": (dict, Real),
    "versions": dict,
    "hardware": dict,
    "finished": str,
    "seed?": (int, None),
    "guard": (
        {"fired": bool, "start": SIGNS, "final?": (SIGNS, None), "agreement?": (Real, None)}, None
    ),
    "handover?": {"levels?": [Count]},
    "outliers?": dict,
    "names?": {"by?": str, "clusters": {int: {"own": str, "given": str}}},
    "editing?": {
        "edits?": Count, "locked?": [ClusterId], "named?": [ClusterId], "next_id?": ClusterId,
    },
}  # fmt: skip
NEAR = {"id": ClusterId, "name": str, "similarity": float, "more": [str], "less": [str]}
CLUSTER: dict[str, Any] = {
    "id": ClusterId, "name": str, "size": Count, "share": float, "words": [Row(str, float)],
    "examples": [str], "topics?": [[str]], "diverse?": [str], "borderline?": [str],
    "near?": [NEAR], "over_time?": [Row(str, Count)], "by?": {str: [Row(str, Count)]},
    "parent?": (ClusterId, None),
}  # fmt: skip
LEVELS = {"themes?": bool, "levels": [{"of_cluster": {int: Label}, "clusters": [CLUSTER]}]}
MAP = {
    "layout": str, "total": Count, "silhouette": (float, None), "rows": [Count], "x": [float],
    "y": [float],
}  # fmt: skip


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a finished run; refuse anything else."""
    manifest = read_status(folder)
    if manifest is None:
        raise DataError(
            f"{folder} holds no run: there is no manifest.json. Name a folder that coterie cluster "
            "has written."
        )
    if manifest["status"] != "done":
        raise DataError(
            f"the run in {folder} is not finished ({manifest['status'][:60]}); continue it with "
            "coterie cluster ... --resume."
        )
    check_shape(manifest, DONE, str(folder / MANIFEST))
    return manifest


def read_status(folder: Path) -> dict[str, Any] | None:
    """The manifest of a run that may not be finished; None where there is none."""
    path = inside(folder, MANIFEST)
    if not path.exists():
        return None
    found: dict[str, Any] = check_shape(read_json(path), {"status": str}, str(path))
    return found


def read_clusters(folder: Path) -> list[Cluster]:
    """The described clusters of a run."""
    path = inside(folder, "clusters.json")
    saved = check_shape(read_json(path, LARGE), [CLUSTER], str(path))
    _check_ids((c["id"] for c in saved), str(path))
    return [Cluster.from_dict(cluster) for cluster in saved]


def read_levels(folder: Path) -> Hierarchy | None:
    """The coarser levels of a run; None where it has none."""
    path = inside(folder, "levels.json")
    if not path.exists():
        return None
    saved = check_shape(read_json(path, LARGE), LEVELS, str(path))
    if saved.get("themes") and len(saved["levels"]) > 1:
        raise DataError(f"{path} is damaged: there is one level of themes, if any.")
    for level in saved["levels"]:
        known = _check_ids((c["id"] for c in level["clusters"]), str(path))
        for cluster, place in level["of_cluster"].items():
            if place not in known:
                raise DataError(f"{path} is damaged: cluster {cluster} lies in {place}, which is "
                                "not there.")  # fmt: skip
    return Hierarchy.from_dict(saved)


def read_map(folder: Path) -> dict[str, Any] | None:
    """Where texts are on the map; None where there is no map."""
    path = inside(folder, "map.json")
    if not path.exists():
        return None
    saved: dict[str, Any] = check_shape(read_json(path), MAP, str(path))
    if not len(saved["rows"]) == len(saved["x"]) == len(saved["y"]):
        raise DataError(f"{path} is damaged: rows and coordinates differ in number.")
    if any(a >= b for a, b in pairwise(saved["rows"])):
        raise DataError(f"{path} is damaged: its rows do not ascend.")
    return saved


def check_results(folder: Path) -> None:
    """Refuse a folder that is no finished run, or whose results cannot be read."""
    read_manifest(folder)
    read_clusters(folder)
    read_levels(folder)
    read_map(folder)
    if (table := inside(folder, "assignments.csv")).exists():
        check_file(table)


def model_folder(folder: Path) -> Path:
    """The model of a run, or ``folder`` itself if it is a model."""
    path = inside(folder, "model")
    if (path / "config.json").exists():
        return path
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


def whole_numbers(cells: Iterable[str], path: Path, column: str) -> list[int]:
    """The numbers of clusters in a column of a table."""
    with damaged(path, "a table of coterie"):
        found = [int(cell) for cell in cells]
        if found and not -1 <= min(found) <= max(found) < ClusterId.HIGHEST:
            raise DataError(f"{path}: the column {column!r} holds numbers that no cluster has.")
        return found


def _check_ids(ids: Iterable[int], where: str) -> set[int]:
    seen: set[int] = set()
    for number in ids:
        if number in seen:
            raise DataError(f"{where} is damaged: cluster {number} is there twice.")
        seen.add(number)
    return seen
