"""``coterie bench``: run suites of methods on the benchmarks, and what can be made of the lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from coterie._errors import UsageError
from coterie._progress import say
from coterie._validation import whole_number
from coterie.cli.bench_output import figures, tables
from coterie.cli.options import Data, Device, Quiet, parse_value
from coterie.cli.talk import orderly, show_table

if TYPE_CHECKING:
    from coterie.bench import Suite


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
        Path, typer.Option("--out", "-o", help="Folder for the results, SUITE.jsonl in it.")
    ] = Path("results"),
    datasets: Annotated[
        str | None, typer.Option("--datasets", help="Only these, separated by commas.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            help="Other methods than those of the suite, at their defaults, separated by commas.",
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Only entries whose label holds this text.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="How many, or a range such as 2-4.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Runs at a time, each in a process.")
    ] = 1,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="all: fit and score all texts; split: fit on a part, score the other, in the "
            "sizes that DECCRL prints.",
        ),
    ] = "all",
    find_k: Annotated[
        bool,
        typer.Option("--find-k", help="Also with a number of clusters found without labels."),
    ] = False,
    encoder: Annotated[str | None, typer.Option("--encoder", help="Another encoder.")] = None,
    device: Device = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE for all entries.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Run nothing, print the table of the results there are.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run a suite and print mean and deviation over seeds, as ACC / NMI in %.

    Methods see texts only; labels are used for scoring, at the end. Runs that the result file
    holds already are not repeated, and several commands may work on one file at once.

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

    rows = [[s.name, str(len(s.entries)), str(len(s.datasets)), str(s.seeds), str(len(plan(s))),
             s.about] for s in SUITES.values()]  # fmt: skip
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
        entries = tuple(e for e in suite.entries if only in e.label)
        if not entries:
            labels = ", ".join(e.label for e in suite.entries)
            raise UsageError(f"--only {only}: no entry has that in its label. There are: {labels}.")
        suite = replace(suite, entries=entries)
    return suite


def _there(file: Path, suite: Suite) -> list[Path]:
    files = [file, *(file.with_name(f"{part}.jsonl") for part in suite.parts)]
    found = [file for file in files if file.exists()]
    if not found:
        raise UsageError(f"--show: there is no {file}.")
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
        raise UsageError(f"--seeds {text}: expected a number such as 3 or a range such as 2-4.")
    return range(start, end + 1) if dash else range(start)


for verb in (run, tables, figures):
    bench.command()(orderly(verb))
