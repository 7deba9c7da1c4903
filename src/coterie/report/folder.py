"""From the files of a run folder to the page, and the one file that the page needs for itself.

``map.json`` holds the coordinates of the texts on the map and the silhouette, both of which need
the vectors. All else comes from ``manifest.json``, ``clusters.json`` and ``assignments.csv``, so
the page can be made anew at any time, also without the texts.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie._files import read_json, write_text
from coterie._types import Floats, Ints
from coterie.description import Cluster
from coterie.metrics import silhouette
from coterie.report.html import ReportData
from coterie.report.layout import map_texts, sample_rows
from coterie.report.points import Points, is_category
from coterie.report.quality import Figure, figures, guard_sentence, next_steps

ADDED = ("cluster", "name", "confidence", "runner_up", "margin")


def write_map(path: Path, vectors: Floats, labels: Ints, seed: int) -> None:
    """Lay out the texts and write ``map.json``; rows count from zero."""
    rows = sample_rows(labels, seed)
    # Equal texts have equal vectors: each place is computed once, and they lie on one another.
    distinct, first, back = np.unique(vectors[rows], axis=0, return_index=True, return_inverse=True)
    coordinates, layout = map_texts(distinct, labels[rows][first], seed)
    placed = labels >= 0
    value = silhouette(vectors[placed], labels[placed])
    found = {
        "layout": layout,
        "total": int(placed.sum()),
        "silhouette": round(value, 4) if np.isfinite(value) else None,
        "rows": rows.tolist(),
        "x": coordinates[back.ravel(), 0].tolist(),
        "y": coordinates[back.ravel(), 1].tolist(),
    }
    write_text(path, json.dumps(found, separators=(",", ":")) + "\n")


def read_run(path: Path, manifest: dict[str, Any], clusters: Sequence[Cluster]) -> ReportData:
    """Everything the page shows, from the files of a run folder."""
    saved = read_json(path / "map.json") if (path / "map.json").exists() else None
    table = path / "assignments.csv"
    columns = read_columns(table) if table.exists() else None
    quality: list[Figure] = []
    points = None
    if columns is not None:
        labels = np.array([int(value) for value in columns[_added(columns, "cluster")]])
        confidence = _numbers(columns[_added(columns, "confidence")])
        margin = _numbers(columns[_added(columns, "margin")])
        inside = saved["silhouette"] if saved else None
        quality = figures(
            labels, confidence, margin, silhouette=inside, guard=manifest.get("guard")
        )
        if saved:
            points = _points(saved, columns, manifest["data"]["text_column"])
    sentence = guard_sentence(manifest.get("guard"))
    return ReportData(
        title=f"{manifest['data']['rows']:,} texts in {len(clusters)} clusters",
        summary=[*manifest["summary"], *([sentence] if sentence else [])],
        clusters=clusters,
        notes=manifest["data"]["notes"],
        settings=_settings(manifest),
        quality=quality,
        next_steps=next_steps(clusters, quality),
        points=points,
    )


def read_columns(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file as texts, whatever their length."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            header = next(rows)
            body = list(rows)
    finally:
        csv.field_size_limit(before)
    return {name: [row[i] for row in body] for i, name in enumerate(header)}


def _points(saved: dict[str, Any], columns: dict[str, list[str]], text_column: str) -> Points:
    rows = saved["rows"]
    own = {_added(columns, name) for name in ADDED}
    kept = {
        name: [values[row] for row in rows]
        for name, values in columns.items()
        if name not in own and name != text_column
    }
    labels = columns[_added(columns, "cluster")]
    confidence = columns[_added(columns, "confidence")]
    return Points(
        x=saved["x"],
        y=saved["y"],
        rows=[row + 1 for row in rows],
        clusters=[int(labels[row]) for row in rows],
        confidence=[float(confidence[row]) for row in rows],
        texts=[columns[text_column][row] for row in rows],
        columns={name: values for name, values in kept.items() if is_category(values)},
        total=saved["total"],
        layout=saved["layout"],
    )


def _added(columns: dict[str, list[str]], name: str) -> str:
    """The name under which a result column was written: it stands behind the input's columns."""
    return next(column for column in reversed(columns) if _bare(column) == name)


def _bare(column: str) -> str:
    while column.startswith("coterie_"):
        column = column.removeprefix("coterie_")
    return column


def _numbers(values: Sequence[str]) -> Floats:
    return np.array([float(value or 0) for value in values])


def _settings(manifest: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "method": manifest["method"],
        **manifest["parameters"],
        "texts (sha256)": manifest["data"]["sha256"],
        "seconds": manifest["seconds"],
        "what the guard saw": manifest["guard"],
        "versions": manifest["versions"],
        "hardware": manifest["hardware"],
        "finished": manifest["finished"],
    }
    return {key: value for key, value in shown.items() if value is not None}
