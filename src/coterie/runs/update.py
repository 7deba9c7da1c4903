"""New rows in a finished run: old rows stay where they are, new ones join, or are new clusters.

The table of the run grows at its end. A ridge classifier learns the clusters of all rows and
assigns later texts; a text that it would put elsewhere than the table does is bound to its cluster.
Merges, splits, moves and names stay, as they are in the rows, the names and the bound texts.

The change is kept for an undo, as edits are. A killed update leaves the run as it was; the command
again finds the vectors of the texts in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from coterie._util.threads import one_blas_thread
from coterie._util.torch import need_torch
from coterie._util.validation import check_choice
from coterie.errors import DataError, UsageError, counted
from coterie.page.html import write_changes
from coterie.runs.added import AddedRows, Updated
from coterie.runs.clustering import Clustering
from coterie.runs.sample import files_of
from coterie.runs.store import opened, save
from coterie.texts import Corpus, make_corpus
from coterie.texts.corpus import (
    as_whole,
    build,
    cell_values,
    check_column,
    value_to_text,
)
from coterie.texts.read import ReadOptions, read_table


class UpdateOptions(ReadOptions, total=False):
    """The options of :func:`update`, for :meth:`coterie.Run.update`."""

    text_column: str | None
    dry_run: bool
    version: str | None


@one_blas_thread()
def update(
    run: str | Path,
    data: object,
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    dry_run: bool = False,
    version: str | None = None,
    **reading: Unpack[ReadOptions],
) -> Updated:
    """Add new rows to a finished run; every old row keeps its cluster, number and name.

    Parameters
    ----------
    run : str or Path
        Folder of a finished run.
    data : list of str, Series, DataFrame or Arrow table; or str, Path or list of Path
    text_column : str, optional
        Column of the new data with the texts. Default: called as in the run, else the obvious one.
    id_column : "none", optional
        Add the new rows without ids. Default: ids are in the column that has them in the run.
    dry_run : bool, default=False
        Say what the update would do, without writing.
    version : str, optional
        Update the run only if this is its ``Run.version``: nobody has changed it since it was read.
    **reading
        ``format``, ``encoding`` and ``header`` of a file.

    Returns
    -------
    Updated
    """
    check_choice("id_column", id_column or "none", ["none"])
    need_torch("an update, which searches for new clusters,")
    folder = Path(run)
    table, guess, about_file = _read(data, reading)
    with opened(folder, version=version, to_write=not dry_run) as before:
        text = _text_column(before, table.column_names, guess, text_column)
        corpus, notes = _fitting(before, table, text, id_column is None)
        notes = (*about_file, *notes)
        if _has(before, corpus.table):
            return Updated(folder, 0, 0, notes=notes)
        added = AddedRows(before, corpus)
        found = Updated(
            folder,
            len(before.facts.get("updates", [])) + 1,
            len(corpus),
            new=tuple(c for c in added.clusters if c.id in added.new),
            drift=added.drift,
            written=not dry_run,
            notes=notes,
        )
        if not dry_run:
            odd = [t for t, strange in zip(corpus.texts, added.strange, strict=True) if strange]
            page = (folder.resolve().name, found.sentences(), added.drift, found.new)
            save(
                before,
                added.clustering,
                done=found.sentences()[:1],
                beside=lambda fresh: write_changes(
                    fresh / "changes.html", *page, list(dict.fromkeys(odd))
                ),
            )
    return found


def _read(data: Any, reading: Mapping[str, Any]) -> tuple[pa.Table, str | None, list[str]]:
    """The new rows, their column of texts where that is obvious, and notes on the file."""
    if not files_of(data):
        corpus = make_corpus(data)
        return corpus.table, corpus.text_column, []
    table, notes = read_table(data, **reading)
    if not len(table):
        raise DataError(f"{data} is empty; give a file with texts.")
    only = table.column_names[0] if len(table.column_names) == 1 else None
    return table, only, [note.message for note in notes]


def _has(run: Clustering, table: pa.Table) -> bool:
    """Whether the run was made of just these rows, or an update has added them."""
    old = run.input
    firsts = [entry.get("first", 0) for entry in run.facts.get("updates", [])]
    bounds = pairwise(sorted([0, *firsts, len(old)]))
    return any(old.slice(a, b - a).equals(table.select(old.column_names)) for a, b in bounds)


def _fitting(
    run: Clustering,
    table: pa.Table,
    text: str,
    with_ids: bool,
) -> tuple[Corpus, tuple[str, ...]]:
    """The new rows with the columns of the run, and what was noticed."""
    names = [n for n in table.column_names if with_ids or n == text or n != run.id_column]
    made = run.own.values()
    wanted = [name for name in run.table.column_names if name not in made]
    taken = {text, *wanted}
    notes = []
    left = [name for name in names if name not in taken]
    if left:
        notes.append(f"Columns that the run does not have are left out: {', '.join(left)}.")
    gone = [name for name in wanted if name not in names and name != run.text_column]
    if gone:
        notes.append(f"Columns that the new rows do not have are empty: {', '.join(gone)}.")
    columns = {}
    for name in wanted:
        source = text if name == run.text_column else name
        cells = cell_values(table.column(source)) if source in names else [None] * len(table)
        if name == run.id_column and run.facts["data"].get("types", {}).get(name) != "double":
            cells = [as_whole(value) for value in cells]
        columns[name] = [value_to_text(value) for value in cells]
    fitting = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    if run.id_column is not None and run.id_column in names:
        _check_ids(run, fitting)
    corpus = build(fitting, run.text_column, run.id_column)
    notes += [note.message for note in corpus.notes]
    return corpus, tuple(notes)


def _text_column(run: Clustering, names: list[str], guess: str | None, wanted: str | None) -> str:
    """The column of the new data with the texts."""
    if wanted is not None:
        return check_column(names, wanted, "`text_column`")
    if run.text_column in names:
        return run.text_column
    if guess is None:
        raise UsageError(
            f"the new data has no column {run.text_column!r}, which holds the texts of the run; "
            f"name the one to take with `text_column`. Columns: {', '.join(names)}."
        )
    return guess


def _check_ids(run: Clustering, table: pa.Table) -> None:
    """Refuse rows with an id that the run has already, or that two of them have."""
    ids = table.column(run.id_column).to_pylist()
    known = set(run.ids or ()) - {""}
    old = [i for i, value in enumerate(ids) if value in known]
    if old:
        raise DataError(
            f"row {old[0] + 1} has the {run.id_column} {ids[old[0]]!r}, which the run has "
            f"already (so have {len(old):,} rows in all); remove these rows, or add all without "
            "ids: `id_column='none'`.",
            code="update.known_ids",
        )
    first: dict[str, int] = {}
    twice = [(first[value], i) for i, value in enumerate(ids) if first.setdefault(value, i) != i]
    twice = [(row, other) for row, other in twice if ids[row]]
    if twice:
        row, other = twice[0]
        count = counted(len({ids[i] for _, i in twice}), "such id")
        raise DataError(
            f"rows {row + 1} and {other + 1} have one {run.id_column}, {ids[row]!r} ({count} in "
            "all); give each row its own, or add the rows without ids: `id_column='none'`.",
            code="update.one_id",
        )
