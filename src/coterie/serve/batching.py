"""Texts of many requests are encoded together, by one thread that has the models to itself."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import ClientDisconnect

from coterie._cache import no_cache
from coterie._types import Floats
from coterie.runs.label import Labeller
from coterie.serve.errors import ServeError
from coterie.serve.metrics import Metrics

log = logging.getLogger(__name__)

BATCH, CHARACTERS = 64, 10_000  # texts of a batch at most; none is added beyond the characters
QUEUED = 20_000  # texts that may wait
TURN = 8  # batches between two steps of background work, however many wait
LOOK = 0.5  # seconds between two looks whether a client still waits


@dataclass(eq=False)
class Job:
    """The texts of one request, and the result columns and vectors of those that are done."""

    labeller: Labeller
    texts: Sequence[str]
    done: asyncio.Future[None]
    taken: int = 0  # texts that are in a batch already
    rows: list[dict[str, Any]] = field(default_factory=list)
    vectors: list[Floats] = field(default_factory=list)


async def _never() -> bool:
    return False


class Batcher:
    """Puts the texts of waiting requests into one batch.

    While a batch is worked, further requests wait and form the next one. The requests take turns,
    text by text, so that one of many texts does not hold up one of few. What nobody waits for any
    more is left out of the next batch.
    """

    def __init__(self, metrics: Metrics, timeout: float = 60.0) -> None:
        self.metrics, self.timeout = metrics, timeout
        self._jobs: list[Job] = []
        self._background: dict[str, Iterator[None]] = {}
        self._news = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "coterie-model")

    @property
    def queued(self) -> int:
        """Texts that wait."""
        return sum(len(job.texts) - job.taken for job in self._jobs if not job.done.done())

    async def assign(
        self,
        labeller: Labeller,
        texts: Sequence[str],
        gone: Callable[[], Awaitable[bool]] = _never,
    ) -> Job:
        """Put texts into clusters; the work ends when the client is gone, or its time is over."""
        if self.queued + len(texts) > QUEUED:
            said = f"{self.queued:,} texts are waiting already; try again later."
            raise ServeError(503, "busy", said)
        job = Job(labeller, texts, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._news.set()
        try:
            async with asyncio.timeout(self.timeout):
                while not (await asyncio.wait([job.done], timeout=LOOK))[0]:
                    if await gone():
                        raise ClientDisconnect
            job.done.result()
        finally:
            job.done.cancel()
        return job

    def add_background(self, name: str, work: Iterator[None]) -> None:
        """Queue work that goes on a step at a time while no request waits, or now and then.

        It replaces earlier work of this name.
        """
        self._background[name] = work
        self._news.set()

    async def run(self) -> None:
        """Work batches until it is cancelled."""
        batches = 0  # since the last step of background work
        try:
            while True:
                self._jobs = [job for job in self._jobs if not job.done.done()]
                if self._jobs and not (self._background and batches >= TURN):
                    batches += 1
                    await self._work(self._next_batch())
                elif self._background:
                    batches = 0
                    await self._step(*next(iter(self._background.items())))
                else:
                    self._news.clear()
                    await self._news.wait()
        finally:
            self._thread.shutdown()

    def _next_batch(self) -> list[tuple[Job, str]]:
        """Texts of all requests for one model, in turn."""
        batch: list[tuple[Job, str]] = []
        characters = 0
        turns = deque(job for job in self._jobs if job.labeller is self._jobs[0].labeller)
        while turns and len(batch) < BATCH and characters < CHARACTERS:
            job = turns.popleft()
            text = job.texts[job.taken]
            job.taken += 1
            batch.append((job, text))
            characters += len(text)
            if job.taken < len(job.texts):
                turns.append(job)
        return batch

    async def _work(self, batch: list[tuple[Job, str]]) -> None:
        """Assign the texts; one that cannot be must not fail the others."""
        begun, loop = time.perf_counter(), asyncio.get_running_loop()
        labeller, texts = batch[0][0].labeller, [text for _, text in batch]
        try:
            columns, vectors = await loop.run_in_executor(self._thread, _assign, labeller, texts)
        except Exception as error:
            jobs = dict.fromkeys(job for job, _ in batch)
            for job in jobs if len(jobs) > 1 else ():
                await self._work([part for part in batch if part[0] is job])
            if len(jobs) == 1 and not batch[0][0].done.done():
                batch[0][0].done.set_exception(error)
            return
        for i, (job, _) in enumerate(batch):
            job.rows.append({name: values[i] for name, values in columns.items()})
            job.vectors.append(vectors[i])
            if len(job.rows) == len(job.texts) and not job.done.done():
                job.done.set_result(None)
        self.metrics.batches.observe(len(texts))
        self.metrics.batch_seconds.observe(time.perf_counter() - begun)

    async def _step(self, name: str, work: Iterator[None]) -> None:
        """One step of background work; an error ends it, and no other work."""
        loop = asyncio.get_running_loop()
        try:
            ended = await loop.run_in_executor(self._thread, next, work, True)
        except Exception as error:
            log.warning("background work ended: %s", type(error).__name__)
            ended = True
        if ended and self._background.get(name) is work:
            del self._background[name]


def _assign(labeller: Labeller, texts: list[str]) -> tuple[dict[str, list[Any]], Floats]:
    with no_cache():  # texts of clients leave nothing on the disk
        found = labeller.assess(texts)
        return labeller.columns(found), found.vectors
