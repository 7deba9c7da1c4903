"""What each edit does to a clustering, and when it is rejected.

Edits work on a copy of the rows and names, so that nothing is written before all is well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from coterie._util.random import derive_seed
from coterie._util.torch import torch
from coterie._util.types import Bools, Floats, Ints
from coterie._util.validation import whole_number
from coterie.arrays.assign import CenterAssigner
from coterie.arrays.kmeans import KMeans
from coterie.arrays.tree import Tree
from coterie.describe.tree import node_names
from coterie.errors import DataError, counted
from coterie.models.confidence import calibrate
from coterie.models.edited import Delete, EditedAssigner, Merge, Split, Step, edited, fingerprint
from coterie.runs.clustering import Clustering
from coterie.runs.editing.parse import Edit
from coterie.texts.corpus import clean_text

KEYS = ("row", "id", "text", "contains")  # by which rows are named


@dataclass
class Draft:
    """A working copy for edits: rows, their clusters, and what is known about these."""

    texts: list[str]  # cleaned; empty where a row has none
    # (n,): cluster of each row, -1 for those without a text; of outliers, the nearest one
    labels: Ints
    # Gives the vectors of all rows; asked only if an edit needs them
    get_vectors: Callable[[], Floats]
    names: dict[int, str | None]  # of every cluster; None for one that needs a new name
    next_id: int  # the lowest number that no cluster ever had
    tree: Tree  # of which the clusters are a cut
    finest: Ints  # (n,): the finest cluster of each row
    # Gives the assigner of the model before the edits; asked only if an edit needs it
    get_assigner: Callable[[], EditedAssigner]
    # Names of the clusters of the tree before the edits
    known: Mapping[int, str] = field(default_factory=dict)
    ids: list[str] | None = None
    # (n,): rows that fit no cluster; they follow the nearest one, but do not count
    outliers: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    named: set[int] = field(default_factory=set)  # clusters whose names a person gave
    # Clusters with a description from a language model
    described: set[int] = field(default_factory=set)
    # Clusters of texts by their fingerprints
    corrections: dict[str, int] = field(default_factory=dict)
    led_to: Mapping[str, int] = field(default_factory=dict)  # the same to the finest clusters
    # Clusters, shown or not, whose texts are others now
    renewed: set[int] = field(default_factory=set)
    # What the edits add to the assigner of the model
    steps: list[Step] = field(default_factory=list)
    done: list[str] = field(default_factory=list)  # what was done, in sentences
    notes: list[str] = field(default_factory=list)  # what else that changed, in sentences
    seed: int = 0
    moved: bool = False  # whether a row is in another cluster, or bound to one, than before

    def __post_init__(self) -> None:
        if not len(self.outliers):
            self.outliers = np.zeros(len(self.labels), dtype=bool)

    @classmethod
    def of(cls, run: Clustering) -> Draft:
        """Of a run; the arrays are copies."""
        earlier = run.facts.get("editing", {})
        cut = run.tree.cut()
        led_to = run.config.get("corrections", {})
        return cls(
            texts=run.texts,
            labels=run.nearest.copy(),
            get_vectors=lambda: run.vectors,
            names=dict(run.names),
            next_id=run.next_id,
            ids=run.ids,
            outliers=run.outliers.copy(),
            named=set(earlier.get("named", [])),
            described={c.id for c in run.nodes.values() if c.description},
            corrections={mark: cut.get(finest, finest) for mark, finest in led_to.items()},
            tree=run.tree,
            finest=run.finest.copy(),
            known=node_names(run.nodes),
            led_to=led_to,
            get_assigner=lambda: edited(run.model.assigner_, run.model.n_clusters_),
            seed=run.seed,
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the manifest keeps for later edits."""
        return {"named": sorted(self.named), "next_id": self.next_id}

    @property
    def marked(self) -> Ints:
        """Cluster of each row, -1 for outliers."""
        return np.where(self.outliers, -1, self.labels)

    def rename(self, cluster: int, name: str | None) -> None:
        """Give a cluster the name that a person chose; None asks for one made of its words."""
        self.names[cluster] = name
        (self.named.discard if name is None else self.named.add)(cluster)

    def retire(self, cluster: int) -> None:
        """A number that is not used any more, and never again."""
        del self.names[cluster]
        self.named.discard(cluster)

    def given_names(self) -> dict[int, str | None]:
        """Names of clusters that are shown, and those that a person gave to others."""
        return {**{i: self.known[i] for i in self.named & self.known.keys()}, **self.names}

    def renew(self, clusters: Iterable[int]) -> None:
        """Clusters that are no longer those that were described."""
        for cluster in sorted(self.described & set(clusters)):
            self.notes.append(f"the description of {self.shown(cluster)} is dropped")
        self.described.difference_update(clusters)

    def size(self, cluster: int) -> int:
        """Rows in a cluster."""
        return len(self.rows(cluster))

    def rows(self, cluster: int) -> Ints:
        """Rows in a cluster, without outliers."""
        return np.flatnonzero((self.labels == cluster) & ~self.outliers)

    def correct(self, rows: Ints, cluster: int) -> None:
        """Put rows into a cluster and remember their texts."""
        self.labels[rows] = cluster
        self.outliers[rows] = False
        self.corrections.update((fingerprint(self.texts[row]), cluster) for row in rows)
        self.moved = True

    def follow_corrections(self, clusters: set[int]) -> None:
        """Take corrections that lead to these clusters to where their texts are now.

        That of a text which the run does not hold is dropped, if its cluster is gone.
        """
        rows = np.flatnonzero(self.labels >= 0)
        now = {fingerprint(self.texts[row]): int(self.labels[row]) for row in rows}
        cut = self.tree.cut()
        for mark, cluster in [*self.corrections.items()]:
            if cluster in clusters:
                del self.corrections[mark]
                to = now.get(mark, cut.get(self.led_to.get(mark, -1), cluster))
                self.corrections |= {mark: to} if to in self.names else {}

    def nearest_finest(self, rows: Ints, cluster: int) -> Ints:
        """The finest cluster inside a cluster whose mean is nearest to each of these rows."""
        found = np.array(self.tree.below(cluster))
        if len(found) == 1:
            return np.full(len(rows), found[0])
        vectors, others = self.get_vectors(), ~np.isin(np.arange(len(self.labels)), rows)
        means = [vectors[others & (self.finest == leaf)].mean(axis=0) for leaf in found]
        far = np.linalg.norm(vectors[rows][:, None] - np.array(means), axis=2)
        return np.asarray(found[far.argmin(axis=1)])

    def is_nested(self, one: int, other: int) -> bool:
        """Whether one cluster holds the other, so that no cut shows both."""
        return one in self.tree.nodes_in(other) or other in self.tree.nodes_in(one)

    def finest_corrections(self) -> dict[str, int]:
        """Corrections as a model keeps them: they lead to the finest clusters."""
        if not self.corrections:
            return self.corrections
        rows = np.flatnonzero(self.labels >= 0)
        now = {fingerprint(self.texts[row]): int(self.finest[row]) for row in rows}
        cut = self.tree.cut()
        first = {cluster: leaf for leaf, cluster in reversed(cut.items())}
        for mark, cluster in self.corrections.items():
            led = self.led_to.get(mark, -1)
            now.setdefault(mark, led if cut.get(led) == cluster else first[cluster])
        return {mark: now[mark] for mark in self.corrections}

    def bound_rows(self) -> list[tuple[int, int]]:
        """Rows whose text was given a cluster by a person, and that cluster."""
        if not self.corrections:
            return []
        marks = [fingerprint(text) if text else "" for text in self.texts]
        return [(i, self.corrections[m]) for i, m in enumerate(marks) if m in self.corrections]

    def shown(self, cluster: int) -> str:
        """A cluster as sentences call it."""
        name = self.names.get(cluster, self.known.get(cluster))
        return f"{cluster} ({name})" if name else str(cluster)


def select_rows(edit: Edit, draft: Draft) -> Ints:
    """Rows that an edit names, and all rows with the same texts.

    A number or word alone is an id if the run has an id column, else the number of a row, counted
    from one. Mappings say which: ``{row: 12}``, ``{id: T-17}``, ``{text: "..."}`` (all of it) or
    ``{contains: "..."}`` (any part, in upper or lower case), each with ``in: 4`` to look in one
    cluster alone.
    """
    found: set[int] = set()
    for wanted in edit.rows:
        found |= set(_find(edit, draft, wanted))
    without = sorted(row for row in found if not draft.texts[row])
    if without:
        raise DataError(
            f"{edit.where}: row {without[0] + 1} has no text, so it has no cluster; leave it out."
        )
    # Identical texts are in one cluster, always: they move together.
    texts = {draft.texts[row] for row in found}
    return np.array([i for i, text in enumerate(draft.texts) if text in texts], dtype=np.int64)


def _find(edit: Edit, draft: Draft, wanted: object) -> list[int]:
    if not isinstance(wanted, Mapping):
        wanted = {"row" if draft.ids is None else "id": wanted}
    keys = [key for key in wanted if key in KEYS]
    if len(keys) != 1 or wanted.keys() - {*KEYS, "in"}:
        raise DataError(
            f"{edit.where}: name a row by one of {', '.join(KEYS)}, with 'in' beside it if you "
            f"like; got {dict(wanted)}."
        )
    key, said = keys[0], str(wanted[keys[0]])
    text = clean_text(said)
    if key == "row":
        rows = [(whole_number(said) or 0) - 1]
        rows = [row for row in rows if 0 <= row < len(draft.texts)]
    elif key == "id":
        rows = [i for i, value in enumerate(draft.ids or ()) if value == said]
    elif key == "text":
        rows = [i for i, value in enumerate(draft.texts) if text and value == text]
    else:
        part = text.casefold()
        rows = [i for i, value in enumerate(draft.texts) if part and part in value.casefold()]
    if "in" in wanted:
        rows = [i for i in rows if draft.labels[i] == whole_number(str(wanted["in"]))]
    if not rows:
        inside = f" in cluster {wanted['in']}" if "in" in wanted else ""
        has = "contains" if key == "contains" else f"has the {key}"
        raise DataError(
            f"{edit.where}: no row{inside} {has} {said!r}; look it up in assignments.csv, which "
            f"has {len(draft.texts):,} rows{'' if draft.ids else ' and no ids'}."
        )
    return rows


def apply_edits(edits: Sequence[Edit], draft: Draft) -> None:
    """Do all edits in their order, on the working copy."""
    for edit in edits:
        for cluster in edit.clusters:
            if cluster not in draft.names:
                known = ", ".join(map(str, sorted(draft.names)))
                raise DataError(
                    f"{edit.where}: there is no cluster {cluster}; there are {known}.",
                    code="edit.no_cluster",
                )
        _EDITS[edit.kind](edit, draft)


def _merge(edit: Edit, draft: Draft) -> None:
    """The first cluster named takes the rows of the others, whose numbers are retired."""
    touched = draft.tree.touched(edit.clusters)
    into, *others = edit.clusters
    said = ", ".join(draft.shown(cluster) for cluster in others)
    before = draft.shown(into)
    draft.renew(touched)
    for cluster in others:
        draft.retire(cluster)
    if edit.names:
        _check_free(edit, draft, edit.names[0], into)
    draft.rename(into, edit.names[0] if edit.names else None)
    draft.labels[np.isin(draft.labels, others)] = into
    draft.corrections.update({m: into for m, c in draft.corrections.items() if c in others})
    finest = [leaf for cluster in edit.clusters for leaf in draft.tree.below(cluster)]
    draft.finest[np.isin(draft.finest, finest)] = into
    draft.steps.append(Merge(tuple(finest), into))
    draft.tree = draft.tree.joined(edit.clusters)
    draft.renewed |= touched
    draft.moved = True
    named = f", now {edit.names[0]}" if edit.names else ""
    draft.done.append(f"merged {said} into {before}{named}: {counted(draft.size(into), 'row')}")


def _split(edit: Edit, draft: Draft) -> None:
    """The parts that the merge tree has, or else those of k-means."""
    (cluster,) = edit.clusters
    if not _open(edit, draft, draft.tree, cluster):
        _split_by_kmeans(edit, draft, cluster)


def _open(edit: Edit, draft: Draft, tree: Tree, cluster: int) -> bool:
    """Show the parts of a cluster, if the merge tree has so many."""
    found = tree.opened(cluster, edit.into)
    if found is None:
        return False
    draft.tree, parts = found
    for i, wanted in enumerate(edit.names):
        _check_free(edit, draft, wanted, cluster, edit.names[:i])
    said, cut = draft.shown(cluster), draft.tree.cut()
    del draft.names[cluster]  # it is there again if a coarser cut shows it
    rows = np.flatnonzero(draft.labels == cluster)
    draft.labels[rows] = [cut[leaf] for leaf in draft.finest[rows].tolist()]
    parts.sort(key=lambda part: (-draft.size(part), part))
    draft.names |= {part: draft.known.get(part) for part in parts}
    for part, name in zip(parts, edit.names, strict=False):
        draft.rename(part, name)
    draft.follow_corrections({cluster})
    draft.moved = True
    sizes = ", ".join(f"{i}: {draft.size(i):,}" for i in parts)
    draft.done.append(f"split {said} into {edit.into} parts ({sizes} rows)")
    return True


def _split_by_kmeans(edit: Edit, draft: Draft, cluster: int) -> None:
    """K-means on the vectors of the cluster, whose number is that of coarser cuts."""
    vectors = draft.get_vectors()[draft.rows(cluster)]
    distinct = len(np.unique(vectors, axis=0))
    if distinct < edit.into:
        raise DataError(
            f"{edit.where}: cluster {cluster} has {distinct} different texts, too few for "
            f"{edit.into} parts; ask for at most {distinct}."
        )
    seed = derive_seed(draft.seed, "split", cluster, len(draft.steps))
    found = KMeans(n_clusters=edit.into, seed=seed)(vectors)
    sizes = np.bincount(found.labels, minlength=edit.into)
    if not sizes.all():
        raise DataError(
            f"{edit.where}: no {edit.into} parts were found in cluster {cluster}; ask for fewer."
        )
    order, free = np.argsort(-sizes, kind="stable"), count(draft.next_id)
    ids = tuple(next(free) for _ in range(edit.into))
    for i, wanted in enumerate(edit.names):
        _check_free(edit, draft, wanted, cluster, edit.names[:i])
    said = draft.shown(cluster)
    draft.renew(draft.tree.touched([cluster]))
    step = Split(cluster, ids, parts_assigner(found.centers[order], vectors, seed))
    rows = np.flatnonzero(draft.labels == cluster)
    draft.labels[rows] = np.array(ids)[
        step.assigner.logits(draft.get_vectors()[rows]).argmax(axis=1)
    ]
    if cluster not in draft.tree.leaves:
        draft.steps.append(Merge(tuple(draft.tree.below(cluster)), cluster))
    draft.tree = draft.tree.divided(cluster, ids, free)
    draft.finest[rows] = draft.labels[rows]
    del draft.names[cluster]
    for part, name in zip(ids, edit.names or [None] * edit.into, strict=True):
        draft.rename(part, name)
    draft.follow_corrections({cluster})
    draft.next_id = next(free)
    draft.steps.append(step)
    draft.moved = True
    parts = ", ".join(f"{i}: {draft.size(i):,}" for i in ids)
    draft.done.append(f"split {said} into {edit.into} parts ({parts} rows)")


def prune(tree: Tree, finest: Ints, outliers: Bools) -> tuple[Tree, list[Step]]:
    """Give up finest clusters that have no row, unless they are shown.

    Returns the tree without them, and what the assigner has to do; ``finest``, those of the rows,
    changes in place.
    """
    empty = {*tree.leaves}.difference(finest[~outliers].tolist(), tree.shown())
    tree, found = tree.without(sorted(empty))
    for clusters, into in found:
        finest[np.isin(finest, clusters)] = into
    return tree, [Merge(clusters, into) for clusters, into in found]


def parts_assigner(centers: Floats, vectors: Floats, seed: int) -> CenterAssigner:
    """The assigner of the parts, as sure of itself as two halves of the texts agree."""
    parts = calibrate(CenterAssigner(centers), vectors, seed, torch.device("cpu"))
    assert isinstance(parts, CenterAssigner)
    return parts


def _rename(edit: Edit, draft: Draft) -> None:
    new = dict(zip(edit.clusters, edit.names, strict=True))
    said = [f"renamed {draft.shown(cluster)} to {name}" for cluster, name in new.items()]
    draft.names |= dict.fromkeys(new)  # two clusters may exchange their names
    for cluster, name in new.items():
        _check_free(edit, draft, name, cluster)
        draft.rename(cluster, name)
    draft.done += said


def _move(edit: Edit, draft: Draft) -> None:
    """Rows and their texts go to another cluster, in later predictions, too."""
    (to,) = edit.clusters
    rows = select_rows(edit, draft)
    leaving = rows[(draft.labels[rows] != to) | draft.outliers[rows]]
    if not len(leaving):
        raise DataError(
            f"{edit.where}: all {len(rows)} rows are in cluster {to} already; leave the edit out."
        )
    for cluster in {*draft.labels[leaving].tolist()} - {to}:
        if not len(np.setdiff1d(draft.rows(cluster), leaving)):
            raise DataError(
                f"{edit.where}: it would leave cluster {cluster} without a row; merge it "
                f"instead: 'merge: [{to}, {cluster}]'."
            )
    draft.correct(rows, to)
    draft.finest[leaving] = draft.nearest_finest(leaving, to)
    draft.done.append(f"moved {counted(len(leaving), 'row')} to {draft.shown(to)}")


def _reassign(edit: Edit, draft: Draft) -> None:
    """Outliers join their nearest clusters, in later predictions, too."""
    if not draft.outliers.any():
        raise DataError(f"{edit.where}: no text is an outlier; leave the edit out.")
    rows = np.flatnonzero(draft.outliers)
    clusters = np.unique(draft.labels[rows])
    for cluster in clusters.tolist():
        draft.correct(rows[draft.labels[rows] == cluster], cluster)
    draft.done.append(
        f"reassigned {counted(len(rows), 'outlier')} to {counted(len(clusters), 'cluster')}"
    )


def _delete(edit: Edit, draft: Draft) -> None:
    """The rows of clusters go to their next best ones; the numbers are retired."""
    for cluster in edit.clusters:
        _delete_one(edit, draft, cluster)


def _delete_one(edit: Edit, draft: Draft, cluster: int) -> None:
    tree = draft.tree
    if len(draft.names) < 2:
        raise DataError(
            f"{edit.where}: there is no other cluster that could take the rows of {cluster}; "
            "leave the edit out."
        )
    said, rows = draft.shown(cluster), np.flatnonzero(draft.labels == cluster)
    draft.renew(tree.nodes_in(cluster))
    draft.retire(cluster)
    draft.corrections = {m: c for m, c in draft.corrections.items() if c != cluster}
    if cluster not in tree.leaves:
        draft.steps.append(Merge(tuple(tree.below(cluster)), cluster))
    draft.tree = tree.joined([cluster]).without([cluster])[0]
    draft.steps.append(Delete(cluster))
    assigner = draft.get_assigner().then(*draft.steps)
    finest = assigner.finest_logits(draft.get_vectors()[rows]).argmax(axis=1)
    cut = draft.tree.cut()
    draft.finest[rows], draft.labels[rows] = finest, [cut[leaf] for leaf in finest.tolist()]
    draft.moved = True
    inside = draft.labels[rows[~draft.outliers[rows]]].tolist()
    to = ", ".join(f"{count:,} to {draft.shown(i)}" for i, count in Counter(inside).most_common())
    draft.done.append(f"deleted {said}: rows go {to}")


_EDITS = {
    "merge": _merge,
    "split": _split,
    "rename": _rename,
    "move": _move,
    "reassign": _reassign,
    "delete": _delete,
}


def _check_free(
    edit: Edit, draft: Draft, name: str, cluster: int, more: Sequence[str] = ()
) -> None:
    for other, taken in draft.given_names().items():
        if taken is None or draft.is_nested(other, cluster):
            continue
        if taken.casefold() == name.casefold():
            merge = f", or merge the two: 'merge: [{other}, {cluster}]'"
            raise DataError(
                f"{edit.where}: cluster {other} has the name {taken!r} already; choose another "
                f"one{merge if other in draft.names else ''}.",
                code="edit.name_taken",
            )
    if name.casefold() in [given.casefold() for given in more]:
        raise DataError(
            f"{edit.where}: the name {name!r} is given twice; every part needs its own."
        )
