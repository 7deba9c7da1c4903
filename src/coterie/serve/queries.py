"""Questions that change nothing: rows of the table, search and similar texts."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np

from coterie._util.types import Bools, Floats, Ints
from coterie.serve.batching import Batcher
from coterie.serve.schema import Filter, Nearest, Search
from coterie.serve.state import Snapshot
from coterie.texts.corpus import clean_text

WORD = re.compile(r"\w+")
WORDS = 50  # different words of a query, so that no query takes long
FUSE = 60  # of reciprocal rank fusion, as its authors have it

Ranked = Sequence[tuple[int, float]]  # different texts and their scores, the best first
Json = dict[str, Any]


def list_texts(snapshot: Snapshot, wanted: Filter) -> Json:
    """Rows of the run: of a cluster, with a word, outliers; page by page."""
    rows = _choose(snapshot, wanted)
    return {
        "version": snapshot.version,
        "total": len(rows),
        "offset": wanted.offset,
        "texts": snapshot.rows(rows[wanted.offset : wanted.offset + wanted.limit]),
    }


def _choose(snapshot: Snapshot, wanted: Filter) -> Ints:
    """Rows that are asked for, in their order."""
    chosen = np.ones(len(snapshot.texts), dtype=bool)
    if wanted.cluster is not None:
        chosen &= snapshot.labels == wanted.cluster
    if wanted.outlier is not None:
        chosen &= snapshot.run.outliers == (wanted.outlier == "yes")
    if part := wanted.contains.casefold():
        lowered = zip(snapshot.distinct, snapshot.lowered, strict=True)
        has = {text for text, low in lowered if part in low}
        chosen &= np.array([text in has for text in snapshot.texts], dtype=bool)
    return np.flatnonzero(chosen)


async def search(
    snapshot: Snapshot, wanted: Search, batcher: Batcher, *gone: Callable[[], Awaitable[bool]]
) -> Json:
    """Texts by meaning, by words, or by both; by words alone until all texts are encoded."""
    inside = snapshot.in_cluster(wanted.cluster)
    used = [wanted.by] if wanted.by != "both" else ["meaning", "words"]
    if wanted.by == "both" and not snapshot.searchable:
        used = ["words"]
    rankings: list[Ranked] = []
    if "meaning" in used:
        [vector] = await batcher.ask(snapshot.encode, [wanted.q], *gone)
        rankings.append(by_meaning(snapshot, vector, inside, max(wanted.limit, 100)))
    if "words" in used:
        rankings.append(await asyncio.to_thread(by_words, snapshot, wanted.q, inside))
    ranked = fuse(*rankings) if len(rankings) == 2 else rankings[0]
    return _ranked(snapshot, ranked[: wanted.limit], {"by": used})


def similar(snapshot: Snapshot, name: str, wanted: Nearest) -> Json:
    """The texts most similar to a row, which is named as in edits: by id, else by number."""
    row = snapshot.find_row(name)
    vectors, place = snapshot.need_vectors(), snapshot.place.get(snapshot.texts[row])
    ranked: Ranked = ()
    if place is not None:
        inside = snapshot.in_cluster(wanted.cluster)
        inside = np.ones(len(vectors), dtype=bool) if inside is None else inside
        inside[place] = False
        ranked = by_meaning(snapshot, vectors[place], inside, wanted.limit)
    return _ranked(snapshot, ranked, {"to": snapshot.rows([row])[0]})


def _ranked(snapshot: Snapshot, ranked: Ranked, more: Json) -> Json:
    """The rows of a ranking, with scores and how often each text occurs."""
    rows = snapshot.rows(snapshot.first_row[[place for place, _ in ranked]])
    for found, (place, score) in zip(rows, ranked, strict=True):
        found |= {"score": round(score, 6), "copies": int(snapshot.copies[place])}
    return {"version": snapshot.version, **more, "texts": rows}


def by_words(snapshot: Snapshot, query: str, inside: Bools | None) -> Ranked:
    """Different texts that have words of the query.

    A word counts by how rare it is, also as a part of a longer one; of equal scores the shorter
    text comes first. Of a long query the first 50 different words count.
    """
    cleaned = clean_text(query).casefold()
    words = list(dict.fromkeys(WORD.findall(cleaned)))[:WORDS] or [cleaned]
    scores = np.zeros(len(snapshot.lowered))
    for word in words:
        has = np.array([word in text for text in snapshot.lowered], dtype=bool)
        scores += has * math.log(1 + len(has) / max(int(has.sum()), 1))
    if inside is not None:
        scores[~inside] = 0
    found = np.flatnonzero(scores)
    lengths = np.array([len(snapshot.lowered[i]) for i in found])
    order = np.lexsort((lengths, -scores[found]))
    return [(int(i), float(scores[i])) for i in found[order]]


def by_meaning(snapshot: Snapshot, vector: Floats, inside: Bools | None, limit: int) -> Ranked:
    """Different texts by the cosine to a vector of unit length."""
    scores = snapshot.need_vectors() @ vector
    found = np.flatnonzero(scores > 0 if inside is None else inside & (scores > 0))
    order = found[np.argsort(-scores[found], kind="stable")[:limit]]
    return [(int(i), float(scores[i])) for i in order]


def fuse(*rankings: Ranked) -> Ranked:
    """One ranking of several, by reciprocal rank fusion.

    Examples
    --------
    >>> [place for place, _ in fuse([(7, 0.9), (3, 0.5)], [(3, 2.0), (5, 1.0)])]
    [3, 7, 5]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (place, _) in enumerate(ranking, 1):
            scores[place] = scores.get(place, 0.0) + 1 / (FUSE + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])
