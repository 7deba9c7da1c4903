"""What a later run takes over from an earlier one: the numbers and names of its clusters.

Every text of the new data has a cluster in the earlier run: the one in its table if the text is
there, else the one its model predicts. New clusters are matched with earlier ones by the rules of
:mod:`coterie.runs.comparison.compare`; partners keep number and name, other clusters get numbers
that were never used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from coterie._util.folders import one_state
from coterie._util.types import Ints
from coterie.arrays.tree import Tree
from coterie.errors import CoterieError, DataError
from coterie.models.clusterer import TextClusterer
from coterie.models.edited import EditedAssigner
from coterie.runs.comparison import jaccard, links, partners
from coterie.runs.store import read


@dataclass
class EarlierRun:
    """An earlier run as a later one sees it.

    Attributes
    ----------
    folder : Path
    names : dict of int to (str or None)
        Of its clusters; after :func:`keep`, those that the new clusters have by their numbers.
    named : set of int
        Clusters whose names a person gave.
    next_id : int
        The lowest number that no cluster ever had.
    before : ndarray of shape (n,)
        Cluster of each text of the new data in the earlier run, -1 where nothing is known.
    known, predicted : int
        How many of them are from its table, and from its model.
    numbers : list of int
        Of the new clusters, in the order of the new model.
    facts : dict
        What was kept, for the manifest; see :mod:`coterie.describe.summary`.
    """

    folder: Path
    names: dict[int, str | None]
    named: set[int]
    next_id: int
    before: Ints
    known: int
    predicted: int
    numbers: list[int] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def numbered(self, tree: Tree) -> Tree:
        """The tree of the new model with the numbers of :func:`keep`, and free ones for unions."""
        unions = dict(zip(tree.inside(), count(self.next_id)))
        found = tree.renumbered({**dict(enumerate(self.numbers)), **unions})
        self.next_id += len(unions)
        return found

    def editing(self) -> dict[str, Any]:
        """What the manifest of the new run keeps, for later edits and runs."""
        named = sorted(self.named & self.names.keys())
        return {"edits": 0, "named": named, "next_id": self.next_id, "kept": self.facts}


def read_earlier(folder: Path, texts: Sequence[str]) -> EarlierRun:
    """Read an earlier run and find where it has, or would put, these texts.

    All of the run is read now: its folder may be the one that the new run replaces.
    """
    return one_state([folder], lambda: _read_earlier(folder, texts))


def _read_earlier(folder: Path, texts: Sequence[str]) -> EarlierRun:
    run = read(folder)
    table = {t: int(c) for t, c in zip(run.texts, run.nearest, strict=True) if c >= 0}
    before = np.array([table.get(text, -1) for text in texts], dtype=np.int64)
    known = int((before >= 0).sum())
    unknown = [i for i, text in enumerate(texts) if text and before[i] < 0]
    if unknown:
        try:
            before[unknown] = run.model.predict([texts[i] for i in unknown])
        except (CoterieError, OSError) as error:
            if known == 0:
                raise DataError(
                    f"`keep` {folder}: none of its texts is in the new data, and its model cannot "
                    f"place new ones: {error}"
                ) from error
    before[~np.isin(before, list(run.names))] = -1
    predicted = int((before >= 0).sum()) - known
    named = set(run.facts.get("editing", {}).get("named", ()))
    return EarlierRun(folder, dict(run.names), named, run.next_id, before, known, predicted)


def keep(model: TextClusterer, earlier: EarlierRun) -> None:
    """Give the clusters of a fitted model the numbers that they had, in place.

    Clusters of given classes keep the names of these.
    """
    k, old, free = model.n_clusters_, sorted(earlier.names), earlier.next_id
    mates = _mates(old, earlier.before, np.asarray(model.labels_), k)
    place = [mates.get(column, -1) for column in range(k)]
    for column in range(k):
        if place[column] < 0:
            place[column], free = free, free + 1
    classes = {place[column]: name for column, name in enumerate(model.classes_)}
    taken = {name.casefold() for name in classes.values()}
    kept = {i: earlier.names[i] for i in mates.values() if i not in classes}
    names = {i: None if (name or "").casefold() in taken else name for i, name in kept.items()}
    earlier.names = {**dict.fromkeys(place), **names, **classes}
    earlier.named &= names.keys()
    earlier.numbers, earlier.next_id = place, free
    model.assigner_ = EditedAssigner(model.assigner_, tuple(place))
    model.labels_ = np.append(np.array(place), -1)[model.labels_]
    model.corrections_ = {mark: place[column] for mark, column in model.corrections_.items()}
    model.corrected_rows_ = {row: place[column] for row, column in model.corrected_rows_.items()}
    earlier.facts = {
        "run": earlier.folder.name or str(earlier.folder),
        "clusters": len(old),
        "matched": len(mates),
        "new": k - len(mates),
        "known": earlier.known,
        "predicted": earlier.predicted,
    }


def _mates(old: Sequence[int], before: Ints, labels: Ints, k: int) -> dict[int, int]:
    """Column of the new model to number of the earlier cluster that it carries on."""
    counts = np.zeros((len(old), k), dtype=np.int64)
    use = (before >= 0) & (labels >= 0)
    np.add.at(counts, (np.searchsorted(old, before[use]), labels[use]), 1)
    found = partners(jaccard(counts), links(counts))
    return {column: old[row] for row, column in found.items()}
