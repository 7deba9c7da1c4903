"""``coterie bench tables`` and ``coterie bench figures``: what can be made of result lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._errors import UsageError
from coterie._progress import say
from coterie.cli.options import Data, Device, Quiet, parse_value
from coterie.cli.talk import show_table

Results = Annotated[
    Path, typer.Option("--results", "-r", help="Folder with the lines of suites, *.jsonl.")
]
FORMATS = ("markdown", "csv", "latex")


def tables(
    results: Results = Path("results"),
    format: Annotated[
        str, typer.Option("--format", "-f", help="markdown, csv (one line per number) or latex.")
    ] = "markdown",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; standard output otherwise.")
    ] = None,
) -> None:
    """Our results beside every number that the papers print.

    Mean and deviation over seeds, the place of each method, differences, and marks where ours is
    better or worse by more than one deviation.

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
        raise UsageError(f"--results {folder}: no result lines there; run: coterie bench papers")
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
        typer.Option("--dataset", help="Make the runs that some figures need on this data set."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=10, help="At most so many texts of a set.")
    ] = None,
    other: Annotated[
        str | None,
        typer.Option("--other", help="Data set for retrieval among unseen texts; default: sample."),
    ] = None,
    data: Data = None,
    encoder: Annotated[str | None, typer.Option("--encoder", help="Another encoder.")] = None,
    device: Device = "auto",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the runs.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE for all methods that have such a parameter."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--redraw", help="Draw those in --out again, from their NAME.json.")
    ] = False,
    names: Annotated[bool, typer.Option("--list", help="Show which figures there are.")] = False,
    quiet: Quiet = False,
) -> None:
    """Draw the papers' figures, as SVG and PNG, with their numbers as JSON.

    Bars and sweeps come from result lines. Maps, and what changes over training, need a run on a
    data set: sample, or a benchmark. Labels color and score; no run sees them.

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
                data=_part(dataset, folder, limit, seed), parameters=given, folder=folder,
                seed=seed, device=device, other=_other(other, dataset, folder, limit, seed),
            )  # fmt: skip
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
        raise UsageError(f"--other {name}: these are the texts trained on; name another data set.")
    if name is None and dataset == "sample":
        return None
    return _part(name or "sample", folder, limit, seed)
