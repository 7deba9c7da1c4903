"""A finished run in the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from coterie.cli.talk import show_table

if TYPE_CHECKING:
    from coterie.description import Cluster
    from coterie.runs import Run

LINES = 40  # of the tree in the terminal; the page has all of it
LARGEST = 3  # clusters shown of each theme, where there are more than fit
TOPIC_WORDS = 4  # shown of each topic; clusters.json has more


def show_run(run: Run, *, as_json: bool) -> None:
    """Print the clusters, the summary and where things lie; or the clusters alone, as JSON."""
    from coterie.report.html import shorten

    clusters, levels = run.clusters, run.levels
    if as_json:
        typer.echo(json.dumps([c.to_dict() for c in clusters], ensure_ascii=False, indent=2))
        return
    themes = run.hierarchy is not None and run.hierarchy.themes
    shown = _by_theme(clusters, levels) if themes else clusters
    rows = []
    for cluster in shown:
        example = shorten(cluster.examples[0], 90) if cluster.examples else ""
        share = f"{100 * cluster.share:.1f}%"
        rows.append([str(cluster.id), str(cluster.size), share, cluster.name, example])
    header = ["#", "texts", "share", "name", "central example"]
    if shown is not clusters:
        header = ["theme", *header]
        rows = [[str(c.parent), *row] for c, row in zip(shown, rows, strict=True)]
    show_table("", header, rows, numbers=range(len(header) - 2))
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

    Parameters
    ----------
    levels : sequence of sequences of Cluster
        Coarse to fine, without the clustering itself.
    clusters : sequence of Cluster
    most : int
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
