"""``coterie cluster``: a file of texts in, a folder with clusters, table, page and model out."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from coterie._util.progress import say
from coterie.cli import options
from coterie.cli.options import beside, option, parse_settings
from coterie.cli.talk import show_json, show_lines, show_table
from coterie.errors import UsageError
from coterie.options import ClusterOptions

if TYPE_CHECKING:
    from coterie.describe import Cluster
    from coterie.describe.summary import Overview
    from coterie.runs import Run


def asked(name: str, panel: str, flags: str = "", **more: Any) -> Any:
    """An option of the library, with the help that it has there; None where it is not given."""
    known = ClusterOptions.model_fields[name]
    default = f" Default: {known.default}." if type(known.default) in (int, str) else ""
    off = False if known.default is False else None
    flags = flags or f"--{name.replace('_', '-')}"
    return option(off, f"{known.description}{default}", flags, rich_help_panel=panel, **more)


def cluster(
    file: list[str] = typer.Argument(
        ...,
        metavar="FILE",
        help="CSV, TSV, JSONL, Parquet, Arrow, Excel or plain text; several files, a "
        "folder or a pattern of one table; - for standard input.",
    ),
    text_column: str | None = asked("text_column", "Input", "--text-column -t", metavar="COLUMN"),
    id_column: str | None = asked("id_column", "Input", metavar="COLUMN"),
    vectors: str | None = asked("vectors", "Input", metavar="FILE"),
    n_clusters: str | None = asked(
        "n_clusters", "Clusters", "--clusters --n-clusters -k", metavar="N"
    ),
    levels: str | None = asked("levels", "Clusters", metavar="N,N,..."),
    max_outliers: str | None = asked("max_outliers", "Clusters", metavar="SHARE"),
    themes: str | None = asked("themes", "Guidance", metavar="FILE"),
    labels: str | None = asked("labels", "Guidance", metavar="COLUMN"),
    only_known: bool = asked("only_known", "Guidance"),
    keep: str | None = asked("keep", "Guidance", metavar="RUN"),
    folder: str | None = asked("folder", "Output", "--out -o", metavar="FOLDER"),
    resume: bool = asked("resume", "Output"),
    overwrite: bool = asked("overwrite", "Output"),
    as_json: bool = options.AS_JSON,
    quiet: bool = options.QUIET,
    method: str | None = asked("method", "Method", "--method -m", metavar="NAME"),
    encoder: str | None = asked("encoder", "Method", metavar="NAME"),
    more: list[str] | None = options.MORE,
    seed: int | None = asked("seed", "Advanced", metavar="N"),
    device: str | None = asked("device", "Advanced", metavar="NAME"),
    precision: str | None = asked("precision", "Advanced", metavar="NAME"),
    engine: str | None = asked("engine", "Advanced", metavar="NAME"),
    workers: int | None = asked("workers", "Advanced", metavar="N"),
) -> None:
    """Cluster the texts of a file.

    Writes a folder with assignments.csv (your columns, plus cluster, name, confidence, ...),
    clusters.json, report.html, model/ and manifest.json. If you give no number of clusters, coterie
    suggests one, and makes three levels, broad, medium and fine: move the slider of the page, or
    use coterie cut, to see another number. "sample" instead of a file means the 997 support
    messages that come with coterie.

    Examples:

        coterie cluster sample
        coterie cluster tickets.csv --levels 5,20,80 --max-outliers 5%
        coterie cluster tickets.csv --labels topic --only-known
        coterie cluster titles.txt -k 20 --method sccl --set steps=500 --device cuda
        cat posts.jsonl | coterie cluster - -k 8 --text-column body --out posts
    """
    typed = locals().items()
    given = {name: value for name, value in typed if name in ClusterOptions.model_fields}
    given = {name: value for name, value in given.items() if value is not None}
    given |= parse_settings(more or [], method or "auto")
    if folder is None:
        if len(file) > 1:
            raise UsageError("several files: say where to write with --out FOLDER.")
        given["folder"] = beside(file[0], ".clusters")
    show_run(_run(file, {"verbose": 0 if quiet else 1, **given}), as_json=as_json)


def _run(files: list[str], given: dict[str, Any]) -> Run:
    """The run, or how to go on with a training that was stopped."""
    from coterie.runs.fit import Stopped
    from coterie.runs.fit import cluster as run_clustering

    try:
        return run_clustering(files[0] if len(files) == 1 else [Path(f) for f in files], **given)
    except Stopped:
        again = [argument for argument in sys.argv[1:] if argument != "--resume"]
        say(f"\nStopped. Continue with:\n  coterie {shlex.join([*again, '--resume'])}", wrong=True)
        raise


LINES = 40  # clusters in the terminal; the page has all
LARGEST = 3  # clusters shown of each theme, where there are more than fit
TOPIC_WORDS = 4  # shown of each topic; clusters.json has more


def show_run(run: Run, *, as_json: bool) -> None:
    """Print the run at a glance, the clusters and where things lie; or the clusters, as JSON."""
    from coterie.describe.summary import about_making, about_size
    from coterie.page.html import shorten
    from coterie.runs.exports import shown_languages
    from coterie.runs.store import table_of

    clusters, levels = run.clusters, run.levels
    if as_json:
        show_json([c.to_dict() for c in clusters])
        return
    _show_overview(run.overview)
    shown = _by_theme(clusters, levels[-1]) if levels else [(c, "") for c in clusters]
    spoken = any(cluster.languages for cluster, _ in shown)
    rows = []
    for cluster, indent in shown:
        example = shorten(cluster.examples[0], 90) if cluster.examples else ""
        row = [str(cluster.id), str(cluster.size), f"{100 * cluster.share:.1f}%"]
        row += [shown_languages(cluster)] if spoken else []
        rows.append([*row, indent + cluster.name, example])
    header = ["#", "texts", "share", *(["language"] if spoken else []), "name", "central example"]
    show_table("", header, rows, numbers=range(header.index("share") + 1))
    if levels and len(clusters) > LINES:
        typer.echo(
            f"The {LARGEST} largest clusters of each theme; the page has all {len(clusters)}."
        )
    if any(cluster.topics for cluster in clusters):
        typer.echo("\ntopics")
        for cluster in clusters:
            topics = " | ".join(" ".join(words[:TOPIC_WORDS]) for words in cluster.topics)
            show_lines([f"{cluster.id:>3}  {cluster.name}: {topics}"])
    made = about_making(run.manifest, clusters)
    show_lines(["", *about_size(run.manifest, clusters), *made, *run.remarks])
    path = run.folder
    typer.echo(f"\npage   {path / 'report.html'}\ntable  {table_of(path)}")
    typer.echo(f"model  {path / 'model'}   (new texts: coterie predict {path} FILE)")


def _show_overview(found: Overview) -> None:
    """Print the run at a glance."""
    from coterie.describe.summary import plain
    from coterie.page.html import shorten

    rows = [[t.percent, t.name, shorten(t.example, 90)] for t in found.themes]
    show_lines(["", f"What are these texts about? {found.about}:"])
    show_table("", ["share", "name", "example"], rows, numbers=[0])
    show_lines(["", "What is new or growing?", found.basis])
    show_lines(f"- {plain(said)}" for said in found.changes)
    show_lines(["", "What needs attention?"])
    show_lines([f"- {plain(said)}" for said in found.attention] or ["Nothing stands out."])
    typer.echo()


def _by_theme(clusters: list[Cluster], themes: list[Cluster]) -> list[tuple[Cluster, str]]:
    """Each theme, then the clusters in it, indented: the largest, if there are many."""
    out: list[tuple[Cluster, str]] = []
    for theme in sorted(themes, key=lambda c: (-c.size, c.id)):
        inside = sorted((c for c in clusters if c.parent == theme.id), key=lambda c: -c.size)
        if len(inside) > 1:
            out.append((replace(theme, examples=[]), ""))
        shown = inside if len(clusters) <= LINES else inside[:LARGEST]
        out += [(cluster, "  " if len(inside) > 1 else "") for cluster in shown]
    return out
