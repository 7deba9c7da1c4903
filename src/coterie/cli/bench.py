"""``coterie bench``: run a suite of methods on the benchmarks and print the table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie._errors import UsageError
from coterie.cli.options import Data, Device, Quiet, parse_value
from coterie.cli.talk import say, show_table


def bench(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or 'list'.")] = "list",
    data: Data = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the results, SUITE.jsonl in it.")
    ] = Path("results"),
    datasets: Annotated[
        str | None, typer.Option("--datasets", help="Only these, separated by commas.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Only entries whose label holds this text.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="How many, or a range such as 2-4.")
    ] = None,
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
    holds already are not repeated.

    Examples:

        coterie bench encoder --data benchmarks
        coterie bench sccl --data benchmarks --device cuda --datasets tweet --seeds 3
        coterie bench sccl --out results --show --markdown
    """
    from dataclasses import replace

    from coterie._validation import check_choice
    from coterie.bench import SUITES, run_suite, summarize
    from coterie.bench.run import Options, read_results
    from coterie.bench.speed import summarize_speed
    from coterie.bench.tables import markdown as to_markdown

    if suite == "list":
        rows = [[s.name, str(len(s.entries)), str(len(s.datasets)), str(s.seeds), s.about]
                for s in SUITES.values()]  # fmt: skip
        show_table("", ["suite", "methods", "data sets", "seeds", "about"], rows)
        return
    chosen = SUITES[check_choice("suite", suite, SUITES)]
    if datasets is not None:
        chosen = replace(chosen, datasets=tuple(datasets.split(",")))
    if only is not None:
        chosen = replace(chosen, entries=tuple(e for e in chosen.entries if only in e.label))
    options = Options(
        data=Path(data) if data is not None else None,
        encoder=encoder,
        device=device,
        parameters={k: parse_value(v) for k, _, v in (s.partition("=") for s in settings or [])},
    )
    file = out / f"{suite}.jsonl"
    if show and not file.exists():
        raise UsageError(f"--show: there is no {file}.")
    tell = (lambda message: None) if quiet else say
    results = (
        read_results([file])
        if show
        else run_suite(chosen, file, options, seeds=_seeds(seeds), tell=tell)
    )
    speed = suite == "speed"
    header, body = summarize_speed(results) if speed else summarize(results)
    if markdown:
        typer.echo(to_markdown(header, body))
    else:
        show_table("" if speed else "ACC / NMI in %", header, body)


def _seeds(text: str | None) -> range | None:
    if text is None:
        return None
    first, dash, last = text.partition("-")
    return range(int(first), int(last) + 1) if dash else range(int(first))
