"""Names of a run's clusters by a language model; the run's undo takes them back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from coterie._util.progress import make_progress
from coterie.describe import Cluster
from coterie.describe.naming import Endpoint, NameOptions, ask_names, make_requests
from coterie.errors import counted
from coterie.runs.clustering import Clustering, renamed
from coterie.runs.store import opened, read, save


def requests_for(folder: Path, asked: NameOptions) -> list[dict[str, Any]]:
    """What would be sent for the names of a run's clusters and levels."""
    groups = [cluster for _, cluster in _to_name(read(folder))]
    return list(make_requests(groups, asked).values())


def name_run(
    folder: Path, endpoint: Endpoint, asked: NameOptions | None = None, *, verbose: int = 0
) -> str | None:
    """Ask a chat endpoint for names, and write them into all files of the run.

    Names that a user gave stay.

    Returns
    -------
    str or None
        What went wrong; clusters without an answer keep their names.
    """
    with opened(folder) as run:
        return _ask(run, endpoint, asked, verbose)


def _ask(
    run: Clustering, endpoint: Endpoint, asked: NameOptions | None, verbose: int
) -> str | None:
    places = _to_name(run)
    groups = [group for _, group in places]
    asked_for = {group.name for group in groups}
    others = [name for name in run.all_names.values() if name not in asked_for]
    naming = ask_names(groups, endpoint, asked, others=others, progress=make_progress(verbose))
    if not naming.answers:
        return naming.problem
    above = [] if run.hierarchy is None else run.hierarchy.levels
    levels: list[dict[int, Cluster]] = [{} for _ in above]
    clusters: dict[int, Cluster] = {}
    for at, answer in naming.answers.items():
        level, group = places[at]
        named = replace(group, name=answer.name, description=answer.description)
        (clusters if level < 0 else levels[level])[group.id] = named
    after = renamed(run, {i: c.name for i, c in clusters.items()}, levels, clusters)
    by = f"{naming.model} at {endpoint.url}"
    before = {str(cluster.id): cluster.name for cluster in run.clusters if cluster.id in clusters}
    done = f"{counted(len(naming.answers), 'name')} by {by}"
    facts = {**after.facts, "names": {"by": by, "before": before}}
    save(run, replace(after, facts=facts), done=[done])
    return naming.problem


def _to_name(run: Clustering) -> list[tuple[int, Cluster]]:
    """The clusters, with level -1, then the groups of coarser levels that hold several parts."""
    kept = set(run.facts.get("editing", {}).get("named", ()))
    out = [(-1, cluster) for cluster in run.clusters if cluster.id not in kept]
    if run.hierarchy is not None:
        for level in reversed(range(len(run.hierarchy.levels))):
            parts = run.hierarchy.parts(level)
            out += [
                (level, group)
                for group in run.hierarchy.levels[level]
                if len(parts[group.id]) > 1 and not (run.tree is not None and group.id in kept)
            ]
    return out
