"""From two clusterings to what changed between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from coterie._errors import UsageError
from coterie._folders import one_state
from coterie._types import Bools, Ints
from coterie.comparison.evidence import LEAST, Evidence, gather
from coterie.comparison.links import jaccard, links, partners, similar, statuses
from coterie.comparison.result import Change, Comparison, Flow
from coterie.comparison.side import Side, make_side
from coterie.metrics import ari, nmi


def compare(
    a: Any, b: Any, *, by: str = "auto", id_column: str | None = None, examples: int = 3
) -> Comparison:
    """Match the clusters of two clusterings, and follow the rows from one to the other.

    Parameters
    ----------
    a, b : str, Path, Side or sequence
        The folder of a finished run, a :class:`Side`, or one label for each row; two sequences
        have their rows in the same order. -1 stands for no cluster.
    by : {"auto", "rows", "model", "centers", "words"}, default="auto"
        What to match by. "auto" goes by rows if at least half of the smaller side is in both,
        else by the predictions of the saved models, else by centers, else by words.
    id_column : str, optional
        Column of both runs that names each row; rows are matched by their texts without one.
    examples : int, default=3
        Texts to keep of every group of rows that moved together.

    Returns
    -------
    Comparison
        The definitions are in :mod:`coterie.comparison.links`.

    Examples
    --------
    >>> found = compare([0, 0, 0, 0, 1, 1], [0, 0, 2, 2, 1, 1])
    >>> [(c.id, c.status, c.linked) for c in found.clusters_a]
    [(0, 'split', (0, 2)), (1, 'matched', (1,))]
    >>> found.moved, round(found.unchanged, 2)
    (2, 0.67)
    """
    folders = [Path(source) for source in (a, b) if isinstance(source, (str, Path))]
    return one_state(folders, lambda: _compare(a, b, by, id_column, examples))


def _compare(a: Any, b: Any, by: str, id_column: str | None, examples: int) -> Comparison:
    left, right = make_side(a, "before", id_column), make_side(b, "after", id_column)
    if not _is_named(a) and not _is_named(b) and len(left.labels) != len(right.labels):
        raise UsageError(
            "compare.one_label_per_row", before=len(left.labels), after=len(right.labels)
        )
    evidence = gather(left, right, by)
    return _Work(left, right, evidence).result(examples)


def _is_named(source: Any) -> bool:
    return isinstance(source, (str, Side)) or hasattr(source, "joinpath")


class _Work:
    """Both sides with the evidence, and the links that follow from it."""

    def __init__(self, a: Side, b: Side, evidence: Evidence) -> None:
        self.a, self.b, self.evidence = a, b, evidence
        self.ids = a.clusters, b.clusters
        self.counts = self._counts()
        if evidence.similarity is None:
            self.linked, self.weights = links(self.counts), jaccard(self.counts)
        else:
            self.weights = evidence.similarity
            self.linked = similar(self.weights, LEAST)
        self.partners = partners(self.weights, self.linked)

    def _counts(self) -> Ints:
        """Rows by cluster in A and cluster in B, clusters in the order of their numbers."""
        out = np.zeros((len(self.ids[0]), len(self.ids[1])), dtype=np.int64)
        a, b = self.evidence.a, self.evidence.b
        # A model may know clusters that hold no row any more; they cannot be matched.
        use = np.isin(a, self.ids[0]) & np.isin(b, self.ids[1])
        places = [
            np.searchsorted(ids, codes[use]) for ids, codes in zip(self.ids, (a, b), strict=True)
        ]
        np.add.at(out, tuple(places), 1)
        return out

    def result(self, examples: int) -> Comparison:
        evidence, counted = self.evidence, self.evidence.similarity is None
        a, b = evidence.a, evidence.b
        seen = (a >= 0) | (b >= 0)
        both = (a >= 0) & (b >= 0)
        flows = self._flows(examples)
        moved = sum(flow.count for flow in flows if not flow.kept)
        of_a, of_b = statuses(self.linked)
        back = {y: x for x, y in self.partners.items()}
        only_a, only_b = (
            int((side.labels >= 0).sum() - (side.labels[common] >= 0).sum())
            for side, common in ((self.a, evidence.common_a), (self.b, evidence.common_b))
        )
        return Comparison(
            a=self.a.title,
            b=self.b.title,
            evidence=evidence.kind,
            reason=evidence.reason,
            rows_a=len(self.a.labels),
            rows_b=len(self.b.labels),
            seen=int(seen.sum()),
            only_a=only_a,
            only_b=only_b,
            clusters_a=self._changes(0, of_a, self.partners, self.linked),
            clusters_b=self._changes(1, of_b, back, self.linked.T),
            flows=tuple(flows),
            moved=moved if counted else None,
            unchanged=1 - moved / int(seen.sum()) if counted and seen.any() else None,
            nmi=nmi(a[both], b[both]) if both.any() else None,
            ari=ari(a[both], b[both]) if both.any() else None,
        )

    def _changes(
        self, which: int, status: list[str], partner: dict[int, int], linked: Bools
    ) -> tuple[Change, ...]:
        side, common = [(self.a, self.evidence.common_a), (self.b, self.evidence.common_b)][which]
        counts, weights = (
            (self.counts, self.weights) if which == 0 else (self.counts.T, self.weights.T)
        )
        mine, theirs = self.ids[which], self.ids[1 - which]
        sizes = {i: int((side.labels == i).sum()) for i in mine}
        followed = side.labels[common]
        own = [self.evidence.a, self.evidence.b][which]
        total = max(sum(sizes.values()), 1)
        out = []
        for row, i in enumerate(mine):
            near = sorted(np.flatnonzero(linked[row]), key=lambda j: (-weights[row, j], theirs[j]))
            mate = partner.get(row)
            out.append(Change(
                id=i,
                name=side.names.get(i, f"Cluster {i}"),
                size=sizes[i],
                share=sizes[i] / total,
                status=status[row],
                partner=None if mate is None else theirs[mate],
                linked=tuple(theirs[j] for j in near),
                seen=int((own == i).sum()),
                stayed=0 if mate is None else int(counts[row, mate]),
                only=sizes[i] - int((followed == i).sum()),
            ))  # fmt: skip
        return tuple(out)

    def _flows(self, examples: int) -> list[Flow]:
        a, b = self.evidence.a, self.evidence.b
        kept = {(self.ids[0][x], self.ids[1][y]) for x, y in self.partners.items()}
        groups: dict[tuple[int, int], list[int]] = {}
        for row, pair in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
            if pair != (-1, -1):
                groups.setdefault(pair, []).append(row)
        out = [
            Flow(
                None if x < 0 else x,
                None if y < 0 else y,
                len(rows),
                (x, y) in kept,
                () if (x, y) in kept else self._examples(rows, examples),
            )
            for (x, y), rows in groups.items()
        ]
        return sorted(out, key=lambda f: (-f.count, _order(f.a), _order(f.b)))

    def _examples(self, rows: list[int], most: int) -> tuple[str, ...]:
        """The first different texts of some rows."""
        texts = self.evidence.texts
        return tuple(dict.fromkeys(texts[row] for row in rows if texts))[:most]


def _order(cluster: int | None) -> int:
    return -1 if cluster is None else cluster
