"""A finished run in the terminal."""

from __future__ import annotations

import json
from typing import Any

import typer

from coterie.cli.handover import LINES, tree_lines
from coterie.cli.talk import show_table

LARGEST = 3  # clusters shown of each theme, where there are more than fit
TOPIC_WORDS = 4  # shown of each topic; clusters.json has more


def show_run(clusters: list[Any], folder: Any, *, as_json: bool) -> None:
    """Print the clusters, the summary and where things lie; or the clusters alone, as JSON."""
    from coterie.report.html import shorten

    if as_json:
        typer.echo(json.dumps([c.to_dict() for c in clusters], ensure_ascii=False, indent=2))
        return
    themes = folder.hierarchy is not None and folder.hierarchy.themes
    shown = _by_theme(clusters, folder.hierarchy.levels) if themes else clusters
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
    if folder.hierarchy is not None and folder.hierarchy.levels and not themes:
        typer.echo("\nlevels (texts)")
        for line in tree_lines(folder.hierarchy.levels, clusters):
            typer.echo(line)
    typer.echo("")
    for sentence in [*folder.summary, *folder.remarks]:
        typer.echo(sentence)
    path = folder.path
    typer.echo(f"\npage   {path / 'report.html'}\ntable  {path / 'assignments.csv'}")
    typer.echo(f"model  {path / 'model'}   (new texts: coterie predict {path} FILE)")


def _by_theme(clusters: list[Any], levels: list[list[Any]]) -> list[Any]:
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
