"""The names in the files of a finished run: which are coterie's own, and putting others in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from coterie._files import write_json
from coterie._progress import make_progress, say
from coterie.corpus import write_rows
from coterie.corpus.corpus import cell_values
from coterie.description import Cluster, rename_clusters
from coterie.errors import DataError, counted
from coterie.exports import refresh
from coterie.hierarchy import rename_levels
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
from coterie.run_files import RunFiles, replace_columns, swap_run, table_parts

LOOKED_AT = 100_000  # texts; masking takes about 0.1 ms each

Names = dict[int, str]


@dataclass(frozen=True)
class Asked:
    """How to ask for names: model, texts of each cluster to send, own prompt, language."""

    model: str | None = None
    examples: int = 6
    prompt: str | None = None
    language: str | None = None


def requests_for(path: Path, asked: Asked) -> list[Request]:
    """What would be sent for the names of a run's clusters and levels.

    The names of the parts of a level are those that the clusters have now.
    """
    run = RunNames(path)
    texts = run.first_texts()
    out = make_requests(run.to_name(), texts=texts, **vars(asked))
    inside: Names = {**run.own_names}
    for level in reversed(range(len(run.own_levels))):
        groups, parts, _ = run.level(level, inside)
        out += make_requests(groups, texts=texts, parts=parts, **vars(asked))
        inside = run.own_levels[level]
    return out


def name_run(
    path: Path,
    endpoint: Endpoint,
    asked: Asked | None = None,
    *,
    budget: Budget | None = None,
    verbose: int = 0,
) -> str | None:
    """Ask a chat endpoint for names on every level, and write them into all files of the run.

    The clusters are named first; then each coarser level, with the names of what is inside.

    Returns
    -------
    str or None
        What went wrong; clusters without an answer keep their names.
    """
    run, asked, budget = RunNames(path), asked or Asked(), budget or Budget()
    clusters, texts = run.to_name(), run.first_texts()
    if verbose:
        requests = make_requests(clusters, texts=texts, **vars(asked))
        masked = _masked(requests)
        say(f"asking {endpoint.url} for names of {counted(len(requests), 'cluster')}{masked}")
    shared: dict[str, Any] = {"folder": path, "texts": texts, "budget": budget, **vars(asked)}
    naming = name_clusters(clusters, endpoint, progress=make_progress(verbose), **shared)
    names = run.final_names(naming)
    levels: list[dict[int, Cluster]] = [{} for _ in run.own_levels]
    problem, stopped, inside, named = naming.problem, naming.stopped, names, naming.named
    for level in reversed(range(len(levels))):
        if stopped:
            break
        groups, parts, alone = run.level(level, inside)
        found = name_clusters(groups, endpoint, parts=parts, **{**shared, "model": naming.model})
        problem, stopped = problem or found.problem, found.stopped
        named += found.named
        own = run.own_levels[level]
        taken = list(alone.values())
        for group in found.clusters:
            words = [word for word, _ in group.words]
            name = make_unique(group.name, [*taken, *parts[group.id]], words)
            taken.append(name)
            levels[level][group.id] = replace(group, name=name)
        inside = {**own, **alone, **{i: g.name for i, g in levels[level].items()}}
    if named:
        run.take(naming, names, levels, endpoint.url)
    if verbose:
        cost = f", cost {budget.cost:.4f}" if sum(budget.price) else ""
        say(f"{budget.tokens:,} tokens{cost}")
    return problem


def _masked(requests: list[Request]) -> str:
    total: Counter[str] = sum((Counter(r.masked) for r in requests), Counter())
    if not total:
        return ""
    kinds = ", ".join(f"{SHOWN[kind]} {count}x" for kind, count in sorted(total.items()))
    return f"; masked before sending: {kinds}"


class RunNames(RunFiles):
    """The clusters of a run folder, with the names they had before and what they were given.

    A name that is neither is the user's and is never touched, nor is that of a locked cluster.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.check()
        known = self.manifest.get("names", {}).get("clusters", {})
        self.own_names = _names(self.clusters)
        edited = self.manifest.get("editing", {})
        self.kept = {*edited.get("locked", []), *edited.get("named", [])} & self.own_names.keys()
        for cluster in self.clusters:
            before = known.get(str(cluster.id))
            if before is not None and cluster.id not in self.kept:
                if cluster.name in (before["own"], before["given"]):
                    self.own_names[cluster.id] = before["own"]
                else:
                    self.kept.add(cluster.id)
        given = self.manifest.get("names", {}).get("levels", [])
        self.own_levels: list[Names] = []
        for number, level in enumerate([] if self.hierarchy is None else self.hierarchy.levels):
            pairs = given[number] if number < len(given) else {}
            assert self.hierarchy is not None
            above = self.hierarchy.above[number]
            count, only = Counter(above.values()), {place: c for c, place in above.items()}
            own = {group.id: group.name for group in level}
            for group in level:
                pair = pairs.get(str(group.id))
                alone = only.get(group.id)
                if count[group.id] == 1 and alone is not None:  # called as its one cluster is
                    now = next((c.name for c in self.clusters if c.id == alone), None)
                    if group.name == now:
                        own[group.id] = self.own_names[alone]
                if pair is not None and group.name == pair["given"]:
                    own[group.id] = pair["own"]
            self.own_levels.append(own)

    def level(
        self, number: int, inside: Names
    ) -> tuple[list[Cluster], dict[int, list[str]], Names]:
        """The groups of a coarser level to name, the names of their parts, and those of one part.

        ``inside`` are the names of the next finer level, or of the clusters.
        """
        assert self.hierarchy is not None
        children = {
            group: {part: inside.get(part, "") for part in parts}
            for group, parts in self.hierarchy.parts(number).items()
        }
        groups = rename_clusters(self.hierarchy.levels[number], self.own_levels[number])
        alone = {i: next(iter(found.values())) for i, found in children.items() if len(found) == 1}
        parts = {i: list(found.values()) for i, found in children.items()}
        return [group for group in groups if group.id not in alone], parts, alone

    def to_name(self) -> list[Cluster]:
        """The clusters as they were before any naming, so that the same questions are asked."""
        return [c for c in rename_clusters(self.clusters, self.own_names) if c.id not in self.kept]

    def first_texts(self) -> list[str]:
        """The first texts of the run, in which personal data are looked for."""
        path, column = self.folder / "assignments.csv", self.manifest["data"]["text_column"]
        found: list[str] = []
        for part in table_parts(path) if path.exists() else ():
            if column not in part.schema.names:
                raise DataError(f"{self.folder}: assignments.csv has no column {column!r}.")
            found += cell_values(part[column])
            if len(found) >= LOOKED_AT:
                break
        return found[:LOOKED_AT]

    def final_names(self, naming: Naming) -> Names:
        """Names of all clusters, no two alike."""
        names = {i: self.own_names[i] for i in self.kept}
        for cluster in naming.clusters:
            words = [word for word, _ in cluster.words]
            names[cluster.id] = make_unique(cluster.name, names.values(), words)
        return names

    def take(
        self, naming: Naming, names: Names, levels: Sequence[Mapping[int, Cluster]], url: str
    ) -> None:
        """Write the new names into all files of the run."""
        by = f"{naming.named} of {naming.total} by {naming.model} at {url}"
        self._write(names, by, levels, {c.id: c for c in naming.clusters})

    def restore(self) -> None:
        """Write the own names back."""
        groups = [] if self.hierarchy is None else self.hierarchy.levels
        levels = [
            {g.id: replace(g, name=own[g.id], description=None, quotes=[]) for g in level}
            for level, own in zip(groups, self.own_levels, strict=True)
        ]
        self._write(self.own_names, None, levels)

    def _write(
        self,
        names: Names,
        by: str | None,
        levels: Sequence[Mapping[int, Cluster]] = (),
        said: Mapping[int, Cluster] = MappingProxyType({}),
    ) -> None:
        before = _names(self.clusters)
        renamed = rename_clusters(self.clusters, {**self.own_names, **names})
        self.clusters = [
            c
            if c.id in self.kept
            else replace(c, description=said[c.id].description, quotes=said[c.id].quotes)
            if c.id in said
            else replace(c, description=None, quotes=[])
            for c in renamed
        ]
        final = _names(self.clusters)
        if by is None:
            self.manifest.pop("names", None)
        else:
            given = {
                i: {"own": self.own_names[i], "given": final[i]} for i in final.keys() - self.kept
            }
            pairs = {str(i): given[i] for i in sorted(given)}
            self.manifest["names"] = {"by": by, "clusters": pairs}
            if levels:
                self.manifest["names"]["levels"] = [
                    {str(i): {"own": own[i], "given": group.name} for i, group in level.items()}
                    for level, own in zip(levels, self.own_levels, strict=True)
                ]
        # On a copy that takes the run's place: a kill leaves all old names or all new ones.
        swap_run(self.folder, lambda fresh: self._fill(fresh, before, final, levels))

    def _fill(
        self,
        path: Path,
        before: Names,
        final: Names,
        levels: Sequence[Mapping[int, Cluster]] = (),
    ) -> None:
        changed: list[Names] = []
        if self.hierarchy is not None:
            hierarchy, changed = rename_levels(self.hierarchy, before, final, levels)
            write_json(path / "levels.json", hierarchy.to_dict())
        write_table(path, final, changed)
        if changed:  # the last are those of the parents
            self.clusters = [
                replace(c, parent_name=changed[-1].get(c.parent, c.parent_name))
                if c.parent is not None
                else c
                for c in self.clusters
            ]
        write_json(path / "clusters.json", [cluster.to_dict() for cluster in self.clusters])
        write_json(path / "manifest.json", self.manifest)
        refresh(path, self.manifest, self.clusters)


def write_table(path: Path, names: Names, above: list[Names]) -> None:
    """``assignments.csv`` with other names; nothing else in it changes."""
    run = RunFiles(path)
    if not (path / "assignments.csv").exists():
        return
    kinds = [f"level_{number}" for number in range(1, len(above) + 2)] if above else []
    kinds = ["theme"] if "theme" in run.own else kinds
    fresh: dict[str, list[str]] = {}
    for kind, new in {"cluster": names, **dict(zip(kinds, [*above, names], strict=False))}.items():
        called = "name" if kind == "cluster" else f"{kind}_name"
        if kind not in run.own or called not in run.own:
            raise DataError(
                f"{path / 'assignments.csv'} has no column {kind!r} with names beside it."
            )
        pairs = zip(run.column(run.own[kind]), run.column(run.own[called]), strict=True)
        fresh[called] = [new.get(i, before) for i, before in pairs]
    write_rows(path / "assignments.csv", replace_columns(run.table, fresh), {})


def _names(clusters: list[Cluster]) -> Names:
    return {cluster.id: cluster.name for cluster in clusters}
