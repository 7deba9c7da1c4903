"""A finished run as files for others: Excel workbooks, Parquet, CSV for spreadsheets.

Later names and edits are in them. Columns of the input come as texts; those of coterie as numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie._util.files import atomic_path
from coterie._util.validation import check_choice, check_path
from coterie.arrays.tree import Tree
from coterie.describe import Cluster
from coterie.describe.tree import Nodes, level_clusters, levels_above
from coterie.errors import UsageError
from coterie.page import without_texts, write_report
from coterie.runs.clustering import Clustering
from coterie.runs.page_data import PageRows, page_data
from coterie.texts import write_rows
from coterie.texts.corpus import value_to_text
from coterie.texts.write import FORMATS, Sheet, spreadsheet_text, table_rows, write_workbook

WORDS = 10  # of a cluster that its row names
PAGES = {"report.html": True, "report-no-texts.html": False}  # whether texts are on them
KINDS = {"examples": "typical", "diverse": "whole range", "borderline": "close call"}


@dataclass(frozen=True)
class Exported:
    """What was written."""

    files: list[Path]
    notes: list[str]  # what Excel could not hold, in sentences


def export_run(
    folder: str | Path,
    to: str | Sequence[str] = "xlsx",
    *,
    texts: bool = True,
    out: str | Path | None = None,
) -> Exported:
    """Write the tables of a finished run in other forms.

    Parameters
    ----------
    folder : str or Path
        Of a finished run.
    to : str or sequence of str, default="xlsx"
        Any of "xlsx" (assignments and clusters as two workbooks), "parquet", "jsonl", and
        "csv" (for spreadsheets: texts that look like formulas get an apostrophe).
    texts : bool, default=True
        False leaves out texts, examples and all columns of the input but the one named as
        ``--id-column``; rows are numbered instead.
    out : str or Path, optional
        Folder to write to; default: that of the run.

    Returns
    -------
    Exported
    """
    from coterie.runs.store import add_files, is_run, read

    run = check_path("folder", folder)
    wanted = [to] if isinstance(to, str) else list(to) if isinstance(to, Iterable) else []
    if not wanted:
        raise UsageError("to: name at least one format, such as xlsx.")
    for name in wanted:
        check_choice("to", name, FORMATS)
    if out is None or Path(out).resolve() == run.resolve():
        found = add_files(run, lambda fresh, value: write_exports(fresh, value, wanted, texts))
        return Exported([run / path.name for path in found.files], found.notes)
    if Path(out).exists() and not Path(out).is_dir():
        raise UsageError(f"`out={str(out)!r}` is a file; name a folder.")
    if is_run(Path(out)):
        raise UsageError(f"`out={str(out)!r}` holds another run; choose another folder.")
    return write_exports(Path(out), read(run), wanted, texts)


def write_exports(
    folder: Path, run: Clustering, wanted: Iterable[str], texts: bool = True
) -> Exported:
    """Write the files of :func:`export_run` into a folder."""
    table = run.table if texts else _without_texts(run)
    files: list[Path] = []
    notes: list[str] = []
    for form in dict.fromkeys(wanted):
        files.append(folder / _table_name(form, texts))
        if form == "csv":
            _write_guarded(files[-1], table)
            continue
        notes += write_rows(files[-1], table, {})
        if form == "xlsx":
            files.append(folder / f"clusters{'' if texts else '-no-texts'}.xlsx")
            parts = run.clusters, run.tree, run.nodes
            notes += write_clusters(files[-1], *parts, texts=texts)
    return Exported(files, notes)


def _table_name(form: str, texts: bool) -> str:
    """What the table of a run is called; ``assignments.csv`` itself is no export."""
    if not texts:
        return f"assignments-no-texts.{form}"
    return "assignments-spreadsheet.csv" if form == "csv" else f"assignments.{form}"


def write_page(
    file: Path, run: Clustering, *, texts: bool = True, rows: PageRows | None = None
) -> None:
    """Write the page, with or without the texts; ``rows`` as for ``page_data``."""
    data = page_data(run, rows)
    write_report(file, data if texts else without_texts(data))


def refresh(folder: Path, run: Clustering, names: Collection[str]) -> None:
    """Write anew those of the files ``names`` that are pages or exports."""
    for page, texts in PAGES.items():
        if page in names:
            write_page(folder / page, run, texts=texts)
    for texts in (True, False):
        if forms := [form for form in FORMATS if _table_name(form, texts) in names]:
            write_exports(folder, run, forms, texts)


def _without_texts(run: Clustering) -> pa.Table:
    """The table of a run with the number of each row in place of what came with the texts."""
    kept = [run.id_column, *run.own.values()]
    table = run.table.select([name for name in run.table.column_names if name in kept])
    return table.add_column(0, "row", pa.array(range(1, len(table) + 1)))


def write_clusters(
    path: Path,
    clusters: Sequence[Cluster],
    tree: Tree,
    nodes: Nodes,
    *,
    texts: bool = True,
) -> list[str]:
    """Write a workbook of clusters: one sheet of clusters, one of words, examples, levels.

    Returns
    -------
    list of str
        What Excel could not hold, in sentences.
    """
    header = ["cluster", "name", "texts", "share", "words"]
    header += ["typical text"] if texts else []
    levels = levels_above(tree, nodes)
    header += [name.replace("_", " ") for name in tree.coarser]
    header += ["language"] if any(c.languages for c in clusters) else []
    sheets = [
        Sheet("clusters", header, _cluster_rows(clusters, levels, texts)),
        Sheet(
            "words",
            ["cluster", "name", "word", "weight"],
            ((c.id, c.name, word, weight) for c in clusters for word, weight in c.words),
        ),
    ]
    if texts:
        sheets.append(
            Sheet(
                "examples",
                ["cluster", "name", "kind", "text"],
                (
                    (c.id, c.name, kind, text)
                    for c in clusters
                    for field, kind in KINDS.items()
                    for text in getattr(c, field)
                ),
            )
        )
    named = [(level, level_clusters(tree, nodes, level)) for level in tree.levels]
    if len(named) > 1:
        sheets.append(
            Sheet(
                "levels",
                ["level", "cluster", "name", "texts", "share", "in"],
                (
                    (name, c.id, c.name, c.size, c.share, c.parent)
                    for name, level in named
                    for c in level
                ),
            )
        )
    return write_workbook(path, sheets)


def _cluster_rows(
    clusters: Sequence[Cluster], levels: Sequence[Sequence[Cluster]], texts: bool
) -> Iterator[list[Any]]:
    known = [{cluster.id: cluster for cluster in level} for level in levels]
    for cluster in clusters:
        words = ", ".join(word for word, _ in cluster.words[:WORDS])
        row: list[Any] = [cluster.id, cluster.name, cluster.size, cluster.share, words]
        if texts:
            row.append(cluster.examples[0] if cluster.examples else "")
        above: list[str] = []
        parent = cluster.parent
        for level in reversed(known):
            found = level.get(parent) if parent is not None else None
            above.insert(0, found.name if found else "")
            parent = found.parent if found else None
        spoken = [shown_languages(cluster)] if any(c.languages for c in clusters) else []
        yield row + above + spoken


def shown_languages(cluster: Cluster) -> str:
    """The languages of a cluster in words; the shares only if there are several.

    Examples
    --------
    >>> two = [("German", 0.62), ("English", 0.38)]
    >>> shown_languages(Cluster(0, "Late", 1, 1.0, [], [], languages=two))
    'German 62%, English 38%'
    """
    if len(cluster.languages) == 1:
        return cluster.languages[0][0]
    return ", ".join(f"{language} {share:.0%}" for language, share in cluster.languages)


def _write_guarded(path: Path, table: pa.Table) -> None:
    """CSV as spreadsheets like it: with a byte order mark, and without formulas."""
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8-sig", newline="") as file,
    ):
        writer = csv.writer(file)
        for row in ([*table.column_names], *table_rows(table)):
            writer.writerow([spreadsheet_text(value_to_text(value)) for value in row])
