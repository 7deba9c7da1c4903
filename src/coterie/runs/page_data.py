"""From a clustering to the page, and the places on the map, which need the vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie._util.types import Bools, Floats, Ints
from coterie.arrays.metrics import silhouette
from coterie.describe import guess_columns, text_order
from coterie.describe.columns import sort_into_periods
from coterie.describe.summary import about_making, about_size, make_overview
from coterie.errors import DataError, counted
from coterie.page.html import Outliers, ReportData, by_size
from coterie.page.layout import first_of_equal, map_texts, sample_rows
from coterie.page.points import Points
from coterie.page.quality import figures
from coterie.runs.clustering import Clustering
from coterie.runs.measured import current
from coterie.runs.table import as_texts, check_known, given_numbers, own_columns
from coterie.texts.corpus import cell_values
from coterie.texts.write import bare_name


class PageRows:
    """What the page needs of a table, which comes whole or part by part.

    Attributes
    ----------
    shown : list of pyarrow.Table
        The rows that were asked for, in their order.
    labels : list of ndarray
        Clusters of all rows.
    marked : list of pyarrow.Table
        The rows that are outliers; nothing where none can be.
    scored : int
        Rows with an outlier score.
    """

    def __init__(self, rows: Sequence[int]) -> None:
        self.shown: list[pa.Table] = []
        self.labels: list[Ints] = []
        self.marked: list[pa.Table] = []
        self.scored = self._first = 0
        self._wanted = np.asarray(rows, dtype=np.int64)  # ascending, from zero

    def add(self, part: pa.Table) -> None:
        """Look at the next rows."""
        if any(pa.types.is_string_view(kind) for kind in part.schema.types):  # as polars has them
            part = as_texts(part)  # no rows of them can be taken
        own = own_columns(part.column_names)
        self.labels.append(part[own["cluster"]].to_numpy())
        low, high = np.searchsorted(self._wanted, [self._first, self._first + len(part)])
        self.shown.append(as_texts(part.take(pa.array(self._wanted[low:high] - self._first))))
        if "nearest_cluster" in own:
            self.scored += len(part) - part[own["outlier_score"]].null_count
            self.marked.append(as_texts(part.filter(pc.equal(part[own["outlier"]], "yes"))))
        self._first += len(part)

    def outliers(self, text_column: str, names: Mapping[int, str]) -> Outliers | None:
        """The outliers, the highest scores first; None where none were asked for."""
        if not self.marked:
            return None
        marked = pa.concat_tables(self.marked)
        own = own_columns(marked.column_names)
        wanted = (text_column, own["outlier_score"], own["nearest_cluster"])
        rows = zip(*(cell_values(marked[name]) for name in wanted), strict=True)
        return Outliers.of(rows, names, self.scored)


SILHOUETTE = 2_500  # texts it is taken from


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


def page_data(run: Clustering, rows: PageRows | None = None) -> ReportData:
    """Everything the page shows; ``rows`` were taken from a table that is not in memory."""
    facts, saved = run.facts, run.map
    clusters = sorted(run.clusters, key=by_size)  # numbers are by size in one cut alone
    if rows is None:
        rows = PageRows(saved["rows"] if saved else [])
        rows.add(run.table)
    labels, shown = np.concatenate(rows.labels), pa.concat_tables(rows.shown)
    check_known(labels.tolist(), clusters, run.folder)
    if saved and len(shown) != len(saved["rows"]):
        raise DataError(f"{run.folder} is damaged: map.json has rows that the table has not.")
    points = None
    if saved:
        points = make_points(saved, shown, run.text_column, run.tree.column)
    return ReportData(
        title=f"{counted(facts['data']['rows'], 'text')} in {counted(len(clusters), 'cluster')}",
        summary=about_size(facts, clusters),
        overview=make_overview(facts, clusters, run.tree, run.nodes),
        made=about_making(facts, clusters),
        clusters=clusters,
        notes=facts["data"]["notes"],
        settings=_settings(facts),
        quality=figures(facts, clusters, saved["silhouette"] if saved else None),
        points=points,
        outliers=rows.outliers(run.text_column, run.names),
        given=given_numbers(facts.get("guidance", {"given": ()})),
        stability=_renamed(current(run.stability, labels), run.names),
        new=next((entry["new"] for entry in reversed(facts.get("updates", []))), ()),
        tree=run.tree,
        nodes=run.nodes,
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

    ``finest`` is the result column with the leaves of the run's tree.
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
