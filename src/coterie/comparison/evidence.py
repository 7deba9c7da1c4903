"""What tells that two clusters are the same: shared rows, predictions, centers or words.

Shared rows are the best evidence, so they are compared first. Where two runs hold different texts,
each model is asked where it would put the texts of the other. If that cannot be done, the centers
of the clusters are compared, if both models see texts alike, and last of all their words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie._errors import CoterieError, DataError
from coterie._trust import read_arrays
from coterie._types import Floats, Ints
from coterie._validation import check_choice
from coterie.base.storage import read_config
from coterie.comparison.side import Side

ENOUGH = 0.5  # share of the smaller side that must be in the other one to go by rows
LEAST = 0.5  # similarity of centers or words below which nothing is linked
WAYS = ("auto", "rows", "model", "centers", "words")


@dataclass(frozen=True)
class Evidence:
    """Rows with a cluster on both sides, or similarities of clusters.

    Attributes
    ----------
    kind : {"ids", "texts", "model", "centers", "words"}
    reason : str
    a, b : ndarray of shape (m,)
        Cluster of each row seen on both sides, -1 for none; empty for centers and words.
    texts : list of str
        Of the rows seen; empty where there are none.
    common_a, common_b : ndarray of shape (c,)
        Rows that are in both, whatever the evidence.
    similarity : ndarray of shape (k_a, k_b), optional
        Of clusters in the order of their numbers.
    """

    kind: str
    reason: str
    a: Ints
    b: Ints
    texts: list[str]
    common_a: Ints
    common_b: Ints
    similarity: Floats | None = None


class _CannotError(Exception):
    """Some evidence is not there; the text says why."""


def gather(a: Side, b: Side, by: str = "auto") -> Evidence:
    """The best evidence there is, or the one asked for."""
    check_choice("--by", by, WAYS)
    if by != "auto":
        try:
            return _FINDERS[by](a, b, 0.0)
        except _CannotError as cannot:
            raise DataError("compare.cannot_compare_by", by=by, reason=cannot) from None
    tried: list[str] = []
    # A few shared rows are the last resort.
    for way, enough in (*((way, ENOUGH) for way in _FINDERS), ("rows", 0.0)):
        try:
            found = _FINDERS[way](a, b, enough)
        except _CannotError as cannot:
            tried.append(f"{way}: {cannot}")
            continue
        before = f" Not by {'; not by '.join(tried)}." if tried else ""
        return Evidence(**{**vars(found), "reason": found.reason + before})
    raise DataError(
        "compare.nothing_shared", before=a.title, after=b.title, reasons="; ".join(tried)
    )


def pair_rows(a: Side, b: Side) -> tuple[str, Ints, Ints]:
    """Rows of both sides that are the same, by id if both have ids, else by text.

    What occurs several times is paired in its order: the second with the second. Rows of an id that
    occurs several times are paired by their texts first.

    Returns
    -------
    kind : {"ids", "texts"}
    rows_a, rows_b : ndarray of shape (m,)
    """
    if a.ids is not None and b.ids is not None:
        kind, left, right = "ids", a.ids, b.ids
    elif a.texts is not None and b.texts is not None:
        kind, left, right = "texts", a.texts, b.texts
    else:
        raise _CannotError("one side has neither ids nor texts in common with the other")
    pairs: list[tuple[int, int]] = []
    if kind == "ids" and a.texts is not None and b.texts is not None:
        both = [
            list(zip(ids, texts, strict=True)) for ids, texts in ((left, a.texts), (right, b.texts))
        ]
        pairs = _in_order(both[0], both[1], [bool(key) for key in left])
    done_a, done_b = ({pair[side] for pair in pairs} for side in (0, 1))
    free = [bool(key) and row not in done_a for row, key in enumerate(left)]
    rest = [None if row in done_b else key for row, key in enumerate(right)]
    pairs = sorted(pairs + _in_order(left, rest, free))
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return kind, found[:, 0], found[:, 1]


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


def _by_rows(a: Side, b: Side, enough: float) -> Evidence:
    kind, rows_a, rows_b = pair_rows(a, b)
    smaller = min(int((side.labels >= 0).sum()) for side in (a, b))
    share = len(rows_a) / max(smaller, 1)
    if not len(rows_a) or share < enough:
        raise _CannotError(f"only {len(rows_a):,} rows are in both ({100 * share:.0f}%)")
    texts, rows = (a.texts, rows_a) if a.texts is not None else (b.texts, rows_b)
    word = "id" if kind == "ids" else "text"
    return Evidence(
        kind,
        f"Clusters were matched by {len(rows_a):,} rows with the same {word} in both."
        + (_repeated(a, b) if kind == "ids" else ""),
        a.labels[rows_a],
        b.labels[rows_b],
        [] if texts is None else [texts[row] for row in rows],
        rows_a,
        rows_b,
    )


def _by_model(a: Side, b: Side, enough: float) -> Evidence:
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
        raise _CannotError("neither side has a model that can be loaded, and texts")
    both = "each model placed the texts of the other run"
    one = "the model of one run placed the texts of the other"
    return Evidence(
        "model",
        f"Clusters were matched by prediction: {both if len(parts) == 2 else one}.",
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        [text for part in parts for text in part[2]],
        *_common(a, b),
    )


def _load(side: Side) -> Any:
    from coterie.methods import load

    if side.model is None:
        return None
    try:
        return load(side.model)
    except (CoterieError, OSError):  # an encoder that is not on this machine, mostly
        return None


def _by_centers(a: Side, b: Side, enough: float) -> Evidence:
    centers = [_centers(side) for side in (a, b)]
    if centers[0][0] != centers[1][0]:
        raise _CannotError("the two models see texts with different encoders")
    middle = np.concatenate([found for _, found in centers]).mean(axis=0)
    left, right = (_unit(found - middle) for _, found in centers)
    return _similarity(a, b, "centers", "the directions of their centers", left @ right.T)


def _centers(side: Side) -> tuple[Any, Floats]:
    """How the model sees texts, and the centers of the clusters in the order of their numbers."""
    if side.model is None:
        raise _CannotError("a side has no saved model")
    config = read_config(side.model)
    pointer = config["encoder"].get("pointer")
    if config["rule"]["kind"] not in ("centers", "student-t") or not isinstance(pointer, dict):
        raise _CannotError("a model has no centers, or an encoder of its own")
    centers = read_arrays(side.model / "model.safetensors").get("centers")
    if centers is None or centers.ndim != 2 or any(i >= len(centers) for i in side.clusters):
        raise _CannotError("a model does not know all clusters of its table")
    same = (pointer.get("weights_sha256"), {**config["encoder"], "pointer": None})
    return same, np.asarray(centers[side.clusters], dtype=np.float64)


def _by_words(a: Side, b: Side, enough: float) -> Evidence:
    if not a.words or not b.words:
        raise _CannotError("a side has no words for its clusters")
    known = {w: i for i, w in enumerate(sorted({w for side in (a, b)
             for words in side.words.values() for w in words}))}  # fmt: skip
    left, right = (_unit(_word_rows(side, known)) for side in (a, b))
    return _similarity(a, b, "words", "their most telling words", left @ right.T)


def _word_rows(side: Side, known: dict[str, int]) -> Floats:
    out = np.zeros((len(side.clusters), len(known)))
    for row, cluster in enumerate(side.clusters):
        for word, weight in side.words.get(cluster, {}).items():
            out[row, known[word]] = weight
    return out


def _similarity(a: Side, b: Side, kind: str, by: str, values: Floats) -> Evidence:
    none = np.zeros(0, dtype=np.int64)
    reason = f"Clusters were matched by {by} (cosine of at least {LEAST})."
    return Evidence(kind, reason, none, none, [], *_common(a, b), np.asarray(values))


def _common(a: Side, b: Side) -> tuple[Ints, Ints]:
    try:
        return pair_rows(a, b)[1:]
    except _CannotError:
        none = np.zeros(0, dtype=np.int64)
        return none, none


def _unit(rows: Floats) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1))


_FINDERS: dict[str, Callable[[Side, Side, float], Evidence]] = {
    "rows": _by_rows, "model": _by_model, "centers": _by_centers, "words": _by_words
}  # fmt: skip
