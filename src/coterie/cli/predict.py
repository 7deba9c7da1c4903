"""``coterie predict``: put new texts into the clusters of an earlier run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from coterie._errors import DataError
from coterie.cli.options import Encoding, File, Format, IdColumn, TextColumn
from coterie.cli.talk import say


def predict(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, or of a saved model.")],
    file: File,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write, by its suffix. Default: CSV to stdout."),
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
) -> None:
    """Put new texts into the clusters of an earlier run.

    Every row comes back with cluster, name, confidence, runner_up and margin.

    Examples:

        coterie predict tickets.clusters new.csv --out labelled.csv
        cat new.jsonl | coterie predict tickets.clusters - --format jsonl | head
    """
    from coterie._files import read_json
    from coterie.cli.run_folder import assignment_columns
    from coterie.corpus import read_corpus, write_rows
    from coterie.corpus.write import write_stream
    from coterie.methods import load

    model_folder = folder / "model" if (folder / "model" / "config.json").exists() else folder
    if not (model_folder / "config.json").exists():
        raise DataError(f"{folder} holds no model (neither model/config.json nor config.json).")
    corpus = read_corpus(
        file, text_column=text_column, id_column=id_column, format=format, encoding=encoding
    )
    model = load(model_folder)
    names = [f"Cluster {i}" for i in range(model.n_clusters_)]
    if (folder / "clusters.json").exists():
        names = [cluster["name"] for cluster in read_json(folder / "clusters.json")]
    probabilities = model.predict_proba(corpus.texts)
    labels = probabilities.argmax(axis=1)
    labels[probabilities.sum(axis=1) == 0] = -1
    columns = assignment_columns(labels, probabilities, names)
    if out is None:
        write_stream(sys.stdout, corpus.table, columns, "csv")
        sys.stdout.flush()
    else:
        write_rows(out, corpus.table, columns)
        say(f"{len(corpus):,} rows written to {out}")
