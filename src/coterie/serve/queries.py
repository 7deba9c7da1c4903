"""Questions that change nothing: clusters, rows of the table, search and similar texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from coterie._types import Ints
from coterie.corpus.corpus import clean_text
from coterie.serve.answers import reply
from coterie.serve.batching import Assigned, Batcher
from coterie.serve.errors import ServeError
from coterie.serve.requests import Query
from coterie.serve.state import Snapshot, fuse

QUERY = 2_000  # characters of a search
LOOK = 0.5  # seconds between two looks whether a client still waits
ORDERS = ("row", "confidence", "-confidence", "outlier_score", "-outlier_score")

Ranked = Sequence[tuple[int, float]]  # different texts and their scores, the best first


def list_clusters(snapshot: Snapshot, request: Request) -> Response:
    """The clusters with names, words and examples, and the levels above them."""
    Query(request)
    levels = [[c.to_dict() for c in level] for level in snapshot.run.levels]
    value = {
        "version": snapshot.version,
        "rows": len(snapshot.texts),
        "clusters": snapshot.list_clusters(),
        "levels": levels,
    }
    return reply(value, version=snapshot.version)


def list_texts(snapshot: Snapshot, request: Request) -> Response:
    """Rows of the run: of a cluster, with a word, outliers, by confidence; page by page."""
    names = ("cluster", "contains", "outlier", "min_confidence", "max_confidence")
    query = Query(request, *names, "sort", "offset", "limit")
    offset = query.whole("offset", 0, 0, 1 << 40)
    limit = query.whole("limit", 50, 0, 1_000)
    rows = _choose(snapshot, query)
    part = rows[offset : offset + limit]
    value = {
        "version": snapshot.version,
        "total": len(rows),
        "offset": offset,
        "texts": snapshot.rows(part),
    }
    return reply(value, version=snapshot.version)


def _choose(snapshot: Snapshot, query: Query) -> Ints:
    """Rows that the query of ``/texts`` asks for, in its order."""
    chosen = np.ones(len(snapshot.texts), dtype=bool)
    if (cluster := query.cluster()) is not None:
        chosen &= snapshot.labels == cluster
    if (outlier := query.choice("outlier", ("yes", "no"), "")) != "":
        chosen &= snapshot.outliers == (outlier == "yes")
    if part := query.text("contains").casefold():
        has = {text for text, low in zip(snapshot.distinct, snapshot.lowered, strict=True)
               if part in low}  # fmt: skip
        chosen &= np.array([text in has for text in snapshot.texts], dtype=bool)
    least, most = query.number("min_confidence"), query.number("max_confidence")
    if least is not None:
        chosen &= snapshot.number("confidence") >= least
    if most is not None:
        chosen &= snapshot.number("confidence") <= most
    rows = np.flatnonzero(chosen)
    order = query.choice("sort", ORDERS, "row")
    if order == "row":
        return rows
    keys = snapshot.number(order.removeprefix("-"))[rows]
    return rows[np.argsort(-keys if order.startswith("-") else keys, kind="stable")]


async def search(snapshot: Snapshot, request: Request, batcher: Batcher) -> Response:
    """Texts by meaning, by words, or by both."""
    query = Query(request, "q", "by", "cluster", "limit")
    wanted = query.text("q")
    if not clean_text(wanted) or len(wanted) > QUERY:
        raise ServeError("serve.bad_query", most=QUERY)
    by = query.choice("by", ("both", "meaning", "words"), "both")
    limit, inside = query.whole("limit", 20, 1, 100), snapshot.in_cluster(query.cluster())
    words: Ranked = ()
    meaning: Ranked = ()
    used = [by] if by != "both" else ["meaning", "words"]
    if by != "meaning":
        loop = asyncio.get_running_loop()
        words = await loop.run_in_executor(None, snapshot.by_words, wanted, inside)
    if by == "both" and snapshot.vectors is None:
        used = ["words"]  # until all texts are encoded
    if "meaning" in used:
        found = await result_of(batcher.submit(snapshot.labeller, [wanted]), request)
        deep = max(limit, 100)
        meaning = snapshot.by_meaning(found.vectors[0], inside, deep)
    ranked = fuse(meaning, words) if len(used) == 2 else (meaning or words)
    return _ranked(snapshot, ranked[:limit], {"by": used})


async def result_of(future: Future[Assigned], request: Request) -> Assigned:
    """What comes of some texts; the work ends when the client is gone, or its time is over."""
    waiting = asyncio.wrap_future(future)
    try:
        while not (await asyncio.wait({waiting}, timeout=LOOK))[0]:
            if await request.is_disconnected():
                raise ClientDisconnect
        return waiting.result()
    finally:
        waiting.cancel()


def similar(snapshot: Snapshot, request: Request) -> Response:
    """The texts most similar to a row, which is named as in edits: by id, else by number."""
    query = Query(request, "cluster", "limit")
    limit = query.whole("limit", 20, 1, 100)
    row = snapshot.find_row(request.path_params["id"])
    place = snapshot.place.get(snapshot.texts[row], -1)
    ranked: Ranked = ()
    if snapshot.trouble is not None or snapshot.vectors is None:
        snapshot.by_meaning(np.zeros(1), None, 0)  # says why
    if place >= 0 and snapshot.vectors is not None:
        inside = snapshot.in_cluster(query.cluster())
        ranked = snapshot.by_meaning(snapshot.vectors[place], inside, limit, place)
    return _ranked(snapshot, ranked, {"to": snapshot.rows([row])[0]})


def _ranked(snapshot: Snapshot, ranked: Ranked, more: dict[str, Any]) -> Response:
    """The rows of a ranking, with scores and how often each text occurs."""
    rows = snapshot.rows(snapshot.first_row[[place for place, _ in ranked]])
    for found, (place, score) in zip(rows, ranked, strict=True):
        found |= {"score": round(score, 6), "copies": int(snapshot.copies[place])}
    return reply({"version": snapshot.version, **more, "texts": rows}, version=snapshot.version)
