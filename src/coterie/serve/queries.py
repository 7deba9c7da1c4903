"""Questions that change nothing: clusters, rows of the table, search and similar texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
from fastapi import Request
from starlette.requests import ClientDisconnect

from coterie._types import Ints
from coterie.serve.batching import Assigned, Batcher
from coterie.serve.schema import Filter, Nearest, Search
from coterie.serve.state import Snapshot, fuse

LOOK = 0.5  # seconds between two looks whether a client still waits

Ranked = Sequence[tuple[int, float]]  # different texts and their scores, the best first
Json = dict[str, Any]


def list_clusters(snapshot: Snapshot) -> Json:
    """The clusters with names, words and examples, and the levels above them."""
    return {
        "version": snapshot.version,
        "rows": len(snapshot.texts),
        "clusters": snapshot.list_clusters(),
        "levels": [[c.to_dict() for c in level] for level in snapshot.run.levels],
    }


def list_texts(snapshot: Snapshot, wanted: Filter) -> Json:
    """Rows of the run: of a cluster, with a word, outliers, by confidence; page by page."""
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
        chosen &= snapshot.outliers == (wanted.outlier == "yes")
    if part := wanted.contains.casefold():
        has = {text for text, low in zip(snapshot.distinct, snapshot.lowered, strict=True)
               if part in low}  # fmt: skip
        chosen &= np.array([text in has for text in snapshot.texts], dtype=bool)
    if wanted.min_confidence is not None:
        chosen &= snapshot.number("confidence") >= wanted.min_confidence
    if wanted.max_confidence is not None:
        chosen &= snapshot.number("confidence") <= wanted.max_confidence
    rows = np.flatnonzero(chosen)
    if wanted.sort == "row":
        return rows
    keys = snapshot.number(wanted.sort.removeprefix("-"))[rows]
    return rows[np.argsort(-keys if wanted.sort.startswith("-") else keys, kind="stable")]


async def search(snapshot: Snapshot, wanted: Search, request: Request, batcher: Batcher) -> Json:
    """Texts by meaning, by words, or by both."""
    inside = snapshot.in_cluster(wanted.cluster)
    words: Ranked = ()
    meaning: Ranked = ()
    used = [wanted.by] if wanted.by != "both" else ["meaning", "words"]
    if wanted.by != "meaning":
        loop = asyncio.get_running_loop()
        words = await loop.run_in_executor(None, snapshot.by_words, wanted.q, inside)
    if wanted.by == "both" and snapshot.vectors is None:
        used = ["words"]  # until all texts are encoded
    if "meaning" in used:
        found = await result_of(batcher.submit(snapshot.labeller, [wanted.q]), request)
        meaning = snapshot.by_meaning(found.vectors[0], inside, max(wanted.limit, 100))
    ranked = fuse(meaning, words) if len(used) == 2 else (meaning or words)
    return _ranked(snapshot, ranked[: wanted.limit], {"by": used})


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


def similar(snapshot: Snapshot, name: str, wanted: Nearest) -> Json:
    """The texts most similar to a row, which is named as in edits: by id, else by number."""
    row = snapshot.find_row(name)
    place = snapshot.place.get(snapshot.texts[row], -1)
    ranked: Ranked = ()
    if snapshot.trouble is not None or snapshot.vectors is None:
        snapshot.by_meaning(np.zeros(1), None, 0)  # says why
    if place >= 0 and snapshot.vectors is not None:
        inside = snapshot.in_cluster(wanted.cluster)
        ranked = snapshot.by_meaning(snapshot.vectors[place], inside, wanted.limit, place)
    return _ranked(snapshot, ranked, {"to": snapshot.rows([row])[0]})


def _ranked(snapshot: Snapshot, ranked: Ranked, more: Json) -> Json:
    """The rows of a ranking, with scores and how often each text occurs."""
    rows = snapshot.rows(snapshot.first_row[[place for place, _ in ranked]])
    for found, (place, score) in zip(rows, ranked, strict=True):
        found |= {"score": round(score, 6), "copies": int(snapshot.copies[place])}
    return {"version": snapshot.version, **more, "texts": rows}
