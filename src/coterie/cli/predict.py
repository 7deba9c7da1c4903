"""``coterie predict``: put new texts into the clusters of an earlier run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from coterie._errors import UsageError
from coterie._progress import say
from coterie.cli.options import Encoding, Format, Header, IdColumn, NoCache, TextColumn
from coterie.cli.talk import say_header


def predict(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, or of a saved model.")],
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSONL, Parquet or plain text file; - for standard input; a folder or a "
            "pattern of Parquet files."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write, by its suffix, or folder for many. Default: CSV to stdout.",
        ),
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: Format = "auto",
    outlier_limit: Annotated[
        float | None,
        typer.Option(
            "--outlier-limit",
            help="Mark texts with a higher outlier score (0 to 1) as none of these. Default: as "
            "the run was given by --max-outliers.",
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    header: Header = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on behind the rows that a stopped run has written.")
    ] = False,
    engine: Annotated[
        str,
        typer.Option("--engine", help="local, or ray: Parquet files on all machines of a cluster."),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", help="Processes of --engine ray. Default: one per GPU, or per 4 CPUs."
        ),
    ] = None,
    no_cache: NoCache = False,
) -> None:
    """Put new texts into the clusters of an earlier run.

    Every row comes back with cluster, name, confidence, runner_up, margin, outlier and
    outlier_score, and with the levels of the run. If the run had --max-outliers, texts that
    are lonelier than its limit get cluster -1, "none of these".

    Rows are read, labelled and written a part at a time, in memory that does not grow with the
    file; a pipe is answered as it speaks. What is written to a file stands in NAME.partial.SUFFIX
    until it is whole.

    Many Parquet files become a folder of as many. With --engine ray they are shared out among the
    machines of a cluster; a worker that dies costs its part a second try and no row.

    Examples:

        coterie predict tickets.clusters new.csv --out labelled.csv
        cat new.jsonl | coterie predict tickets.clusters - --format jsonl | head
        coterie predict tickets.clusters parts/ --out labelled/ --engine ray
    """
    from coterie.runs.shards import is_sharded

    reading = {"text_column": text_column, "id_column": id_column}
    if engine != "local" or workers is not None or is_sharded(file):
        from coterie.runs.shards import predict_shards

        if format not in ("auto", "parquet"):
            raise UsageError(f"--format {format}: many files, and --engine ray, are Parquet only.")
        if out is None or file == "-":
            raise UsageError(
                "many files, and --engine ray, need files to read and a folder as --out."
            )
        predict_shards(
            folder,
            file,
            out,
            outlier_limit=outlier_limit,
            engine=engine,
            workers=workers,
            resume=resume,
            **reading,
        )
        return
    from coterie.runs.label import predict_file

    done = predict_file(
        folder,
        file,
        sys.stdout if out is None else out,
        outlier_limit=outlier_limit,
        resume=resume,
        format=format,
        encoding=encoding,
        header=header,
        **reading,
    )
    if out is not None:
        say("\n".join([f"{done.rows:,} rows written to {out}", *done.notes]))
    say_header(done.read)
    if done.sentence:
        say(done.sentence)
