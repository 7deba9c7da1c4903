"""What a later run takes over from an earlier one: numbers, names, corrections and locks.

Every text of the new data has a cluster in the earlier run: the one in its table if the text is
there, else the one its model predicts. New clusters are matched with earlier ones by the rules of
:mod:`coterie.comparison.compare`; partners keep number and name, other clusters get numbers that
were never used. Texts of locked clusters stay in them, whatever the new clustering says. A
description by a language model is kept where the texts of the cluster are nearly the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from coterie._folders import one_state
from coterie._types import Ints
from coterie.base import TextClusterer
from coterie.base.edited import EditedAssigner, Merge, fingerprint
from coterie.comparison import jaccard, links, partners
from coterie.description import Cluster
from coterie.editing.apply import State
from coterie.editing.run import EditableRun, is_quoted
from coterie.errors import CoterieError, DataError
from coterie.run_files import given_numbers

SAME = 0.9  # Jaccard index of the texts of a cluster before and now that keeps its description


@dataclass
class Kept:
    """An earlier run as a later one sees it."""

    run: Path
    state: State  # names, locks, corrections and the next number of the earlier run
    # (n,): cluster of each text of the new data in the earlier run, -1 where nothing is known
    before: Ints
    # known, predicted: how many of them are from its table, and from its model
    known: int
    predicted: int
    # Clusters of the classes that were given to the earlier run; None if nothing was given
    given: dict[str, int] | None = None
    # Of the classes that are given to the new run, in their order
    numbers: list[int] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    # Of the new clusters by their numbers, if the method finds any
    topics: dict[int, Any] | None = None
    # Earlier clusters with a description or quotes by a language model; then those that keep them
    described: dict[int, Cluster] = field(default_factory=dict)

    @property
    def names(self) -> dict[int, str | None]:
        """Names that clusters of the new run keep."""
        return dict(self.state.names)

    def with_descriptions(
        self, clusters: Sequence[Cluster], texts: Sequence[str], labels: Ints
    ) -> list[Cluster]:
        """The new clusters, with the descriptions that are kept and the quotes that still hold."""
        out = []
        for cluster in clusters:
            said = self.described.get(cluster.id)
            if said is not None:
                here = np.flatnonzero(labels == cluster.id)
                quotes = [quote for quote in said.quotes if is_quoted(quote, texts, here)]
                cluster = replace(cluster, description=said.description, quotes=quotes)
            out.append(cluster)
        return out

    def to_dict(self) -> dict[str, Any]:
        """What the manifest of the new run keeps, for later edits and runs."""
        state = self.state
        return {
            "edits": 0,
            "locked": sorted(state.locked),
            "named": sorted(state.named),
            "next_id": state.next_id,
            "kept_from": str(self.run),
        }


def read_kept(run: Path, texts: Sequence[str]) -> Kept:
    """Read an earlier run and find where it has, or would put, these texts.

    All of the run is read now: its folder may be the one that the new run replaces.
    """
    return one_state([run], lambda: _read_kept(run, texts))


def _read_kept(run: Path, texts: Sequence[str]) -> Kept:
    earlier = EditableRun(run)
    state = earlier.state()
    table = {t: int(c) for t, c in zip(earlier.texts, state.labels, strict=True) if c >= 0}
    before = np.array([table.get(text, -1) for text in texts], dtype=np.int64)
    known = int((before >= 0).sum())
    unknown = [i for i, text in enumerate(texts) if text and before[i] < 0]
    if unknown:
        try:
            before[unknown] = earlier.model.predict([texts[i] for i in unknown])
        except (CoterieError, OSError) as error:
            if known == 0:
                raise DataError(
                    f"--keep {run}: none of its texts is in the new data, and its model cannot "
                    f"place new ones: {error}"
                ) from error
    before[~np.isin(before, list(state.names))] = -1
    for text, cluster in table.items():
        if cluster in state.locked:
            state.corrections[fingerprint(text)] = cluster
    guidance = earlier.manifest.get("guidance")
    given = None
    if guidance is not None:
        given = dict(zip(guidance["given"], given_numbers(guidance), strict=True))
    predicted = int((before >= 0).sum()) - known
    described = {c.id: c for c in earlier.clusters if c.description or c.quotes}
    return Kept(run, state, before, known, predicted, given, described=described)


def keep(model: TextClusterer, kept: Kept, texts: Sequence[str]) -> None:
    """Give the clusters of a fitted model the numbers they had, and texts their locked places.

    Labels and assigner of the model change; the state of ``kept`` becomes that of the new run.
    """
    state, k = kept.state, model.n_clusters_
    old = sorted(state.names)
    mates = _mates(old, kept.before, np.asarray(model.labels_), k)
    for column, name in enumerate(model.classes_):
        number = (kept.given or {}).get(name)
        if number in state.names:  # a given class stays what it was, whatever texts it has now
            mates = {c: other for c, other in mates.items() if other != number} | {column: number}
        else:
            mates.pop(column, None)
    place = [mates.get(column, -1) for column in range(k)]
    for column in range(k):
        if place[column] < 0:
            place[column], state.next_id = state.next_id, state.next_id + 1
    kept.numbers = place[: len(model.classes_)]
    for number, name in zip(kept.numbers, model.classes_, strict=True):
        state.names.setdefault(number, name)
    labels = np.append(np.array(place), -1)[model.labels_]
    present = [fingerprint(text) if text else "" for text in texts]
    found = {state.corrections[mark] for mark in present if mark in state.corrections}
    extra = sorted((found & state.locked) - set(place))
    alive = {*place, *extra}
    _forget(kept, alive)
    rows = {i: state.corrections[m] for i, m in enumerate(present) if m in state.corrections}
    counts = {c: _largest_taker(c, labels, rows) for c in alive}
    labels[list(rows)] = list(rows.values())
    steps = [
        Merge((counts[c], c), counts[c])
        for c in sorted(alive)
        if not (labels == c).any() and counts[c] >= 0
    ]
    model.assigner_ = EditedAssigner(model.assigner_, tuple(place), tuple(steps), tuple(extra))
    model.labels_, model.n_clusters_ = labels, len(model.assigner_.clusters)
    model.corrections_, model.corrected_rows_ = state.corrections, rows
    topics = getattr(model, "topics_", None)
    kept.topics = None if topics is None else dict(zip(place, topics, strict=False))
    _tell(kept, old, model.assigner_.clusters)
    _drop_descriptions(kept, labels)
    if model.n_clusters_ != k:
        kept.sentences.append(
            f"There are {model.n_clusters_} clusters instead of {k}: {_why(len(steps), len(extra))}"
        )


def _why(emptied: int, extra: int) -> str:
    """How locks and moves changed the number of clusters, in a sentence."""
    parts = []
    if emptied:
        parts.append(f"all texts of {emptied} are in locked clusters or were moved by hand")
    if extra:
        parts.append(f"{extra} locked ones that none continues were kept beside them")
    return f"{', and '.join(parts)}."


def _mates(old: Sequence[int], before: Ints, labels: Ints, k: int) -> dict[int, int]:
    """Column of the new model to number of the earlier cluster that it carries on."""
    counts = np.zeros((len(old), k), dtype=np.int64)
    use = (before >= 0) & (labels >= 0)
    np.add.at(counts, (np.searchsorted(old, before[use]), labels[use]), 1)
    found = partners(jaccard(counts), links(counts))
    return {column: old[row] for row, column in found.items()}


def _forget(kept: Kept, alive: set[int]) -> None:
    """Drop what leads to clusters that the new run does not have."""
    state = kept.state
    for cluster in sorted(state.locked - alive):
        kept.sentences.append(
            f"The locked cluster {state.shown(cluster)} is not in the new data: none of its texts "
            "is there, and no new cluster continues it."
        )
    state.corrections = {m: c for m, c in state.corrections.items() if c in alive}
    state.names = {c: n for c, n in state.names.items() if c in alive}
    state.locked &= alive
    state.named &= alive


def _drop_descriptions(kept: Kept, labels: Ints) -> None:
    """Keep descriptions of clusters whose texts are nearly the same; say which are dropped."""
    for cluster in sorted(kept.described.keys() & kept.state.names.keys()):
        was, now = kept.before == cluster, labels == cluster
        if (was & now).sum() < SAME * (was | now).sum():
            del kept.described[cluster]
            kept.sentences.append(
                f"The description of {kept.state.shown(cluster)} is dropped: more than a tenth of "
                "its texts changed."
            )


def _largest_taker(cluster: int, labels: Ints, rows: dict[int, int]) -> int:
    """Where most of a cluster's rows are bound to; -1 if none of them is."""
    taken = [to for row, to in rows.items() if labels[row] == cluster and to != cluster]
    return max(set(taken), key=lambda to: (taken.count(to), -to)) if taken else -1


def _tell(kept: Kept, old: Sequence[int], now: Sequence[int]) -> None:
    on, new = len(set(old) & set(now)), len(set(now) - set(old))
    kept.sentences.insert(
        0,
        f"Numbers and names are kept from {kept.run.name or kept.run}: {on} of {len(old)} clusters "
        f"live on; new clusters: {new}. Matched by {kept.known:,} texts in its table and "
        f"{kept.predicted:,} placed by its model.",
    )
