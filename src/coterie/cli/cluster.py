"""``coterie cluster``: a file of texts in, a folder with clusters, table, page and model out."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from coterie._util.progress import say
from coterie.cli.options import beside, option, parse_settings, read_text
from coterie.cli.talk import show_json, show_lines, show_table
from coterie.errors import UsageError
from coterie.options import PANELS, Options

if TYPE_CHECKING:
    from coterie.describe import Cluster
    from coterie.describe.summary import Overview
    from coterie.page.html import Branch
    from coterie.runs import Run

BY_NAME = inspect.Parameter.KEYWORD_ONLY


def with_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options of :class:`Options` on the command line, in the order of panels."""
    own = inspect.signature(verb, eval_str=True)
    found = [_parameter(one) for one in fields(Options) if one.metadata.get("panel")]
    found += [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    panels = [None, *PANELS]
    found.sort(key=lambda p: panels.index(p.default.rich_help_panel))
    verb.__signature__ = own.replace(parameters=found)  # type: ignore[attr-defined]
    verb.__annotations__ = {p.name: p.annotation for p in found}
    return verb


def _parameter(one: Field[Any]) -> inspect.Parameter:
    """An option as a parameter for Typer; None where it is not given."""
    about, name = one.metadata, one.name.replace("_", "-")
    flags = [word for word in about["flags"] if word.startswith("-")] or [f"--{name}"]
    is_switch = str(one.type).startswith("bool")
    if one.default is None and is_switch:
        flags = [f"--{name}/--no-{name}"]
    default = f" Default: {one.default}." if type(one.default) in (int, str) else ""
    info = option(
        None,
        about["help"].partition("; in Python")[0].rstrip(".") + "." + default,
        " ".join(flags),
        metavar=None if is_switch else next((w for w in about["flags"] if w[0] != "-"), None),
        rich_help_panel=about["panel"],
    )
    kind = bool if is_switch else str
    return inspect.Parameter(one.name, BY_NAME, default=info, annotation=kind | None)


@with_options
def cluster(
    *,
    file: list[str] = typer.Argument(
        ...,
        metavar="FILE",
        help="CSV, TSV, JSONL, Parquet, Arrow, Excel or plain text; several files, a "
        "folder or a pattern of one table; - for standard input.",
    ),
    as_json: bool = option(
        False, "Print the clusters as JSON.", "--json", rich_help_panel="Output"
    ),
    quiet: bool = option(
        False, "Print no progress and no notes.", "--quiet -q", rich_help_panel="Output"
    ),
    settings: list[str] | None = option(
        None,
        "A parameter of the method, see 'coterie methods NAME'; or effort, preset, views, "
        "write, fit_sample, include_encoder, format, encoding, header. "
        "Repeatable.",
        "--set",
        metavar="KEY=VALUE",
        rich_help_panel="Method",
    ),
    **given: Any,
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
    from coterie.runs.fit import Stopped
    from coterie.runs.fit import cluster as run_clustering

    given = {name: value for name, value in given.items() if value is not None}
    given = {name: read_text(name, value) for name, value in given.items()}
    for name, value in parse_settings(settings or [], given.get("method", "auto")).items():
        if given.setdefault(name, value) != value:
            raise UsageError(f"`{name}` is given twice, and differently; give it once.")
    if "folder" not in given:
        if len(file) > 1:
            raise UsageError("several files: say where to write with --out FOLDER.")
        given["folder"] = beside(file[0], ".clusters")
    given.setdefault("verbose", 0 if quiet else 1)
    try:
        run = run_clustering(file[0] if len(file) == 1 else [Path(f) for f in file], **given)
    except Stopped:
        again = [argument for argument in sys.argv[1:] if argument != "--resume"]
        say(f"\nStopped. Continue with:\n  coterie {shlex.join([*again, '--resume'])}")
        raise
    show_run(run, as_json=as_json)


LINES = 40  # of the tree in the terminal; the page has all of it
LARGEST = 3  # clusters shown of each theme, where there are more than fit
TOPIC_WORDS = 4  # shown of each topic; clusters.json has more


def show_run(run: Run, *, as_json: bool) -> None:
    """Print the run at a glance, the clusters and where things lie; or the clusters, as JSON."""
    from coterie.describe.summary import about_making, about_size
    from coterie.page.html import shorten
    from coterie.runs.exports import shown_languages
    from coterie.runs.run_files import table_of

    clusters, levels = run.clusters, run.levels
    if as_json:
        show_json([c.to_dict() for c in clusters])
        return
    _show_overview(run.overview)
    themes = run.hierarchy is not None and run.hierarchy.called == ("broad",)
    shown = _by_theme(clusters, levels[0]) if themes and levels else [(c, "") for c in clusters]
    spoken = any(cluster.languages for cluster, _ in shown)
    rows = []
    for cluster, indent in shown:
        example = shorten(cluster.examples[0], 90) if cluster.examples else ""
        row = [str(cluster.id), str(cluster.size), f"{100 * cluster.share:.1f}%"]
        row += [shown_languages(cluster)] if spoken else []
        rows.append([*row, indent + cluster.name, example])
    header = ["#", "texts", "share", *(["language"] if spoken else []), "name", "central example"]
    show_table("", header, rows, numbers=range(header.index("share") + 1))
    if themes and len(clusters) > LINES:
        typer.echo(
            f"The {LARGEST} largest clusters of each theme; the page has all {len(clusters)}."
        )
    if any(cluster.topics for cluster in clusters):
        typer.echo("\ntopics")
        for cluster in clusters:
            topics = " | ".join(" ".join(words[:TOPIC_WORDS]) for words in cluster.topics)
            show_lines([f"{cluster.id:>3}  {cluster.name}: {topics}"])
    if levels and not themes:
        typer.echo("\nlevels (texts)\n" + "\n".join(tree_lines(levels, clusters)))
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


def tree_lines(
    levels: Sequence[Sequence[Cluster]], clusters: Sequence[Cluster], most: int = LINES
) -> list[str]:
    """The hierarchy as lines for a terminal; levels that would not fit are only counted.

    ``levels`` are coarse to fine, without the clustering itself.
    """
    from coterie.page import cluster_tree
    from coterie.page.points import visible

    everything = [*levels, clusters]
    shown, lines = 1, len(everything[0])
    while shown < len(everything) and lines + len(everything[shown]) <= most:
        lines += len(everything[shown])
        shown += 1

    def draw(branches: Sequence[Branch], depth: int, indent: str) -> list[str]:
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
