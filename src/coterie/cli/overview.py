"""A finished run in the terminal."""

from __future__ import annotations

import json
from typing import Any

import typer

from coterie.cli.handover import tree_lines
from coterie.cli.talk import show_table

TOPIC_WORDS = 4  # shown of each topic; clusters.json has more


def show_run(clusters: list[Any], folder: Any, *, as_json: bool) -> None:
    """Print the clusters, the summary and where things lie; or the clusters alone, as JSON."""
    from coterie.report.html import shorten

    if as_json:
        typer.echo(json.dumps([c.to_dict() for c in clusters], ensure_ascii=False, indent=2))
        return
    rows = []
    for cluster in clusters:
        example = shorten(cluster.examples[0], 90) if cluster.examples else ""
        share = f"{100 * cluster.share:.1f} %"
        rows.append([str(cluster.id), str(cluster.size), share, cluster.name, example])
    show_table("", ["#", "texts", "share", "name", "central example"], rows, numbers=(0, 1, 2))
    if any(cluster.topics for cluster in clusters):
        typer.echo("\ntopics")
        for cluster in clusters:
            topics = " | ".join(" ".join(words[:TOPIC_WORDS]) for words in cluster.topics)
            typer.echo(f"{cluster.id:>3}  {cluster.name}: {topics}")
    if folder.hierarchy is not None and folder.hierarchy.levels:
        typer.echo("\nlevels (texts)")
        for line in tree_lines(folder.hierarchy.levels, clusters):
            typer.echo(line)
    typer.echo("")
    for sentence in [*folder.summary, *folder.remarks]:
        typer.echo(sentence)
    path = folder.path
    typer.echo(f"\npage   {path / 'report.html'}\ntable  {path / 'assignments.csv'}")
    typer.echo(f"model  {path / 'model'}   (new texts: coterie predict {path} FILE)")
