"""What each edit does to a clustering, and when it is rejected.

Edits work on a copy of the rows and names, so that nothing is written before all is well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from coterie._random import derive_seed
from coterie._types import Bools, Floats, Ints
from coterie._validation import whole_number
from coterie.base.confidence import calibrate
from coterie.base.edited import Merge, Split, Step, fingerprint
from coterie.blocks.assign import CenterAssigner
from coterie.blocks.kmeans import KMeans
from coterie.corpus.corpus import clean_text
from coterie.editing.parse import Edit
from coterie.errors import DataError, counted

KEYS = ("row", "id", "text", "contains")  # by which rows are named


@dataclass
class State:
    """Rows, their clusters, and what is known about these."""

    texts: list[str]  # cleaned; empty where a row has none
    # (n,): cluster of each row, -1 for those without a text; of outliers, the nearest one
    labels: Ints
    # Gives the vectors of all rows; asked only if an edit needs them
    get_vectors: Callable[[], Floats]
    names: dict[int, str | None]  # of every cluster; None for one that needs a new name
    next_id: int  # the lowest number that no cluster ever had
    ids: list[str] | None = None
    # (n,): rows that fit no cluster; they follow the nearest one, but do not count
    outliers: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    locked: set[int] = field(default_factory=set)
    named: set[int] = field(default_factory=set)  # clusters whose names a person gave
    finished: set[int] = field(default_factory=set)  # clusters that a person has marked as done
    # Clusters with a description or quotes from a language model
    described: set[int] = field(default_factory=set)
    # Clusters of texts by their fingerprints
    corrections: dict[str, int] = field(default_factory=dict)
    # What the edits add to the assigner of the model
    steps: list[Step] = field(default_factory=list)
    done: list[str] = field(default_factory=list)  # what was done, in sentences
    notes: list[str] = field(default_factory=list)  # what else that changed, in sentences
    seed: int = 0
    moved: bool = False  # whether a row is in another cluster, or bound to one, than before

    def __post_init__(self) -> None:
        if not len(self.outliers):
            self.outliers = np.zeros(len(self.labels), dtype=bool)

    def rename(self, cluster: int, name: str | None) -> None:
        """Give a cluster the name that a person chose; None asks for one made of its words."""
        self.names[cluster] = name
        (self.named.discard if name is None else self.named.add)(cluster)

    def retire(self, cluster: int) -> None:
        """A number that is not used any more, and never again."""
        del self.names[cluster]
        self.named.discard(cluster)

    def renew(self, clusters: Iterable[int]) -> None:
        """Clusters that are no longer those that were described, or marked as done."""
        for cluster in sorted(self.described & set(clusters)):
            self.notes.append(f"the description of {self.shown(cluster)} is dropped")
        for cluster in sorted(self.finished & set(clusters)):
            self.notes.append(f"cluster {cluster} is not marked as done any more")
        self.described.difference_update(clusters)
        self.finished.difference_update(clusters)

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
        """Take corrections that lead to these clusters to where their texts are now."""
        rows = np.flatnonzero(self.labels >= 0)
        now = {fingerprint(self.texts[row]): int(self.labels[row]) for row in rows}
        for mark, cluster in self.corrections.items():
            if cluster in clusters:
                self.corrections[mark] = now.get(mark, cluster)

    def bound_rows(self) -> list[tuple[int, int]]:
        """Rows whose text was given a cluster by a person, and that cluster."""
        if not self.corrections:
            return []
        marks = [fingerprint(text) if text else "" for text in self.texts]
        return [(i, self.corrections[m]) for i, m in enumerate(marks) if m in self.corrections]

    def shown(self, cluster: int) -> str:
        """A cluster as sentences call it."""
        name = self.names.get(cluster)
        return f"{cluster} ({name})" if name else str(cluster)


def select_rows(edit: Edit, state: State) -> Ints:
    """Rows that an edit names, and all rows with the same texts.

    A number or word alone is an id if the run has an id column, else the number of a row, counted
    from one. Mappings say which: ``{row: 12}``, ``{id: T-17}``, ``{text: "..."}`` (all of it) or
    ``{contains: "..."}`` (any part, in upper or lower case), each with ``in: 4`` to look in one
    cluster alone.
    """
    found: set[int] = set()
    for wanted in edit.rows:
        found |= set(_find(edit, state, wanted))
    without = sorted(row for row in found if not state.texts[row])
    if without:
        raise DataError(
            f"{edit.where}: row {without[0] + 1} has no text, so it has no cluster; leave it out."
        )
    # Identical texts are in one cluster, always: they move together.
    texts = {state.texts[row] for row in found}
    return np.array([i for i, text in enumerate(state.texts) if text in texts], dtype=np.int64)


def _find(edit: Edit, state: State, wanted: object) -> list[int]:
    if not isinstance(wanted, Mapping):
        wanted = {"row" if state.ids is None else "id": wanted}
    keys = [key for key in wanted if key in KEYS]
    strange = [key for key in wanted if key not in (*KEYS, "in")]
    if len(keys) != 1 or strange:
        raise DataError(
            f"{edit.where}: rows are named by one of {', '.join(KEYS)}, and in; got {dict(wanted)}."
        )
    key = keys[0]
    rows = _FINDERS[key](edit, state, str(wanted[key]))
    if "in" in wanted:
        inside = str(wanted["in"])
        cluster = whole_number(inside)
        if cluster not in state.names:
            raise DataError(f"{edit.where}: in: there is no cluster {inside:.80}.")
        rows = [row for row in rows if state.labels[row] == cluster]
    if not rows:
        inside = f" in cluster {wanted['in']}" if "in" in wanted else ""
        said = "contains" if key == "contains" else f"has the {key}"
        raise DataError(
            f"{edit.where}: no row{inside} {said} {wanted[key]!r}; look it up in assignments.csv."
        )
    return rows


def _by_row(edit: Edit, state: State, wanted: str) -> list[int]:
    row = whole_number(wanted) or 0
    if not 1 <= row <= len(state.texts):
        raise DataError(
            f"{edit.where}: row {wanted!r} does not exist; rows are counted from 1 to "
            f"{len(state.texts)}."
        )
    return [row - 1]


def _by_id(edit: Edit, state: State, wanted: str) -> list[int]:
    if state.ids is None:
        raise DataError(
            f"{edit.where}: the run has no id column; name the row by its number: {{row: 12}}."
        )
    return [i for i, value in enumerate(state.ids) if value == wanted]


def _by_text(edit: Edit, state: State, wanted: str) -> list[int]:
    text = clean_text(wanted)
    return [i for i, value in enumerate(state.texts) if value == text and text]


def _by_part(edit: Edit, state: State, wanted: str) -> list[int]:
    part = clean_text(wanted).casefold()
    if not part:
        raise DataError(f"{edit.where}: contains: the text to look for is empty.")
    return [i for i, text in enumerate(state.texts) if part in text.casefold()]


_FINDERS = {"row": _by_row, "id": _by_id, "text": _by_text, "contains": _by_part}


def apply_edits(edits: Sequence[Edit], state: State) -> None:
    """Do all edits in their order, on the working copy."""
    for edit in edits:
        for cluster in edit.clusters:
            if cluster not in state.names:
                known = ", ".join(map(str, sorted(state.names)))
                raise DataError(
                    f"{edit.where}: there is no cluster {cluster}; there are {known}.",
                    code="edit.no_cluster",
                )
        _EDITS[edit.kind](edit, state)


def _merge(edit: Edit, state: State) -> None:
    """The first cluster named takes the rows of the others, whose numbers are retired."""
    _refuse_locked(edit, state, edit.clusters)
    into, *others = edit.clusters
    said = ", ".join(state.shown(cluster) for cluster in others)
    before = state.shown(into)
    state.renew(edit.clusters)
    for cluster in others:
        state.retire(cluster)
    if edit.names:
        _check_free(edit, state, edit.names[0], into)
    state.rename(into, edit.names[0] if edit.names else None)
    state.labels[np.isin(state.labels, others)] = into
    state.corrections.update({m: into for m, c in state.corrections.items() if c in others})
    state.steps.append(Merge(edit.clusters, into))
    state.moved = True
    named = f", now {edit.names[0]}" if edit.names else ""
    state.done.append(f"merged {said} into {before}{named}: {counted(state.size(into), 'row')}")


def _split(edit: Edit, state: State) -> None:
    """K-means on the vectors of the cluster; the largest part keeps the number."""
    (cluster,) = edit.clusters
    _refuse_locked(edit, state, edit.clusters)
    vectors = state.get_vectors()[state.rows(cluster)]
    distinct = len(np.unique(vectors, axis=0))
    if distinct < edit.into:
        raise DataError(
            f"{edit.where}: cluster {cluster} has {distinct} different texts, too few for "
            f"{edit.into} parts; ask for at most {distinct}."
        )
    seed = derive_seed(state.seed, "split", cluster, len(state.steps))
    found = KMeans(n_clusters=edit.into, seed=seed)(vectors)
    sizes = np.bincount(found.labels, minlength=edit.into)
    if not sizes.all():
        raise DataError(
            f"{edit.where}: no {edit.into} parts were found in cluster {cluster}; ask for fewer."
        )
    order = np.argsort(-sizes, kind="stable")
    ids = (cluster, *range(state.next_id, state.next_id + edit.into - 1))
    for i, wanted in enumerate(edit.names):
        _check_free(edit, state, wanted, cluster, edit.names[:i])
    said, state.next_id = state.shown(cluster), state.next_id + edit.into - 1
    state.renew(edit.clusters)
    step = Split(cluster, ids, _sure(found.centers[order], vectors, seed))
    rows = np.flatnonzero(state.labels == cluster)
    state.labels[rows] = np.array(ids)[
        step.assigner.logits(state.get_vectors()[rows]).argmax(axis=1)
    ]
    for part, name in zip(ids, edit.names or [None] * edit.into, strict=True):
        state.rename(part, name)
    state.follow_corrections({cluster})
    state.steps.append(step)
    state.moved = True
    parts = ", ".join(f"{i}: {state.size(i):,}" for i in ids)
    state.done.append(f"split {said} into {edit.into} parts ({parts} rows)")


def _sure(centers: Floats, vectors: Floats, seed: int) -> CenterAssigner:
    """The assigner of the parts, as sure of itself as two halves of the texts agree."""
    parts = calibrate(CenterAssigner(centers), vectors, seed, torch.device("cpu"))
    assert isinstance(parts, CenterAssigner)
    return parts


def _rename(edit: Edit, state: State) -> None:
    _refuse_locked(edit, state, edit.clusters)
    new = dict(zip(edit.clusters, edit.names, strict=True))
    said = [f"renamed {state.shown(cluster)} to {name}" for cluster, name in new.items()]
    state.names |= dict.fromkeys(new)  # two clusters may exchange their names
    for cluster, name in new.items():
        _check_free(edit, state, name, cluster)
        state.rename(cluster, name)
    state.done += said


def _move(edit: Edit, state: State) -> None:
    """Rows and their texts go to another cluster, in later predictions, too."""
    (to,) = edit.clusters
    rows = select_rows(edit, state)
    _refuse_locked(edit, state, {to, *state.labels[rows[~state.outliers[rows]]].tolist()})
    leaving = rows[(state.labels[rows] != to) | state.outliers[rows]]
    if not len(leaving):
        raise DataError(
            f"{edit.where}: all {len(rows)} rows are in cluster {to} already; leave the edit out."
        )
    for cluster in {*state.labels[leaving].tolist()} - {to}:
        if not len(np.setdiff1d(state.rows(cluster), leaving)):
            raise DataError(
                f"{edit.where}: it would leave cluster {cluster} without a row; merge it "
                f"instead: 'merge: [{to}, {cluster}]'."
            )
    state.correct(rows, to)
    state.done.append(f"moved {counted(len(leaving), 'row')} to {state.shown(to)}")


# Edits that mark clusters: which of the state's sets they change, whether they take the mark
# away, and the sentence about it
_MARKS = {
    "lock": ("locked", False, "locked {}"),
    "unlock": ("locked", True, "unlocked {}"),
    "done": ("finished", False, "marked {} as done"),
    "reopen": ("finished", True, "reopened {}"),
}
_CALLED = {"locked": "locked", "finished": "marked as done"}


def _mark(edit: Edit, state: State) -> None:
    """Lock clusters or mark them as done, or take that back."""
    mark, back, sentence = _MARKS[edit.kind]
    marked: set[int] = getattr(state, mark)
    for cluster in edit.clusters:
        if back and cluster not in marked:
            called = _CALLED[mark]
            raise DataError(f"{edit.where}: cluster {cluster} is not {called}; leave it out.")
    (marked.difference_update if back else marked.update)(edit.clusters)
    state.done.append(sentence.format(", ".join(map(state.shown, edit.clusters))))


_EDITS = {
    "merge": _merge,
    "split": _split,
    "rename": _rename,
    "move": _move,
    **dict.fromkeys(_MARKS, _mark),
}


def _refuse_locked(edit: Edit, state: State, clusters: Iterable[int]) -> None:
    locked = sorted(state.locked & set(clusters))
    if locked:
        raise DataError(
            f"{edit.where}: cluster {state.shown(locked[0])} is locked: it keeps its rows and "
            f"its name; put 'unlock: [{locked[0]}]' before this edit if you mean it."
        )


def _check_free(
    edit: Edit, state: State, name: str, cluster: int, more: Sequence[str] = ()
) -> None:
    for other, taken in state.names.items():
        if other != cluster and taken is not None and taken.casefold() == name.casefold():
            raise DataError(
                f"{edit.where}: cluster {other} has the name {taken!r} already; choose another "
                f"one, or merge the two: 'merge: [{other}, {cluster}]'.",
                code="edit.name_taken",
            )
    if name.casefold() in [given.casefold() for given in more]:
        raise DataError(
            f"{edit.where}: the name {name!r} is given twice; every part needs its own."
        )
