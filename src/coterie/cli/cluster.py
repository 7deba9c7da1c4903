"""``coterie cluster``: a file of texts in, a folder with clusters, table, page and model out."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie._progress import say
from coterie._ranks import is_first
from coterie._validation import check_choice, whole_number
from coterie.cli.options import (
    AsJson,
    Device,
    Encoding,
    Format,
    Header,
    IdColumn,
    NoCache,
    Quiet,
    TextColumn,
    Vectors,
    beside,
    parse_settings,
    read_formats,
    read_number,
)
from coterie.cli.runs import NameModel, NameWith, ShowRequest, make_asker
from coterie.cli.talk import show_json, show_table
from coterie.errors import UsageError

if TYPE_CHECKING:
    from coterie.description import Cluster
    from coterie.runs import Run


Levels = Annotated[
    str | None,
    typer.Option(
        "--levels", help="Nested levels, coarse to fine, e.g. 5,20,80; the last is the clustering."
    ),
]
MaxOutliers = Annotated[
    str | None,
    typer.Option(
        "--max-outliers",
        help="Mark at most this share (5%) or number of rows as outliers. Default: none.",
    ),
]
Write = Annotated[
    str | None,
    typer.Option("--write", help="Also write these tables: xlsx, parquet, jsonl, tsv."),
]


def cluster(
    file: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, JSONL, Parquet, Arrow, Excel, SQLite or plain text; several files, a "
            "folder or a pattern of one table; - for standard input.",
        ),
    ],
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            "-k",
            help="Number of clusters, or auto: estimated (default).",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help="See 'coterie methods'. Default: auto."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            help="A model folder or name, multilingual, static:FOLDER, lexical, tfidf, tfidf-svd, "
            "bow, sif or lda; see "
            "'coterie encoders'. hub:NAME allows a download. http://HOST/v1#MODEL sends the texts "
            "to an embeddings endpoint.",
        ),
    ] = None,
    vectors: Vectors = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write. Default: FILE.clusters.")
    ] = None,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    views: Annotated[
        str | None,
        typer.Option(
            "--views",
            help="CSV with augmented texts (columns text, text1, text2), or a kind as in "
            "coterie augment: eda, contextual:FOLDER, ...",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", help="Preset of the method, e.g. official-code.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE for a parameter of the method; may be repeated."),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option("--effort", help="quick, standard or best: number of k-means runs in 'auto'."),
    ] = None,
    levels: Levels = None,
    max_outliers: MaxOutliers = None,
    write: Write = None,
    fit_sample: Annotated[
        int | None,
        typer.Option(
            "--fit-sample",
            help=(
                "Fit a sample of this many different texts, then assign all rows. Default: "
                "25000 if there are more than 100000 rows, otherwise all. 0 fits all."
            ),
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same clusters.")] = 0,
    device: Device = "auto",
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run in the same folder.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier run in the same folder.")
    ] = False,
    include_encoder: Annotated[
        bool, typer.Option("--include-encoder", help="Copy the encoder into the saved model.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", help="Earlier run: matched clusters keep number, name and lock."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="sentences: cluster sentences, and give each row its themes with shares "
            "(rows.csv).",
        ),
    ] = None,
    themes: Annotated[
        Path | None,
        typer.Option(
            "--themes",
            help="YAML or JSON list of themes you know: names, optionally with description, "
            "keywords and examples.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            help="Column with the classes of some rows; empty cells are unlabelled.",
        ),
    ] = None,
    only_known: Annotated[
        bool,
        typer.Option("--only-known", help="No clusters beside those of --themes and --labels."),
    ] = False,
    constraints: Annotated[
        Path | None,
        typer.Option(
            "--constraints",
            help="YAML or JSON file with must_link and cannot_link groups of rows, by id "
            "(--id-column) or number.",
        ),
    ] = None,
    mask: Annotated[
        bool,
        typer.Option(
            "--mask",
            help="Mask e-mail addresses, telephone, card and account numbers, and names after "
            "greetings, in all columns and before anything else: no file of the run has them.",
        ),
    ] = False,
    mask_names: Annotated[
        Path | None,
        typer.Option("--mask-names", help="File with names to mask, too, one in each line."),
    ] = None,
    name_with: NameWith = None,
    name_model: NameModel = None,
    show_request: ShowRequest = False,
    format: Format = "auto",
    encoding: Encoding = "utf-8",
    header: Header = None,
    quiet: Quiet = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Cluster the texts of a file.

    Writes a folder with assignments.csv (your columns, plus cluster, name, confidence,
    runner_up, margin, outlier and outlier_score), clusters.json, report.html, model/ and
    manifest.json. If the estimated number of clusters is above ten, they are also grouped into
    broad themes (columns theme and theme_name). "sample" instead of a file means the 997 support
    messages that come with coterie.

    Examples:

        coterie cluster sample
        coterie cluster tickets.csv --clusters 15
        coterie cluster tickets.csv --levels 5,20,80 --max-outliers 5% --write xlsx
        coterie cluster tickets.csv --themes themes.yaml
        coterie cluster tickets.csv --labels topic --only-known
        coterie cluster january.csv february.csv --out quarter
        coterie cluster "sqlite:///shop.db?query=SELECT id, body FROM tickets"
        coterie cluster titles.txt -k 20 --method sccl --set steps=500 --device cuda
        cat posts.jsonl | coterie cluster - -k 8 --text-column body --out posts
    """
    from coterie._folders import held
    from coterie.methods import METHODS
    from coterie.runs import cluster as run_clustering
    from coterie.runs.clustering import Stopped

    recipe = METHODS[check_choice("--method", method or "auto", METHODS)]
    if len(file) > 1 and out is None:
        raise UsageError("cli.out_needed_for_several")
    asker = make_asker(name_with, name_model, show_request, as_json)
    quiet = quiet or not is_first()
    try:
        run = run_clustering(
            file[0] if len(file) == 1 else [Path(name) for name in file],
            read_number(clusters),
            method or "auto",
            folder=out or beside(file[0], ".clusters"),
            resume=resume,
            overwrite=overwrite,
            encoder=encoder,
            vectors=vectors,
            preset=preset,
            effort=effort,
            settings=parse_settings(settings or [], recipe.cls),
            views=views,
            levels=read_levels(levels),
            max_outliers=max_outliers,
            write=read_formats(write, "--write"),
            fit_sample=fit_sample,
            keep=keep,
            split=split,
            themes=themes,
            labels=labels,
            only_known=only_known,
            constraints=constraints,
            mask=mask,
            mask_names=mask_names,
            include_encoder=include_encoder,
            seed=seed,
            device=device,
            text_column=text_column,
            id_column=id_column,
            format=format,
            encoding=encoding,
            header=header,
            verbose=0 if quiet else 1,
        )
    except Stopped:
        again = [argument for argument in sys.argv[1:] if argument != "--resume"]
        say(f"\nStopped. Continue with:\n  coterie {shlex.join([*again, '--resume'])}")
        raise
    if not is_first():
        return
    if not run.fresh:
        say(f"{run.folder} holds this run already, finished.")
    if asker is not None:
        with held(run.folder):
            asker.after(run.folder, quiet=quiet)
    if run.fresh:
        show_run(run, as_json=as_json)


def read_levels(said: str | None) -> tuple[int, ...]:
    """``"5,20,80"`` as numbers."""
    if said is None:
        return ()
    levels = tuple(whole_number(part.strip()) or 0 for part in said.split(","))
    if not all(levels):
        raise UsageError("cli.bad_levels", said=said)
    return levels


LINES = 40  # of the tree in the terminal; the page has all of it
LARGEST = 3  # clusters shown of each theme, where there are more than fit
TOPIC_WORDS = 4  # shown of each topic; clusters.json has more


def show_run(run: Run, *, as_json: bool) -> None:
    """Print the clusters, the summary and where things lie; or the clusters alone, as JSON."""
    from coterie.exports import shown_languages
    from coterie.report.html import shorten

    clusters, levels = run.clusters, run.levels
    if as_json:
        show_json([c.to_dict() for c in clusters])
        return
    themes = run.hierarchy is not None and run.hierarchy.themes
    shown = _by_theme(clusters, levels) if themes else clusters
    spoken = any(cluster.languages for cluster in shown)
    rows = []
    for cluster in shown:
        example = shorten(cluster.examples[0], 90) if cluster.examples else ""
        row = [str(cluster.id), str(cluster.size), f"{100 * cluster.share:.1f}%"]
        row += [shown_languages(cluster)] if spoken else []
        rows.append([*row, cluster.name, example])
    header = ["#", "texts", "share", *(["language"] if spoken else []), "name", "central example"]
    if shown is not clusters:
        header = ["theme", *header]
        rows = [[str(c.parent), *row] for c, row in zip(shown, rows, strict=True)]
    show_table("", header, rows, numbers=range(header.index("share") + 1))
    if len(shown) < len(clusters):
        typer.echo(
            f"The {LARGEST} largest clusters of each theme; the page has all {len(clusters)}."
        )
    if any(cluster.topics for cluster in clusters):
        typer.echo("\ntopics")
        for cluster in clusters:
            topics = " | ".join(" ".join(words[:TOPIC_WORDS]) for words in cluster.topics)
            typer.echo(f"{cluster.id:>3}  {cluster.name}: {topics}")
    if levels and not themes:
        typer.echo("\nlevels (texts)")
        for line in tree_lines(levels, clusters):
            typer.echo(line)
    typer.echo("")
    for sentence in [*run.summary, *run.remarks]:
        typer.echo(sentence)
    path = run.folder
    typer.echo(f"\npage   {path / 'report.html'}\ntable  {path / 'assignments.csv'}")
    typer.echo(f"model  {path / 'model'}   (new texts: coterie predict {path} FILE)")


def _by_theme(clusters: list[Cluster], levels: list[list[Cluster]]) -> list[Cluster]:
    """Print the broad themes; return the clusters in their order, the largest of each if many."""
    rows, out = [], []
    for theme in levels[0] if levels else []:
        inside = sorted((c for c in clusters if c.parent == theme.id), key=lambda c: -c.size)
        share = f"{100 * theme.share:.1f}%"
        rows.append([str(theme.id), str(theme.size), share, str(len(inside)), theme.name])
        out += inside if len(clusters) <= LINES else inside[:LARGEST]
    if not rows:
        return clusters
    header = ["theme", "texts", "share", "clusters", "name"]
    show_table("broad themes", header, rows, numbers=(0, 1, 2, 3))
    typer.echo("\nclusters, by theme")
    return out


def tree_lines(
    levels: Sequence[Sequence[Cluster]], clusters: Sequence[Cluster], most: int = LINES
) -> list[str]:
    """The hierarchy as lines for a terminal; levels that would not fit are only counted.

    ``levels`` are coarse to fine, without the clustering itself.
    """
    from coterie.report import cluster_tree
    from coterie.report.points import visible

    everything = [*levels, clusters]
    shown, lines = 1, len(everything[0])
    while shown < len(everything) and lines + len(everything[shown]) <= most:
        lines += len(everything[shown])
        shown += 1

    def draw(branches: Sequence[Any], depth: int, indent: str) -> list[str]:
        out = []
        for branch in branches:
            hidden = depth == shown and branch.children
            more = f", {len(branch.children)} inside" if hidden else ""
            name, texts = visible(branch.cluster.name), f"{branch.cluster.size:,}"
            out.append(f"{indent}{name}  ({texts}{more})")
            if not hidden:
                out += draw(branch.children, depth + 1, indent + "  ")
        return out

    return draw(cluster_tree(levels, clusters), 1, "")
