"""From two clusterings to what changed between them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie._util.folders import one_state
from coterie._util.types import Bools, Floats, Ints
from coterie._util.validation import check_choice
from coterie.arrays.metrics import ari, best_partners, nmi
from coterie.errors import CoterieError, DataError, UsageError, counted
from coterie.models.clusterer import TextClusterer
from coterie.runs.comparison.result import Change, Comparison, Flow
from coterie.runs.comparison.side import Side, make_side

MATCHED, SPLIT, MERGED, DIED, BORN = "matched", "split", "merged", "died", "born"


def links(counts: Ints) -> Bools:
    """Which pairs share more than half of the smaller cluster.

    Parameters
    ----------
    counts : ndarray of shape (k_a, k_b)
        Rows that are in cluster ``a`` here and in cluster ``b`` there.

    Examples
    --------
    >>> links(np.array([[5, 5, 0], [0, 0, 8]])).astype(int).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """
    smaller = np.minimum(counts.sum(axis=1)[:, None], counts.sum(axis=0)[None, :])
    return np.asarray(2 * counts > smaller)


def jaccard(counts: Ints) -> Floats:
    """Shared rows over all rows of both clusters; 0 where both are empty.

    Examples
    --------
    >>> jaccard(np.array([[3, 1], [0, 4]])).tolist()
    [[0.75, 0.125], [0.0, 0.8]]
    """
    union = counts.sum(axis=1)[:, None] + counts.sum(axis=0)[None, :] - counts
    return np.asarray(counts / np.maximum(union, 1), dtype=np.float64)


def partners(weights: Floats, linked: Bools) -> dict[int, int]:
    """The one-to-one choice of links with the largest sum of weights; first numbers win ties.

    Parameters
    ----------
    weights : ndarray of shape (k_a, k_b)
    linked : ndarray of shape (k_a, k_b)

    Returns
    -------
    dict of int to int
        Places in A to places in B.
    """
    if not linked.any():
        return {}
    late = np.arange(linked.size).reshape(linked.shape) / linked.size  # decides among equals
    value = np.where(linked, weights - 1e-9 * late, 0.0)
    found = enumerate(best_partners(value).tolist())
    return {a: b for a, b in found if b >= 0 and linked[a, b]}


def statuses(linked: Bools) -> tuple[list[str], list[str]]:
    """What became of each cluster of A, and where each cluster of B comes from."""
    out_a, out_b = linked.sum(axis=1), linked.sum(axis=0)
    of_a = [_status(row, out_b, DIED, SPLIT, MERGED) for row in linked]
    of_b = [_status(column, out_a, BORN, MERGED, SPLIT) for column in linked.T]
    return of_a, of_b


def _status(mine: Bools, theirs: Ints, none: str, many: str, shared: str) -> str:
    count = int(mine.sum())
    if count == 0:
        return none
    if count > 1:
        return many
    return MATCHED if theirs[mine][0] == 1 else shared


ENOUGH = 0.5  # share of the smaller side that must be in the other one to go by rows
WAYS = ("auto", "rows", "model")


@dataclass(frozen=True)
class Shared:
    """Rows that are in both sides, by ids or texts; by neither if there are no such columns."""

    by: str  # "id", "text", or empty
    rows_a: Ints  # (c,)
    rows_b: Ints


@dataclass(frozen=True)
class Evidence:
    """Clusters on both sides of the rows that were followed."""

    kind: str  # ids, texts or model
    reason: str
    a: Ints  # (m,): -1 for none
    b: Ints
    texts: list[str]  # empty where there are none


def pair_rows(a: Side, b: Side) -> Shared:
    """Rows of both sides that are the same, by id if both have ids, else by text.

    What occurs several times is paired in its order: the second with the second.
    """
    if a.ids is not None and b.ids is not None:
        by, left, right = "id", a.ids, b.ids
    elif a.texts is not None and b.texts is not None:
        by, left, right = "text", a.texts, b.texts
    else:
        by, left, right = "", [], []
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for row in reversed(range(len(right))):
        waiting[right[row]].append(row)
    pairs = [(row, waiting[key].pop()) for row, key in enumerate(left) if key and waiting.get(key)]
    paired = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Shared(by, paired[:, 0], paired[:, 1])


def gather(a: Side, b: Side, shared: Shared, by: str = "auto") -> Evidence:
    """What clusters are matched by: shared rows, or the predictions of the saved models."""
    check_choice("by", by, WAYS)
    smaller = min(int((side.labels >= 0).sum()) for side in (a, b))
    share = len(shared.rows_a) / max(smaller, 1)
    if by == "rows" or (by == "auto" and share >= ENOUGH):
        evidence = _by_rows(a, b, shared)
    else:
        evidence = _by_model(a, b)
        if evidence is None and by == "auto":
            evidence = _by_rows(a, b, shared)
    if evidence is None:
        raise DataError(
            f"{a.title} and {b.title} have nothing to compare by: they share no row by id or text, "
            "and there is no saved model with texts of the other side. See `id_column`, "
            "`text_column` and `by`."
        )
    return evidence


def _by_rows(a: Side, b: Side, shared: Shared) -> Evidence | None:
    if not len(shared.rows_a):
        return None
    texts, rows = (a.texts, shared.rows_a) if a.texts is not None else (b.texts, shared.rows_b)
    reason = (
        f"Clusters were matched by {counted(len(rows), 'row')} with the same {shared.by} in both."
    )
    if shared.by == "id" and any(len(set(side.ids or ())) < len(side.labels) for side in (a, b)):
        reason += " Some ids name several rows, which were paired by their order in the file."
    return Evidence(
        f"{shared.by}s",
        reason,
        a.labels[shared.rows_a],
        b.labels[shared.rows_b],
        [] if texts is None else [texts[row] for row in rows],
    )


def _by_model(a: Side, b: Side) -> Evidence | None:
    """Every text with its own cluster, and the one that the other side's model gives it."""
    parts: list[tuple[Ints, Ints, list[str]]] = []
    for side, other in ((a, b), (b, a)):
        rows = np.flatnonzero(side.labels >= 0)
        model = _load(other) if side.texts is not None and len(rows) else None
        if model is None or side.texts is None:
            continue
        texts = [side.texts[row] for row in rows]
        own, theirs = side.labels[rows], np.asarray(model.predict(texts))
        parts.append((own, theirs, texts) if side is a else (theirs, own, texts))
    if not parts:
        return None
    both = "each model placed the texts of the other run"
    one = "the model of one run placed the texts of the other"
    return Evidence(
        "model",
        f"Clusters were matched by prediction: {both if len(parts) == 2 else one}.",
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        [text for part in parts for text in part[2]],
    )


def _load(side: Side) -> TextClusterer | None:
    from coterie.models.registry import load

    if side.model is None:
        return None
    try:
        return load(side.model)
    except (CoterieError, OSError):  # an encoder that is not on this machine, mostly
        return None


def compare(  # noqa: PLR0913 - what a table needs to be read
    a: Any,
    b: Any,
    *,
    by: str = "auto",
    id_column: str | None = None,
    text_column: str | None = None,
    a_column: str | None = None,
    b_column: str | None = None,
    examples: int = 3,
) -> Comparison:
    """Match the clusters of two clusterings, and follow the rows from one to the other.

    Parameters
    ----------
    a, b : str, Path, Side, DataFrame, Arrow table or sequence
        The folder of a finished run, a table with clusters or its file, a :class:`Side`, or one
        label for each row; two sequences have their rows in the same order. -1 stands for no
        cluster.
    by : {"auto", "rows", "model"}, default="auto"
        What to match by. "auto" goes by rows if at least half of the smaller side is in both,
        else by the predictions of the saved models.
    id_column : str, optional
        Column of both that names each row; rows are matched by their texts without one.
    text_column, a_column, b_column : str, optional
        Of tables, the column of the texts, and those of the clusters. Default: detected.
    examples : int, default=3
        Texts to keep of every group of rows that moved together.

    Returns
    -------
    Comparison
        The definitions are in :mod:`coterie.runs.comparison.compare`.

    Examples
    --------
    >>> found = compare([0, 0, 0, 0, 1, 1], [0, 0, 2, 2, 1, 1])
    >>> [(c.id, c.status, c.linked) for c in found.clusters_a]
    [(0, 'split', (0, 2)), (1, 'matched', (1,))]
    >>> found.moved, round(found.unchanged, 2)
    (2, 0.67)
    """
    named = [source for source in (a, b) if isinstance(source, (str, Path, Side))]
    folders = [Path(source) for source in named if not isinstance(source, Side)]

    def read() -> Comparison:
        left = make_side(a, "before", "`a_column`", a_column, text_column, id_column)
        right = make_side(b, "after", "`b_column`", b_column, text_column, id_column)
        if not named and len(left.labels) != len(right.labels):
            raise UsageError(
                f"compare: {len(left.labels)} labels before and {len(right.labels)} after; give "
                "one for each row, in the same order."
            )
        shared = pair_rows(left, right)
        return _Work(left, right, shared, gather(left, right, shared, by)).result(examples)

    return one_state(folders, read)


class _Work:
    """Both sides with the evidence, and the links that follow from it."""

    def __init__(self, a: Side, b: Side, shared: Shared, evidence: Evidence) -> None:
        self.a, self.b, self.shared, self.evidence = a, b, shared, evidence
        self.ids = a.clusters, b.clusters
        self.counts = self._counts()
        self.linked, self.weights = links(self.counts), jaccard(self.counts)
        self.partners = partners(self.weights, self.linked)

    def _counts(self) -> Ints:
        """Rows by cluster in A and cluster in B, clusters in the order of their numbers."""
        a, b = self.evidence.a, self.evidence.b
        # A model may know clusters that hold no row any more; they cannot be matched.
        use = np.isin(a, self.ids[0]) & np.isin(b, self.ids[1])
        out = np.zeros((len(self.ids[0]), len(self.ids[1])), dtype=np.int64)
        places = np.searchsorted(self.ids[0], a[use]), np.searchsorted(self.ids[1], b[use])
        np.add.at(out, places, 1)
        return out

    def result(self, examples: int) -> Comparison:
        evidence = self.evidence
        a, b = evidence.a, evidence.b
        seen = (a >= 0) | (b >= 0)
        both = (a >= 0) & (b >= 0)
        flows = self._flows(examples)
        moved = sum(flow.count for flow in flows if not flow.kept)
        only_a, only_b = (
            int((side.labels >= 0).sum() - (side.labels[common] >= 0).sum())
            for side, common in ((self.a, self.shared.rows_a), (self.b, self.shared.rows_b))
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
            clusters_a=self._changes(0),
            clusters_b=self._changes(1),
            flows=tuple(flows),
            moved=moved,
            unchanged=1 - moved / int(seen.sum()) if seen.any() else None,
            nmi=nmi(a[both], b[both]) if both.any() else None,
            ari=ari(a[both], b[both]) if both.any() else None,
            notes=(*self.a.notes, *self.b.notes),
        )

    def _changes(self, which: int) -> tuple[Change, ...]:
        """What became of the clusters of A, or where those of B come from."""
        side, common = [(self.a, self.shared.rows_a), (self.b, self.shared.rows_b)][which]
        counts, weights, linked = (
            matrix.T if which else matrix for matrix in (self.counts, self.weights, self.linked)
        )
        partner = {y: x for x, y in self.partners.items()} if which else self.partners
        status = statuses(self.linked)[which]
        mine, theirs = self.ids[which], self.ids[1 - which]
        sizes = {i: int((side.labels == i).sum()) for i in mine}
        followed = side.labels[common]
        own = [self.evidence.a, self.evidence.b][which]
        total = max(sum(sizes.values()), 1)
        out = []
        for row, i in enumerate(mine):
            near = sorted(np.flatnonzero(linked[row]), key=lambda j: (-weights[row, j], theirs[j]))
            mate = partner.get(row)
            out.append(
                Change(
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
                )
            )
        return tuple(out)

    def _flows(self, examples: int) -> list[Flow]:
        a, b, texts = self.evidence.a, self.evidence.b, self.evidence.texts

        def first_texts(rows: list[int]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(texts[row] for row in rows))[:examples]

        kept = {(self.ids[0][x], self.ids[1][y]) for x, y in self.partners.items()}
        groups: dict[tuple[int, int], list[int]] = {}
        for row, pair in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
            if pair != (-1, -1):
                groups.setdefault(pair, []).append(row)
        return [
            Flow(
                None if x < 0 else x,
                None if y < 0 else y,
                len(rows),
                (x, y) in kept,
                () if (x, y) in kept or not texts else first_texts(rows),
            )
            for (x, y), rows in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
        ]
