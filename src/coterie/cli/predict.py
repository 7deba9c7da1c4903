"""``coterie predict``: put new texts into the clusters of an earlier run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._errors import DataError, UsageError
from coterie.cli.options import Encoding, Format, Header, IdColumn, NoCache, TextColumn
from coterie.cli.talk import say, say_header

RESUME = "--resume needs a file to read and a CSV, TSV or JSONL file as --out."


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
    from coterie.cli.parts import is_parts

    if engine != "local" or workers is not None or is_parts(file):
        _to_parts(
            folder, file, out, format, text_column=text_column, id_column=id_column,
            outlier_limit=outlier_limit, engine=engine, workers=workers, resume=resume,
        )  # fmt: skip
        return
    from coterie.cli.labelling import Labeller, label
    from coterie.cli.outputs import check_output, is_labelled
    from coterie.corpus import TextStream
    from coterie.corpus.growing import StreamTable

    if resume and (out is None or file == "-" or out.suffix.lower() == ".xlsx"):
        raise UsageError(RESUME)
    if out is not None:
        grows = out.suffix.lower() != ".xlsx"
        check_output(out, [file, folder], wrote=is_labelled, grows=grows, resume=resume)
    labeller = Labeller.read(folder, outlier_limit)
    stream = TextStream(
        file,
        text_column=text_column,
        id_column=id_column,
        format=format,
        encoding=encoding,
        header=header,
    )
    if resume and stream.source.is_pipe:
        raise UsageError(RESUME)
    if out is None:
        table = StreamTable(sys.stdout)
        for rows, columns in label(stream, labeller):
            table.write(rows, columns)
    elif out.suffix.lower() == ".xlsx":
        _to_workbook(out, label(stream, labeller))
    else:
        _to_file(out, stream, labeller, resume=resume)
    say_header(stream.notes)
    if labeller.sentence:
        say(labeller.sentence)


def _to_parts(folder: Path, file: str, out: Path | None, format: str, **settings: Any) -> None:
    """Parquet files to Parquet files of the same names."""
    from coterie.cli.parts_run import predict_parts

    if format not in ("auto", "parquet"):
        raise UsageError(f"--format {format}: many files, and --engine ray, are Parquet only.")
    if out is None or file == "-":
        raise UsageError("many files, and --engine ray, need files to read and a folder as --out.")
    predict_parts(folder, file, out, **settings)


def _to_workbook(out: Path, labelled: Iterator[tuple[Any, dict[str, list[Any]]]]) -> None:
    """A workbook, which is whole or not there: its parts cannot be read one by one."""
    from itertools import chain

    from coterie.corpus.excel import Sheet, write_workbook
    from coterie.corpus.write import combine, table_rows

    first = combine(*next(labelled))
    rows = 0

    def each() -> Iterator[Any]:
        nonlocal rows
        for table in chain([first], (combine(*part) for part in labelled)):
            rows += table.num_rows
            yield from table_rows(table)

    notes = write_workbook(out, [Sheet("texts", first.column_names, each())])
    say("\n".join([f"{rows:,} rows written to {out}", *notes]))


def _to_file(out: Path, stream: Any, labeller: Any, *, resume: bool) -> None:
    """A table that grows; Ctrl-C leaves what is there, and says how to go on."""
    from coterie._progress import Silent, make_progress, working
    from coterie.cli.labelling import label
    from coterie.corpus.chunks import ROWS
    from coterie.corpus.growing import GrowingTable

    total = 0 if stream.source.is_pipe else stream.source.most_rows(stream.format)
    progress = make_progress(1) if total > ROWS else Silent()

    def made_from() -> dict[str, Any]:
        """What decides the rows besides the input."""
        return {
            "model": labeller.digest,
            "text_column": stream.text_column,
            "outlier_limit": labeller.outlier_limit,
        }

    table = GrowingTable(out, made_from, resume=resume)
    try:
        with table, working(progress, "label", total, table.rows):
            for rows, columns in label(stream, labeller, table):
                table.write(rows, columns)
                progress.advance(table.rows)
    except DataError:
        if not labeller.placed and not resume:
            table.discard()  # rows without a word are nothing to keep
        raise
    except KeyboardInterrupt:
        if table.rows:
            again = "" if out.suffix.lower() == ".parquet" else "; --resume goes on behind them"
            say(f"\n{table.rows:,} rows are in {table.partial}{again}.")
        raise
    say(f"{table.rows:,} rows written to {out}")
