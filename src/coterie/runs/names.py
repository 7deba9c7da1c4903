"""Names of clusters and levels by a language model: asked for, put in, and taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from coterie._progress import make_progress, say
from coterie.clustering import Clustering, read, renamed, save
from coterie.corpus.corpus import cell_values
from coterie.description import Cluster, rename_clusters
from coterie.errors import counted
from coterie.masking import SHOWN
from coterie.naming import (
    Budget,
    Endpoint,
    Naming,
    Request,
    make_requests,
    make_unique,
    name_clusters,
)

LOOKED_AT = 100_000  # texts; masking takes about 0.1 ms each

Names = dict[int, str]


@dataclass(frozen=True)
class NameOptions:
    """How to ask for names: model, texts of each cluster to send, own prompt, language."""

    model: str | None = None
    examples: int = 6
    prompt: str | None = None
    language: str | None = None


def requests_for(folder: Path, asked: NameOptions) -> list[Request]:
    """What would be sent for the names of a run's clusters and levels.

    The names of the parts of a level are those that the clusters have now.
    """
    own = OwnNames(read(folder))
    out = make_requests(own.to_name, texts=own.texts, **vars(asked))
    inside = own.clusters
    for level in reversed(range(len(own.levels))):
        groups, parts, _ = own.level(level, inside)
        out += make_requests(groups, texts=own.texts, parts=parts, **vars(asked))
        inside = own.levels[level]
    return out


def name_run(
    folder: Path,
    endpoint: Endpoint,
    asked: NameOptions | None = None,
    *,
    budget: Budget | None = None,
    verbose: int = 0,
) -> str | None:
    """Ask a chat endpoint for names on every level, and write them into all files of the run.

    The clusters are named first; then each coarser level, with the names of what is inside. The
    caller has the folder's lock.

    Returns
    -------
    str or None
        What went wrong; clusters without an answer keep their names.
    """
    run, asked, budget = read(folder), asked or NameOptions(), budget or Budget()
    own = OwnNames(run)
    if verbose:
        requests = make_requests(own.to_name, texts=own.texts, **vars(asked))
        masked = _masked(requests)
        say(f"asking {endpoint.url} for names of {counted(len(requests), 'cluster')}{masked}")
    shared: dict[str, Any] = {"folder": folder, "texts": own.texts, "budget": budget, **vars(asked)}
    naming = name_clusters(own.to_name, endpoint, progress=make_progress(verbose), **shared)
    names = own.with_given(naming)
    called = {**own.others, **names} if run.tree is not None else {}  # whatever cut shows them
    levels: list[dict[int, Cluster]] = [{} for _ in own.levels]
    problem, stopped, inside, named = naming.problem, naming.stopped, names, naming.named
    for level in reversed(range(len(levels))):
        if stopped:
            break
        groups, parts, alone = own.level(level, inside)
        found = name_clusters(groups, endpoint, parts=parts, **{**shared, "model": naming.model})
        problem, stopped = problem or found.problem, found.stopped
        named += found.named
        for group in groups:
            called.pop(group.id, None)
        taken = [*alone.values(), *called.values()]
        for group in found.clusters:
            words = [word for word, _ in group.words]
            name = make_unique(group.name, [*taken, *parts[group.id]], words)
            taken.append(name)
            levels[level][group.id] = replace(group, name=name)
            if run.tree is not None:
                called[group.id] = name
        inside = {**own.levels[level], **alone, **{i: g.name for i, g in levels[level].items()}}
    if named:
        by = f"{naming.named} of {naming.total} by {naming.model} at {endpoint.url}"
        save(run, take_names(own, names, by, levels, {c.id: c for c in naming.clusters}))
    if verbose:
        cost = f", cost {budget.cost:.4f}" if sum(budget.price) else ""
        say(f"{budget.tokens:,} tokens{cost}")
    return problem


def restore_names(folder: Path) -> None:
    """Write the own names of a run back; the caller has the folder's lock."""
    run = read(folder)
    own = OwnNames(run)
    groups, names = [] if run.hierarchy is None else run.hierarchy.levels, own.levels
    if run.tree is not None:  # of all cuts
        names = [{i: name for i, name in own.others.items() if i not in own.fixed}]
        groups = [[run.tree.nodes[i] for i in names[0]]]
    levels = [
        {g.id: replace(g, name=called[g.id], description=None, quotes=[]) for g in level}
        for level, called in zip(groups, names, strict=True)
    ]
    save(run, take_names(own, own.clusters, None, levels, {}))


def _masked(requests: list[Request]) -> str:
    total: Counter[str] = sum((Counter(r.masked) for r in requests), Counter())
    if not total:
        return ""
    kinds = ", ".join(f"{SHOWN[kind]} {count}x" for kind, count in sorted(total.items()))
    return f"; masked before sending: {kinds}"


class OwnNames:
    """The names that clusters and levels of a run had before a language model was asked.

    A name that is neither of coterie nor of the model is the user's and is never touched, nor is
    that of a locked cluster.

    Attributes
    ----------
    run : Clustering
    clusters : dict of int to str
    others : dict of int to str
        Clusters of the merge tree that are not shown; none where there is no tree.
    levels : list of dict of int to str
    fixed : set of int
        Clusters that keep the names they have, shown or not.
    """

    def __init__(self, run: Clustering) -> None:
        self.run, own = run, {**(run.tree.names if run.tree is not None else {}), **run.names}
        edited, given = run.facts.get("editing", {}), run.facts.get("names", {})
        self.fixed = {*edited.get("locked", []), *edited.get("named", [])} & own.keys()
        for number, name in own.items():
            before = given.get("clusters", {}).get(str(number))
            if before is not None and number not in self.fixed:
                if name in (before["own"], before["given"]):
                    own[number] = before["own"]
                else:
                    self.fixed.add(number)
        self.clusters = {i: own[i] for i in run.names}
        self.others = {i: name for i, name in own.items() if i not in run.names}
        groups, pairs = [] if run.hierarchy is None else run.hierarchy.levels, given.get("levels")
        self.levels = [
            self._own_groups(number, level, pairs[number] if number < len(pairs or ()) else {})
            for number, level in enumerate(groups)
        ]

    def _own_groups(
        self, number: int, level: Sequence[Cluster], pairs: Mapping[str, Mapping[str, str]]
    ) -> Names:
        assert self.run.hierarchy is not None
        above = self.run.hierarchy.above[number]
        count, only = Counter(above.values()), {place: c for c, place in above.items()}
        own = {group.id: group.name for group in level}
        if self.run.tree is not None:
            return {i: {**self.clusters, **self.others}[i] for i in own}
        for group in level:
            alone, pair = only.get(group.id), pairs.get(str(group.id))
            if count[group.id] == 1 and alone is not None:  # called as its one cluster is
                if group.name == self.run.names.get(alone):
                    own[group.id] = self.clusters[alone]
            if pair is not None and group.name == pair["given"]:
                own[group.id] = pair["own"]
        return own

    @property
    def to_name(self) -> list[Cluster]:
        """The clusters as they were before any naming, so that the same questions are asked."""
        clusters = rename_clusters(self.run.clusters, self.clusters)
        return [c for c in clusters if c.id not in self.fixed]

    @cached_property
    def texts(self) -> list[str]:
        """The first texts of the run, in which personal data are looked for."""
        return cell_values(self.run.table[self.run.text_column].slice(0, LOOKED_AT))

    def level(
        self, number: int, inside: Names
    ) -> tuple[list[Cluster], dict[int, list[str]], Names]:
        """The groups of a coarser level to name, the names of their parts, and those of one part.

        ``inside`` are the names of the next finer level, or of the clusters.
        """
        hierarchy = self.run.hierarchy
        assert hierarchy is not None
        parts = {
            group: [inside.get(part, "") for part in parts]
            for group, parts in hierarchy.parts(number).items()
        }
        groups = rename_clusters(hierarchy.levels[number], self.levels[number])
        alone = {i: names[0] for i, names in parts.items() if len(names) == 1}
        if self.run.tree is not None:
            alone |= {i: name for i, name in self.levels[number].items() if i in self.fixed}
        return [group for group in groups if group.id not in alone], parts, alone

    def with_given(self, naming: Naming) -> Names:
        """Names of all clusters, no two alike, nor like one that another cut shows."""
        names = {i: name for i, name in self.clusters.items() if i in self.fixed}
        for cluster in naming.clusters:
            words = [word for word, _ in cluster.words]
            taken = [*names.values(), *self.others.values()]
            names[cluster.id] = make_unique(cluster.name, taken, words)
        return names


def take_names(
    own: OwnNames,
    names: Names,
    by: str | None,
    levels: Sequence[Mapping[int, Cluster]],
    said: Mapping[int, Cluster],
) -> Clustering:
    """The run with other names. Changes clusters, hierarchy, table, and facts: which were its own.

    Parameters
    ----------
    own : OwnNames
    names : dict of int to str
        Of the clusters.
    by : str or None
        Who gave the names; None if they are the run's own.
    levels : sequence of mapping of int to Cluster
        For each coarser level, groups with their new names and descriptions.
    said : mapping of int to Cluster
        Clusters with descriptions and quotes to take over; others lose theirs.
    """
    run = own.run
    told = {c.id: replace(c, description=None, quotes=[]) for c in run.clusters}
    told = {i: said.get(i, c) for i, c in told.items() if i not in own.fixed}
    made = renamed(run, {**own.clusters, **names}, levels, told)
    final = made.names if made.tree is None else made.tree.names
    before = {**own.others, **own.clusters}
    facts = {key: value for key, value in run.facts.items() if key != "names"}
    if by is not None:
        given = {
            str(i): {"own": before[i], "given": final[i]}
            for i in sorted(final.keys() - own.fixed)
            if i in own.clusters or final[i] != before[i]
        }
        facts["names"] = {"by": by, "clusters": given}
        if levels and made.tree is None:
            facts["names"]["levels"] = [
                {str(i): {"own": names[i], "given": group.name} for i, group in level.items()}
                for level, names in zip(levels, own.levels, strict=True)
            ]
    return replace(made, facts=facts)
