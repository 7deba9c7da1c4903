"""From the files of a run folder to the page, and the one file that the page needs for itself.

``map.json`` holds the coordinates of the texts on the map and the silhouette, both of which need
the vectors. All else comes from ``manifest.json``, ``clusters.json``, ``levels.json`` and
``assignments.csv``, so the page can be made anew at any time, also without the texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie._util.files import write_text
from coterie._util.trust import damaged
from coterie._util.types import Bools, Floats, Ints
from coterie.arrays.metrics import silhouette
from coterie.describe import Cluster, guess_columns, text_order
from coterie.describe.columns import sort_into_periods
from coterie.describe.summary import about_making, about_size, make_overview
from coterie.errors import DataError, counted
from coterie.page.html import Outliers, ReportData, by_size
from coterie.page.layout import first_of_equal, map_texts, sample_rows
from coterie.page.points import Points
from coterie.page.quality import Figure, figures
from coterie.runs.measured import read_stability
from coterie.runs.run_files import (
    check_known,
    given_numbers,
    own_columns,
    read_clusters,
    read_levels,
    read_map,
    table_of,
    table_parts,
)
from coterie.texts.corpus import cell_values
from coterie.texts.write import bare_name


@dataclass(frozen=True)
class Skimmed:
    """What was kept of a table."""

    shown: pa.Table  # the rows that were asked for, in their order
    labels: Ints  # of all rows
    marked: pa.Table | None  # the rows that are outliers; None where none can be
    scored: int  # rows with an outlier score


def skim(path: Path, rows: Sequence[int]) -> Skimmed:
    """Go through an ``assignments.csv`` once, and keep what the page needs.

    Parameters
    ----------
    path : Path
    rows : sequence of int
        Ascending numbers of the rows to keep, from zero.
    """
    wanted = np.asarray(rows, dtype=np.int64)
    labels, shown, marked = [], [], []
    first = scored = 0
    for part in table_parts(path):
        own = own_columns(part.schema.names)
        labels.append(part[own["cluster"]].to_numpy(zero_copy_only=False))
        low, high = np.searchsorted(wanted, [first, first + len(part)])
        shown.append(part.take(pa.array(wanted[low:high] - first)))
        if "nearest_cluster" in own:
            scored += len(part) - part[own["outlier_score"]].null_count
            marked.append(part.filter(pc.equal(part[own["outlier"]], "yes")))
        first += len(part)
    return Skimmed(
        pa.Table.from_batches(shown),
        np.concatenate(labels),
        pa.Table.from_batches(marked) if marked else None,
        scored,
    )


SILHOUETTE = 2_500  # texts it is taken from


def write_map(folder: Path, made: Mapping[str, Any]) -> None:
    """Write ``map.json``, which :func:`make_map` made."""
    write_text(folder / "map.json", json.dumps(made, separators=(",", ":")) + "\n")


def make_map(
    vectors: Floats,
    labels: Ints,
    seed: int,
    outliers: Bools | None = None,
    texts: Sequence[str] | None = None,
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
    texts : sequence of str, optional
        With them, places do not depend on the order of the rows.
    """
    order = np.arange(len(labels)) if texts is None else text_order(texts)
    vectors, labels = vectors[order], labels[order]
    rows = sample_rows(labels, seed)
    # Equal texts have equal vectors: each place is computed once, and they lie on one another.
    first, back = first_of_equal(vectors[rows])
    coordinates, layout = map_texts(vectors[rows][first], labels[rows][first], seed)
    placed = labels >= 0
    inside = placed if outliers is None else placed & ~outliers[order]
    value = silhouette(vectors[inside], labels[inside], SILHOUETTE)
    rows = order[rows]
    back = back[np.argsort(rows)]
    return {
        "layout": layout,
        "total": int(placed.sum()),
        "silhouette": round(value, 4) if np.isfinite(value) else None,
        "rows": np.sort(rows).tolist(),
        "x": coordinates[back, 0].tolist(),
        "y": coordinates[back, 1].tolist(),
    }


def read_run(path: Path, manifest: dict[str, Any], clusters: Sequence[Cluster]) -> ReportData:
    """Everything the page shows, from the files of a run folder."""
    saved, tree = read_map(path), None
    if (path / "clusters.json").exists():
        _, tree = read_clusters(path)
    levels = read_levels(path, tree)
    if tree is not None:  # its numbers are by size in one cut alone
        clusters = sorted(clusters, key=by_size)
    table = table_of(path)
    quality: list[Figure] = []
    points = outliers = stability = None
    if table.exists():
        text_column = manifest["data"]["text_column"]
        found = skim(table, saved["rows"] if saved else [])
        check_known(found.labels.tolist(), clusters, path)
        if text_column not in found.shown.column_names:
            raise DataError(f"{path}: assignments.csv has no column {text_column!r}.")
        if saved and len(found.shown) != len(saved["rows"]):
            raise DataError(
                f"{path / 'map.json'} is damaged: it has rows that {table} does not have."
            )
        with damaged(table, "a table of coterie"):
            outliers = _outliers(found, text_column, clusters)
        names = {c.id: c.name for c in clusters}
        stability = _renamed(read_stability(path, found.labels), names)
        quality = figures(manifest, clusters, saved["silhouette"] if saved else None)
        if saved:
            finest = None if tree is None else tree.column
            points = make_points(saved, found.shown, text_column, finest)
    return ReportData(
        title=f"{counted(manifest['data']['rows'], 'text')} in {counted(len(clusters), 'cluster')}",
        summary=about_size(manifest, clusters),
        overview=make_overview(manifest, clusters, levels),
        made=about_making(manifest, clusters),
        clusters=clusters,
        notes=manifest["data"]["notes"],
        settings=_settings(manifest),
        quality=quality,
        points=points,
        levels=[] if levels is None or tree is not None else levels.levels,
        outliers=outliers,
        given=given_numbers(manifest.get("guidance", {"given": ()})),
        stability=stability,
        new=next((entry["new"] for entry in reversed(manifest.get("updates", []))), ()),
        tree=tree,
    )


def _renamed(measured: dict[str, Any] | None, names: Mapping[int, str]) -> dict[str, Any] | None:
    """What a command has measured, with the names that the clusters have now."""
    if measured is None:
        return None
    out = dict(measured)
    for part, key in (("clusters", "id"), ("steps", "cluster")):
        if part in out:
            out[part] = [{**line, "name": names.get(line[key], line["name"])} for line in out[part]]
    return out


def make_points(
    saved: dict[str, Any], shown: pa.Table, text_column: str, finest: str | None = None
) -> Points:
    """The points of a map, with the columns worth filtering by: categories and dates.

    ``finest`` is the result column with the leaves of the run's tree, if it has one.
    """
    own = own_columns(shown.column_names)
    clusters = cell_values(shown[own["cluster"]])
    leaves = None
    if finest in own:  # there, outliers have the leaf that they are nearest to
        leaves = [
            leaf if cluster >= 0 else -1
            for leaf, cluster in zip(cell_values(shown[own[finest]]), clusters, strict=True)
        ]
    table = shown.drop_columns(list(own.values()))
    date, categories = guess_columns(table, text_column)
    periods = None if date is None else sort_into_periods(cell_values(table[date]))
    return Points(
        x=saved["x"],
        y=saved["y"],
        rows=[row + 1 for row in saved["rows"]],
        clusters=clusters,
        confidence=cell_values(shown[own["confidence"]].fill_null(0.0)),
        texts=cell_values(shown[text_column]),
        columns={name: cell_values(table[name]) for name in categories},
        dates=(date, periods) if date and periods and len(periods.names) > 1 else None,
        total=saved["total"],
        layout=saved["layout"],
        leaves=leaves,
    )


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
    own = [name for name in columns if bare_name(name) == "cluster"]
    taken = chosen or (own[-1] if own else "cluster")
    behind = list(columns)[list(columns).index(taken) :] if taken in own else list(columns)
    names = next((name for name in behind if bare_name(name) == "name"), "")
    others = [repr(name) for name in own if name != taken]
    more = f", not from {', '.join(others)}" if others else ""
    return taken, names, f"clusters from the column {taken!r}{more}"


def _outliers(found: Skimmed, text_column: str, clusters: Sequence[Cluster]) -> Outliers | None:
    """The outliers, the highest scores first; None where none were asked for."""
    if found.marked is None:
        return None
    own, names = own_columns(found.marked.column_names), {c.id: c.name for c in clusters}
    wanted = (text_column, own["outlier_score"], own["nearest_cluster"])
    rows = zip(*(cell_values(found.marked[name]) for name in wanted), strict=True)
    return Outliers.of(rows, names, found.scored)


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
