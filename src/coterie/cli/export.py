"""``coterie export``: the tables of a finished run for Excel and others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie._progress import say
from coterie.cli.options import read_formats


def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    to: Annotated[
        str, typer.Option("--to", help="xlsx, parquet, jsonl, tsv, csv; several with commas.")
    ] = "xlsx",
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="No text, no example, no column of the input.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write. Default: that of the run.")
    ] = None,
) -> None:
    """Write the tables of a finished run for Excel and others.

    xlsx gives assignments.xlsx and clusters.xlsx, in which nothing is a formula. csv gives
    assignments-spreadsheet.csv, where texts that look like formulas have an apostrophe before
    them; assignments.csv itself is never changed. With --no-texts the files are called
    assignments-no-texts and hold row numbers instead of your columns; the column named with
    --id-column stays.

    Examples:

        coterie export tickets.clusters --to xlsx
        coterie export tickets.clusters --to xlsx,parquet --no-texts --out for-the-boss
    """
    from coterie.exports import export_run

    done = export_run(folder, read_formats(to, "--to"), texts=not no_texts, out=out)
    for note in done.notes:
        say(note)
    for file in done.files:
        typer.echo(str(file))
