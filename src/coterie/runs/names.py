"""The names in the files of a finished run: which are coterie's own, and putting others in."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from coterie._errors import DataError
from coterie._files import write_json
from coterie._progress import make_progress, say
from coterie.corpus import write_rows
from coterie.corpus.corpus import cell_values
from coterie.description import Cluster, rename_clusters
from coterie.exports import refresh
from coterie.hierarchy import Hierarchy
from coterie.masking import SHOWN
from coterie.naming import (
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


def requests_for(path: Path, model: str | None, examples: int = 6) -> list[Request]:
    """What would be sent for the names of a run's clusters."""
    run = RunNames(path)
    return make_requests(run.to_name(), model, examples=examples, texts=run.first_texts())


def name_run(
    path: Path,
    endpoint: Endpoint,
    *,
    model: str | None = None,
    examples: int = 6,
    verbose: int = 0,
) -> str | None:
    """Ask a chat endpoint for names, and write them into all files of the run.

    Returns
    -------
    str or None
        What went wrong; clusters without an answer keep their names.
    """
    run = RunNames(path)
    clusters, texts = run.to_name(), run.first_texts()
    if verbose:
        requests = make_requests(clusters, model, examples=examples, texts=texts)
        masked = _masked(requests)
        say(f"asking {endpoint.url} for names of {len(requests)} clusters{masked}")
    naming = name_clusters(
        clusters,
        endpoint,
        model=model,
        folder=path,
        examples=examples,
        texts=texts,
        progress=make_progress(verbose),
    )
    if naming.named:
        run.take(naming, endpoint.url)
    return naming.problem


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

    def to_name(self) -> list[Cluster]:
        """The clusters as they were before any naming, so that the same questions are asked."""
        return [c for c in rename_clusters(self.clusters, self.own_names) if c.id not in self.kept]

    def first_texts(self) -> list[str]:
        """The first texts of the run, in which personal data are looked for."""
        path, column = self.folder / "assignments.csv", self.manifest["data"]["text_column"]
        found: list[str] = []
        for part in table_parts(path) if path.exists() else ():
            if column not in part.schema.names:
                raise DataError("run.no_column", folder=self.folder, name=column)
            found += cell_values(part[column])
            if len(found) >= LOOKED_AT:
                break
        return found[:LOOKED_AT]

    def take(self, naming: Naming, url: str) -> None:
        """Write the new names into all files of the run."""
        names = {i: self.own_names[i] for i in self.kept}
        for cluster in naming.clusters:
            words = [word for word, _ in cluster.words]
            names[cluster.id] = make_unique(cluster.name, names.values(), words)
        self._write(names, f"{naming.named} of {naming.total} by {naming.model} at {url}")

    def restore(self) -> None:
        """Write the own names back."""
        self._write(self.own_names, None)

    def _write(self, names: Names, by: str | None) -> None:
        before = _names(self.clusters)
        self.clusters = rename_clusters(self.clusters, {**self.own_names, **names})
        final = _names(self.clusters)
        if by is None:
            self.manifest.pop("names", None)
        else:
            given = {
                i: {"own": self.own_names[i], "given": final[i]} for i in final.keys() - self.kept
            }
            pairs = {str(i): given[i] for i in sorted(given)}
            self.manifest["names"] = {"by": by, "clusters": pairs}
        # On a copy that takes the run's place: a kill leaves all old names or all new ones.
        swap_run(self.folder, lambda fresh: self._fill(fresh, before, final))

    def _fill(self, path: Path, before: Names, final: Names) -> None:
        changed: list[Names] = []
        if self.hierarchy is not None:
            hierarchy, changed = rename_levels(self.hierarchy, before, final)
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


def rename_levels(
    hierarchy: Hierarchy, before: Names, after: Names
) -> tuple[Hierarchy, list[Names]]:
    """The coarser levels with other names, and those that changed on each.

    A group that holds one cluster alone is called as that is; others keep their words.
    """
    levels, changed = list[list[Cluster]](), list[Names]()
    for level, above in zip(hierarchy.levels, hierarchy.above, strict=True):
        count, only = Counter(above.values()), {place: cluster for cluster, place in above.items()}
        alone = {g.id: only[g.id] for g in level if count[g.id] == 1}
        same = {g.id for g in level if g.id in alone and g.name == before.get(alone[g.id])}
        changed.append({i: after[alone[i]] for i in same if alone[i] in after})
        levels.append([replace(g, name=changed[-1].get(g.id, g.name)) for g in level])
    return replace(hierarchy, levels=levels), changed


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
            raise DataError("run.no_name_column", table=path / "assignments.csv", kind=kind)
        pairs = zip(run.column(run.own[kind]), run.column(run.own[called]), strict=True)
        fresh[called] = [new.get(i, before) for i, before in pairs]
    write_rows(path / "assignments.csv", replace_columns(run.table, fresh), {})


def _names(clusters: list[Cluster]) -> Names:
    return {cluster.id: cluster.name for cluster in clusters}
