"""Verbs that look at clusterings: compare, stability and evaluate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from coterie._util.progress import say
from coterie.cli import options
from coterie.cli.options import option, switch
from coterie.cli.talk import say_reading, show_json, show_lines, show_table
from coterie.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    import pyarrow as pa

    from coterie.runs.comparison import Change, ClusterComparison, Comparison, Contrast

FLOWS = 10  # groups of moved rows in the terminal; the page and --json have all
A_RUN_OR_TABLE = "Folder of a run, or a table with clusters."
ITS_CLUSTERS = "Column with the clusters, if {} is a table. Default: of the latest run."


def compare(  # noqa: C901 - one branch for each option
    before: str = typer.Argument(..., metavar="RUN_A", help=A_RUN_OR_TABLE),
    after: str | None = typer.Argument(None, metavar="RUN_B", help=A_RUN_OR_TABLE),
    clusters: tuple[str, str] | None = option(
        None, "Two clusters of RUN_A, in place of RUN_B: numbers or names."
    ),
    out: Path | None = option(None, "Write an HTML page here, e.g. changes.html.", "--out -o"),
    id_column: str | None = option(
        None, "Column with row ids in both. Default: rows are matched by text."
    ),
    text_column: str | None = option(
        None, "Column with the texts, if tables are compared.", "--text-column -t"
    ),
    a_column: str | None = option(None, ITS_CLUSTERS.format("RUN_A")),
    b_column: str | None = option(None, ITS_CLUSTERS.format("RUN_B")),
    by: str = option(
        "auto",
        "Match clusters by rows or model; auto goes by rows if half of them are in both.",
    ),
    no_texts: bool = switch("--no-texts", "Names and counts only, no examples."),
    overwrite: bool = options.OVERWRITE,
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Compare two clusterings, or two clusters of a run.

    Clusters are matched by the rows that are in both, by id or by text. If the runs have different
    texts, each saved model predicts the clusters of the other run's texts.

    With --clusters it prints how two clusters of one run differ: words with the texts that hold
    them, values of columns and periods, typical texts of each, and texts between the two. A
    difference "could be chance" if its 99% interval holds 0. If the run found its number of
    clusters itself, you may name clusters that another cut shows.

    Examples:

        coterie compare october.clusters november.clusters --out changes.html
        coterie compare a.csv b.csv --a-column topic --b-column cluster --id-column ticket
        coterie compare october.clusters --clusters 3 7
    """
    from coterie.runs.comparison import compare as find
    from coterie.runs.comparison import compare_clusters
    from coterie.runs.comparison.page import write_comparison
    from coterie.runs.outputs import check_output

    if (after is None) == (clusters is None):
        raise UsageError("name two runs, or one run and two of its `clusters`.")
    if after is None or clusters is not None:
        if any((out, id_column, text_column, a_column, b_column, by != "auto")):
            raise UsageError("`clusters` goes with --no-texts and --json only.")
        show_clusters(compare_clusters(before, *(clusters or ())), no_texts, as_json)
        return
    if out is not None and out.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"--out {out}: the page is HTML; give it a name that ends in .html.")
    if out is not None:
        options.check_free(out, overwrite=overwrite)
        check_output(out, [before, after])
    columns: dict[str, Any] = {"id_column": id_column, "text_column": text_column}
    found = find(before, after, by=by, a_column=a_column, b_column=b_column, **columns)
    for note in found.notes:
        say(note)
    if no_texts:
        found = found.without_texts()
    if out is not None:
        write_comparison(out, found)
    if as_json:
        show_json(found.to_dict())
        return
    show_comparison(found)
    if out is not None:
        say(f"\npage  {out}")


def show_comparison(found: Comparison) -> None:
    """Print matched clusters side by side, then where rows have moved."""
    from coterie.page.points import shorten, visible
    from coterie.runs.comparison.page import table_rows

    def cells(change: Change | None) -> list[object]:
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
    show_lines(["", *found.sentences()])


def show_clusters(found: ClusterComparison, no_texts: bool, as_json: bool) -> None:
    """Print how two clusters differ."""
    from coterie.page.points import shorten, visible

    found = found.without_texts() if no_texts else found
    if as_json:
        show_json(found.to_dict())
        return
    sides = found.a, found.b
    show_lines([*found.sentences(), ""])

    def show(title: str, values: Iterable[Contrast]) -> None:
        rows = []
        for v in values:
            cells = [visible(shorten(v.value, 40)), f"{v.a:,}", f"{100 * v.share_a:.0f}%"]
            cells += [f"{v.b:,}", f"{100 * v.share_b:.0f}%"]
            rows.append([*cells, "could be chance" if v.chance else ""])
        if rows:
            heads = [visible(shorten(title, 40)), f"in {sides[0].id}", "", f"in {sides[1].id}"]
            show_table("", [*heads, "", ""], rows, numbers=(1, 2, 3, 4))
            typer.echo()

    for side, other in (sides, sides[::-1]):
        show(f"more in {side.id} than in {other.id}", side.words)
    over_time = {found.date_column or "": found.over_time}
    for column, values in (found.columns | over_time).items():
        show(column, [value for value in values if not value.chance])
    for side in sides:
        if side.typical:
            lines = [f"  {shorten(text, 110)}" for text in side.typical]
            show_lines([f"typical of {side.id}", *lines, ""])
    if found.between:
        lines = [f"  {t.margin:.2f}  {t.cluster:<4} {shorten(t.text, 98)}" for t in found.between]
        show_lines(["between the two: lead of its own cluster, and which that is", *lines])


def stability(
    run: Path = options.RUN,
    seeds: int = option(3, "Fits with other seeds.", min=1),
    halves: int = option(4, "Fits on half of the texts.", min=1),
    no_cache: bool = options.NO_CACHE,
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Measure how stable the clusters of a run are.

    Fits the method again with other seeds and on halves of the texts, and looks for each cluster
    among the new ones. Also changes the wording of texts a little, and counts how many keep their
    cluster. A method that trains is trained again each time.

    Writes stability.json, and a part of report.html.

    Examples:

        coterie stability tickets.clusters
        coterie stability tickets.clusters --seeds 5 --halves 10 --json
    """
    from coterie.page.points import shorten, visible
    from coterie.runs import stability as measure

    found = measure(run, seeds=seeds, halves=halves, verbose=0 if quiet else 1)
    if as_json:
        show_json(found.to_dict())
        return
    rows = []
    for c in found.clusters:
        scores = (c.seeds, c.halves, c.wording, c.npmi, c.embedding)
        row = [str(c.id), visible(shorten(c.name, 40)), *map(_number, scores)]
        rows.append([*row, "" if c.survives else "unstable"])
    header = ["#", "name", "seeds", "halves", "wording", "npmi", "embedding", ""]
    show_table("", header, rows, numbers=(0, 2, 3, 4, 5, 6))
    show_lines(["", *found.sentences()])
    say(f"\npage  {run / 'report.html'}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


MEANING = {
    "acc": "texts right under the best one-to-one match of clusters and classes",
    "nmi": "shared information, arithmetic mean (scikit-learn, SCCL, AECL, RSTC)",
    "nmi_geometric": "shared information, geometric mean (as some papers print it)",
    "ari": "agreement on pairs of texts, 0 is chance",
    "ami": "shared information beyond chance",
    "v_measure": "homogeneity and completeness; equals nmi",
    "purity": "texts in the majority class of their cluster; grows with more clusters",
}


def evaluate(
    file: str = options.FILE,
    labels: str = option(..., "Column with the true labels.", "--labels -l"),
    cluster_column: str | None = option(
        None, "Column with the clusters. Default: that of the latest run.", "--cluster-column -c"
    ),
    ignore: list[str] | None = option(
        None, "Leave out rows with this true label; may be repeated."
    ),
    format: str = options.FORMAT,
    encoding: str = options.ENCODING,
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """Score a column of clusters against a column of true labels.

    FILE is any table with both, such as the assignments.csv of a run. Rows without a true label, a
    cluster or a text are left out; other rows in cluster -1 count as one cluster.

    Examples:

        coterie evaluate tickets.clusters/assignments.csv --labels theme
    """
    from coterie.arrays.metrics import external_scores
    from coterie.runs.page_data import cluster_columns
    from coterie.texts import read_table
    from coterie.texts.corpus import check_column

    table, notes = read_table(file, format=format, encoding=encoding, header=True)
    say_reading(notes)
    check_column(table, labels, "--labels")
    column, called, said = cluster_columns(table.column_names, cluster_column)
    check_column(table, column, "--cluster-column")
    say(f"True labels from the column {labels!r}, {said}.")
    pairs, left_out = _labelled(table, labels, column, called, ignore or [])
    if left_out:
        parts = [f"{counted(count, 'row')} {why}" for why, count in left_out.items()]
        say(f"Left out: {', '.join(parts)}.")
    if not pairs:
        raise DataError(
            f"{file}: no row has both a true label and a cluster; see --labels and "
            "--cluster-column."
        )
    if apart := sum(c == "-1" for _, c in pairs):
        say(f"{counted(apart, 'row')} in cluster -1: counted as one cluster.")
    scores = external_scores([t for t, _ in pairs], [c for _, c in pairs])
    if as_json:
        facts = {"rows": len(pairs), "cluster_column": column, "left_out": dict(left_out)}
        show_json(scores | facts)
        return
    rows = [[name, f"{100 * value:.2f}", MEANING[name]] for name, value in scores.items()]
    show_table(f"{len(pairs):,} rows, scores in %", ["score", "%", "meaning"], rows, numbers=(1,))


def _labelled(
    table: pa.Table, labels: str, column: str, called: str, ignore: list[str]
) -> tuple[list[tuple[str, str]], Counter[str]]:
    """True label and cluster of the rows that have both, and why others are left out."""
    from coterie.describe.names import NO_CLUSTER
    from coterie.texts.corpus import cell_values, value_to_text

    pairs, left_out = [], Counter[str]()
    names = cell_values(table.column(called)) if called else [None] * len(table)
    both = (cell_values(table.column(name)) for name in (labels, column))
    for label, cluster, name in zip(*both, names, strict=True):
        true, found = value_to_text(label).strip(), value_to_text(cluster).strip()
        if true in ignore:
            left_out["with a label to ignore"] += 1
        elif not true:
            left_out["without a true label"] += 1
        elif not found:
            left_out["without a cluster"] += 1
        elif found == "-1" and name == NO_CLUSTER:
            left_out["without a text"] += 1
        else:
            pairs.append((true, found))
    return pairs, left_out
