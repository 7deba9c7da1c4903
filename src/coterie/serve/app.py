"""The service: its addresses, who may ask for what, and the changes of runs."""

from __future__ import annotations

import asyncio
import errno
import logging
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from coterie.errors import CoterieError
from coterie.masking import Masker
from coterie.runs import Run
from coterie.serve.access import Doors, Tokens
from coterie.serve.answers import Noted, failure, reply
from coterie.serve.batching import Batcher
from coterie.serve.errors import ServeError
from coterie.serve.metrics import Gauge, Metrics
from coterie.serve.openapi import describe_service
from coterie.serve.queries import list_clusters, list_texts, result_of, search, similar
from coterie.serve.requests import (
    Query,
    check_keys,
    check_length,
    flag,
    option,
    read_json,
    rows_of,
    texts_of,
    wanted_version,
)
from coterie.serve.state import LiveRun, Snapshot, release_memory, result_row, without_paths

log = logging.getLogger(__name__)
T = TypeVar("T")

WATCH = 0.5  # seconds between two looks at the folders
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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
        prefixed.append(("/runs/{run}", make(self.to_page, "page")))
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
            check_length(request.headers)
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

    async def _read(self, request: Request) -> dict[str, Any]:
        """The body of a request."""
        return await read_json(request, self.settings.max_body, self.settings.body_timeout)

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

    async def to_page(self, live: LiveRun, request: Request) -> Response:
        """Where the page is, for an address without its last slash."""
        return Response(status_code=308, headers={"location": f"{quote(live.name, safe='')}/"})

    async def version(self, live: LiveRun, request: Request) -> Response:
        """The version of the run, to see whether somebody has changed it, and the own right."""
        version = live.snapshot.version
        may_edit = self.settings.tokens.may_edit(request.headers.get("authorization"))
        value = {"version": version, "may_edit": may_edit, "trouble": live.trouble or None}
        return reply(value, version=version)

    async def clusters(self, live: LiveRun, request: Request) -> Response:
        """The clusters with names, words and examples, and the levels above them."""
        return list_clusters(live.snapshot, request)

    async def texts(self, live: LiveRun, request: Request) -> Response:
        """Rows of the run: of a cluster, with a word, outliers, by confidence; page by page."""
        return list_texts(live.snapshot, request)

    async def search(self, live: LiveRun, request: Request) -> Response:
        """Texts by meaning, by words, or by both."""
        return await search(live.snapshot, request, self.batcher)

    async def similar(self, live: LiveRun, request: Request) -> Response:
        """The texts most similar to a row."""
        return similar(live.snapshot, request)

    # Predicting and changing --------------------------------------------------------------------

    async def predict(self, live: LiveRun, request: Request) -> Response:
        """Cluster, name, confidence, runner-up and outlier score of new texts."""
        Query(request)
        with self.batcher.arriving() as arrived:
            body = await self._read(request)
            check_keys(body, ("text", "texts", "mask"))
            texts = texts_of(body, self.settings.max_texts)
            snapshot = live.snapshot
            masker = self._masker(snapshot) if flag(body, "mask", snapshot.masks) else None
            future = self.batcher.submit(snapshot.labeller, texts, masker)
            arrived()
            found = await result_of(future, request)
        self.metrics.texts.add(live.name, by=len(texts))
        rows = [result_row(found.columns, i, snapshot.names) for i in range(len(texts))]
        value: dict[str, Any] = {"version": snapshot.version, "predictions": rows}
        if masker is not None:
            value["predictions"] = [
                {"text": t, **r} for t, r in zip(found.texts, rows, strict=True)
            ]
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
        body = await self._read(request)
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
        body = await self._read(request)
        flags = ("new_only", "again", "refit", "dry_run")
        names = ("text_column", "id_column", "n_clusters")
        check_keys(body, ("texts", "rows", *names, "version", *flags))
        data: list[Any] | None = None
        if "rows" in body:
            data = rows_of(body, self.settings.max_texts)
        elif "texts" in body or not flag(body, "refit"):
            data = texts_of(body, self.settings.max_texts)
        options: dict[str, Any] = {name: flag(body, name) for name in flags}
        for name in names:
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


async def _no_path(scope: Scope, receive: Receive, send: Send) -> None:
    raise ServeError("serve.no_path")
