"""``coterie bench``: run suites of methods on the benchmarks; tables and figures of the results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from coterie._progress import say
from coterie._validation import whole_number
from coterie.cli.options import Data, Device, Quiet, parse_value
from coterie.cli.talk import orderly, show_table
from coterie.errors import UsageError

if TYPE_CHECKING:
    from coterie.bench import Suite


Results = Annotated[
    Path, typer.Option("--results", "-r", help="Folder with result lines, *.jsonl.")
]
FORMATS = ("markdown", "csv", "latex")


def tables(
    results: Results = Path("results"),
    format: Annotated[
        str, typer.Option("--format", "-f", help="markdown, csv (one line per number) or latex.")
    ] = "markdown",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. Default: standard output.")
    ] = None,
) -> None:
    """Our results beside every number that the papers print.

    Mean and deviation over seeds, ranks, differences, and marks where ours is better or worse by
    more than one deviation.

    Examples:

        coterie bench tables
        coterie bench tables --results results --format latex --out tables.tex
    """
    from coterie._files import write_text
    from coterie._validation import check_choice

    check_choice("--format", format, FORMATS)
    text = _tables(results, format)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
        say(f"wrote {out}")


def _tables(folder: Path, format: str) -> str:
    from coterie.bench.beside import details, long_form, overview
    from coterie.bench.tables import METRICS, read_folder

    rows = read_folder(folder) if folder.is_dir() else []
    if not rows:
        raise UsageError("cli.no_results", folder=folder)
    if format == "csv":
        return long_form(rows).to_csv()
    found = [*(overview(rows, metric) for metric in METRICS), *details(rows)]
    return "\n".join(t.to_markdown() if format == "markdown" else t.to_latex() for t in found)


def figures(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")] = Path(
        "figures"
    ),
    results: Results = Path("results"),
    only: Annotated[
        str | None, typer.Option("--only", help="Names of figures, separated by commas.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", help="Data set for figures that need a run."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=10, help="Use at most this many texts of a data set."),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option("--other", help="Data set for retrieval. Default: sample."),
    ] = None,
    data: Data = None,
    encoder: Annotated[str | None, typer.Option("--encoder", help="Another encoder.")] = None,
    device: Device = "auto",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the runs.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE for all methods that have such a parameter."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--redraw", help="Draw the figures in --out again, from NAME.json.")
    ] = False,
    names: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draw the papers' figures, as SVG and PNG, with their numbers as JSON.

    Bars and sweeps come from result lines. Maps, and what changes over training, need a run on a
    data set: sample, or a benchmark. Labels are used for colours and scores only.

    Examples:

        coterie bench figures --results results --out figures
        coterie bench figures --dataset sample --limit 300 --set steps=40 --set epochs=3
        coterie bench figures --dataset stackoverflow --limit 5000 --only sccl-distances
        coterie bench figures --out figures --redraw
    """
    from coterie.bench.figures import FIGURES, Short, draw_all, redraw

    if names:
        rows = [[name, d.about, d.lines or "a run"] for name, d in FIGURES.items()]
        show_table("", ["figure", "of", "from"], rows)
        return
    tell = (lambda message: None) if quiet else say
    chosen = None if only is None else only.split(",")
    if again:
        made = redraw(out, chosen, tell)
    else:
        given = {k: parse_value(v) for k, _, v in (s.partition("=") for s in settings or [])}
        if encoder is not None:
            given["encoder"] = encoder
        short = None
        if dataset is not None:
            folder = Path(data) if data is not None else None
            short = Short(
                data=_part(dataset, folder, limit, seed),
                parameters=given,
                folder=folder,
                seed=seed,
                device=device,
                other=_other(other, dataset, folder, limit, seed),
            )
        made = draw_all(out, results, short, only=chosen, tell=tell)
    say(f"wrote {len(made)} files to {out}" if made else "there was nothing to draw")


def _part(dataset: str, folder: Path | None, limit: int | None, seed: int) -> Any:
    from coterie.bench.data import load_data
    from coterie.bench.figures import cut

    return cut(load_data(dataset, folder), limit, seed)


def _other(
    name: str | None, dataset: str, folder: Path | None, limit: int | None, seed: int
) -> Any:
    """The data set for retrieval; the bundled messages, unless they are what is trained on."""
    if name == dataset:
        raise UsageError("cli.other_is_trained_on", name=name)
    if name is None and dataset == "sample":
        return None
    return _part(name or "sample", folder, limit, seed)


SPREAD = "standard deviation of NMI in %, over seeds / over noise on the vectors"


class _SuiteFirst(TyperGroup):
    """Any word that is no command is the name of a suite: ``bench sccl`` is ``bench run sccl``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = {*self.commands, "--help", "-h"}
        return super().parse_args(ctx, args if args and args[0] in words else ["run", *args])


bench = typer.Typer(
    cls=_SuiteFirst,
    help="Run methods on the benchmarks; tables and figures from the results.\n\n"
    "`coterie bench SUITE` is short for `coterie bench run SUITE`; "
    "`coterie bench list` shows the suites.",
    rich_markup_mode="markdown",
)


def run(
    suite: Annotated[
        str, typer.Argument(help="Name of a suite, a suite file (.toml, .json), or 'list'.")
    ] = "list",
    data: Data = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the results: SUITE.jsonl.")
    ] = Path("results"),
    datasets: Annotated[
        str | None, typer.Option("--datasets", help="Only these data sets, separated by commas.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            help=(
                "Run these methods instead of the suite's, at their defaults, separated by commas."
            ),
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", help="Only the entry with this label, or all that contain it."),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="Number of seeds, or a range such as 2-4.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of parallel runs.")] = 1,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help=(
                "all: fit and score all texts; split: fit on one part and score the other, "
                "in the sizes of DECCRL's paper."
            ),
        ),
    ] = "all",
    find_k: Annotated[
        bool,
        typer.Option("--find-k", help="Also run with an estimated number of clusters."),
    ] = False,
    encoder: Annotated[str | None, typer.Option("--encoder", help="Another encoder.")] = None,
    device: Device = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE for all entries.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print the table of existing results; run nothing.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run a suite and print mean and deviation over seeds, as ACC / NMI in %.

    Labels are used for scoring only. Runs that are in the result file already are not repeated, and
    several commands may write to one file.

    Examples:

        coterie bench encoder --data benchmarks
        coterie bench dev --data benchmarks --methods auto,ward --find-k
        coterie bench stability --data benchmarks --datasets tweet,insurance
        coterie bench papers --data benchmarks --device cuda --jobs 4
        coterie bench sccl --data benchmarks --device cuda --datasets tweet --seeds 3
        coterie bench sccl --out results --show --markdown
        coterie bench my.toml
    """
    if suite == "list":
        _list()
        return
    from coterie.bench import run_suite
    from coterie.bench.ledger import read_results
    from coterie.bench.run import Options

    chosen = _narrow(_suite(suite), datasets, methods, only)
    options = Options(
        data=Path(data) if data is not None else None,
        encoder=encoder,
        device=device,
        parameters={k: parse_value(v) for k, _, v in (s.partition("=") for s in settings or [])},
        protocol=protocol,
        find_k=find_k,
    )
    file = out / f"{chosen.name}.jsonl"
    if show:
        labels = {entry.label for entry in chosen.entries}
        results = [row for row in read_results(_there(file, chosen)) if row["label"] in labels]
    else:
        tell = (lambda message: None) if quiet else say
        results = run_suite(chosen, file, options, seeds=_seeds(seeds), tell=tell, jobs=jobs)
    _show(results, suite, markdown=markdown)


def _list() -> None:
    from coterie.bench import SUITES
    from coterie.bench.entries import plan

    rows = [
        [s.name, len(s.entries), len(s.datasets), s.seeds, len(plan(s)), s.about]
        for s in SUITES.values()
    ]
    show_table("", ["suite", "methods", "data sets", "seeds", "runs", "about"], rows)


def _suite(said: str) -> Suite:
    from coterie._validation import check_choice
    from coterie.bench import SUITES
    from coterie.bench.suites import SUFFIXES, read_suite

    if said.endswith(SUFFIXES):
        return read_suite(Path(said))
    return SUITES[check_choice("suite", said, SUITES)]


def _narrow(suite: Suite, datasets: str | None, methods: str | None, only: str | None) -> Suite:
    from dataclasses import replace

    from coterie.bench.suites import entries_for

    if datasets is not None:
        suite = replace(suite, datasets=tuple(datasets.split(",")))
    if methods is not None:
        suite = replace(suite, entries=entries_for(methods.split(",")))
    if only is not None:
        exact = tuple(e for e in suite.entries if e.label == only)
        entries = exact or tuple(e for e in suite.entries if only in e.label)
        if not entries:
            labels = ", ".join(e.label for e in suite.entries)
            raise UsageError("cli.no_such_entry", only=only, labels=labels)
        suite = replace(suite, entries=entries)
    return suite


def _there(file: Path, suite: Suite) -> list[Path]:
    files = [file, *(file.with_name(f"{part}.jsonl") for part in suite.parts)]
    found = [file for file in files if file.exists()]
    if not found:
        raise UsageError("cli.no_result_file", file=file)
    return found


def _show(results: list[dict[str, Any]], suite: str, *, markdown: bool) -> None:
    from coterie.bench import summarize
    from coterie.bench.noise import summarize_stability
    from coterie.bench.speed import summarize_speed
    from coterie.bench.tables import markdown as to_markdown

    kinds = {"speed": ("", summarize_speed), "stability": (SPREAD, summarize_stability)}
    title, made = kinds.get(suite, ("ACC / NMI in %", summarize))
    header, body = made(results)
    if markdown:
        typer.echo(to_markdown(header, body))
    else:
        show_table(title, header, body)


def _seeds(text: str | None) -> range | None:
    if text is None:
        return None
    first, dash, last = text.partition("-")
    start, end = whole_number(first), whole_number(last) if dash else 0
    if start is None or end is None:
        raise UsageError("cli.bad_seeds", text=text)
    return range(start, end + 1) if dash else range(start)


def steering(
    data: Data = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the results: steering.jsonl.")
    ] = Path("results"),
    datasets: Annotated[
        str | None,
        typer.Option(
            "--datasets",
            help="Only these data sets, separated by commas. Default: the development sets.",
        ),
    ] = None,
    methods: Annotated[
        str, typer.Option("--methods", help="auto, kmeans or sccl, separated by commas.")
    ] = "auto,kmeans",
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="Number of seeds (3), or a range such as 2-4.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of processes.")] = 1,
    encoder: Annotated[str | None, typer.Option("--encoder", help="Another encoder.")] = None,
    device: Device = "auto",
    show: Annotated[
        bool, typer.Option("--show", help="Print the table of existing results; run nothing.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    quiet: Quiet = False,
) -> None:
    """Measure what labels, names of classes and constraints bring.

    With 1, 5 and 20 labels a class: scores of all other texts, beside the same method without
    labels, logistic regression and label spreading. With half of the classes unlabelled; with
    names alone, beside the nearest name; with 0.1% and 1% of all pairs as constraints.

    Examples:

        coterie bench steering --data benchmarks
        coterie bench steering --data benchmarks --datasets insurance --methods auto,sccl
        coterie bench steering --show --markdown
    """
    from coterie.bench.ledger import read_results
    from coterie.bench.papers import DEV
    from coterie.bench.steering import Setting, run_steering, summarize_steering
    from coterie.bench.tables import markdown as to_markdown
    from coterie.encoders import DEFAULT

    file = out / "steering.jsonl"
    if show:
        if not file.exists():
            raise UsageError("cli.no_result_file", file=file)
        rows = read_results([file])
    else:
        chosen = DEV if datasets is None else datasets.split(",")
        folder = None if data is None else Path(data)
        settings = [
            Setting(name, seed, folder, encoder or DEFAULT, method, device)
            for method in methods.split(",")
            for name in chosen
            for seed in _seeds(seeds) or range(3)
        ]
        rows = run_steering(settings, file, jobs=jobs, tell=(lambda line: None) if quiet else say)
    header, body = summarize_steering(rows)
    if markdown:
        typer.echo(to_markdown(header, body))
    else:
        show_table("ACC / NMI in %", header, body)


for verb in (run, tables, figures, steering):
    bench.command()(orderly(verb))
