"""``coterie compare``: two clusterings side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._errors import UsageError
from coterie._progress import say
from coterie.cli.options import AsJson
from coterie.cli.talk import show_table

FLOWS = 10  # groups of moved rows in the terminal; the page and --json have all


def compare(
    before: Annotated[
        str, typer.Argument(metavar="RUN_A", help="Folder of a run, or a table with clusters.")
    ],
    after: Annotated[
        str, typer.Argument(metavar="RUN_B", help="Folder of a run, or a table with clusters.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a page here, such as changes.html.")
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id-column", help="Column of both that names each row. Default: the text."),
    ] = None,
    text_column: Annotated[
        str | None, typer.Option("--text-column", "-t", help="Of tables: column with the texts.")
    ] = None,
    a_column: Annotated[
        str | None,
        typer.Option(
            "--a-column",
            help="Of a table RUN_A: column with the clusters. Default: that of the latest run.",
        ),
    ] = None,
    b_column: Annotated[
        str | None,
        typer.Option(
            "--b-column",
            help="Of a table RUN_B: column with the clusters. Default: that of the latest run.",
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option("--by", help="Match by rows, model, centers or words; auto takes the best."),
    ] = "auto",
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Names and counts only, no examples.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what changed between two clusterings.

    Clusters are matched by the rows that are in both, by id or by text. Where the runs hold
    different texts, each saved model is asked where it would put the texts of the other.

    Examples:

        coterie compare october.clusters november.clusters --out changes.html
        coterie compare a.csv b.csv --a-column topic --b-column cluster --id-column ticket
    """
    from dataclasses import replace

    from coterie._folders import one_state
    from coterie.comparison import compare as find
    from coterie.comparison.page import write_comparison
    from coterie.runs.outputs import check_output, is_comparison

    if out is not None and out.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"--out {out}: the page is HTML; give it a name that ends in .html.")
    if out is not None:
        check_output(out, [before, after], wrote=is_comparison)
    options = {"text_column": text_column, "id_column": id_column}

    def both() -> Any:
        a = _side(before, a_column, "--a-column", options)
        b = _side(after, b_column, "--b-column", options)
        return find(a, b, by=by), (*a.notes, *b.notes)

    found, notes = one_state([Path(before), Path(after)], both)
    for note in notes:
        say(note)
    if no_texts:
        found = replace(found, flows=tuple(replace(flow, examples=()) for flow in found.flows))
    if out is not None:
        write_comparison(out, found)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2))
        return
    _show(found)
    if out is not None:
        say(f"\npage  {out}")


def _side(source: str, column: str | None, option: str, options: dict[str, str | None]) -> Any:
    from coterie.comparison import read_run_side, read_table_side

    path = Path(source)
    if path.is_dir():
        return read_run_side(path, options["id_column"])
    return read_table_side(source, column, option=option, **options)


def _show(found: Any) -> None:
    from coterie.comparison.page import table_rows
    from coterie.report.points import shorten, visible

    def cells(change: Any) -> list[str]:
        if change is None:
            return ["", "", "", ""]
        name = visible(shorten(change.name, 32))
        return [str(change.id), name, f"{change.size:,}", f"{100 * change.share:.1f}%"]

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
