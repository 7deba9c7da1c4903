"""Verbs for a finished run: predict, update, edit, report and export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from coterie._util.files import atomic_path
from coterie._util.progress import say
from coterie._util.validation import check_choice
from coterie.cli import options
from coterie.cli.options import option, switch
from coterie.cli.talk import say_reading, show_json, show_lines
from coterie.errors import UsageError, counted
from coterie.options import read_formats, read_number

if TYPE_CHECKING:
    from coterie.describe.drift import Drift


def predict(
    folder: Path = options.RUN_OR_MODEL,
    file: str = typer.Argument(
        ...,
        metavar="FILE",
        help="CSV, TSV, JSONL, Parquet, Arrow, Excel or plain text file; - for standard "
        "input; a folder or a pattern of files of one table.",
    ),
    out: Path | None = option(
        None, "File to write, format by suffix. Default: CSV to stdout.", "--out -o"
    ),
    text_column: str | None = options.TEXT_COLUMN,
    id_column: str | None = options.ID_COLUMN,
    format: str = options.FORMAT,
    level: str | None = option(
        None,
        "Number of clusters to choose from, or broad, medium or fine, if the run found its number "
        "itself. Default: as the run shows them.",
    ),
    outlier_limit: float | None = option(
        None,
        "Mark texts with a higher outlier score (0 to 1) as outliers. Default: the limit of the "
        "run.",
    ),
    encoding: str = options.ENCODING,
    header: bool | None = options.HEADER,
    vectors: str | None = option(
        None,
        "Your own embeddings in place of an encoder: a column with lists of numbers, or a file "
        "with a row for each row (.npy, .parquet).",
    ),
    engine: str = options.ENGINE,
    workers: int | None = options.WORKERS,
    drift: bool = switch(
        "--drift", "Print which texts fit nowhere and which clusters change, on stderr."
    ),
    fail_above: str | None = options.FAIL_ABOVE,
    overwrite: bool = options.OVERWRITE,
    no_cache: bool = options.NO_CACHE,
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Assign new texts to the clusters of a run.

    Adds cluster, name, confidence, runner_up, margin, outlier, outlier_score and the levels of the
    run to every row. If the run had --max-outliers, outliers get cluster -1, "none of these".

    It reads and writes in chunks, so memory does not grow with the file. The output is complete
    or not there.

    --engine ray distributes the rows of Parquet files over the machines of a Ray cluster.

    --drift compares the texts with those of the run. With --fail-above 10% the exit code is 4 if
    more than 10% of the texts fit no cluster; the output is written all the same.

    Examples:

        coterie predict tickets.clusters new.csv --out labelled.csv
        cat new.jsonl | coterie predict tickets.clusters - --format jsonl | head
        coterie predict tickets.clusters parts/ --out labelled.parquet --engine ray
    """
    from coterie.describe.drift import read_share
    from coterie.runs.large import predict_file

    options.check_free(out, overwrite=overwrite, as_json=as_json)
    limit = None if fail_above is None else read_share(fail_above)
    watched = drift or limit is not None
    done = predict_file(
        folder,
        file,
        sys.stdout if out is None else out,
        level=None if level is None else read_number(level),
        outlier_limit=outlier_limit,
        drift=watched,
        vectors=vectors,
        engine=engine,
        workers=workers,
        text_column=text_column,
        id_column=id_column,
        format=format,
        encoding=encoding,
        header=header,
    )
    if out is not None:
        say("\n".join([f"{counted(done.rows, 'row')} written to {out}", *done.notes]))
    say_reading(done.read)
    if done.sentence:
        say(done.sentence)
    for sentence in () if done.drift is None else done.drift.sentences():
        say(sentence)
    if as_json:
        drifted = None if done.drift is None else done.drift.to_dict()
        facts = {"rows": done.rows, "file": str(out), "outliers": done.outliers}
        show_json({**facts, "drift": drifted, "notes": done.notes})
    _fail_above(done.drift, limit)


def _fail_above(drift: Drift | None, limit: float | None) -> None:
    """End with exit code 4 if too many of the new texts fit nowhere."""
    if limit is not None and drift is not None and drift.share > limit:
        share = f"{100 * drift.share:.1f}% of the texts fit nowhere"
        say(f"coterie: {share}, above {100 * limit:g}%", wrong=True)
        raise typer.Exit(4)


def update(
    run: Path = options.RUN,
    file: str = typer.Argument(
        ...,
        metavar="FILE",
        help="New rows: CSV, TSV, JSONL, Parquet, Arrow, Excel or plain text file; - for "
        "standard input.",
    ),
    text_column: str | None = option(
        None, "Column of FILE with the texts. Default: called as in the run.", "--text-column -t"
    ),
    id_column: str | None = option(None, "none: add the rows without ids. Default: as in the run."),
    dry_run: bool = switch("--dry-run", "Print what the update does; write nothing."),
    fail_above: str | None = options.FAIL_ABOVE,
    format: str = options.FORMAT,
    encoding: str = options.ENCODING,
    header: bool | None = options.HEADER,
    no_cache: bool = options.NO_CACHE,
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Add new rows to a run; all old rows stay where they are.

    A new row joins the cluster that it fits. Five or more different texts that fit no cluster and
    are similar become a new cluster, with a number that was never used; where clusters are small,
    fewer texts are enough. Old rows keep cluster, number and name, and their lines in
    assignments.csv stay byte for byte. Merges, splits and names stay, too. changes.html
    shows what changed.

    With --fail-above 10% the exit code is 4 if more than 10% of the new texts fit no cluster; the
    rows are added all the same, unless you give --dry-run.

    If you stop it, the run is as it was: repeat the command. It does not add a file twice.

    Examples:

        coterie update tickets.clusters new.csv --dry-run
        coterie update tickets.clusters new.csv
        coterie edit tickets.clusters --undo
    """
    from coterie.describe.drift import read_share
    from coterie.runs.update import update as add_rows

    limit = None if fail_above is None else read_share(fail_above)

    found = add_rows(
        run,
        file,
        text_column=text_column,
        id_column=id_column,
        dry_run=dry_run,
        format=format,
        encoding=encoding,
        header=header,
    )
    if as_json:
        show_json(found.to_dict())
    else:
        for note in found.notes:
            say(note)
        show_lines(found.sentences())
        if found.number and not found.written:
            say("nothing was written (--dry-run)")
        elif found.number:
            say(f"\npage  {run / 'changes.html'}\nundo  coterie edit {run} --undo")
    _fail_above(found.drift, limit)


def edit(
    run: Path = options.RUN,
    edits: list[str] | None = typer.Argument(
        None, metavar="EDITS", help="YAML or JSON file with the edits; or one edit, as words."
    ),
    undo: bool = switch("--undo", "Undo the last edits."),
    dry_run: bool = switch("--dry-run", "Check the edits and print what they do; write nothing."),
    no_cache: bool = options.NO_CACHE,
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Merge, split, rename and delete the clusters of a run; move texts.

    The table, the page and the model change together, or not at all if an edit is not possible. New
    texts follow the edits; later runs with --keep keep numbers and names.

    A file of edits, applied in order:

        - merge: [3, 7]
          name: Late parcels
        - split: {cluster: 4, into: 2}
        - rename: {2: "Refunds"}
        - move: {rows: [12, {contains: "gift card"}], to: 5}
        - reassign: outliers
        - delete: [6]

    delete moves each text of a cluster to its next best
    one; reassign moves outliers to their nearest clusters.

    Examples:

        coterie edit tickets.clusters edits.yaml --dry-run
        coterie edit tickets.clusters edits.yaml
        coterie edit tickets.clusters merge 3 7
        coterie edit tickets.clusters reassign outliers
        coterie edit tickets.clusters --undo
    """
    from coterie.runs import Run

    if undo == bool(edits):
        raise UsageError("name a file of edits or an edit, or --undo the last ones.")
    if undo:
        number = Run(run).undo()
        say(f"undone: change {number} of {run}")
        if as_json:
            show_json({"undone": number}, indent=None)
        return
    found = Run(run).edit(_as_edit(edits or []), dry_run=dry_run)
    if as_json:
        value = {"done": found.done, "clusters": found.clusters, "written": not dry_run}
        show_json({**value, "notes": found.notes})
        return
    show_lines([*found.done, *found.notes])
    if dry_run:
        say("nothing was written (--dry-run)")
    else:
        say(f"\npage  {run / 'report.html'}\nundo  coterie edit {run} --undo")


def _as_edit(words: list[str]) -> str:
    """The name of a file, or an edit as a file has it: ``merge 3 7`` is ``merge: [3, 7]``."""
    if len(words) == 1 or ":" in words[0]:
        return " ".join(words)
    kind, *values = words
    return f"{kind}: {values[0]}" if len(values) == 1 else f"{kind}: [{', '.join(values)}]"


def cut(
    run: Path = options.RUN,
    clusters: str = typer.Argument(
        ..., metavar="CLUSTERS", help="Number of clusters, or broad, medium or fine."
    ),
    no_cache: bool = options.NO_CACHE,
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Show more or fewer clusters of a run.

    A run has a tree, which merges its finest clusters two at a time. cut shows another number of
    clusters from it: table, page and model change together. The finest clusters are those of one
    fine clustering, or as many as you asked for. A cluster that is neither split nor merged keeps
    its number, its name and your edits.

    Examples:

        coterie cut tickets.clusters broad
        coterie cut tickets.clusters 40
        coterie edit tickets.clusters --undo
    """
    from coterie.cli.cluster import show_run
    from coterie.runs import Run

    found = Run(run)
    found.cut(read_number(clusters))
    show_run(found, as_json=as_json)
    say(f"undo   coterie edit {run} --undo")


FIGURES = ("map", "sizes", "over-time", "tree")
DRAWN = (".pdf", ".svg", ".png")


def report(
    folder: Path = options.RUN,
    no_texts: bool = switch("--no-texts", "Write words and counts only: report-no-texts.html."),
    figure: str | None = option(
        None, f"Draw a figure instead: {', '.join(FIGURES)}. Needs coterie[plots]."
    ),
    level: str | None = option(
        None, "Clusters of the figure: a number, or broad, medium or fine. Default: as shown."
    ),
    out: Path | None = option(
        None, "File to write. Default: in the run's folder; of a figure, e.g. map.pdf.", "--out -o"
    ),
    overwrite: bool = options.OVERWRITE,
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Write the page of a run again, or a figure of it.

    Use it to make report.html by a newer version of coterie, or to draw the map as PDF, SVG or PNG.

    Examples:

        coterie report tickets.clusters
        coterie report tickets.clusters --figure map --out map.pdf
        coterie report tickets.clusters --figure tree --level fine --out tree.svg
    """
    from coterie.runs import open_run
    from coterie.runs.outputs import check_output

    run = open_run(folder)
    if figure is None:
        options.check_free(out, overwrite=overwrite)
        _show_files([run.report(out, texts=not no_texts)], as_json=as_json)
        return
    draw = getattr(run, f"plot_{check_choice('figure', figure, FIGURES).replace('-', '_')}")
    out = Path(f"{figure}.pdf") if out is None else out
    if out.suffix.lower() not in DRAWN:
        raise UsageError(f"`out={str(out)!r}`: give a name that ends in {', '.join(DRAWN)}.")
    options.check_free(out, overwrite=overwrite)
    check_output(out, [])
    drawn = draw() if level is None else draw(level=level)
    with atomic_path(out) as path:
        drawn.savefig(path, format=out.suffix[1:].lower(), dpi=200)
    _show_files([out], as_json=as_json)


def _show_files(files: list[Path], *, as_json: bool) -> None:
    """Print what was written."""
    if as_json:
        show_json({"files": list(map(str, files))})
    for file in () if as_json else files:
        typer.echo(str(file))


def export(
    folder: Path = options.RUN,
    to: str = option("xlsx", "xlsx, parquet, jsonl, csv; several with commas."),
    no_texts: bool = options.NO_TEXTS,
    out: Path | None = option(None, "Folder to write. Default: the run's folder.", "--out -o"),
    overwrite: bool = switch("--overwrite", "Replace such files in the folder of --out."),
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Write the tables of a run for Excel and other programs.

    xlsx writes assignments.xlsx and clusters.xlsx without formulas. csv writes
    assignments-spreadsheet.csv, with an apostrophe before texts that look like formulas. With
    --no-texts the files are called assignments-no-texts and have row numbers instead of your
    columns, except the column of --id-column.

    Examples:

        coterie export tickets.clusters --to xlsx
        coterie export tickets.clusters --to xlsx,parquet --no-texts --out for-the-boss
    """
    from coterie.runs.exports import export_run

    forms = read_formats(to, "to")
    if out is not None and out.resolve() != folder.resolve():
        for file in (f for form in forms for f in out.glob(f"assignments*.{form}")):
            options.check_free(file, overwrite=overwrite)
    done = export_run(folder, forms, texts=not no_texts, out=out)
    for note in done.notes:
        say(note)
    _show_files(done.files, as_json=as_json)
