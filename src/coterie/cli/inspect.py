"""``coterie inspect``: what training did to the vectors of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._errors import DataError
from coterie.cli.options import AsJson, Encoding, File, Format
from coterie.cli.talk import orderly, show_table

inspect = typer.Typer(
    help="See what training did: similarity of pairs, retrieval, indices per stage.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
Folder = Annotated[Path, typer.Argument(help="Folder of a run, or of a saved model.")]
RIGHT = {"1": 1, "1.0": 1, "true": 1, "yes": 1, "0": 0, "0.0": 0, "false": 0, "no": 0}


def pairs(
    folder: Folder,
    file: File,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """Cosine of pairs of texts, before and after training.

    FILE has the columns text1 and text2.

    Examples:

        coterie inspect pairs tickets.clusters pairs.csv
    """
    from coterie.analysis import pair_similarity

    first, second = _columns(file, ["text1", "text2"], format, encoding)
    both = list(zip(first, second, strict=True))
    found = pair_similarity(_model(folder), both)
    rows = list(zip(both, found["before"], found["after"], strict=True))
    if as_json:
        typer.echo(json.dumps([{"text1": a, "text2": b, "before": float(x), "after": float(y)}
                               for (a, b), x, y in rows], indent=2))  # fmt: skip
        return
    cells = [[a, b, f"{x:.3f}", f"{y:.3f}"] for (a, b), x, y in rows]
    show_table(f"{len(rows):,} pairs, cosine", ["text1", "text2", "before", "after"], cells,
               numbers=(2, 3))  # fmt: skip


def retrieval(
    folder: Folder,
    file: File,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """Rank candidates by cosine to their query: MAP and MRR, before and after training.

    FILE has the columns query, candidate and relevant (0 or 1), one candidate a row.

    Examples:

        coterie inspect retrieval tickets.clusters questions.jsonl
    """
    from coterie.analysis import retrieval as rank

    queries, candidates, marks = _columns(
        file, ["query", "candidate", "relevant"], format, encoding
    )
    groups: dict[str, tuple[list[str], list[int]]] = {}
    for row, (query, text, mark) in enumerate(zip(queries, candidates, marks, strict=True), 1):
        if mark.lower() not in RIGHT:
            raise DataError(f"{file}, row {row}: relevant should be 0 or 1, got {mark!r}.")
        texts, right = groups.setdefault(query, ([], []))
        texts.append(text)
        right.append(RIGHT[mark.lower()])
    lists = zip(*groups.values(), strict=True)
    found: dict[str, Any] = rank(_model(folder), list(groups), *lists)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    rows = [[when, *(f"{100 * found[when][score]:.2f}" for score in ("map", "mrr"))]
            for when in ("before", "after")]  # fmt: skip
    title = f"{found['queries']['used']:,} of {found['queries']['all']:,} queries, scores in %"
    show_table(title, ["training", "MAP", "MRR"], rows, numbers=(1, 2))


def stages(
    folder: Folder,
    file: Annotated[
        str | None, typer.Argument(help="The texts of the run, with true labels.")
    ] = None,
    labels_column: Annotated[
        str | None, typer.Option("--labels-column", "-l", help="Column with the true labels.")
    ] = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """Silhouette and Dunn index after each stage of training; NMI and ACC with true labels.

    The run needs --set record_stages=true.

    Examples:

        coterie inspect stages tickets.clusters tickets.csv --labels-column theme
    """
    from coterie.analysis import stage_indices

    truth = None
    if file is not None:
        if labels_column is None:
            raise DataError("name the column with the true labels: --labels-column.")
        (truth,) = _columns(file, [labels_column], format, encoding)
    found = stage_indices(_model(folder), truth)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    columns = list(found[0])
    rows = [[str(row["stage"]), *("-" if row[c] is None else f"{row[c]:.4f}" for c in columns[1:])]
            for row in found]  # fmt: skip
    show_table("", columns, rows, numbers=range(1, len(columns)))


def _columns(file: str, names: list[str], format: str, encoding: str) -> list[list[str]]:
    from coterie.corpus import read_table
    from coterie.corpus.corpus import cell_values, check_column

    table, _ = read_table(file, format=format, encoding=encoding, header=True)
    found = [cell_values(table.column(check_column(table, name, str(file)))) for name in names]
    return [["" if v is None else str(v) for v in column] for column in found]


def _model(folder: Path) -> Any:
    from coterie._folders import one_state
    from coterie.methods import load
    from coterie.run_files import model_folder

    return one_state([folder], lambda: load(model_folder(folder)))


for verb in (pairs, retrieval, stages):
    inspect.command()(orderly(verb))
