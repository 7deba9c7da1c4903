"""What a later run takes over from an earlier one: numbers, names, corrections, locks and edits.

Every text of the new data has a cluster in the earlier run: the one in its table if the text is
there, else the one its model predicts. New clusters are matched with earlier ones by the rules of
:mod:`coterie.comparison.compare`; partners keep number and name, other clusters get numbers that
were never used. Texts of locked clusters stay in them, whatever the new clustering says. A
description by a language model is kept where the texts of the cluster are nearly the same. Merges,
splits and deletions by hand are done again where their parts are found, see
:mod:`coterie.editing.repeat`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from coterie._folders import one_state
from coterie._types import Bools, Ints
from coterie.base import TextClusterer
from coterie.base.edited import Delete, EditedAssigner, Merge, edited, fingerprint
from coterie.clustering import read
from coterie.comparison import jaccard, links, partners
from coterie.description import Cluster
from coterie.editing.apply import Draft
from coterie.editing.edit import is_quoted
from coterie.editing.repeat import Repeated, delete_again, deleted_texts
from coterie.errors import CoterieError, DataError
from coterie.run_files import given_numbers

logger = logging.getLogger(__name__)

SAME_TEXTS = (
    0.9  # Jaccard index of the texts of a cluster before and now that keeps its description
)


@dataclass
class EarlierRun:
    """An earlier run as a later one sees it."""

    folder: Path
    draft: Draft  # names, locks, corrections and the next number of the earlier run
    # (n,): cluster of each text of the new data in the earlier run, -1 where nothing is known
    before: Ints
    # known, predicted: how many of them are from its table, and from its model
    known: int
    predicted: int
    # Clusters of the classes that were given to the earlier run; None if nothing was given
    given: dict[str, int] | None = None
    # Of the classes that are given to the new run, in their order
    numbers: list[int] = field(default_factory=list)
    # Of the new clusters by their numbers, if the method finds any
    topics: dict[int, Any] | None = None
    # Earlier clusters with a description or quotes by a language model; then those that keep them
    described: dict[int, Cluster] = field(default_factory=dict)
    # Texts of the new data that would be in clusters which a person has deleted
    deleted: dict[int, Bools] = field(default_factory=dict)
    # What was kept, for the manifest; see coterie.summary
    facts: dict[str, Any] = field(default_factory=dict)

    def still_said(self, texts: Sequence[str], labels: Ints) -> dict[int, Cluster]:
        """Earlier clusters that keep their descriptions, with the quotes that still hold."""
        out = {}
        for i, cluster in self.described.items():
            here = np.flatnonzero(labels == i)
            quotes = [quote for quote in cluster.quotes if is_quoted(quote, texts, here)]
            out[i] = replace(cluster, quotes=quotes)
        return out

    def editing(self) -> dict[str, Any]:
        """What the manifest of the new run keeps, for later edits and runs."""
        kept = self.draft.facts
        del kept["done"]  # nobody has looked at the new clusters
        return {"edits": 0, **kept, "kept_from": str(self.folder), "kept": self.facts}


def read_earlier(folder: Path, texts: Sequence[str]) -> EarlierRun:
    """Read an earlier run and find where it has, or would put, these texts.

    All of the run is read now: its folder may be the one that the new run replaces.
    """
    return one_state([folder], lambda: _read_earlier(folder, texts))


def _read_earlier(folder: Path, texts: Sequence[str]) -> EarlierRun:
    run = read(folder)
    draft = Draft.of(run)
    table = {t: int(c) for t, c in zip(run.texts, draft.labels, strict=True) if c >= 0}
    before = np.array([table.get(text, -1) for text in texts], dtype=np.int64)
    known = int((before >= 0).sum())
    unknown = [i for i, text in enumerate(texts) if text and before[i] < 0]
    if unknown:
        try:
            before[unknown] = run.model.predict([texts[i] for i in unknown])
        except (CoterieError, OSError) as error:
            if known == 0:
                raise DataError(
                    f"--keep {folder}: none of its texts is in the new data, and its model cannot "
                    f"place new ones: {error}"
                ) from error
    before[~np.isin(before, list(draft.names))] = -1
    for text, cluster in table.items():
        if cluster in draft.locked:
            draft.corrections[fingerprint(text)] = cluster
    guidance = run.facts.get("guidance")
    given = None
    if guidance is not None:
        given = dict(zip(guidance["given"], given_numbers(guidance), strict=True))
    predicted = int((before >= 0).sum()) - known
    described = {c.id: c for c in run.clusters if c.description or c.quotes}
    found = EarlierRun(folder, draft, before, known, predicted, given, described=described)
    if draft.deleted:
        try:
            vectors = np.asarray(run.model.transform(list(texts)))
            assigner = edited(run.model.assigner_, run.model.n_clusters_)
            found.deleted = deleted_texts(assigner, vectors)
        except (CoterieError, OSError) as error:
            logger.info("what was deleted by hand is not known without the model: %s", error)
    return found


def keep(  # noqa: PLR0915 - one thing after another is taken over
    model: TextClusterer, earlier: EarlierRun, texts: Sequence[str]
) -> None:
    """Give the clusters of a fitted model the numbers they had, and texts their locked places.

    Labels and assigner of the model change; the draft of ``earlier`` becomes that of the new run.
    """
    draft, k = earlier.draft, model.n_clusters_
    old = sorted(draft.names)
    gone, columns = delete_again(model, earlier.deleted, len(model.classes_))
    mates = _mates(old, earlier.before, columns, k)
    for column, name in enumerate(model.classes_):
        number = (earlier.given or {}).get(name)
        if number in draft.names:  # a given class stays what it was, whatever texts it has now
            mates = {c: other for c, other in mates.items() if other != number} | {column: number}
        else:
            mates.pop(column, None)
    place = [mates.get(column, -1) for column in range(k)]
    for column in range(k):
        if place[column] < 0:
            place[column], draft.next_id = draft.next_id, draft.next_id + 1
    earlier.numbers = place[: len(model.classes_)]
    for number, name in zip(earlier.numbers, model.classes_, strict=True):
        draft.names.setdefault(number, name)
    labels = np.append(np.array(place), -1)[columns]
    again = _repeat(model, earlier, gone, place, mates, labels)
    left = EditedAssigner(model.assigner_, tuple(place), tuple(again.steps)).leaves
    told = {
        "more": len(left) - len(place),
        "done": [
            *(f"merged others into {draft.shown(i)}" for i in again.merged),
            *(f"split off {draft.shown(i)}" for i in again.split),
            *(f"deleted {i} ({draft.deleted.get(i, '')})" for i in gone.values()),
        ],
        "left": [draft.shown(i) for i in again.lost],
    }
    present = [fingerprint(text) if text else "" for text in texts]
    found = {draft.corrections[mark] for mark in present if mark in draft.corrections}
    beside = sorted((found & draft.locked) - set(left))
    alive = {*left, *beside}
    lost = [draft.shown(cluster) for cluster in sorted(draft.locked - alive)]
    own = {present[row]: int(labels[row]) for row in model.corrected_rows_}  # of links
    draft.corrections = own | {m: c for m, c in draft.corrections.items() if c in alive}
    draft.names = {c: n for c, n in draft.names.items() if c in alive}
    draft.locked &= alive
    draft.named &= alive
    draft.unmark({*draft.merged, *(part for group in draft.parted for part in group)} - alive)
    draft.deleted = again.deleted
    rows = {i: draft.corrections[m] for i, m in enumerate(present) if m in draft.corrections}
    takers = {c: _largest_taker(c, labels, rows) for c in alive}
    labels[list(rows)] = list(rows.values())
    emptied = [
        Merge((takers[c], c), takers[c])
        for c in sorted(alive)
        if not (labels == c).any() and takers[c] >= 0
    ]
    steps = (*again.steps, *emptied)
    model.assigner_ = EditedAssigner(model.assigner_, tuple(place), steps, tuple(beside))
    model.labels_, model.n_clusters_ = labels, len(model.assigner_.clusters)
    model.corrections_, model.corrected_rows_ = draft.corrections, rows
    topics = getattr(model, "topics_", None)
    earlier.topics = None if topics is None else dict(zip(place, topics, strict=False))
    now = set(model.assigner_.clusters)
    earlier.facts = {
        "run": earlier.folder.name or str(earlier.folder),
        "clusters": len(old),
        "matched": len(set(old) & now),
        "new": len(now - set(old)),
        "known": earlier.known,
        "predicted": earlier.predicted,
        "lost": lost,
        "undescribed": _drop_descriptions(earlier, labels),
        "fitted": k,
        "emptied": len(emptied),
        "beside": len(beside),
        **({"again": told} if told["done"] or told["left"] else {}),
    }


def _repeat(
    model: TextClusterer,
    earlier: EarlierRun,
    gone: Mapping[int, int],
    place: Sequence[int],
    mates: Mapping[int, int],
    labels: Ints,
) -> Repeated:
    """Deletions, merges and splits of the earlier run, done again; ``labels`` change."""
    draft, before = earlier.draft, earlier.before
    again = Repeated([Delete(place[column]) for column in gone])
    again.deleted = {place[column]: draft.deleted.get(old, "") for column, old in gone.items()}
    given = len(model.classes_)
    free = [n for c, n in enumerate(place) if c >= given and c not in mates and c not in gone]
    again.merge(sorted(draft.merged & draft.names.keys()), free, before, labels)
    shown = [[part for part in group if part in draft.names] for group in draft.parted]
    again.part([group for group in shown if len(group) > 1], free, before, labels, model)
    return again


def _mates(old: Sequence[int], before: Ints, labels: Ints, k: int) -> dict[int, int]:
    """Column of the new model to number of the earlier cluster that it carries on."""
    counts = np.zeros((len(old), k), dtype=np.int64)
    use = (before >= 0) & (labels >= 0)
    np.add.at(counts, (np.searchsorted(old, before[use]), labels[use]), 1)
    found = partners(jaccard(counts), links(counts))
    return {column: old[row] for row, column in found.items()}


def _drop_descriptions(earlier: EarlierRun, labels: Ints) -> list[str]:
    """Keep descriptions of clusters whose texts are nearly the same; which are dropped."""
    out = []
    for cluster in sorted(earlier.described.keys() & earlier.draft.names.keys()):
        was, now = earlier.before == cluster, labels == cluster
        if (was & now).sum() < SAME_TEXTS * (was | now).sum():
            del earlier.described[cluster]
            out.append(earlier.draft.shown(cluster))
    return out


def _largest_taker(cluster: int, labels: Ints, rows: dict[int, int]) -> int:
    """Where most of a cluster's rows are bound to; -1 if none of them is."""
    taken = [to for row, to in rows.items() if labels[row] == cluster and to != cluster]
    return max(set(taken), key=lambda to: (taken.count(to), -to)) if taken else -1
