"""``coterie predict``: put new texts into the clusters of an earlier run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._errors import DataError
from coterie.cli.options import Encoding, File, Format, IdColumn, NoCache, TextColumn
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
    outlier_limit: Annotated[
        float | None,
        typer.Option(
            "--outlier-limit",
            help="Mark texts with a higher outlier score (0 to 1) as none of these. Default: as "
            "the run was told by --max-outliers.",
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    no_cache: NoCache = False,
) -> None:
    """Put new texts into the clusters of an earlier run.

    Every row comes back with cluster, name, confidence, runner_up, margin, outlier and
    outlier_score, and with the levels of the run. If the run was told --max-outliers, texts that
    are lonelier than its limit get cluster -1, "none of these".

    Examples:

        coterie predict tickets.clusters new.csv --out labelled.csv
        cat new.jsonl | coterie predict tickets.clusters - --format jsonl | head
    """
    from coterie._files import read_json
    from coterie.cli.handover import add_columns, mark_new, read_hierarchy
    from coterie.cli.run_folder import assignment_columns
    from coterie.corpus import read_corpus, write_rows
    from coterie.corpus.write import write_stream
    from coterie.description import Cluster, names_by_number
    from coterie.methods import load

    model_folder = folder / "model" if (folder / "model" / "config.json").exists() else folder
    if not (model_folder / "config.json").exists():
        raise DataError(f"{folder} holds no model (neither model/config.json nor config.json).")
    corpus = read_corpus(
        file, text_column=text_column, id_column=id_column, format=format, encoding=encoding
    )
    model = load(model_folder)
    seen = model.assess(corpus.texts)
    probabilities = seen.probabilities
    names: Any = [f"Cluster {i}" for i in range(probabilities.shape[1])]
    if (folder / "clusters.json").exists():
        saved = [Cluster.from_dict(c) for c in read_json(folder / "clusters.json")]
        names = names_by_number(saved, probabilities.shape[1])
    marked, sentence = mark_new(model, seen, outlier_limit)
    columns = assignment_columns(seen.labels, probabilities, names)
    columns = add_columns(columns, seen.scores, marked, read_hierarchy(folder))
    if out is None:
        write_stream(sys.stdout, corpus.table, columns, "csv")
        sys.stdout.flush()
    else:
        notes = write_rows(out, corpus.table, columns)
        say("\n".join([f"{len(corpus):,} rows written to {out}", *notes]))
    if sentence:
        say(sentence)
