"""Verbs beside runs: evaluate, augment, inspect, methods, encoders, datasets and cache."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from dataclasses import asdict
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie._progress import say
from coterie.cli.options import (
    AsJson,
    Device,
    Encoding,
    File,
    Format,
    Header,
    NoCache,
    Quiet,
    TextColumn,
    beside,
)
from coterie.cli.talk import say_header, show_json, show_table
from coterie.errors import DataError, UsageError, counted

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
    labels: Annotated[
        str | None, typer.Option("--labels", "-l", help="Column with the true labels. Required.")
    ] = None,
    labels_column: Annotated[str | None, typer.Option("--labels-column", hidden=True)] = None,
    cluster_column: Annotated[
        str | None,
        typer.Option(
            "--cluster-column",
            "-c",
            help="Column with the clusters. Default: cluster.",
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

    FILE is any table with both, such as the assignments.csv of a run. Rows without a true label, a
    cluster or a text are left out; other rows in cluster -1 count as one cluster.

    Examples:

        coterie evaluate tickets.clusters/assignments.csv --labels theme
    """
    from coterie.corpus import read_table
    from coterie.corpus.corpus import cell_values, check_column, value_to_text
    from coterie.metrics import external_scores
    from coterie.report import cluster_columns
    from coterie.run_files import NO_CLUSTER

    if labels_column is not None:
        say("note: --labels-column goes with the next release; use --labels.")
    if (labels := labels or labels_column) is None:
        raise UsageError("name the column with the true labels: --labels.")
    table, _ = read_table(file, format=format, encoding=encoding, header=True)
    check_column(table, labels, "--labels")
    column, called, said = cluster_columns(table.column_names, cluster_column)
    check_column(table, column, "--cluster-column")
    say(f"True labels from the column {labels!r}, {said}.")
    names = cell_values(table.column(called)) if called else [None] * len(table)
    wanted = (cell_values(table.column(name)) for name in (labels, column))
    left_out: Counter[str] = Counter()
    pairs = []
    for label, cluster, name in zip(*wanted, names, strict=True):
        true, found = value_to_text(label).strip(), value_to_text(cluster).strip()
        why = (
            "with a label to ignore"
            if true in (ignore or [])
            else "without a true label"
            if not true
            else "without a cluster"
            if not found
            else "without a text"
            if found == "-1" and name == NO_CLUSTER
            else ""
        )
        if why:
            left_out[why] += 1
        else:
            pairs.append((true, found))
    if left_out:
        parts = [f"{counted(count, 'row')} {why}" for why, count in left_out.items()]
        say(f"Left out: {', '.join(parts)}.")
    if not pairs:
        raise DataError(
            f"{file}: no row has both a true label and a cluster; see --labels and "
            "--cluster-column."
        )
    apart = sum(c == "-1" for _, c in pairs)
    if apart:
        say(f"{counted(apart, 'row')} in cluster -1: counted as one cluster.")
    scores = external_scores([t for t, _ in pairs], [c for _, c in pairs])
    if as_json:
        facts = {"rows": len(pairs), "cluster_column": column, "left_out": dict(left_out)}
        show_json(scores | facts)
        return
    rows = [[name, f"{100 * value:.2f}", MEANING[name]] for name, value in scores.items()]
    show_table(f"{len(pairs):,} rows, scores in %", ["score", "%", "meaning"], rows, numbers=(1,))


def augment(
    file: File,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help="eda, wordnet, contextual, charswap, deletion or backtranslation; with a rate: "
            "eda@0.1; one after the other: wordnet+charswap.",
        ),
    ] = "eda",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write, format by suffix. Default: FILE.views.csv, or stdout for -.",
        ),
    ] = None,
    wordings: Annotated[
        int,
        typer.Option(
            "--wordings", "-n", help="Number of augmentations per text: text1, text2, ..."
        ),
    ] = 2,
    rate: Annotated[
        float | None,
        typer.Option("--rate", help="Share of words to change. Default: 0.2; contextual 0.1."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="contextual: folder or name of a masked language model. backtranslation: an "
            "Apertium pair (eng-spa) or two models, THERE,BACK.",
        ),
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option("--languages", help="FROM,TO for a translation model of many languages."),
    ] = None,
    text_column: TextColumn = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same augmentations.")] = 0,
    device: Device = "auto",
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    header: Header = None,
    quiet: Quiet = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Make augmentations of each text, for methods that train on pairs.

    Writes the columns text, text1, text2, ... and then all other columns of the file. An
    augmentation depends on the text, the seed and the settings only. The output of language models
    is cached (see coterie cache).

    Examples:

        coterie augment tickets.csv --kind charswap
        coterie augment tickets.csv --kind eda --rate 0.1 --wordings 1 --out tickets.eda.csv
        coterie augment tickets.csv --kind contextual --model FOLDER
        coterie cluster tickets.csv -k 15 --method sccl --set views=tickets.views.csv
    """
    from coterie.corpus import read_corpus
    from coterie.runs.outputs import check_output, is_reworded
    from coterie.runs.sample import bundled

    if wordings < 1:
        raise UsageError(f"--wordings should be at least 1, got {wordings}.")
    path = None
    if file != "-" or out is not None:
        path = out or beside(file, ".views.csv")
        check_output(path, [bundled(file), model], wrote=is_reworded)
        if out is None and path.exists():
            raise UsageError(f"{path} already exists; name it with --out to replace it.")
    corpus = read_corpus(
        bundled(file), text_column=text_column, format=format, encoding=encoding, header=header
    )
    shown = 0 if quiet else 1
    say_header(() if quiet else corpus.notes)
    options = {"rate": rate, "model": model, "device": device, "languages": _pair(languages)}
    made = _wordings(corpus.texts, kind, wordings, (seed, shown), options)
    _write(corpus, made, path)
    _report(made, path, quiet=quiet, as_json=as_json)


def _pair(said: str | None) -> tuple[str, str] | None:
    if said is None:
        return None
    first, _, second = said.partition(",")
    if not first or not second:
        raise UsageError(f"--languages {said}: expected FROM,TO, e.g. eng_Latn,spa_Latn.")
    return first.strip(), second.strip()


def _wordings(
    texts: list[str], kind: str, count: int, said: tuple[int, int], options: dict[str, Any]
) -> list[Any]:
    """All wordings by one augmenter, so that a model is loaded once."""
    from coterie._progress import make_progress
    from coterie.augmentation import make_augmenter, reword

    seed, shown = said
    augmenter = make_augmenter(kind, **options)
    if not augmenter.seeded and count > 1:
        say(f"{kind} has no random choices: one augmentation is made.")
        count = 1
    progress = make_progress(shown)
    return [reword(augmenter, texts, seed, view, progress) for view in range(1, count + 1)]


def _write(corpus: Any, made: list[Any], path: Path | None) -> None:
    import pyarrow as pa

    from coterie.corpus import write_rows
    from coterie.corpus.write import write_stream

    views = {"text": corpus.texts, **{f"text{i}": list(view) for i, view in enumerate(made, 1)}}
    others = corpus.table.drop_columns([corpus.text_column])
    table = pa.table(views)
    if path is None:
        write_stream(sys.stdout, table, others, "csv")
        sys.stdout.flush()
    else:
        write_rows(path, table, others)


def _report(made: list[Any], path: Path | None, *, quiet: bool, as_json: bool) -> None:
    shares = {f"text{i}": view.unchanged for i, view in enumerate(made, 1)}
    if as_json and path is not None:
        facts = {"out": str(path), "rows": len(made[0]), "unchanged": shares}
        show_json(facts | {"settings": made[0].settings}, indent=None)
    elif not quiet:
        told = ", ".join(f"{name} {100 * share:.1f}%" for name, share in shares.items())
        where = "" if path is None else f" written to {path}"
        say(f"{len(made[0]):,} rows{where}; unchanged: {told}")


def methods(
    name: Annotated[str | None, typer.Argument(help="Show one method in full.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, or show one with its parameters and presets.

    Use one with `coterie cluster FILE --method NAME`; `--set NAME=VALUE` sets a parameter.
    `coterie encoders` lists the encoders.

    Examples:

        coterie methods
        coterie methods sccl
    """
    from coterie._validation import check_choice
    from coterie.methods import METHODS

    if name is None:
        rows = [[key, recipe.class_name, recipe.summary] for key, recipe in METHODS.items()]
        if as_json:
            show_json([dict(zip(("name", "class", "summary"), row, strict=True)) for row in rows])
        else:
            show_table("", ["method", "class", "what it does"], rows)
        return
    recipe = METHODS[check_choice("method", name, METHODS)]
    parameters = {
        f.name: recipe.parameters.get(f.name, f.default) for f in dataclasses.fields(recipe.cls)
    }
    if as_json:
        facts = {"name": name, "class": recipe.cls.__name__, "parameters": parameters}
        show_json(facts | {"presets": recipe.cls.presets})
        return
    _show(name, recipe, parameters)


def _show(name: str, recipe: Any, parameters: dict[str, Any]) -> None:
    typer.echo(f"{name}: {recipe.summary}\n")
    typer.echo(getdoc(recipe.cls).split("\n\nExamples\n")[0] + "\n")  # type: ignore[union-attr]
    rows = [[key, repr(value)] for key, value in parameters.items()]
    show_table("All parameters (--set KEY=VALUE)", ["key", "default"], rows)
    for preset, values in recipe.cls.presets.items():
        typer.echo(f"\npreset {preset}: {values or 'the defaults'}")
    if recipe.references:
        typer.echo("\n" + "\n".join(recipe.references))


SPEED_TEXTS = 256  # of the bundled messages


def encoders(
    speed: Annotated[
        bool, typer.Option("--speed/--no-speed", help="Measure the speed on this machine.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """List the encoders: what each needs, whether it is installed, its width and its speed.

    Speed is measured on 256 bundled messages, without the cache and without loading. Use one with
    `coterie cluster FILE --encoder NAME`.

    Examples:

        coterie encoders
        coterie encoders --no-speed --json
    """
    from coterie.corpus import read_corpus
    from coterie.encoders.catalogue import ENCODERS, measure
    from coterie.errors import CoterieError
    from coterie.runs.sample import bundled

    texts = read_corpus(bundled("sample")).texts[:SPEED_TEXTS]
    found: list[dict[str, Any]] = []
    for one in ENCODERS:
        entry: dict[str, Any] = {"name": one.name, "what": one.what, "needs": one.needs}
        entry |= {"installed": one.installed, "dim": None, "texts_per_second": None}
        if speed and entry["installed"]:
            try:
                measured = measure(one.name, texts)
            except CoterieError:  # a package of an extra is missing
                entry["installed"] = False
            else:
                entry |= {"dim": measured.dim, "texts_per_second": measured.texts_per_second}
        found.append(entry)
    if as_json:
        show_json(found)
        return
    said = {True: "yes", False: "no", None: "-"}
    rows = []
    for entry in found:
        rate = entry["texts_per_second"]
        shown = ["-" if entry["dim"] is None else f"{entry['dim']:,}"]
        shown += ["-" if rate is None else f"{float(f'{rate:.2g}'):,.0f}"]
        rows.append(
            [entry["name"], said[entry["installed"]], *shown, entry["what"], entry["needs"]]
        )
    header = ["--encoder", "installed", "width", "texts/s", "what it is", "needs"]
    show_table("", header, rows, numbers=(2, 3))


def cache(
    action: Annotated[str, typer.Argument(help="path, size or clear.")] = "size",
    as_json: AsJson = False,
) -> None:
    """Show or clear the cache of embeddings.

    It also has the augmentations that language models made for coterie augment. COTERIE_CACHE is
    the folder, or "off"; COTERIE_CACHE_LIMIT is the maximum size of the embeddings in bytes (2e9),
    and augmentations may take another tenth of it.

    Examples:

        coterie cache
        coterie cache clear
    """
    from coterie._cache import SHARES, clear, usage
    from coterie._validation import check_choice

    check_choice("action", action, ["path", "size", "clear"])
    vectors, wordings = map(clear if action == "clear" else usage, SHARES)
    if vectors is None or wordings is None:
        typer.echo('{"path": null}' if as_json else "off: no vectors are kept")
    elif as_json:
        show_json({**asdict(vectors), "wordings": asdict(wordings)}, indent=None)
    elif action == "path":
        typer.echo(str(vectors.path))
    else:
        for kept in (vectors, wordings):
            if kept is vectors or kept.files:
                what = f"{kept.bytes / 1e6:,.1f} MB in {counted(kept.files, 'file')}"
                most = f"of at most {kept.limit / 1e6:,.0f} MB"
                typer.echo(f"{kept.path}: {what}, {'deleted' if action == 'clear' else most}")


def moved(context: typer.Context) -> None:
    """Say where a verb of earlier versions is now."""
    raise UsageError(
        f"coterie {context.info_name} is a command of the benchmarks now: pip install "
        "./benchmarks in a checkout of coterie, then coterie-bench --help"
    )
