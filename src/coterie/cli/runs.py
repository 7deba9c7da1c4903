"""Verbs for a finished run: predict, report, export, name, compare, edit, update and check."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._progress import say
from coterie.cli.options import (
    AsJson,
    Encoding,
    Format,
    Header,
    IdColumn,
    NoCache,
    Quiet,
    TextColumn,
    Vectors,
)
from coterie.cli.talk import say_header, show_json, show_table
from coterie.errors import DataError, UsageError, counted
from coterie.options import read_formats, read_number

FailAbove = Annotated[
    str | None,
    typer.Option(
        "--fail-above",
        help="Exit code 4 if more than this share of the new texts fit nowhere, e.g. 10%.",
    ),
]


def _fail_above(drift: Any, limit: float | None) -> None:
    """End with exit code 4 if too many of the new texts fit nowhere."""
    if limit is not None and drift is not None and drift.share > limit:
        say(f"coterie: {100 * drift.share:.1f}% of the texts fit nowhere, above {100 * limit:g}%")
        raise typer.Exit(4)


def predict(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a run, or of a saved model.")
    ],
    file: Annotated[
        str,
        typer.Argument(
            help="CSV, TSV, JSONL, Parquet, Arrow, Excel, SQLite or plain text file; - for "
            "standard input; a folder or a pattern of Parquet files."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help=(
                "File to write, format by suffix; or a folder for many files. Default: CSV "
                "to stdout."
            ),
        ),
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: Format = "auto",
    outlier_limit: Annotated[
        float | None,
        typer.Option(
            "--outlier-limit",
            help=(
                "Mark texts with a higher outlier score (0 to 1) as outliers. Default: the "
                "limit of the run."
            ),
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    header: Header = None,
    vectors: Vectors = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue after the rows that an interrupted run has written."
        ),
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            "--engine", help="local, or ray: distribute Parquet files over a Ray cluster."
        ),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", help="Processes of --engine ray. Default: one per GPU, or per 4 CPUs."
        ),
    ] = None,
    drift: Annotated[
        bool,
        typer.Option(
            "--drift", help="Print which texts fit nowhere and which clusters change, on stderr."
        ),
    ] = False,
    fail_above: FailAbove = None,
    mask: Annotated[
        bool | None,
        typer.Option(
            "--mask/--no-mask",
            help="Mask personal data in what is written. Default: if that of the run is masked.",
            show_default=False,
        ),
    ] = None,
    mask_names: Annotated[
        Path | None,
        typer.Option(
            "--mask-names",
            help="File with names to mask, too; needed if the run was masked by one.",
        ),
    ] = None,
    no_cache: NoCache = False,
) -> None:
    """Assign new texts to the clusters of a run.

    Adds cluster, name, confidence, runner_up, margin, outlier, outlier_score and the levels of the
    run to every row. If the run had --max-outliers, outliers get cluster -1, "none of these".

    Rows are processed in chunks, in bounded memory. The output is NAME.partial.SUFFIX until it is
    complete.

    A folder of Parquet files gives a folder of as many. With --engine ray they are distributed over
    the machines of a Ray cluster; files of a worker that dies are labelled again.

    If the run was made with --mask, personal data in the new rows is masked, too, in all columns
    but that of --id-column. --no-mask writes them as they are.

    --drift compares the texts with those of the run. With --fail-above 10% the exit code is 4 if
    more than 10% of them fit nowhere; the output is written all the same.

    Examples:

        coterie predict tickets.clusters new.csv --out labelled.csv
        cat new.jsonl | coterie predict tickets.clusters - --format jsonl | head
        coterie predict tickets.clusters parts/ --out labelled/ --engine ray
    """
    from coterie.drift import read_share
    from coterie.masking import masked_sentence
    from coterie.runs.shards import is_sharded

    limit = None if fail_above is None else read_share(fail_above)
    watched = drift or limit is not None
    reading = {"text_column": text_column, "id_column": id_column}
    if engine != "local" or workers is not None or is_sharded(file):
        from coterie.runs.shards import predict_shards

        if format not in ("auto", "parquet"):
            raise UsageError(f"--format {format}: many files, and --engine ray, are Parquet only.")
        if out is None or file == "-":
            raise UsageError(
                "many files, and --engine ray, need files to read and a folder as --out."
            )
        if watched:
            raise UsageError("--drift and --fail-above take one file, not a folder of shards.")
        predict_shards(
            folder,
            file,
            out,
            outlier_limit=outlier_limit,
            engine=engine,
            workers=workers,
            resume=resume,
            mask=mask,
            mask_names=mask_names,
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
        drift=watched,
        vectors=vectors,
        mask=mask,
        mask_names=mask_names,
        format=format,
        encoding=encoding,
        header=header,
        **reading,
    )
    if out is not None:
        say("\n".join([f"{counted(done.rows, 'row')} written to {out}", *done.notes]))
    say_header(done.read)
    if done.sentence:
        say(done.sentence)
    if done.masked is not None:
        say(masked_sentence(done.masked))
    for sentence in () if done.drift is None else done.drift.sentences():
        say(sentence)
    _fail_above(done.drift, limit)


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Write words and counts only: report-no-texts.html.")
    ] = False,
) -> None:
    """Write the page of a run again.

    For instance report.html with a newer version.
    """
    from coterie.runs import open_run

    typer.echo(str(open_run(folder).report(texts=not no_texts)))


def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    to: Annotated[
        str, typer.Option("--to", help="xlsx, parquet, jsonl, tsv, csv; several with commas.")
    ] = "xlsx",
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Leave out texts, examples and columns of the input.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write. Default: the run's folder.")
    ] = None,
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
    from coterie.exports import export_run

    done = export_run(folder, read_formats(to, "to"), texts=not no_texts, out=out)
    for note in done.notes:
        say(note)
    for file in done.files:
        typer.echo(str(file))


ShowRequest = Annotated[
    bool, typer.Option("--show-request", help="Print what would be sent for names; send nothing.")
]


def name(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    endpoint: Annotated[
        str | None,
        typer.Option("--with", help="URL of the language model, e.g. http://localhost:11434/v1."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Model at that URL, if there are several.")
    ] = None,
    examples: Annotated[
        int,
        typer.Option("--examples", min=0, help="Texts per cluster to send; 0 sends words only."),
    ] = 6,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds to wait for an answer.")
    ] = 120,
    prompt: Annotated[
        str | None,
        typer.Option("--prompt", help="The task in your own words, or @FILE with them."),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", help="Of the names, e.g. German. Default: that of the texts."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", min=1, help="Stop before more tokens than this are used."),
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", help="Stop before more is spent; needs --price.")
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(
            "--price",
            help="Of a million tokens, sent and answered, e.g. 0.15,0.60; for --max-cost.",
        ),
    ] = None,
    show_request: ShowRequest = False,
    own_names: Annotated[
        bool, typer.Option("--own-names", help="Restore the names made of words.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Name the clusters of a run with a language model.

    Sends one request per cluster with its words and a few texts; personal data is masked first.
    Then the groups of each coarser level are named, with the names of their parts. An answer has a
    name, a sentence, and two quotes from the texts; a name that nothing in the texts backs is
    rejected. Requests and answers are saved in names.jsonl: after Ctrl-C or a failure, repeat the
    command to continue. The key is read from COTERIE_API_KEY.

    Examples:

        coterie name tickets.clusters --with http://localhost:11434/v1 --show-request
        coterie name tickets.clusters --with http://localhost:11434/v1 --model llama3.2
        coterie name tickets.clusters --with URL --language German --max-tokens 50000
        coterie name tickets.clusters --with URL --max-cost 0.50 --price 0.15,0.60
        coterie name tickets.clusters --own-names
    """
    from contextlib import nullcontext

    from coterie._folders import held
    from coterie.clustering import read
    from coterie.naming import EndpointError
    from coterie.runs import open_run
    from coterie.runs.names import OwnNames, restore_names

    if own_names == (endpoint is not None):
        raise UsageError("give either --with URL or --own-names.")
    open_run(folder)
    asker = None
    if endpoint is not None:
        asker = Asker(endpoint, model, show_request, examples, timeout)
        asker.prompt, asker.language = read_prompt(prompt), language
        asker.limits = max_tokens, max_cost, read_price(price)
    with nullcontext() if show_request else held(folder):
        own, problem = OwnNames(read(folder)).clusters, None
        if asker is None:
            restore_names(folder)
        else:
            problem = asker(folder, quiet=quiet)
    if show_request:
        return
    clusters = open_run(folder).clusters
    if as_json:
        show_json({c.id: c.name for c in clusters})
    else:
        rows = [[c.id, c.size, c.name, own.get(c.id, "")] for c in clusters]
        show_table("", ["#", "texts", "name", "own name"], rows, numbers=(0, 1))
    if problem is not None:
        raise EndpointError(f"{problem} The other clusters keep their names; to go on, repeat.")


def make_asker(url: str | None, model: str | None, show: bool, as_json: bool) -> Asker | None:
    """What ``coterie cluster`` was given about names; the address is judged before the work."""
    if url is None:
        if model is not None or show:
            raise UsageError("a model and its requests need a URL: coterie name RUN --with URL.")
        return None
    if show and as_json:
        raise UsageError("--show-request and --json both print JSON; take one of them.")
    return Asker(url, model, show)


def read_prompt(said: str | None) -> str | None:
    """A prompt, or that of a file that is named behind an @."""
    if said is None or not said.startswith("@"):
        return said
    try:
        return Path(said[1:]).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--prompt: {said[1:]} cannot be read: {error}") from error


def read_price(said: str | None) -> tuple[float, float]:
    """The two numbers of ``--price``."""
    if said is None:
        return 0.0, 0.0
    try:
        sent, answered = (float(part) for part in said.split(","))
    except ValueError as error:
        raise UsageError(
            "`max_cost` needs an amount above 0 and `price`: what a million tokens cost, sent "
            "and answered, such as 0.15,0.60."
        ) from error
    return sent, answered


class Asker:
    """An endpoint to ask for the names of a finished run, or whose requests are shown."""

    def __init__(
        self,
        url: str,
        model: str | None,
        show: bool,
        examples: int = 6,
        timeout: float = 120.0,
    ) -> None:
        from coterie.naming import Endpoint

        self.endpoint = Endpoint(url, timeout=timeout)
        self.model, self.show, self.examples = model, show, examples
        self.prompt: str | None = None
        self.language: str | None = None
        self.limits: tuple[int | None, float | None, tuple[float, float]] = None, None, (0.0, 0.0)

    def __call__(self, path: Path, *, quiet: bool) -> str | None:
        """Name the clusters, or show the requests; returns what went wrong."""
        from coterie.naming import Budget
        from coterie.runs.names import NameOptions, name_run, requests_for

        url, budget = self.endpoint.url, Budget(*self.limits)
        asked = NameOptions(self.model, self.examples, self.prompt, self.language)
        if self.show:
            if self.model is None:
                say("the model, null here, would be asked of the endpoint; --model sets it")
            say(f"POST {url}/chat/completions, each line a request; nothing is sent")
            for request in requests_for(path, asked):
                show_json(request.body, indent=None)
            return None
        try:
            return name_run(path, self.endpoint, asked, budget=budget, verbose=0 if quiet else 1)
        except KeyboardInterrupt:
            again = ["coterie", "name", str(path), "--with", url]
            again += ["--model", self.model] if self.model else []
            say(f"\nStopped; the clusters are finished. For names:\n  {shlex.join(again)}")
            raise

    def after(self, path: Path, *, quiet: bool) -> None:
        """Name the clusters of a new run; where that fails, they keep their own names."""
        problem = self(path, quiet=quiet)
        if problem is not None:
            say(
                f"coterie: {problem} Clusters without an answer keep their own names; to go on: "
                f"coterie name {path} --with {self.endpoint.url}"
            )


FLOWS = 10  # groups of moved rows in the terminal; the page and --json have all


def compare(
    before: Annotated[
        str, typer.Argument(metavar="RUN_A", help="Folder of a run, or a table with clusters.")
    ],
    after: Annotated[
        str, typer.Argument(metavar="RUN_B", help="Folder of a run, or a table with clusters.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write an HTML page here, e.g. changes.html.")
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id-column", help="Column with row ids in both. Default: rows are matched by text."
        ),
    ] = None,
    text_column: Annotated[
        str | None,
        typer.Option("--text-column", "-t", help="Column with the texts, if tables are compared."),
    ] = None,
    a_column: Annotated[
        str | None,
        typer.Option(
            "--a-column",
            help="Column with the clusters, if RUN_A is a table. Default: of the latest run.",
        ),
    ] = None,
    b_column: Annotated[
        str | None,
        typer.Option(
            "--b-column",
            help="Column with the clusters, if RUN_B is a table. Default: of the latest run.",
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help=(
                "Match clusters by rows, model, centers or words; auto uses the first that "
                "is possible."
            ),
        ),
    ] = "auto",
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Names and counts only, no examples.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare two clusterings.

    Clusters are matched by the rows that are in both, by id or by text. If the runs have different
    texts, each saved model predicts the clusters of the other run's texts.

    Examples:

        coterie compare october.clusters november.clusters --out changes.html
        coterie compare a.csv b.csv --a-column topic --b-column cluster --id-column ticket
    """
    from coterie.comparison import compare as find
    from coterie.comparison.page import write_comparison
    from coterie.runs.outputs import check_output, is_comparison

    if out is not None and out.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"--out {out}: the page is HTML; give it a name that ends in .html.")
    if out is not None:
        check_output(out, [before, after], wrote=is_comparison)
    found = find(
        before,
        after,
        by=by,
        id_column=id_column,
        text_column=text_column,
        a_column=a_column,
        b_column=b_column,
    )
    for note in found.notes:
        say(note)
    if no_texts:
        found = found.without_texts()
    if out is not None:
        write_comparison(out, found)
    if as_json:
        show_json(found.to_dict())
        return
    _show(found)
    if out is not None:
        say(f"\npage  {out}")


def _show(found: Any) -> None:
    from coterie.comparison.page import table_rows
    from coterie.report.points import shorten, visible

    def cells(change: Any) -> list[Any]:
        if change is None:
            return ["", "", "", ""]
        name = visible(shorten(change.name, 32))
        return [change.id, name, f"{change.size:,}", f"{100 * change.share:.1f}%"]

    rows = [[*cells(r["a"]), r["said"], *cells(r["b"])] for r in table_rows(found)]
    headers = ["#", visible(shorten(found.a, 32)), "rows", "share", ""]
    headers += ["#", visible(shorten(found.b, 32)), "rows", "share"]
    show_table("", headers, rows, numbers=(0, 2, 3, 5, 7, 8))
    moved = [flow for flow in found.flows if not flow.kept]
    if moved:
        typer.echo("\nmoved")
    for flow in moved[:FLOWS]:
        ends = " → ".join("none" if i is None else str(i) for i in (flow.a, flow.b))
        example = visible(shorten(flow.examples[0], 70)) if flow.examples else ""
        typer.echo(f"{flow.count:>7,}  {ends:<10} {example}".rstrip())
    if len(moved) > FLOWS:
        rest = sum(flow.count for flow in moved[FLOWS:])
        typer.echo(f"{rest:>7,}  in {len(moved) - FLOWS} smaller groups")
    typer.echo("")
    for sentence in found.sentences():
        typer.echo(sentence)


def edit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="EDITS", help="YAML or JSON file with the edits.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the last edits.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check the edits and print what they do; write nothing."),
    ] = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Merge, split, rename, move and lock the clusters of a run.

    The table, the page and the model change together, or not at all if an edit is not possible. New
    texts follow the edits, and later runs keep numbers, names and locks with --keep.

    A file of edits, applied in order:

        - merge: [3, 7]
          name: Late parcels
        - split: {cluster: 4, into: 2}
        - rename: {2: "Refunds"}
        - move: {rows: [12, {contains: "gift card"}], to: 5}
        - lock: [2, 5]
        - done: [2]

    unlock and reopen take the last two back.

    Examples:

        coterie edit tickets.clusters edits.yaml --dry-run
        coterie edit tickets.clusters edits.yaml
        coterie edit tickets.clusters --undo
    """
    from coterie.editing import edit as do
    from coterie.editing import undo as put_back
    from coterie.report.points import visible

    if undo == (file is not None):
        raise UsageError("name a file of edits, or --undo the last ones: one of the two.")
    if undo:
        number = put_back(run)
        say(f"undone: change {number} of {run}")
        if as_json:
            show_json({"undone": number}, indent=None)
        return
    found = do(run, file, dry_run=dry_run)
    if as_json:
        value = {"done": found.done, "clusters": found.clusters, "written": not dry_run}
        show_json({**value, "notes": found.notes})
        return
    for sentence in (*found.done, *found.notes):
        typer.echo(visible(sentence))
    if dry_run:
        say("nothing was written (--dry-run)")
    else:
        say(f"\npage  {run / 'report.html'}\nundo  coterie edit {run} --undo")


def update(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    file: Annotated[
        str | None,
        typer.Argument(
            help="New rows: CSV, TSV, JSONL, Parquet or plain text file; - for standard input."
        ),
    ] = None,
    text_column: Annotated[
        str | None,
        typer.Option(
            "--text-column",
            "-t",
            help="Column of FILE with the texts. Default: called as in the run.",
        ),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id-column", help="none: add the rows without ids. Default: as in the run."),
    ] = None,
    new_only: Annotated[
        bool, typer.Option("--new-only", help="Leave out rows whose id the run has already.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Add rows that an earlier update has added.")
    ] = False,
    mask_names: Annotated[
        Path | None,
        typer.Option(
            "--mask-names", help="File with names to mask; needed if the run was masked by one."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what the update does; write nothing.")
    ] = False,
    fail_above: FailAbove = None,
    refit: Annotated[
        bool,
        typer.Option("--refit", help="Cluster all rows anew. Old rows may move; you are asked."),
    ] = False,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            "-k",
            help="Number of clusters of a refit, or auto. Default: as in the run.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write a refit without asking.")] = False,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    header: Header = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Add new rows to a run; all old rows stay where they are.

    A new row joins the cluster it fits. Where five different texts or more fit nowhere and lie
    together, they are a new cluster with a number that was never used. Old rows keep cluster,
    number and name, and the lines of assignments.csv stay as they are, byte for byte. Merges,
    splits, names and locks stay as well. changes.html shows what changed.

    With --fail-above 10% the exit code is 4 if more than 10% of the new texts fit nowhere; the rows
    are added all the same, unless with --dry-run.

    --refit clusters old and new rows anew with the settings of the run. It shows which old rows
    would move, and asks before it writes.

    If it is stopped, the run is as it was: repeat the command. A file that was added is not added
    twice.

    Examples:

        coterie update tickets.clusters new.csv --dry-run
        coterie update tickets.clusters new.csv
        coterie update tickets.clusters --refit --clusters 12
        coterie edit tickets.clusters --undo
    """
    from coterie.drift import read_share
    from coterie.report.points import visible
    from coterie.runs.update import update as add

    limit = None if fail_above is None else read_share(fail_above)

    def confirm(would: Any) -> bool:
        if not as_json:
            _show(would.refit)
        asked = f"{would.moved:,} old rows would move. Write it?"
        return yes or (not as_json and typer.confirm(asked, err=True))

    found = add(
        run,
        file,
        text_column=text_column,
        id_column=id_column,
        mask_names=mask_names,
        new_only=new_only,
        again=again,
        refit=refit,
        n_clusters=None if clusters is None else read_number(clusters),
        dry_run=dry_run,
        confirm=confirm,
        format=format,
        encoding=encoding,
        header=header,
    )
    if as_json:
        show_json(found.to_dict())
        _fail_above(found.drift, limit)
        return
    for note in found.notes:
        say(note)
    for sentence in found.sentences():
        typer.echo(visible(sentence))
    if found.number and not found.written:
        say("nothing was written" + (" (--dry-run)" if dry_run else ""))
    elif found.number:
        say(f"\npage  {run / 'changes.html'}\nundo  coterie edit {run} --undo")
    _fail_above(found.drift, limit)


def stability(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Fits with other seeds.")] = 3,
    halves: Annotated[int, typer.Option("--halves", min=1, help="Fits on half of the texts.")] = 4,
    quiet: Quiet = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Measure how stable the clusters of a run are.

    Fits the method again with other seeds and on halves of the texts, and compares the clusters. A
    cluster that has no match would not survive. Texts are also reworded a little: how many keep
    their cluster? A method that trains is trained again each time.

    Writes stability.json, and a part of report.html.

    Examples:

        coterie stability tickets.clusters
        coterie stability tickets.clusters --seeds 5 --halves 10 --json
    """
    from coterie.report.points import shorten, visible
    from coterie.runs import stability as measure

    found = measure(run, seeds=seeds, halves=halves, verbose=0 if quiet else 1)
    if as_json:
        show_json(found.to_dict())
        return

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    rows = [
        [
            str(c.id),
            visible(shorten(c.name, 40)),
            *map(number, (c.seeds, c.halves, c.wording, c.npmi, c.embedding)),
            "" if c.survives else "would not survive",
        ]
        for c in found.clusters
    ]
    header = ["#", "name", "seeds", "halves", "wording", "npmi", "embedding", ""]
    show_table("", header, rows, numbers=(0, 2, 3, 4, 5, 6))
    typer.echo("")
    for sentence in found.sentences():
        typer.echo(visible(sentence))
    say(f"\npage  {run / 'report.html'}")


def timeline(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    date_column: Annotated[
        str | None,
        typer.Option("--date-column", help="Column with the dates. Default: detected."),
    ] = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Follow the clusters of a run over a column of dates.

    Prints the words that enter and leave each cluster from period to period (day, week, month,
    quarter or year). Writes timeline.csv, with a row for each cluster and period, timeline.json,
    and a part of report.html.

    Examples:

        coterie timeline tickets.clusters
        coterie timeline tickets.clusters --date-column created
    """
    from coterie.report.points import shorten, visible
    from coterie.runs import timeline as follow

    found = follow(run, date_column=date_column)
    if as_json:
        show_json(found.to_dict())
        return
    rows = [
        [
            str(s.cluster),
            visible(shorten(s.name, 30)),
            s.period,
            f"{s.texts:,}",
            *(visible(", ".join(words)) for words in (s.entered, s.left)),
            "" if s.shift is None else f"{s.shift:.2f}",
        ]
        for s in found.steps
        if s.entered or s.left
    ]
    if rows:
        header = ["#", "name", found.unit, "texts", "enter", "leave", "shift"]
        show_table("", header, rows, numbers=(0, 3, 6))
    else:
        typer.echo("No cluster changes its words more than chance explains.")
    if found.undated:
        say(f"{found.undated:,} rows have no date that can be read")
    say(f"\ntable {run / 'timeline.csv'}\npage  {run / 'report.html'}")


def check(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a run, or of a saved model.")
    ],
    as_json: AsJson = False,
) -> None:
    """Check the files of a run or of a saved model.

    Checks digests, that all numbers are finite, that table, manifest, clusters, levels and map
    agree, and that --undo is possible. Changes nothing.

    Exit code 0: no problems. 3: something is damaged; each line says what, and how to fix it.

    Examples:

        coterie check tickets.clusters
        coterie check tickets.clusters --json
    """
    from coterie.checking import check_integrity

    found = check_integrity(folder)
    if as_json:
        show_json(asdict(found))
    else:
        for one in found.findings:
            say(one.what + (f"\n  to mend it: {one.remedy}" if one.remedy else ""))
        state = f"{len(found.findings)} damaged" if found.findings else "all is well"
        typer.echo(f"{found.folder}: {found.kind}, {len(found.looked_at)} checks, {state}.")
    if found.findings:
        raise typer.Exit(3)
