"""The service: its addresses, who may ask for what, and the changes of runs."""

from __future__ import annotations

import asyncio
import errno
import logging
import time
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from functools import partial
from html import escape
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import starlette.routing
from anyio import fail_after
from fastapi import Depends, FastAPI, Header, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, PlainTextResponse
from fastapi.routing import APIRoute
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from coterie import __version__
from coterie.errors import CoterieError
from coterie.runs import Run
from coterie.serve import queries, schema
from coterie.serve.access import Settings, given_name
from coterie.serve.answers import GuardedSend, failure, reply
from coterie.serve.batching import Batcher
from coterie.serve.changes import make_change
from coterie.serve.errors import ServeError, stopping
from coterie.serve.metrics import Metrics
from coterie.serve.requests import read_json, refusal
from coterie.serve.state import LiveRun, Snapshot, release_memory, result_row, without_paths

log = logging.getLogger(__name__)
T = TypeVar("T")

WATCH = 0.5  # seconds between two looks at the folders
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_TELEMETRY: Any = dict.fromkeys(  # texts of clients go nowhere, whatever the environment says
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Route(APIRoute):
    """An address; the service looks at a request before its body is read.

    The first tag is the right that it needs: open, read or edit.
    """

    def get_route_handler(self) -> Handler:
        """What answers a request."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            found: Response = await request.app.state.service.answer(self, handler, request)
            return found

        return answer


async def _no_route(request: Request, error: Exception) -> Response:
    allowed = (getattr(error, "headers", None) or {}).get("Allow")
    if allowed is None:
        said = "there is no such address; /openapi.json lists them."
        return failure(ServeError(404, "no_path", said))
    said = f"{request.method:.20} is not possible here; use {allowed}."
    return failure(ServeError(405, "no_method", said))


async def _served(request: Request) -> LiveRun:
    found: LiveRun = request.app.state.service.find(request.path_params.get("run"))
    return found


async def _named(run: Annotated[str, PathParameter(description="A name of /runs.")]) -> None:
    """Documents the name of a run in an address."""


Live = Annotated[LiveRun, Depends(_served)]
NoParameters = Annotated[schema.Parameters, Query()]
IfMatch = Annotated[
    str | None,
    Header(description="The version that was seen; another one now is answered with 409."),
]


class Service:
    """Finished runs, by the names that the service calls them, as an ASGI application."""

    def __init__(self, runs: Mapping[str, Path], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.metrics = Metrics()
        self.runs = {n: LiveRun(n, Path(folder), self.metrics) for n, folder in runs.items()}
        self.first = next(iter(self.runs.values()))
        self.metrics.queued.set_function(lambda: self.batcher.queued)
        self.stopping = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._beside: list[Callable[[], AbstractAsyncContextManager[None]]] = []
        self.api = FastAPI(
            title="coterie",
            version=__version__,
            description="Predict, search, edit and update finished clusterings.",
            openapi_url=None,  # its own address needs a token, as others do
            redirect_slashes=False,
            lifespan=self.running,
            exception_handlers={HTTPException: _no_route},
            responses={"default": {"model": schema.Error, "description": "Not served."}},
            telemetry=NO_TELEMETRY,
        )
        self.api.add_middleware(
            CORSMiddleware,
            allow_origins=self.settings.hosts.origins,
            allow_methods=("GET", "POST"),
            allow_headers=("authorization", "content-type", "if-match"),
            expose_headers=("etag", "retry-after"),
        )
        self.api.state.service = self
        self.api.router.route_class = Route
        self._add_routes()

    def _add_routes(self) -> None:
        add: Callable[..., None] = self.api.add_api_route
        read, status = partial(add, tags=["read"]), schema.Status
        add("/healthz", self.healthz, tags=["open"], response_model=status)
        add("/readyz", self.readyz, tags=["open"], response_model=status)
        read("/metrics", self.show_metrics, response_class=PlainTextResponse)
        read("/openapi.json", self.openapi)
        read("/runs", self.list_runs, response_model=schema.Runs)
        for prefix in ("/runs/{run}", ""):
            alone = len(self.runs) == 1
            named = {"dependencies": [Depends(_named)]} if prefix else {"include_in_schema": alone}
            page = self.page if prefix or alone else self.index
            read(f"{prefix}/", page, response_class=HTMLResponse, **named)
            for path, endpoint, answer, right in (
                ("/version", self.version, schema.Version, "read"),
                ("/live", self.live, schema.Live, "read"),
                ("/clusters", self.clusters, schema.Clusters, "read"),
                ("/texts", self.texts, schema.Rows, "read"),
                ("/search", self.search, schema.Rows, "read"),
                ("/similar/{id:path}", self.similar, schema.Rows, "read"),
                ("/predict", self.predict, schema.Predictions, "read"),
                ("/edits", self.edits, schema.Edited, "edit"),
                ("/cut", self.cut, schema.Edited, "edit"),
                ("/update", self.update, schema.Updated, "edit"),
            ):
                method = "POST" if right == "edit" or path == "/predict" else "GET"
                options = {"methods": [method], "tags": [right], "response_model": answer}
                add(prefix + path, endpoint, **options, **named)
        read("/runs/{run}", self.to_page, name="page", include_in_schema=False)

    def add(
        self, path: str, answers: ASGIApp, runs: Callable[[], AbstractAsyncContextManager[None]]
    ) -> None:
        """Let something else answer at an address; it runs as long as the service does."""
        self.api.router.routes.append(starlette.routing.Route(path, answers))
        self._beside.append(runs)

    # Around a request ---------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; start and stop with the server."""
        if scope["type"] == "lifespan":
            await self.api(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        begun, asked = time.perf_counter(), scope["method"]
        guarded = GuardedSend(send, self.settings.timeout)
        inner = {**scope, "method": "GET" if asked == "HEAD" else asked}
        answer: ASGIApp = self._refusal(Request(inner).headers) or self.api
        try:
            with suppress(TimeoutError):  # a client that does not read is left
                await answer(inner, receive, guarded)
        finally:
            route = getattr(inner.get("route"), "name", "none")
            method = asked if asked in ("GET", "HEAD", "POST") else "other"
            took = time.perf_counter() - begun
            self.metrics.requests.labels(route, method, guarded.status).inc()
            self.metrics.seconds.labels(route).observe(took)
            # Never the path or the query: they may hold texts, or lines of their own.
            log.info("%s %s %d %.1f ms", method, route, guarded.status, 1000 * took)

    def _refusal(self, headers: Headers) -> Response | None:
        """The answer to a request that is not for this service, or from a page of another site."""
        try:
            if "content-length" in headers and "transfer-encoding" in headers:
                said = "Content-Length and Transfer-Encoding contradict each other; send one."
                raise ServeError(400, "two_lengths", said)  # a proxy may take the other one
            self.settings.hosts.check(headers)
        except ServeError as error:
            return failure(error)
        return None

    async def answer(self, route: Route, handler: Handler, request: Request) -> Response:
        """Answer a request for a route: who may ask for it, within which time."""
        right, settings = route.tags[0], self.settings
        limit = settings.timeout
        if right == "edit":
            limit = settings.edit_timeout + settings.body_timeout
        try:
            if right != "open":
                settings.tokens.check(request.headers.get("authorization"), edits=right == "edit")
            with fail_after(limit):
                if request.method == "GET":
                    return await handler(request)
                predicts = route.name == "predict"
                with self.batcher.arriving() if predicts else nullcontext() as arrived:
                    request.state.arrived = arrived
                    return await handler(await read_json(request, settings))
        except ClientDisconnect:
            return Response(status_code=499)
        except TimeoutError:
            said = f"no answer within {limit:g} seconds; send less at a time."
            return failure(ServeError(504, "too_slow", said))
        except RequestValidationError as error:
            return failure(refusal(error))
        except CoterieError as error:
            live = self.runs.get(request.path_params.get("run", ""), self.first)
            return failure(error, without_paths(str(error), live))
        except Exception as error:
            return failure(self.fault(error))

    def fault(self, error: Exception) -> ServeError:
        """What is answered to an error of our own: nothing of the inside; the log has no text."""
        where = traceback.extract_tb(error.__traceback__)[-3:]
        places = ", ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in where)
        log.error("%s at %s", type(error).__name__, places)
        said = "unexpected error; this is a fault of coterie, and its log says where."
        return ServeError(500, "fault", said)

    @asynccontextmanager
    async def running(self, app: object = None) -> AsyncIterator[None]:
        """Inside the block, what is asked is answered."""
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
            async with AsyncExitStack() as stack:
                for beside in self._beside:
                    await stack.enter_async_context(beside())
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
            known = ", ".join(self.runs)
            said = (
                f"there is no run {name or ''!r:.80}; addresses begin with /runs/NAME, of: {known}."
            )
            raise ServeError(404, "no_run", said)
        return self.runs[name]

    # What it tells of itself --------------------------------------------------------------------

    async def healthz(self) -> Response:
        """Whether the process answers."""
        return reply({"status": "ok"})

    async def readyz(self) -> Response:
        """Whether requests are served."""
        if self.stopping or not self.batcher.alive:
            raise ServeError(503, "not_ready", "the service is not ready.")
        return reply({"status": "ready"})

    async def show_metrics(self) -> Response:
        """Counts and times for Prometheus."""
        kind = {"content-type": CONTENT_TYPE_PLAIN_0_0_4}
        return Response(generate_latest(self.metrics.registry), headers=kind)

    async def openapi(self) -> Response:
        """What can be asked, with examples."""
        document = self.api.openapi()
        if self.settings.tokens:
            kinds = {kind: {"type": "http", "scheme": kind} for kind in ("bearer", "basic")}
            document["components"]["securitySchemes"] = kinds
            document["security"] = [{kind: []} for kind in kinds]
        return reply(document)

    async def list_runs(self) -> Response:
        """The runs that are served."""
        return reply({"runs": [live.about() for live in self.runs.values()]})

    async def index(self) -> Response:
        """Links to the pages of several runs."""
        items = "".join(
            f'<li><a href="/runs/{quote(name, safe="")}/">{escape(name)}</a></li>'
            for name in self.runs
        )
        return HTMLResponse(
            f'<!doctype html><meta charset="utf-8"><title>coterie</title><ul>{items}</ul>'
        )

    # Reading a run ------------------------------------------------------------------------------

    async def page(self, live: Live) -> Response:
        """The page of the run."""
        return HTMLResponse(live.snapshot.page, headers={"etag": f'"{live.snapshot.version}"'})

    async def to_page(self, live: Live) -> Response:
        """Where the page is, for an address without its last slash."""
        return Response(status_code=308, headers={"location": f"{quote(live.name, safe='')}/"})

    async def version(self, live: Live, request: Request) -> Response:
        """The version of the run, and whether the token may edit it."""
        may_edit = self.settings.tokens.may_edit(request.headers.get("authorization"))
        shown = {"version": live.snapshot.version, "seen": live.snapshot.live["seen"]}
        return reply({**shown, "may_edit": may_edit, "trouble": live.trouble})

    async def live(self, live: Live) -> Response:
        """What the tools of the page show: clusters in short, and the last changes."""
        return reply(live.snapshot.live)

    async def clusters(self, live: Live, _: NoParameters) -> Response:
        """The clusters with names, words and examples, and the levels above them."""
        return reply(live.snapshot.list_clusters())

    async def texts(self, live: Live, wanted: Annotated[schema.Filter, Query()]) -> Response:
        """Rows of the run: of a cluster, with a word, outliers, by confidence; page by page."""
        return reply(queries.list_texts(live.snapshot, wanted))

    async def search(
        self, live: Live, request: Request, wanted: Annotated[schema.Search, Query()]
    ) -> Response:
        """Texts by meaning, by words, or by both."""
        return reply(await queries.search(live.snapshot, wanted, request, self.batcher))

    async def similar(
        self, live: Live, id: str, wanted: Annotated[schema.Nearest, Query()]
    ) -> Response:
        """The texts most similar to a row, by its id if the run has ids, else by its number."""
        return reply(queries.similar(live.snapshot, id, wanted))

    # Predicting and changing --------------------------------------------------------------------

    async def predict(
        self, live: Live, request: Request, wanted: schema.Predict, _: NoParameters
    ) -> Response:
        """Cluster, name, confidence, runner-up and outlier score of new texts."""
        return reply(await self.assign(live, wanted, request))

    async def assign(
        self, live: LiveRun, wanted: schema.Predict, request: Request | None = None
    ) -> dict[str, Any]:
        """The clusters of new texts; the work ends when the client of the request is gone."""
        texts, snapshot = wanted.texts or [wanted.text], live.snapshot
        labeller = snapshot.at_level(wanted.level)
        future = self.batcher.submit(labeller, texts)
        if request is not None:
            request.state.arrived()
        found = await queries.result_of(future, request)
        self.metrics.texts.labels(live.name).inc(len(texts))
        names = {c.id: c.name for c in labeller.clusters or ()}
        rows = [result_row(found.columns, i, names) for i in range(len(texts))]
        return {"version": snapshot.version, "predictions": rows}

    async def edits(
        self,
        live: Live,
        request: Request,
        wanted: schema.Edit,
        _: NoParameters,
        if_match: IfMatch = None,
    ) -> Response:
        """Merge, split, rename, move, lock or mark as done clusters, or undo the last change."""
        return await self._asked(live, request, wanted, if_match)

    async def cut(
        self,
        live: Live,
        request: Request,
        wanted: schema.Cut,
        _: NoParameters,
        if_match: IfMatch = None,
    ) -> Response:
        """Show more or fewer clusters of the merge tree; /edits can undo it."""
        return await self._asked(live, request, wanted, if_match)

    async def _asked(
        self,
        live: LiveRun,
        request: Request,
        wanted: schema.Edit | schema.Cut,
        if_match: str | None,
    ) -> Response:
        by = given_name(request.headers.get("authorization"))
        done, snapshot = await self.change(live, wanted, _seen(if_match, wanted), by)
        if "done" in done:
            done.setdefault("clusters", snapshot.names)
        return reply({"version": snapshot.version, **done})

    async def change(
        self, live: LiveRun, wanted: schema.Edit | schema.Cut, version: str | None, by: str
    ) -> tuple[dict[str, Any], Snapshot]:
        """Edit, cut or undo; what was done, and the state after it."""
        return await self._change(live, partial(make_change, live.folder, wanted, version, by))

    async def update(
        self, live: Live, wanted: schema.Update, _: NoParameters, if_match: IfMatch = None
    ) -> Response:
        """Add new rows; old rows keep their clusters."""
        options = wanted.model_dump(exclude={"texts", "rows", "version"}, exclude_none=True)
        data = wanted.rows or wanted.texts
        version = _seen(if_match, wanted)
        work = partial(Run(live.folder).update, data, version=version, **options)
        found, snapshot = await self._change(live, work)
        value = {
            **found.to_dict(),
            "run": live.name,
            "version": snapshot.version,
            "said": [without_paths(sentence, live) for sentence in found.sentences()],
        }
        return reply(value)

    async def _change(self, live: LiveRun, work: Callable[[], T]) -> tuple[T, Snapshot]:
        """Change a run, one change at a time, and take in the new state before the answer.

        The change goes on where the client does not wait for it.
        """

        async def change() -> tuple[T, Snapshot]:
            async with live.editing:
                result = "refused"
                try:
                    done = await asyncio.get_running_loop().run_in_executor(self._editor, work)
                    result = "done"
                except OSError as error:
                    why = "the disk is full" if error.errno in FULL else error.strerror
                    said = f"the change cannot be written ({why or 'no room'}), so nothing was "
                    said += "changed. Make room, or check the permissions, and send it again."
                    raise ServeError(507, "not_written", said) from error
                finally:
                    self.metrics.edits.labels(live.name, result).inc()
                return done, await self._refresh(live)

        if self.stopping:
            raise stopping()
        task = asyncio.create_task(change())
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:  # the client was told
            self._loader.submit(release_memory)  # the error holds the run that was to be changed


def _seen(if_match: str | None, wanted: schema.Seen) -> str | None:
    """The version that a client has seen: the header If-Match, or ``version`` in the body."""
    if if_match is not None and if_match.strip() != "*":
        return if_match.strip().removeprefix("W/").strip('"')
    return wanted.version
