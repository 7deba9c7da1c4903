"""From the files of a run folder to the page, and the one file that the page needs for itself.

``map.json`` holds the coordinates of the texts on the map and the silhouette, both of which need
the vectors. All else comes from ``manifest.json``, ``clusters.json``, ``levels.json`` and
``assignments.csv``, so the page can be made anew at any time, also without the texts.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from coterie._errors import DataError
from coterie._files import write_text
from coterie._trust import ClusterId, check_file, damaged, inside
from coterie._types import Bools, Floats, Ints
from coterie.description import Cluster
from coterie.metrics import silhouette
from coterie.report.html import BROAD_THEME, Outlier, Outliers, ReportData
from coterie.report.layout import first_of_equal, map_texts, sample_rows
from coterie.report.points import Points, is_category
from coterie.report.quality import Figure, figures, guard_sentence, next_steps
from coterie.run_files import check_known, read_levels, read_map

LONGEST = 1 << 24  # characters of a line


@dataclass(frozen=True)
class Skimmed:
    """What was kept of a table.

    Attributes
    ----------
    columns : dict of str to list of str
        Cells of the rows that were asked for, in their order.
    labels, confidence, margin : ndarray of shape (n,)
        Of all rows.
    marked : dict of str to list of str
        Cells of the rows that are outliers.
    scored : int
        Rows with an outlier score.
    """

    columns: dict[str, list[str]]
    labels: Ints
    confidence: Floats
    margin: Floats
    marked: dict[str, list[str]]
    scored: int


def skim(
    path: Path, rows: Sequence[int], own: Callable[[Sequence[str]], dict[str, str]]
) -> Skimmed:
    """Go through an ``assignments.csv`` once.

    Parameters
    ----------
    path : Path
    rows : sequence of int
        Ascending numbers of the rows to keep, from zero.
    own : callable
        From the names of all columns to those of the results, by what they are.
    """
    with reading(path) as (header, body):
        place = {name: header.index(column) for name, column in own(header).items()}
        kept = _Kept(place, rows)
        for number, row in enumerate(body):
            kept.take(number, row)
        highest = max(kept.labels, default=0)
        if min(kept.labels, default=0) < -1 or highest >= ClusterId.HIGHEST:
            raise DataError("report.unknown_cluster", path=path)
        if not all(np.isfinite(np.array(part)).all() for part in (kept.confidence, kept.margin)):
            raise DataError("report.not_finite", path=path)
    return Skimmed(
        columns=_columns(header, kept.shown),
        labels=np.array(kept.labels, dtype=np.int64),
        confidence=np.array(kept.confidence),
        margin=np.array(kept.margin),
        marked=_columns(header, kept.marked),
        scored=kept.scored,
    )


@dataclass
class _Kept:
    place: dict[str, int]
    rows: Sequence[int]
    shown: list[list[str]] = field(default_factory=list)
    marked: list[list[str]] = field(default_factory=list)
    labels: array[int] = field(default_factory=lambda: array("q"))
    confidence: array[float] = field(default_factory=lambda: array("d"))
    margin: array[float] = field(default_factory=lambda: array("d"))
    scored: int = 0

    def take(self, number: int, row: list[str]) -> None:
        place, shown = self.place, len(self.shown)
        self.labels.append(int(row[place["cluster"]]))
        self.confidence.append(float(row[place["confidence"]] or 0))
        self.margin.append(float(row[place["margin"]] or 0))
        if shown < len(self.rows) and self.rows[shown] == number:
            self.shown.append(row)
        if "nearest_cluster" in place:
            self.scored += bool(row[place["outlier_score"]])
            if row[place["outlier"]] == "yes":
                self.marked.append(row)


@contextmanager
def reading(path: Path) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The header and the rows of a CSV file, whatever the length of a field."""
    check_file(path)
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with damaged(path, "a table of coterie"), path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(_lines(file, path))
            header = next(rows, [])
            if not header or len(set(header)) != len(header):
                raise DataError("report.bad_header", path=path)
            yield header, _whole(rows, len(header), path)
    finally:
        csv.field_size_limit(before)


def _lines(file: TextIO, path: Path) -> Iterator[str]:
    """The lines of a table, none of which is longer than any text is."""
    for number in count(1):
        line = file.readline(LONGEST)
        if not line:
            return
        if len(line) == LONGEST:
            raise DataError("report.line_too_long", path=path, number=number, most=LONGEST)
        yield line


def _whole(rows: Iterator[list[str]], width: int, path: Path) -> Iterator[list[str]]:
    """The rows; refuse one with more or fewer cells than the header."""
    try:
        for number, row in enumerate(rows, 1):
            if len(row) != width:
                raise DataError(
                    "report.bad_row", path=path, number=number, cells=len(row), width=width
                )
            yield row
    except csv.Error as error:
        raise DataError("report.bad_csv", path=path, error=error) from error


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


SHOWN = 20  # outliers on the page; the table has all
SILHOUETTE = 2_500  # texts it is taken from
LEVEL_NAME = re.compile(r"level_(\d+)_name")


def write_map(
    path: Path, vectors: Floats, labels: Ints, seed: int, outliers: Bools | None = None
) -> None:
    """Lay out the texts and write ``map.json``; see :func:`make_map`."""
    found = make_map(vectors, labels, seed, outliers)
    write_text(path, json.dumps(found, separators=(",", ":")) + "\n")


def make_map(
    vectors: Floats, labels: Ints, seed: int, outliers: Bools | None = None
) -> dict[str, Any]:
    """Where the texts lie on the map, and the silhouette; rows count from zero.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
        Of outliers, the nearest cluster: they are on the map, too.
    seed : int
    outliers : ndarray of shape (n,), optional
        Texts that the silhouette leaves out.
    """
    rows = sample_rows(labels, seed)
    # Equal texts have equal vectors: each place is computed once, and they lie on one another.
    first, back = first_of_equal(vectors[rows])
    coordinates, layout = map_texts(vectors[rows][first], labels[rows][first], seed)
    placed = labels >= 0
    inside = placed if outliers is None else placed & ~outliers
    value = silhouette(vectors[inside], labels[inside], SILHOUETTE)
    return {
        "layout": layout,
        "total": int(placed.sum()),
        "silhouette": round(value, 4) if np.isfinite(value) else None,
        "rows": rows.tolist(),
        "x": coordinates[back, 0].tolist(),
        "y": coordinates[back, 1].tolist(),
    }


def read_run(path: Path, manifest: dict[str, Any], clusters: Sequence[Cluster]) -> ReportData:
    """Everything the page shows, from the files of a run folder."""
    saved, levels = read_map(path), read_levels(path)
    table = inside(path, "assignments.csv")
    quality: list[Figure] = []
    points = outliers = None
    if table.exists():
        text_column = manifest["data"]["text_column"]
        found = skim(table, saved["rows"] if saved else [], own_columns)
        check_known(found.labels.tolist(), clusters, path)
        if text_column not in found.columns:
            raise DataError("report.no_text_column", table=table, text_column=text_column)
        if saved and len(found.columns[text_column]) != len(saved["rows"]):
            raise DataError("report.map_damaged", map=path / "map.json", table=table)
        outliers = _outliers(found, text_column, clusters)
        quality = figures(
            found.labels,
            found.confidence,
            found.margin,
            silhouette=saved["silhouette"] if saved else None,
            guard=manifest.get("guard"),
        )
        if saved:
            rows = range(len(saved["rows"]))
            shown = make_points(saved | {"rows": rows}, found.columns, text_column)
            points = replace(shown, rows=[row + 1 for row in saved["rows"]])
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
        levels=[] if levels is None else levels.levels,
        themes=levels is not None and levels.themes,
        outliers=outliers,
    )


def read_columns(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file as texts, whatever their length."""
    with reading(path) as (header, rows):
        body = list(rows)
    return {name: [row[i] for row in body] for i, name in enumerate(header)}


def make_points(saved: dict[str, Any], columns: dict[str, list[str]], text_column: str) -> Points:
    """The points of a map, with the columns worth colouring by: categories and coarser levels."""
    rows = saved["rows"]
    own = own_columns(columns)
    kept = {
        name: [values[row] for row in rows]
        for name, values in columns.items()
        if name not in own.values() and name != text_column
    }
    for name, shown in _coarser(own).items():
        kept[shown] = [columns[own[name]][row] for row in rows]
    labels = columns[result_column(columns, "cluster")]
    confidence = columns[result_column(columns, "confidence")]
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


def result_column(columns: Sequence[str] | dict[str, list[str]], name: str) -> str:
    """The name under which a result column was written: it stands behind the input's columns."""
    for column in reversed(list(columns)):
        if _bare(column) == name:
            return column
    raise DataError("report.no_result_column", name=name)


def cluster_columns(columns: Sequence[str], chosen: str | None = None) -> tuple[str, str, str]:
    """Columns of a table with the clusters and their names, and a sentence about the first.

    Parameters
    ----------
    columns : sequence of str
    chosen : str, optional
        Column of the clusters, as the user says. Default: the last of those that a run calls
        "cluster"; a table that was clustered again has an older one before it.

    Returns
    -------
    clusters, names : str
        ``names`` is empty if there is no such column.
    sentence : str

    Examples
    --------
    >>> cluster_columns(["text", "cluster", "name", "coterie_cluster", "coterie_name"])[:2]
    ('coterie_cluster', 'coterie_name')
    """
    own = [name for name in columns if _bare(name) == "cluster"]
    taken = chosen or (own[-1] if own else "cluster")
    behind = list(columns)[list(columns).index(taken) :] if taken in own else list(columns)
    names = next((name for name in behind if _bare(name) == "name"), "")
    others = [repr(name) for name in own if name != taken]
    more = f", not from {', '.join(others)}" if others else ""
    return taken, names, f"clusters from the column {taken!r}{more}"


def own_columns(columns: Sequence[str] | dict[str, list[str]]) -> dict[str, str]:
    """Result columns of a table by what they are: the name under which each was written.

    They begin with that of the cluster; whatever stands before it came with the texts.
    """
    names = list(columns)
    start = names.index(result_column(columns, "cluster"))
    return {_bare(name): name for name in names[start:]}


def _coarser(own: dict[str, str]) -> dict[str, str]:
    """Columns with names of coarser levels or themes, and what the page calls them."""
    if "theme_name" in own:
        return {"theme_name": BROAD_THEME}
    found = [name for name in own if LEVEL_NAME.fullmatch(name)]
    # The last one is the clustering itself.
    return {name: name.removesuffix("_name").replace("_", " ") for name in found[:-1]}


def _outliers(found: Skimmed, text_column: str, clusters: Sequence[Cluster]) -> Outliers | None:
    """The outliers, the highest scores first; None where none were asked for."""
    columns = found.marked
    own = own_columns(columns)
    if "nearest_cluster" not in own:
        return None
    names = {cluster.id: cluster.name for cluster in clusters}
    cells = (columns[column] for column in (own["outlier_score"], own["nearest_cluster"]))
    odd = []
    for text, score, near in zip(columns[text_column], *cells, strict=True):
        nearest = int(near)
        name = names.get(nearest, f"Cluster {nearest}")
        odd.append(Outlier(text, float(score), nearest, name))
    odd.sort(key=lambda outlier: (-outlier.score, outlier.text))
    distinct = {outlier.text: outlier for outlier in reversed(odd)}
    shown = sorted(distinct.values(), key=lambda outlier: (-outlier.score, outlier.text))
    return Outliers(len(odd), len(odd) / max(found.scored, 1), shown[:SHOWN])


def _bare(column: str) -> str:
    while column.startswith("coterie_"):
        column = column.removeprefix("coterie_")
    return column


def _settings(manifest: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "method": manifest["method"],
        "names": manifest.get("names", {}).get("by"),  # of a namer, where one was asked
        **manifest["parameters"],
        "texts (sha256)": manifest["data"]["sha256"],
        "seconds": manifest["seconds"],
        "what the guard saw": manifest["guard"],
        "versions": manifest["versions"],
        "hardware": manifest["hardware"],
        "finished": manifest["finished"],
    }
    return {key: value for key, value in shown.items() if value is not None}
