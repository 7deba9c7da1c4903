"""The endpoints: what is asked for is checked here, and done by the run."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import numpy as np
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from coterie._errors import CoterieError
from coterie._files import plain
from coterie._types import Ints
from coterie.masking import Masker
from coterie.runs import Run
from coterie.serve.access import Doors, Tokens
from coterie.serve.batching import Batcher
from coterie.serve.errors import ServeError, status_of
from coterie.serve.metrics import Gauge, Metrics
from coterie.serve.openapi import describe_service
from coterie.serve.state import (
    LiveRun,
    Snapshot,
    fuse,
    release_memory,
    result_row,
    without_paths,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

WATCH = 0.5  # seconds between two looks at the folders
QUERY = 2_000  # characters of a search
LARGE = 1 << 18  # bytes of a body that is parsed in a thread
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
POLICY = b"default-src 'none'; frame-ancestors 'none'"
PAGE_POLICY = b"frame-ancestors 'none'"  # the page has one of its own
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ORDERS = ("row", "confidence", "-confidence", "outlier_score", "-outlier_score")


@dataclass(frozen=True)
class Settings:
    """Rights and limits of the service.

    Attributes
    ----------
    tokens : Tokens
    doors : Doors
    max_body : int
        Bytes of a request.
    max_texts : int
        Texts or rows of a request.
    timeout : float
        Seconds until a request is given up, without those of edits and updates.
    body_timeout : float
        Seconds that a client may take to send the body.
    edit_timeout : float
        Seconds that a client waits for an edit or an update. The change itself goes on.
    max_batch, max_wait : int, float
        Of :class:`Batcher`.
    masker : Masker, optional
        With the list of names that runs were masked by.
    """

    tokens: Tokens = field(default_factory=Tokens)
    doors: Doors = field(default_factory=Doors)
    max_body: int = 8 << 20
    max_texts: int = 1_000
    timeout: float = 60.0
    body_timeout: float = 20.0
    edit_timeout: float = 600.0
    max_batch: int = 64
    max_wait: float = 0.003
    masker: Masker | None = None


def reply(value: object, status: int = 200, version: str | None = None) -> Response:
    """JSON in ASCII: no text in it can be anything else than a text."""
    body = json.dumps(value, separators=(",", ":"), allow_nan=False, default=plain)
    headers = {"content-type": "application/json"}
    if version is not None:
        headers["etag"] = f'"{version}"'
    return Response(body.encode("ascii"), status, headers)


def failure(error: CoterieError, said: str | None = None) -> Response:
    """The answer to a request that is not served."""
    status = status_of(error)
    value = {"error": {"code": error.key or "error", "message": said or str(error)}}
    out = reply(value, status)
    if status == 401:
        out.headers["www-authenticate"] = 'Basic realm="coterie", charset="UTF-8"'
    if status == 503:
        out.headers["retry-after"] = "1"
    return out


Handler = Callable[[LiveRun, Request], Awaitable[Response]]


@dataclass(frozen=True)
class Endpoint:
    """One path: method, right, and who answers."""

    service: Service
    handler: Handler
    name: str
    method: str = "GET"
    right: str | None = "read"  # or "edit", or None for everybody
    needs_run: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        scope["coterie.route"] = self.name
        service = self.service
        if self.right is not None:
            authorization = request.headers.get("authorization")
            service.settings.tokens.check(authorization, edits=self.right == "edit")
        allowed = ("GET", "HEAD") if self.method == "GET" else (self.method,)
        if request.method not in allowed:
            raise ServeError("serve.no_method", method=request.method, allowed=", ".join(allowed))
        live = service.find(request.path_params.get("run")) if self.needs_run else service.first
        scope["coterie.run"] = live
        limit = service.settings.timeout
        if self.right == "edit":
            limit = service.settings.edit_timeout + service.settings.body_timeout
        try:
            response = await asyncio.wait_for(self.handler(live, request), limit)
        except asyncio.TimeoutError as error:
            raise ServeError("serve.too_slow", seconds=limit) from error
        with suppress(asyncio.TimeoutError):  # a client that does not read is left
            await asyncio.wait_for(response(scope, receive, send), limit)


class Service:
    """Finished runs as an ASGI application.

    Parameters
    ----------
    runs : mapping of str to Path
        Folders of the runs by the names that the service calls them.
    settings : Settings, optional
    """

    def __init__(self, runs: Mapping[str, Path], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.metrics = Metrics()
        self.runs = {n: LiveRun(n, Path(folder), self.metrics) for n, folder in runs.items()}
        self.first = next(iter(self.runs.values()))
        self.stopping = False
        self.metrics.parts += [
            Gauge(
                "coterie_run_rows",
                "Rows of a run.",
                lambda: {(r.name,): float(len(r.snapshot.texts)) for r in self.runs.values()},
                ("run",),
            ),
            Gauge(
                "coterie_queued_texts",
                "Texts that wait for a batch.",
                lambda: {(): float(self.batcher.queued)},
            ),
        ]
        self._tasks: set[asyncio.Task[Any]] = set()
        self._documented = describe_service(
            list(self.runs), self.settings.max_texts, bool(self.settings.tokens)
        )
        self._router = Router(
            self._routes(), redirect_slashes=False, default=_no_path, lifespan=self._lifespan
        )

    def _routes(self) -> list[Route]:
        make = partial(Endpoint, self)
        alone = [
            ("/healthz", make(self.healthz, "healthz", right=None, needs_run=False)),
            ("/readyz", make(self.readyz, "readyz", right=None, needs_run=False)),
            ("/metrics", make(self.show_metrics, "metrics", needs_run=False)),
            ("/openapi.json", make(self.openapi, "openapi", needs_run=False)),
            ("/runs", make(self.list_runs, "runs", needs_run=False)),
        ]
        of_run = [
            ("/", make(self.page, "page")),
            ("/version", make(self.version, "version")),
            ("/clusters", make(self.clusters, "clusters")),
            ("/texts", make(self.texts, "texts")),
            ("/search", make(self.search, "search")),
            ("/similar/{id:path}", make(self.similar, "similar")),
            ("/predict", make(self.predict, "predict", method="POST")),
            ("/edits", make(self.edits, "edits", method="POST", right="edit")),
            ("/update", make(self.update, "update", method="POST", right="edit")),
        ]
        prefixed = [(f"/runs/{{run}}{path}", end) for path, end in of_run]
        if len(self.runs) > 1:
            of_run[0] = ("/", make(self.index, "index", needs_run=False))
        return [Route(path, endpoint) for path, endpoint in (*alone, *prefixed, *of_run)]

    # Around a request ---------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; start and stop with the server."""
        if scope["type"] == "lifespan":
            await self._router(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        begun = time.perf_counter()
        noted = Noted(send, scope, self.settings.doors.origins)
        try:
            await self._answer(scope, receive, noted)
        finally:
            route = scope.get("coterie.route", "none")
            method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
            took = time.perf_counter() - begun
            self.metrics.requests.add(route, method, str(noted.status))
            self.metrics.seconds.observe(took, route)
            # Never the path or the query: they may hold texts, or lines of their own.
            log.info("%s %s %d %.1f ms", method, route, noted.status, 1000 * took)

    async def _answer(self, scope: Scope, receive: Receive, noted: Noted) -> None:
        request = Request(scope, receive)
        try:
            self.settings.doors.check(request.headers)
            if request.method == "OPTIONS" and request.headers.get("origin"):
                await Response(status_code=204)(scope, receive, noted)
                return
            await self._router(scope, receive, noted)
            return
        except ClientDisconnect:
            noted.status = 499
            return
        except CoterieError as error:
            live = scope.get("coterie.run")
            said = str(error) if live is None else without_paths(str(error), live)
            response = failure(error, said)
        except Exception as error:
            response = self._fault(error)
        if not noted.status:
            await response(scope, receive, noted)

    def _fault(self, error: Exception) -> Response:
        """An answer that tells nothing of the inside; the log tells where, but no text."""
        where = traceback.extract_tb(error.__traceback__)[-3:]
        places = ", ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in where)
        log.error("%s at %s", type(error).__name__, places)
        return failure(ServeError("serve.fault"))

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncIterator[None]:
        settings = self.settings
        self.batcher = Batcher(
            self.metrics, max_batch=settings.max_batch, max_wait=settings.max_wait
        )
        self._editor = ThreadPoolExecutor(1, "coterie-edits")
        self._loader = ThreadPoolExecutor(1, "coterie-loads")
        for live in self.runs.values():
            self.batcher.add_background(live.name, live.snapshot.encode_texts(None))
        watcher = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            self.stopping = True
            watcher.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, self.batcher.close)
            self._editor.shutdown()
            self._loader.shutdown()

    async def _watch(self) -> None:
        """Look at the folders now and then."""
        while True:
            await asyncio.sleep(WATCH)
            for live in self.runs.values():
                try:
                    await self._refresh(live)
                except Exception as error:  # whatever it is, the next look may be better
                    log.error("a run could not be read: %s", type(error).__name__)

    async def _refresh(self, live: LiveRun) -> Snapshot:
        if await live.refresh(self._loader):
            if live.snapshot.vectors is None:
                self.batcher.add_background(live.name, live.snapshot.encode_texts(live.encoded))
            self._loader.submit(release_memory)
        return live.snapshot

    def find(self, name: str | None) -> LiveRun:
        """The run of a path; without a name the only one."""
        if name is None and len(self.runs) == 1:
            return self.first
        if name is None or name not in self.runs:
            raise ServeError("serve.no_run", name=name or "", known=", ".join(self.runs))
        return self.runs[name]

    # Reading requests ---------------------------------------------------------------------------

    async def read_json(self, request: Request) -> dict[str, Any]:
        """The body, which has to be an object of JSON that came in time and is not too large."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ServeError("serve.wrong_type")
        seconds = self.settings.body_timeout
        try:
            body = await asyncio.wait_for(self._read_body(request), seconds)
        except asyncio.TimeoutError as error:
            raise ServeError("serve.body_too_slow", seconds=seconds) from error
        if len(body) <= LARGE:
            return parse_object(body)
        return await asyncio.get_running_loop().run_in_executor(None, parse_object, body)

    async def _read_body(self, request: Request) -> bytes:
        most = self.settings.max_body
        announced = request.headers.get("content-length", "0")
        if not announced.isdigit() or int(announced) > most:
            raise ServeError("serve.body_too_large", most=most)
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise ServeError("serve.body_too_large", most=most)
        return bytes(body)

    def take_texts(self, body: Mapping[str, Any]) -> list[str]:
        """The texts of a request: ``text`` or ``texts``."""
        if ("text" in body) == ("texts" in body):
            raise ServeError("serve.text_or_texts")
        texts = body["texts"] if "texts" in body else [body["text"]]
        if not isinstance(texts, list) or not texts:
            raise ServeError("serve.no_texts")
        if len(texts) > self.settings.max_texts:
            raise ServeError("serve.too_many_texts", given=len(texts), most=self.settings.max_texts)
        for number, text in enumerate(texts, 1):
            if not isinstance(text, str):
                raise ServeError("serve.not_a_text", number=number, kind=type(text).__name__)
        return texts

    # What it tells of itself --------------------------------------------------------------------

    async def healthz(self, live: LiveRun, request: Request) -> Response:
        """Whether the process answers."""
        return reply({"status": "ok"})

    async def readyz(self, live: LiveRun, request: Request) -> Response:
        """Whether requests are served."""
        ready = not self.stopping and self.batcher.alive
        if not ready:
            raise ServeError("serve.not_ready")
        return reply({"status": "ready"})

    async def show_metrics(self, live: LiveRun, request: Request) -> Response:
        """Counts and times."""
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(self.metrics.text(), headers={"content-type": kind})

    async def openapi(self, live: LiveRun, request: Request) -> Response:
        """What can be asked, with examples."""
        return reply(self._documented)

    async def list_runs(self, live: LiveRun, request: Request) -> Response:
        """The runs that are served."""
        found = []
        for one in self.runs.values():
            snapshot = one.snapshot
            found.append(
                {
                    "name": one.name,
                    "version": snapshot.version,
                    "rows": len(snapshot.texts),
                    "clusters": len(snapshot.run.clusters),
                    "searchable": snapshot.vectors is not None,
                    "trouble": one.trouble or None,
                }
            )
        return reply({"runs": found})

    async def index(self, live: LiveRun, request: Request) -> Response:
        """Links to the pages of several runs."""
        items = "".join(
            f'<li><a href="/runs/{quote(name, safe="")}/">{escape(name)}</a></li>'
            for name in self.runs
        )
        page = f'<!doctype html><meta charset="utf-8"><title>coterie</title><ul>{items}</ul>'
        return Response(page, headers={"content-type": "text/html; charset=utf-8"})

    # Reading a run ------------------------------------------------------------------------------

    async def page(self, live: LiveRun, request: Request) -> Response:
        """The page of the run."""
        snapshot = live.snapshot
        headers = {"content-type": "text/html; charset=utf-8", "etag": f'"{snapshot.version}"'}
        return Response(snapshot.page, headers=headers)

    async def version(self, live: LiveRun, request: Request) -> Response:
        """The version of the run, to see whether somebody has changed it, and the own right."""
        version = live.snapshot.version
        may_edit = self.settings.tokens.may_edit(request.headers.get("authorization"))
        value = {"version": version, "may_edit": may_edit, "trouble": live.trouble or None}
        return reply(value, version=version)

    async def clusters(self, live: LiveRun, request: Request) -> Response:
        """The clusters with names, words and examples, and the levels above them."""
        Query(request)
        snapshot = live.snapshot
        levels = [[c.to_dict() for c in level] for level in snapshot.run.levels]
        value = {
            "version": snapshot.version,
            "rows": len(snapshot.texts),
            "clusters": snapshot.list_clusters(),
            "levels": levels,
        }
        return reply(value, version=snapshot.version)

    async def texts(self, live: LiveRun, request: Request) -> Response:
        """Rows of the run: of a cluster, with a word, outliers, by confidence; page by page."""
        snapshot = live.snapshot
        names = ("cluster", "contains", "outlier", "min_confidence", "max_confidence")
        query = Query(request, *names, "sort", "offset", "limit")
        offset = query.whole("offset", 0, 0, 1 << 40)
        limit = query.whole("limit", 50, 0, 1_000)
        rows = self._choose(snapshot, query)
        part = rows[offset : offset + limit]
        value = {
            "version": snapshot.version,
            "total": len(rows),
            "offset": offset,
            "texts": snapshot.rows(part),
        }
        return reply(value, version=snapshot.version)

    def _choose(self, snapshot: Snapshot, query: Query) -> Ints:
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

    async def search(self, live: LiveRun, request: Request) -> Response:
        """Texts by meaning, by words, or by both."""
        snapshot = live.snapshot
        query = Query(request, "q", "by", "cluster", "limit")
        wanted = query.text("q")
        if not wanted.strip() or len(wanted) > QUERY:
            raise ServeError("serve.bad_query", most=QUERY)
        by = query.choice("by", ("both", "meaning", "words"), "both")
        limit, inside = query.whole("limit", 20, 1, 100), snapshot.in_cluster(query.cluster())
        words: Sequence[tuple[int, float]] = ()
        meaning: Sequence[tuple[int, float]] = ()
        used = [by] if by != "both" else ["meaning", "words"]
        if by != "meaning":
            words = await self._in_thread(snapshot.by_words, wanted, inside)
        if by == "both" and snapshot.vectors is None:
            used = ["words"]  # until all texts are encoded
        if "meaning" in used:
            found = await asyncio.wrap_future(self.batcher.submit(snapshot.labeller, [wanted]))
            deep = max(limit, 100)
            meaning = snapshot.by_meaning(found.vectors[0], inside, deep)
        ranked = fuse(meaning, words) if len(used) == 2 else (meaning or words)
        return self._ranked(snapshot, ranked[:limit], {"by": used})

    async def similar(self, live: LiveRun, request: Request) -> Response:
        """The texts most similar to a row, which is named as in edits: by id, else by number."""
        snapshot = live.snapshot
        query = Query(request, "cluster", "limit")
        limit = query.whole("limit", 20, 1, 100)
        row = snapshot.find_row(request.path_params["id"])
        place = snapshot.place.get(snapshot.texts[row], -1)
        ranked: Sequence[tuple[int, float]] = ()
        if snapshot.trouble is not None or snapshot.vectors is None:
            snapshot.by_meaning(np.zeros(1), None, 0)  # says why
        if place >= 0 and snapshot.vectors is not None:
            inside = snapshot.in_cluster(query.cluster())
            ranked = snapshot.by_meaning(snapshot.vectors[place], inside, limit, place)
        return self._ranked(snapshot, ranked, {"to": snapshot.rows([row])[0]})

    def _ranked(
        self, snapshot: Snapshot, ranked: Sequence[tuple[int, float]], more: dict[str, Any]
    ) -> Response:
        rows = snapshot.rows(snapshot.first_row[[place for place, _ in ranked]])
        for found, (place, score) in zip(rows, ranked, strict=True):
            found |= {"score": round(score, 6), "copies": int(snapshot.copies[place])}
        return reply({"version": snapshot.version, **more, "texts": rows}, version=snapshot.version)

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)

    # Predicting and changing --------------------------------------------------------------------

    async def predict(self, live: LiveRun, request: Request) -> Response:
        """Cluster, name, confidence, runner-up and outlier score of new texts."""
        Query(request)
        with self.batcher.arriving() as arrived:
            body = await self.read_json(request)
            check_keys(body, ("text", "texts", "mask"))
            texts = self.take_texts(body)
            snapshot = live.snapshot
            masker = self._masker(snapshot) if flag(body, "mask", snapshot.masks) else None
            if masker is not None:
                texts = await self._in_thread(lambda: [masker.text(text) for text in texts])
            future = self.batcher.submit(snapshot.labeller, texts)
            arrived()
            found = await asyncio.wrap_future(future)
        self.metrics.texts.add(live.name, by=len(texts))
        rows = [result_row(found.columns, i, snapshot.names) for i in range(len(texts))]
        value: dict[str, Any] = {"version": snapshot.version, "predictions": rows}
        if masker is not None:
            value["predictions"] = [{"text": t, **r} for t, r in zip(texts, rows, strict=True)]
            value["masked"] = dict(sorted(masker.counts.items()))
        return reply(value, version=snapshot.version)

    def _masker(self, snapshot: Snapshot) -> Masker:
        """What masks new texts of a run."""
        known = self.settings.masker
        if known is None and snapshot.masked_by_list:
            raise ServeError("serve.no_mask_names", run=snapshot.name)
        return Masker() if known is None else known.from_zero()

    async def edits(self, live: LiveRun, request: Request) -> Response:
        """Change clusters as ``coterie edit`` does, or undo the last change."""
        Query(request)
        body = await self.read_json(request)
        check_keys(body, ("edits", "undo", "dry_run", "version"))
        version = wanted_version(request, body)
        run, dry_run = Run(live.folder), flag(body, "dry_run")
        if ("edits" in body) == flag(body, "undo") or (dry_run and "edits" not in body):
            raise ServeError("serve.edits_or_undo")
        if "edits" not in body:
            number, snapshot = await self._change(live, partial(run.undo, version=version))
            return reply({"version": snapshot.version, "undone": number}, version=snapshot.version)
        edits = body["edits"]
        if not isinstance(edits, (list, dict)):
            raise ServeError("serve.edits_are_a_list")
        if len(edits) > self.settings.max_texts:
            raise ServeError("serve.too_many_texts", given=len(edits), most=self.settings.max_texts)
        work = partial(run.edit, edits, dry_run=dry_run, version=version)
        done, snapshot = await self._change(live, work)
        value = {
            "version": snapshot.version,
            "done": list(done.done),
            "notes": list(done.notes),
            "clusters": {str(number): name for number, name in done.clusters.items()},
            "written": not dry_run,
        }
        return reply(value, version=snapshot.version)

    async def update(self, live: LiveRun, request: Request) -> Response:
        """Add new rows; old rows keep their clusters, unless a refit is asked for."""
        Query(request)
        body = await self.read_json(request)
        flags = ("new_only", "again", "refit", "dry_run")
        check_keys(body, ("texts", "rows", "text_column", "n_clusters", "version", *flags))
        data: list[Any] | None = None
        if "rows" in body:
            data = rows_of(body, self.settings.max_texts)
        elif "texts" in body or not flag(body, "refit"):
            data = self.take_texts(body)
        options: dict[str, Any] = {name: flag(body, name) for name in flags}
        for name in ("text_column", "n_clusters"):
            if body.get(name) is not None:
                options[name] = option(body, name)
        if data is not None and live.snapshot.masks:
            options["mask_names"] = self._masker(live.snapshot)
        version = wanted_version(request, body)
        work = partial(Run(live.folder).update, data, version=version, **options)
        found, snapshot = await self._change(live, work)
        value = {
            **found.to_dict(),
            "run": live.name,
            "version": snapshot.version,
            "said": [without_paths(sentence, live) for sentence in found.sentences()],
        }
        return reply(value, version=snapshot.version)

    async def _change(self, live: LiveRun, work: Callable[[], T]) -> tuple[T, Snapshot]:
        """Change a run, one change at a time, and take in the new state before the answer.

        The change goes on where the client does not wait for it.
        """

        async def change() -> tuple[T, Snapshot]:
            async with live.editing:
                try:
                    done = await asyncio.get_running_loop().run_in_executor(self._editor, work)
                except OSError as error:
                    self.metrics.edits.add(live.name, "refused")
                    why = "the disk is full" if error.errno in FULL else error.strerror
                    raise ServeError("serve.not_written", why=why or "no room") from error
                except BaseException:
                    self.metrics.edits.add(live.name, "refused")
                    raise
                self.metrics.edits.add(live.name, "done")
                return done, await self._refresh(live)

        if self.stopping:
            raise ServeError("serve.stopping")
        task = asyncio.create_task(change())
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:  # the client was told
            self._loader.submit(release_memory)  # the error holds the run that was to be changed


class Noted:
    """Sends on what an endpoint answers, with headers of its own; keeps the status."""

    def __init__(self, send: Send, scope: Scope, origins: Sequence[str]) -> None:
        self.send, self.scope, self.origins = send, scope, origins
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", []))
            html = any(k == b"content-type" and v.startswith(b"text/html") for k, v in headers)
            policy = PAGE_POLICY if html else POLICY
            headers += [*HEADERS, (b"content-security-policy", policy), *self._for_origin()]
            message = {**message, "headers": headers}
        await self.send(message)

    def _for_origin(self) -> list[tuple[bytes, bytes]]:
        """What lets a page of a listed site read the answer."""
        if not self.origins:
            return []
        out = [(b"vary", b"origin")]
        origin = dict(self.scope["headers"]).get(b"origin", b"").decode("latin-1")
        if origin in self.origins:
            out += [
                (b"access-control-allow-origin", origin.encode("latin-1")),
                (b"access-control-allow-methods", b"GET, POST"),
                (b"access-control-allow-headers", b"authorization, content-type, if-match"),
                (b"access-control-expose-headers", b"etag, retry-after"),
            ]
        return out


class Query:
    """The parameters of an address; those that are not known are refused."""

    def __init__(self, request: Request, *known: str) -> None:
        self.values = dict(request.query_params)
        for name in self.values:
            if name not in known:
                said = ", ".join(known) or "none"
                raise ServeError("serve.unknown_parameter", name=name, known=said)

    def text(self, name: str) -> str:
        """A text; empty if it is not there."""
        return self.values.get(name, "")

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number."""
        said = self.values.get(name, str(default))
        if not said.isascii() or not said.isdigit() or len(said) > 15:
            raise ServeError("serve.bad_parameter", name=name, wanted="a number", given=said)
        if not least <= int(said) <= most:
            wanted = f"from {least} to {most:,}"
            raise ServeError("serve.bad_parameter", name=name, wanted=wanted, given=said)
        return int(said)

    def number(self, name: str) -> float | None:
        """A number from 0 to 1; None if it is not there."""
        if name not in self.values:
            return None
        try:
            found = float(self.values[name])
        except ValueError:
            found = -1.0
        if not 0 <= found <= 1:
            raise ServeError(
                "serve.bad_parameter", name=name, wanted="from 0 to 1", given=self.values[name]
            )
        return found

    def choice(self, name: str, known: Sequence[str], default: str) -> str:
        """One of some words."""
        said = self.values.get(name, default)
        if said not in (*known, default):
            wanted = f"one of {', '.join(known)}"
            raise ServeError("serve.bad_parameter", name=name, wanted=wanted, given=said)
        return said

    def cluster(self) -> int | None:
        """The number of a cluster; -1 is none."""
        said = self.values.get("cluster")
        if said is None:
            return None
        return -1 if said == "-1" else self.whole("cluster", 0, 0, 1 << 40)


def parse_object(body: bytes) -> dict[str, Any]:
    """An object of JSON; refuse what is none, with the reason."""
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise ServeError("serve.not_json", why="it is not UTF-8") from error
    except RecursionError as error:
        raise ServeError("serve.not_json", why="it is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ServeError("serve.not_json", why=f"{error.msg} at {error.pos}") from error
    except ValueError as error:  # a number of thousands of digits, or none
        raise ServeError("serve.not_json", why="a number cannot be read") from error
    if not isinstance(found, dict):
        raise ServeError("serve.not_json", why='an object is wanted, as in {"text": "..."}')
    return found


def _no_constant(said: str) -> float:
    raise ValueError(said)


def check_keys(body: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse keys that the endpoint does not know."""
    for key in body:
        if key not in known:
            raise ServeError("serve.unknown_key", key=key, known=", ".join(known))


def flag(body: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """A value that is true or false."""
    found = body.get(name, default)
    if not isinstance(found, bool):
        raise ServeError("serve.bad_value", name=name, wanted="true or false")
    return found


def option(body: Mapping[str, Any], name: str) -> str | int:
    """The value of an option of an update."""
    found = body[name]
    if name == "text_column" and isinstance(found, str):
        return found
    if name == "n_clusters" and not isinstance(found, bool):
        if found == "auto" or (isinstance(found, int) and found > 0):
            return str(found) if found == "auto" else int(found)
    wanted = 'a number, or "auto"' if name == "n_clusters" else "a text"
    raise ServeError("serve.bad_value", name=name, wanted=wanted)


def rows_of(body: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
    """Rows of an update: objects with one value for each column."""
    rows = body["rows"]
    if not isinstance(rows, list) or not rows or not all(isinstance(r, dict) for r in rows):
        raise ServeError("serve.bad_value", name="rows", wanted="a list of objects")
    if "texts" in body:
        raise ServeError("serve.text_or_texts")
    if len(rows) > most:
        raise ServeError("serve.too_many_texts", given=len(rows), most=most)
    return rows


def wanted_version(request: Request, body: Mapping[str, Any]) -> str | None:
    """The version that a client has seen: the header If-Match, or ``version`` in the body."""
    header = request.headers.get("if-match")
    if header is not None and header.strip() != "*":
        return header.strip().removeprefix("W/").strip('"')
    found = body.get("version")
    if found is not None and not isinstance(found, str):
        raise ServeError("serve.bad_value", name="version", wanted="a text")
    return found


async def _no_path(scope: Scope, receive: Receive, send: Send) -> None:
    raise ServeError("serve.no_path")
