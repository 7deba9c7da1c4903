"""Merges, splits and deletions of an earlier run, done again on the clusters of a later one.

A cluster is found again where more than half of its texts are together. New clusters most of whose
texts were in a merged one are merged into it; one that holds several parts of a split is divided
between the centers of these; one most of whose texts were in a deleted cluster is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from coterie._random import derive_seed
from coterie._types import Bools, Floats, Ints
from coterie.base import TextClusterer
from coterie.base.edited import Delete, EditedAssigner, Merge, Split, Step, edited
from coterie.editing.apply import parts_assigner


@dataclass
class Repeated:
    """What was done again.

    Attributes
    ----------
    steps : list of Step
        For the assigner of the new model.
    merged, split : list of int
        Clusters into which others were merged, and parts that were made.
    deleted : dict of int to str
        Numbers of clusters that were deleted, and what they were called in the earlier run.
    lost : list of int
        Merged clusters, and parts of splits, that were not found again.
    """

    steps: list[Step] = field(default_factory=list)
    merged: list[int] = field(default_factory=list)
    split: list[int] = field(default_factory=list)
    deleted: dict[int, str] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)

    def merge(self, merged: Sequence[int], free: Collection[int], before: Ints, now: Ints) -> None:
        """Merge new clusters most of whose texts were in a merged one.

        Parameters
        ----------
        merged : sequence of int
            Earlier clusters that a person has merged.
        free : collection of int
            New clusters that carry no earlier one on.
        before, now : ndarray of shape (n,)
            Earlier and new cluster of each text, -1 for none; ``now`` changes.
        """
        for into in merged:
            if into not in now:
                self.lost.append(into)
                continue
            others = [number for number in free if _most(before == into, now == number)]
            if others:
                now[np.isin(now, others)] = into
                self.steps.append(Merge((into, *others), into))
                self.merged.append(into)

    def part(
        self,
        groups: Sequence[Sequence[int]],
        free: Collection[int],
        before: Ints,
        now: Ints,
        model: TextClusterer,
    ) -> None:
        """Divide new clusters that hold several parts of a split.

        Parameters
        ----------
        groups : sequence of sequence of int
            Earlier clusters that are parts of the same split.
        free, before, now
            As for :meth:`merge`.
        model : TextClusterer
            That has the vectors of the texts.
        """
        vectors = model.vectors_
        for group in groups:
            for number in np.unique(now[now >= 0]).tolist():
                here = now == number
                held = [p for p in group if _most(here, before == p)]
                parts = [p for p in held if p == number or p not in now]
                if len(parts) < 2 or not (number in parts or number in free):
                    continue
                centers = [vectors[here & (before == p)].mean(axis=0) for p in parts]
                seed = derive_seed(model.seed_, "repeat", number)
                assigner = parts_assigner(np.stack(centers), vectors[here], seed)
                found = np.array(parts)[assigner.logits(vectors[here]).argmax(axis=1)]
                if len(np.unique(found)) == len(parts):
                    now[here] = found
                    self.steps.append(Split(number, tuple(parts), assigner))
                    self.split += parts
            self.lost += [p for p in group if p not in now]


def delete_again(
    model: TextClusterer, deleted: Mapping[int, Bools], first: int
) -> tuple[dict[int, int], Ints]:
    """Columns of a new model that are clusters which were deleted, and labels without them.

    Parameters
    ----------
    model : TextClusterer
    deleted : mapping of int to ndarray of shape (n,)
        Texts of each deleted cluster.
    first : int
        Columns before this are classes that were given; they stay.
    """
    labels = np.array(model.labels_)
    gone = {
        column: number
        for column in range(first, model.n_clusters_)
        for number, inside in deleted.items()
        if _most(inside, labels == column)
    }
    if not gone or len(gone) == model.n_clusters_:
        return {}, labels
    left = edited(model.assigner_, model.n_clusters_).then(*map(Delete, gone))
    rows = np.isin(labels, list(gone))
    labels[rows] = left.logits(model.vectors_[rows]).argmax(axis=1)
    return gone, labels


def deleted_texts(assigner: EditedAssigner, vectors: Floats) -> dict[int, Bools]:
    """Which texts would be in clusters that were deleted, by the numbers of these."""
    out: dict[int, Bools] = {}
    for i, step in enumerate(assigner.steps):
        if isinstance(step, Delete):
            before = replace(assigner, steps=assigner.steps[:i], cut={})
            out[step.cluster] = before.logits(vectors).argmax(axis=1) == step.cluster
    return out


def _most(some: Bools, of: Bools) -> bool:
    """Whether more than half of the rows of one are among others."""
    return bool(2 * (some & of).sum() > of.sum() > 0)
