"""From two clusterings to what changed between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._folders import one_state
from coterie._trust import read_arrays
from coterie._types import Bools, Floats, Ints
from coterie._validation import check_annotated, check_choice, checked
from coterie.base import TextClusterer
from coterie.base.storage import read_config
from coterie.comparison.result import Change, Comparison, Flow
from coterie.comparison.side import Side, make_side
from coterie.errors import CoterieError, DataError, UsageError, counted
from coterie.metrics import ari, best_partners, nmi
from coterie.neighbors import unit_rows

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


def similar(similarity: Floats, least: float) -> Bools:
    """Links where rows cannot be counted: to the most similar one, from either side.

    Parameters
    ----------
    similarity : ndarray of shape (k_a, k_b)
    least : float
        What is less similar than this is not linked.
    """
    if not similarity.size:
        return np.zeros(similarity.shape, dtype=bool)
    best = similarity == similarity.max(axis=1, keepdims=True)
    best |= similarity == similarity.max(axis=0, keepdims=True)
    return np.asarray(best & (similarity >= least))


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
LEAST = 0.5  # similarity of centers or words below which nothing is linked
WAYS = ("auto", "rows", "model", "centers", "words")


@dataclass(frozen=True)
class Shared:
    """Rows that are in both sides, by ids or texts; by neither if there are no such columns."""

    by: str  # "id", "text", or empty
    rows_a: Ints  # (c,)
    rows_b: Ints


@dataclass(frozen=True)
class Evidence:
    """Rows with a cluster on both sides, or similarities of clusters."""

    kind: str  # ids, texts, model, centers, words
    reason: str
    # a, b (m,): cluster of each row seen on both sides, -1 for none; empty for centers and words
    a: Ints
    b: Ints
    texts: list[str]  # of the rows seen; empty where there are none
    similarity: Floats | None = None  # (k_a, k_b): of clusters in the order of their numbers


def gather(a: Side, b: Side, shared: Shared, by: str = "auto") -> Evidence:
    """The best evidence there is, or the one asked for."""
    check_choice("--by", by, WAYS)
    # A few shared rows are the last resort.
    ways = [*((way, ENOUGH) for way in _FINDERS), ("rows", 0.0)] if by == "auto" else [(by, 0.0)]
    tried: list[str] = []
    for way, enough in ways:
        found = _FINDERS[way](a, b, shared, enough)
        if isinstance(found, Evidence):
            before = f" Not by {'; not by '.join(tried)}." if tried else ""
            return replace(found, reason=found.reason + before)
        tried.append(f"{way}: {found}")
    raise DataError(
        f"{a.title} and {b.title} have nothing to compare by ({'; '.join(tried)})."
        if by == "auto"
        else f"--by {tried[0]}; leave out --by to compare by whatever both sides have."
    )


def pair_rows(a: Side, b: Side) -> Shared:
    """Rows of both sides that are the same, by id if both have ids, else by text.

    What occurs several times is paired in its order: the second with the second. Rows of an id that
    occurs several times are paired by their texts first, and so are rows without an id.
    """
    by, left, right = "", [], []
    pairs: list[tuple[int, int]] = []
    if a.ids is not None and b.ids is not None:
        by, left, right = "id", a.ids, b.ids
        if a.texts is not None and b.texts is not None:
            keys_a = list(zip(a.ids, a.texts, strict=True))
            keys_b = list(zip(b.ids, b.texts, strict=True))
            pairs = _in_order(keys_a, keys_b, [any(key) for key in keys_a])
    elif a.texts is not None and b.texts is not None:
        by, left, right = "text", a.texts, b.texts
    done_a, done_b = ({pair[side] for pair in pairs} for side in (0, 1))
    free = [bool(key) and row not in done_a for row, key in enumerate(left)]
    rest = [None if row in done_b else key for row, key in enumerate(right)]
    pairs = sorted(pairs + _in_order(left, rest, free))
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Shared(by, found[:, 0], found[:, 1])


def _in_order(
    left: Sequence[Any], right: Sequence[Any], use: Sequence[bool]
) -> list[tuple[int, int]]:
    """Rows with equal keys, the first with the first and so on; ``use`` says which on the left."""
    waiting: defaultdict[Any, list[int]] = defaultdict(list)
    for row in range(len(right) - 1, -1, -1):
        waiting[right[row]].append(row)
    pairs = zip(range(len(left)), left, use, strict=True)
    return [(row, waiting[key].pop()) for row, key, wanted in pairs if wanted and waiting.get(key)]


def _repeated(a: Side, b: Side) -> str:
    """A sentence about ids that name several rows; empty if there are none."""
    found = {key: None for side in (a, b) for key, n in Counter(side.ids).items() if key and n > 1}
    if not found:
        return ""
    how = "texts" if a.texts is not None and b.texts is not None else "order in the file"
    some = ", ".join(map(repr, list(found)[:3])) + (", ..." if len(found) > 3 else "")
    return f" {len(found):,} ids name several rows ({some}), which were paired by their {how}."


def _by_rows(a: Side, b: Side, shared: Shared, enough: float) -> Evidence | str:
    if not shared.by:
        return "one side has neither ids nor texts in common with the other"
    n = len(shared.rows_a)
    smaller = min(int((side.labels >= 0).sum()) for side in (a, b))
    share = n / max(smaller, 1)
    if not n or share < enough:
        return f"both share only {counted(n, 'row')} ({100 * share:.0f}%)"
    texts, rows = (a.texts, shared.rows_a) if a.texts is not None else (b.texts, shared.rows_b)
    return Evidence(
        f"{shared.by}s",
        f"Clusters were matched by {n:,} rows with the same {shared.by} in both."
        + (_repeated(a, b) if shared.by == "id" else ""),
        a.labels[shared.rows_a],
        b.labels[shared.rows_b],
        [] if texts is None else [texts[row] for row in rows],
    )


def _by_model(a: Side, b: Side, shared: Shared, enough: float) -> Evidence | str:
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
        return "neither side has a model that can be loaded, and texts"
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
    from coterie.methods import load

    if side.model is None:
        return None
    try:
        return load(side.model)
    except (CoterieError, OSError):  # an encoder that is not on this machine, mostly
        return None


def _by_centers(a: Side, b: Side, shared: Shared, enough: float) -> Evidence | str:
    seen, centers = zip(*(_centers(side) for side in (a, b)), strict=True)
    for found in seen:
        if isinstance(found, str):
            return found
    if seen[0] != seen[1]:
        return "the two models see texts with different encoders"
    middle = np.concatenate(centers).mean(axis=0)
    left, right = (unit_rows(found - middle) for found in centers)
    return _similarity("centers", "the directions of their centers", left @ right.T)


def _centers(side: Side) -> tuple[Any, Floats]:
    """How the model sees texts, or why that is not known, and the centers of the clusters."""
    none = np.zeros((0, 0))
    if side.model is None:
        return "a side has no saved model", none
    config = read_config(side.model)
    pointer = config["encoder"].get("pointer")
    if config["rule"]["kind"] not in ("centers", "student-t") or not isinstance(pointer, dict):
        return "a model has no centers, or an encoder of its own", none
    centers = read_arrays(side.model / "model.safetensors").get("centers")
    if centers is None or centers.ndim != 2 or any(i >= len(centers) for i in side.clusters):
        return "a model does not know all clusters of its table", none
    same = (pointer.get("weights_sha256"), {**config["encoder"], "pointer": None})
    return same, np.asarray(centers[side.clusters], dtype=np.float64)


def _by_words(a: Side, b: Side, shared: Shared, enough: float) -> Evidence | str:
    from sklearn.feature_extraction import DictVectorizer

    if not a.words or not b.words:
        return "a side has no words for its clusters"
    listed = [side.words.get(cluster, {}) for side in (a, b) for cluster in side.clusters]
    rows = unit_rows(DictVectorizer(sparse=False).fit_transform(listed))
    left, right = np.split(rows, [len(a.clusters)])
    return _similarity("words", "their most telling words", left @ right.T)


def _similarity(kind: str, by: str, values: Floats) -> Evidence:
    none = np.zeros(0, dtype=np.int64)
    reason = f"Clusters were matched by {by} (cosine of at least {LEAST})."
    return Evidence(kind, reason, none, none, [], np.asarray(values))


# Each gives what it finds, or says why it finds nothing.
_FINDERS: dict[str, Callable[[Side, Side, Shared, float], Evidence | str]] = {
    "rows": _by_rows,
    "model": _by_model,
    "centers": _by_centers,
    "words": _by_words,
}


@checked
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
    by : {"auto", "rows", "model", "centers", "words"}, default="auto"
        What to match by. "auto" goes by rows if at least half of the smaller side is in both,
        else by the predictions of the saved models, else by centers, else by words.
    id_column : str, optional
        Column of both that names each row; rows are matched by their texts without one.
    text_column, a_column, b_column : str, optional
        Of tables, the column of the texts, and those of the clusters. Default: detected.
    examples : int, default=3
        Texts to keep of every group of rows that moved together.

    Returns
    -------
    Comparison
        The definitions are in :mod:`coterie.comparison.compare`.

    Examples
    --------
    >>> found = compare([0, 0, 0, 0, 1, 1], [0, 0, 2, 2, 1, 1])
    >>> [(c.id, c.status, c.linked) for c in found.clusters_a]
    [(0, 'split', (0, 2)), (1, 'matched', (1,))]
    >>> found.moved, round(found.unchanged, 2)
    (2, 0.67)
    """
    named = [source for source in (a, b) if isinstance(source, (str, Path, Side))]
    for name, source in (("a", a), ("b", b)):
        if not isinstance(source, Side):
            check_annotated(name, source, str | Path | pa.Table | Iterable[Any])
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
        if evidence.similarity is None:
            self.linked, self.weights = links(self.counts), jaccard(self.counts)
        else:
            self.weights = evidence.similarity
            self.linked = similar(self.weights, LEAST)
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
        evidence, counted = self.evidence, self.evidence.similarity is None
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
            moved=moved if counted else None,
            unchanged=1 - moved / int(seen.sum()) if counted and seen.any() else None,
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
