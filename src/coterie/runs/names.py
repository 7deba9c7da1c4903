"""Names of a run's clusters by a language model; the run's undo takes them back."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from coterie._util.progress import make_progress
from coterie.describe import Cluster
from coterie.describe.naming import Endpoint, NameOptions, ask_names, make_requests
from coterie.describe.tree import levels_above
from coterie.errors import counted
from coterie.runs.clustering import Clustering, renamed
from coterie.runs.store import opened, read, save


def requests_for(folder: Path, asked: NameOptions) -> list[dict[str, Any]]:
    """What would be sent for the names of a run's clusters and levels."""
    return list(make_requests(_to_name(read(folder)), asked).values())


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
    groups = _to_name(run)
    asked_for = {group.name for group in groups}
    others = [name for name in run.all_names.values() if name not in asked_for]
    naming = ask_names(groups, endpoint, asked, others=others, progress=make_progress(verbose))
    if not naming.answers:
        return naming.problem
    said = {
        group.id: replace(group, name=answer.name, description=answer.description)
        for group, answer in ((groups[at], answer) for at, answer in naming.answers.items())
    }
    after = renamed(run, {i: c.name for i, c in said.items()}, said)
    by = f"{naming.model} at {endpoint.url}"
    before = {str(cluster.id): cluster.name for cluster in run.clusters if cluster.id in said}
    done = f"{counted(len(naming.answers), 'name')} by {by}"
    facts = {**after.facts, "names": {"by": by, "before": before}}
    save(run, replace(after, facts=facts), done=[done])
    return naming.problem


def _to_name(run: Clustering) -> list[Cluster]:
    """The clusters that are shown, then those of coarser levels; not those that a person named."""
    kept = {*run.facts.get("editing", {}).get("named", ())}
    groups = [*run.clusters, *chain.from_iterable(reversed(levels_above(run.tree, run.nodes)))]
    return [group for number, group in {g.id: g for g in groups}.items() if number not in kept]
