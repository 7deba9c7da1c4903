"""The service: finished runs in memory, which it reads again when their folders change."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from coterie import __version__
from coterie.errors import CoterieError
from coterie.runs import Run
from coterie.serve import schema
from coterie.serve.access import Settings
from coterie.serve.batching import Batcher
from coterie.serve.errors import HANDLERS, ServeError
from coterie.serve.guard import Guard
from coterie.serve.metrics import Metrics
from coterie.serve.routes import add_routes
from coterie.serve.state import LiveRun

T = TypeVar("T")

WATCH = 0.5  # seconds between two looks at the folders
HERE = ("localhost", "127.0.0.1", "[::1]")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_TELEMETRY: Any = dict.fromkeys(  # texts of clients go nowhere, whatever the environment says
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)


class Service:
    """Finished runs, by the names that the service calls them; ``api`` answers requests."""

    def __init__(self, runs: Mapping[str, Path], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.metrics = Metrics()
        self.runs = {n: LiveRun(n, Path(folder), self.metrics) for n, folder in runs.items()}
        self.first = next(iter(self.runs.values()))
        self.batcher = Batcher(self.metrics, self.settings.timeout)
        self.metrics.queued.set_function(lambda: self.batcher.queued)
        self.beside: list[Callable[[], AbstractAsyncContextManager[None]]] = []  # run with it
        self.api = FastAPI(
            title="coterie",
            version=__version__,
            description="Predict, search, edit and update finished clusterings.",
            docs_url=None,  # those pages load scripts of others
            redoc_url=None,
            lifespan=self.running,
            exception_handlers=HANDLERS,
            responses={"default": {"model": schema.Error, "description": "Not served."}},
            telemetry=NO_TELEMETRY,
        )
        self.api.state.service = self
        self.api.add_middleware(
            CORSMiddleware,
            allow_origins=self.settings.origins,
            allow_methods=("GET", "POST"),
            allow_headers=("authorization", "content-type"),
        )
        hosts = [*HERE, *self.settings.hosts]
        self.api.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
        self.api.add_middleware(Guard, max_body=self.settings.max_body, metrics=self.metrics)
        add_routes(self.api, alone=len(self.runs) == 1)

    def find(self, name: str | None) -> LiveRun:
        """The run of this name; without a name the only one."""
        if name is None and len(self.runs) == 1:
            return self.first
        if name is None or name not in self.runs:
            known = ", ".join(self.runs)
            said = f"there is no run {name or ''!r:.80}; there are: {known}."
            raise ServeError(404, "no_run", said)
        return self.runs[name]

    def without_paths(self, error: CoterieError) -> CoterieError:
        """An error without places of this machine in its message."""
        for live in self.runs.values():
            error.args = (live.without_path(str(error)),)
        return error

    @asynccontextmanager
    async def running(self, app: object = None) -> AsyncIterator[None]:
        """Inside the block, what is asked is answered."""
        tasks = [asyncio.create_task(self.batcher.run()), asyncio.create_task(self._watch())]
        for live in self.runs.values():
            self._encode(live)
        try:
            async with AsyncExitStack() as stack:
                for beside in self.beside:
                    await stack.enter_async_context(beside())
                yield
        finally:
            tasks += [live.encoding for live in self.runs.values() if live.encoding]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _watch(self) -> None:
        """Look at the folders now and then."""
        while True:
            await asyncio.sleep(WATCH)
            for live in self.runs.values():
                async with live.changing:
                    await self._refresh(live)

    async def _refresh(self, live: LiveRun) -> None:
        if await live.refresh():
            self._encode(live)

    def _encode(self, live: LiveRun) -> None:
        """Encode the texts of a run for search, beside the requests."""
        if live.encoding is not None:
            live.encoding.cancel()
        live.encoding = asyncio.create_task(live.snapshot.encode_texts(self.batcher))

    async def change(self, live: LiveRun, work: Callable[[], T]) -> T:
        """Change a run, one change at a time, and take in its new state before the answer."""
        async with live.changing:
            result = "refused"
            try:
                done = await asyncio.to_thread(work)
                result = "done"
            except OSError as error:
                why = "the disk is full" if error.errno in FULL else error.strerror
                said = f"the change cannot be written ({why or 'no room'}), so nothing was changed."
                raise ServeError(507, "not_written", said) from error
            finally:
                self.metrics.edits.labels(live.name, result).inc()
                await self._refresh(live)  # also what somebody else has done meanwhile
            return done

    async def edit(self, live: LiveRun, wanted: schema.Edit) -> dict[str, Any]:
        """Edit a run, or undo its last change; what the answer says."""
        run, version = Run(live.folder), wanted.version
        if wanted.undo:
            return {"undone": await self.change(live, partial(run.undo, version=version))}
        self.check_number(len(wanted.edits))
        work = partial(run.edit, wanted.edits, dry_run=wanted.dry_run, version=version)
        done = await self.change(live, work)
        return {
            "done": list(done.done),
            "notes": list(done.notes),
            "clusters": {str(number): name for number, name in done.clusters.items()},
            "written": not wanted.dry_run,
        }

    async def predict(self, live: LiveRun, wanted: schema.Predict, *gone: Any) -> dict[str, Any]:
        """The clusters of new texts; the work ends when the client is gone."""
        texts = wanted.texts or [wanted.text or ""]
        self.check_number(len(texts))
        snapshot = live.snapshot
        rows = await self.batcher.ask(snapshot.assign(wanted.level), texts, *gone)
        self.metrics.texts.labels(live.name).inc(len(texts))
        return {"version": snapshot.version, "predictions": rows}

    def check_number(self, number: int) -> None:
        """Refuse a request of too many texts, rows or edits."""
        if number > self.settings.max_texts:
            said = f"{number:,} at a time; at most {self.settings.max_texts:,} are allowed."
            raise ServeError(413, "too_many_texts", f"{said} Send fewer (or see --max-texts).")
