"""``coterie evaluate``: score clusters against true labels."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated

import typer

from coterie._progress import say
from coterie.cli.options import AsJson, Encoding, File, Format
from coterie.cli.talk import show_table

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
    file: File,
    labels_column: Annotated[
        str, typer.Option("--labels-column", "-l", help="Column with the true labels.")
    ],
    cluster_column: Annotated[
        str | None,
        typer.Option(
            "--cluster-column",
            "-c",
            help="Column with the clusters. Default: cluster, of the latest run in the table.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", help="Leave out rows with this true label; may be repeated."),
    ] = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """Score a column of clusters against a column of true labels.

    Any table that has both will do, such as the assignments.csv of a run. Rows without a true
    label, without a cluster or without a text are left out; other rows in cluster -1 count as one
    cluster. It says which columns it took and what it left out.

    Examples:

        coterie evaluate tickets.clusters/assignments.csv --labels-column theme
    """
    from coterie._errors import DataError
    from coterie.corpus import read_table
    from coterie.corpus.corpus import cell_values, check_column, value_to_text
    from coterie.metrics import external_scores
    from coterie.report import cluster_columns
    from coterie.runs.label import NO_CLUSTER

    table, _ = read_table(file, format=format, encoding=encoding, header=True)
    check_column(table, labels_column, "--labels-column")
    column, called, said = cluster_columns(table.column_names, cluster_column)
    check_column(table, column, "--cluster-column")
    say(f"True labels from the column {labels_column!r}, {said}.")
    names = cell_values(table.column(called)) if called else [None] * len(table)
    wanted = (cell_values(table.column(name)) for name in (labels_column, column))
    left_out: Counter[str] = Counter()
    pairs = []
    for label, cluster, name in zip(*wanted, names, strict=True):
        true, found = value_to_text(label).strip(), value_to_text(cluster).strip()
        why = (
            "with a label to ignore" if true in (ignore or []) else
            "without a true label" if not true else
            "without a cluster" if not found else
            "without a text" if found == "-1" and name == NO_CLUSTER else ""
        )  # fmt: skip
        if why:
            left_out[why] += 1
        else:
            pairs.append((true, found))
    if left_out:
        parts = [f"{count:,} rows {why}" for why, count in left_out.items()]
        say(f"Left out: {', '.join(parts)}.")
    if not pairs:
        raise DataError(
            f"{file}: no row has both a true label and a cluster; see --labels-column and "
            "--cluster-column."
        )
    apart = sum(c == "-1" for _, c in pairs)
    if apart:
        say(f"{apart:,} rows in cluster -1 count as one cluster.")
    scores = external_scores([t for t, _ in pairs], [c for _, c in pairs])
    if as_json:
        facts = {"rows": len(pairs), "cluster_column": column, "left_out": dict(left_out)}
        typer.echo(json.dumps(scores | facts, indent=2))
        return
    rows = [[name, f"{100 * value:.2f}", MEANING[name]] for name, value in scores.items()]
    show_table(f"{len(pairs):,} rows, scores in %", ["score", "%", "meaning"], rows, numbers=(1,))
