"""``coterie-bench``: run suites of methods on the benchmarks; tables and figures of the results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from coterie._util.progress import say
from coterie._util.validation import check_choice, whole_number
from coterie.cli import options
from coterie.cli.options import parse_value
from coterie.cli.streams import open_streams
from coterie.cli.talk import explain, orderly, show_json, show_table
from coterie.errors import UsageError

if TYPE_CHECKING:
    from coterie_bench.ledger import Row
    from coterie_bench.suites import Suite

Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the benchmark files, or COTERIE_DATA.")
]
Results = Annotated[
    Path, typer.Option("--results", "-r", help="Folder with result lines, *.jsonl.")
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the result lines, NAME.jsonl.")]
Datasets = Annotated[
    str | None,
    typer.Option("--datasets", help="Only these data sets or groups of them, with commas."),
]
Seeds = Annotated[
    str | None, typer.Option("--seeds", help="Number of seeds, or a range such as 2-4.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of processes.")]
Encoder = Annotated[str | None, typer.Option("--encoder", help="Another encoder.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="KEY=VALUE for all methods that have it.")
]
Show = Annotated[bool, typer.Option("--show", help="Print the existing results; run nothing.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
SPREAD = "standard deviation of NMI in %, over seeds / over noise on the vectors"


class _SuiteFirst(TyperGroup):
    """Any word that is no command is the name of a suite: ``sccl`` is ``run sccl``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = {*self.commands, "--help", "-h"}
        return super().parse_args(ctx, args if args and args[0] in words else ["run", *args])


app = typer.Typer(
    name="coterie-bench",
    cls=_SuiteFirst,
    help="Run methods on the benchmarks; tables and figures from the results.\n\n"
    "`coterie-bench SUITE` is short for `coterie-bench run SUITE`; "
    "`coterie-bench list` shows the suites.",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run(
    suite: Annotated[
        str,
        typer.Argument(help="Suite; several with commas; or 'list'."),
    ] = "list",
    data: Data = None,
    out: Out = Path("results"),
    datasets: Datasets = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", help="These methods at their defaults instead, with commas."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", help="Only the entry with this label, or all that contain it."),
    ] = None,
    seeds: Seeds = None,
    jobs: Jobs = 1,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="all: fit and score all texts; split: fit on one part and score the other, in "
            "the sizes of DECCRL's paper.",
        ),
    ] = "all",
    find_k: Annotated[
        bool, typer.Option("--find-k", help="Also run with an estimated number of clusters.")
    ] = False,
    encoder: Encoder = None,
    device: str = options.DEVICE,
    settings: Settings = None,
    show: Show = False,
    markdown: Markdown = False,
    quiet: bool = options.QUIET,
) -> None:
    """Run a suite and print mean and deviation over seeds, as ACC / NMI in %.

    Labels are used for scoring only. Runs that are in the result file already are not repeated, and
    several commands may write to one file. On a GPU many processes are faster with NVIDIA's
    Multi-Process Service (nvidia-cuda-mps-control -d).

    Examples:

        coterie-bench encoder --data benchmarks
        coterie-bench dev --data benchmarks --methods auto,ward --find-k
        coterie-bench papers --data benchmarks --device cuda --jobs 4
        coterie-bench presets,sccl-views --data benchmarks --device cuda --jobs 16
        coterie-bench sccl --out results --show --markdown
    """
    from coterie_bench import tables as t
    from coterie_bench.noise import summarize_stability
    from coterie_bench.run import Options, run_suite
    from coterie_bench.suites import SUITES, plan

    if suite == "list":
        rows = [
            [s.name, len(s.entries), len(s.datasets), s.seeds, len(plan(s)), s.about]
            for s in SUITES.values()
        ]
        show_table("", ["suite", "methods", "data sets", "seeds", "runs", "about"], rows)
        return
    suites = [_narrow(_suite(name), datasets, methods, only) for name in suite.split(",")]
    options = Options(
        data=data,
        encoder=encoder,
        device=device,
        parameters=_pairs(settings),
        protocol=protocol,
        find_k=find_k,
    )
    kinds = {"speed": ("", t.summarize_speed), "stability": (SPREAD, summarize_stability)}
    for chosen in suites:
        file = out / f"{chosen.name}.jsonl"
        if show:
            lines = _shown(chosen, file)
        else:
            more: dict[str, Any] = {"seeds": _seeds(seeds), "jobs": jobs}
            lines = run_suite(chosen, file, options, tell=_teller(quiet), **more)
        title, summarize = kinds.get(chosen.name, ("ACC / NMI in %", t.summarize))
        title = title if len(suites) == 1 else f"{chosen.name}: {title}"
        _print(title, *summarize(lines), markdown=markdown)


def _suite(name: str) -> Suite:
    from coterie_bench.suites import SUITES

    return SUITES[check_choice("suite", name, SUITES)]


def _shown(suite: Suite, file: Path) -> list[Row]:
    """The lines of a suite that there are."""
    from coterie_bench.ledger import read_results

    files = [file, *(file.with_name(f"{part}.jsonl") for part in suite.parts)]
    if not any(file.exists() for file in files):
        raise UsageError(f"--show: there is no {file}.")
    labels = {entry.label for entry in suite.entries}
    return [row for row in read_results(files) if row["label"] in labels]


def _narrow(suite: Suite, datasets: str | None, methods: str | None, only: str | None) -> Suite:
    from coterie_bench.suites import entries_for, group_members

    if datasets is not None:
        suite = replace(suite, datasets=group_members(datasets.split(","), (), "--datasets"))
    if methods is not None:
        suite = replace(suite, entries=entries_for(methods.split(",")))
    if only is not None:
        exact = tuple(e for e in suite.entries if e.label == only)
        entries = exact or tuple(e for e in suite.entries if only in e.label)
        if not entries:
            labels = ", ".join(e.label for e in suite.entries)
            raise UsageError(f"--only {only}: no entry has that in its label. There are: {labels}.")
        suite = replace(suite, entries=entries)
    return suite


def _seeds(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    first, dash, last = text.partition("-")
    start, end = whole_number(first), whole_number(last) if dash else 0
    if start is None or end is None:
        raise UsageError(f"--seeds {text}: expected a number such as 3 or a range such as 2-4.")
    return tuple(range(start, end + 1) if dash else range(start))


def _pairs(settings: list[str] | None) -> dict[str, Any]:
    return {k: parse_value(v) for k, _, v in (s.partition("=") for s in settings or [])}


def _teller(quiet: bool) -> Callable[[str], None]:
    return _hush if quiet else say


def _hush(line: str) -> None:
    """Say nothing."""


def _print(title: str, header: list[str], body: list[list[str]], *, markdown: bool) -> None:
    from coterie_bench.tables import markdown as to_markdown

    if markdown:
        typer.echo(to_markdown(header, body))
    else:
        show_table(title, header, body)


def tables(results: Results = Path("results")) -> None:
    """Our results beside every number that the papers print, in Markdown.

    Mean and deviation over seeds, ranks, differences, and marks where ours is better or worse by
    more than one deviation.

    Examples:

        coterie-bench tables > tables.md
    """
    from coterie_bench.beside import details, overview
    from coterie_bench.tables import METRICS, read_folder

    rows = read_folder(results) if results.is_dir() else []
    if not rows:
        raise UsageError(f"--results {results}: no result lines there; run: coterie-bench papers")
    found = [*(overview(rows, metric) for metric in METRICS), *details(rows)]
    typer.echo("\n".join(table.to_markdown() for table in found), nl=False)


def figures(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")] = Path(
        "figures"
    ),
    results: Results = Path("results"),
    only: Annotated[
        str | None, typer.Option("--only", help="Names of figures, separated by commas.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="Data set for figures that need a run.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=10, help="Use at most this many texts of a data set."),
    ] = None,
    other: Annotated[
        str | None, typer.Option("--other", help="Data set for retrieval. Default: sample.")
    ] = None,
    data: Data = None,
    encoder: Encoder = None,
    device: str = options.DEVICE,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the runs.")] = 0,
    settings: Settings = None,
    quiet: bool = options.QUIET,
) -> None:
    """Draw the papers' figures, as SVG, with their numbers as JSON.

    Bars and sweeps come from result lines. Maps, and what changes over training, need a run on a
    data set: sample, or a benchmark. Labels are used for colours and scores only.

    Examples:

        coterie-bench figures --results results --out figures
        coterie-bench figures --dataset stackoverflow --limit 5000 --only sccl-distances
    """
    from coterie_bench.data import load_data
    from coterie_bench.figures import Short, cut, draw_all

    if other is not None and other == dataset:
        raise UsageError(f"--other {other}: these are the texts trained on; name another data set.")
    short = None
    if dataset is not None:
        other = other or (None if dataset == "sample" else "sample")
        own = cut(load_data(dataset, data), limit, seed)
        more = cut(load_data(other, data), limit, seed) if other else None
        given = _pairs(settings) | ({} if encoder is None else {"encoder": encoder})
        short = Short(data=own, parameters=given, folder=data, seed=seed, device=device, other=more)
    chosen = None if only is None else only.split(",")
    made = draw_all(out, results, short, only=chosen, tell=_teller(quiet))
    say(f"wrote {len(made)} files to {out}" if made else "there was nothing to draw")


def datasets(
    action: Annotated[str, typer.Argument(help="list, show or get.")] = "list",
    name: Annotated[str | None, typer.Argument(help="Name of a data set.")] = None,
    data: Data = None,
    as_json: bool = options.AS_JSON,
) -> None:
    """List the data sets, show one, or download one from its public address.

    Files are read from the folder given by --data or COTERIE_DATA; development sets (groups dev,
    tails and levels) and sets in other languages (group lang) from its sub-folders dev and lang.

    Examples:

        coterie-bench datasets show stackoverflow
        coterie-bench datasets get tweet --data benchmarks
    """
    from coterie_bench.datasets import CARDS, PAIRS, get_dataset, locate_dataset

    check_choice("action", action, ["list", "show", "get"])
    if action == "list":
        found = {key: locate_dataset(key, data) for key in CARDS}
        if as_json:
            show_json([asdict(card) | {"path": found[key]} for key, card in CARDS.items()])
            return
        rows = [
            [key, c.group, f"{c.rows:,}", c.classes, c.text, found[key] or "not here"]
            for key, c in CARDS.items()
        ]
        show_table("", ["name", "group", "rows", "classes", "texts", "file"], rows, numbers=(2, 3))
        return
    if name is None:
        raise UsageError(f"coterie-bench datasets {action} needs the name of a data set.")
    card = CARDS[check_choice("data set", name, CARDS)]
    if action == "get":
        typer.echo(str(get_dataset(name, data)))
        return
    facts = asdict(card) | {
        "address": card.address,
        "views": [kind for dataset, kind in PAIRS if dataset == name],
        "path": locate_dataset(name, data),
    }
    if as_json:
        show_json(facts)
    else:
        show_table("", ["field", "value"], list(facts.items()))


for verb in (run, tables, figures, datasets):
    app.command()(orderly(verb))


def main() -> None:
    """Run the program: a command, an experiment (a module of ``experiments``), or a suite."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for commands in processes of their own
    open_streams()
    name = f"coterie_bench.experiments.{sys.argv[1].replace('-', '_')}" if sys.argv[1:] else ""
    try:
        if name.isascii() and name.replace(".", "").isidentifier() and find_spec(name):
            sys.argv[:2] = [f"coterie-bench {sys.argv[1]}"]
            sys.exit(import_module(name).main())
        app()
    except (Exception, KeyboardInterrupt) as error:  # outside any verb
        sys.exit(explain(error))
