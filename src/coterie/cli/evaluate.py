"""``coterie evaluate``: score clusters against true labels."""

from __future__ import annotations

import json
from typing import Annotated

import typer

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
        str, typer.Option("--cluster-column", "-c", help="Column with the clusters.")
    ] = "cluster",
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", help="Leave out rows with this true label; may be repeated."),
    ] = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    as_json: AsJson = False,
) -> None:
    """Score a column of clusters against a column of true labels.

    Any table that has both will do, such as the assignments.csv of a run. Rows that had no text
    there are left out; other rows in cluster -1 count as one cluster, and it says so.

    Examples:

        coterie evaluate tickets.clusters/assignments.csv --labels-column theme
    """
    from coterie.cli.run_folder import NO_CLUSTER
    from coterie.corpus import read_table
    from coterie.corpus.columns import check_column
    from coterie.metrics import external_scores

    table, _ = read_table(file, format=format, encoding=encoding, header=True)
    check_column(table, labels_column, "--labels-column")
    if cluster_column == "cluster" and "coterie_cluster" in table.column_names:
        cluster_column = "coterie_cluster"  # the texts came with a column cluster of their own
        typer.echo("The clusters are those of the column coterie_cluster.", err=True)
    check_column(table, cluster_column, "--cluster-column")
    called = [name for name in ("coterie_name", "name") if name in table.column_names]
    names = table.column(called[0]).to_pylist() if called else [""] * len(table)
    columns = (table.column(name).to_pylist() for name in (labels_column, cluster_column))
    pairs = [
        (str(t), str(c))
        for t, c, name in zip(*columns, names, strict=True)
        if str(t) not in (ignore or []) and not (str(c) == "-1" and name == NO_CLUSTER)
    ]
    apart = sum(c == "-1" for _, c in pairs)
    if apart:
        typer.echo(f"{apart:,} rows in cluster -1 count as one cluster.", err=True)
    scores = external_scores([t for t, _ in pairs], [c for _, c in pairs])
    if as_json:
        typer.echo(json.dumps(scores | {"rows": len(pairs)}, indent=2))
        return
    rows = [[name, f"{100 * value:.2f}", MEANING[name]] for name, value in scores.items()]
    show_table(f"{len(pairs):,} rows, scores in %", ["score", "%", "meaning"], rows, numbers=(1,))
