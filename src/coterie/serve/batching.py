"""Texts of many requests are encoded together, by one thread that has the models to itself."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import ClientDisconnect

from coterie.encoders.cache import no_cache
from coterie.serve.errors import ServeError
from coterie.serve.metrics import Metrics

BATCH, CHARACTERS = 64, 10_000  # texts of a batch at most; none is added beyond the characters
QUEUED = 20_000  # texts that may wait
LOOK = 0.5  # seconds between two looks whether a client still waits

Work = Callable[[list[str]], Any]  # the results of some texts, in a list or an array


@dataclass(eq=False)
class Job:
    """The texts of one request, and the results of those that are done."""

    work: Work
    texts: Sequence[str]
    done: asyncio.Future[list[Any]]
    taken: int = 0  # texts that are in a batch already
    results: list[Any] = field(default_factory=list)


async def _never() -> bool:
    return False


class Batcher:
    """Puts the texts of waiting requests into one batch.

    While a batch is worked, further requests wait and form the next one. The requests take turns,
    text by text, so that one of many texts does not hold up one of few; so do kinds of work. What
    nobody waits for any more is left out of the next batch.
    """

    def __init__(self, metrics: Metrics, timeout: float = 60.0) -> None:
        self.metrics, self.timeout = metrics, timeout
        self._jobs: list[Job] = []
        self._news = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "coterie-model")

    @property
    def queued(self) -> int:
        """Texts that wait."""
        return sum(len(job.texts) - job.taken for job in self._jobs if not job.done.done())

    async def ask(
        self,
        work: Work,
        texts: Sequence[str],
        gone: Callable[[], Awaitable[bool]] = _never,
    ) -> list[Any]:
        """The results of texts of a client; the work ends when it is gone, or its time is over."""
        if self.queued + len(texts) > QUEUED:
            said = f"{self.queued:,} texts are waiting already; try again later."
            raise ServeError(503, "busy", said)
        task = asyncio.create_task(self.results(work, texts))
        try:
            async with asyncio.timeout(self.timeout):
                while not (await asyncio.wait([task], timeout=LOOK))[0]:
                    if await gone():
                        raise ClientDisconnect
            return task.result()
        finally:
            task.cancel()

    async def results(self, work: Work, texts: Sequence[str]) -> list[Any]:
        """The results of texts, however long it takes."""
        job = Job(work, texts, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._news.set()
        try:
            return await job.done
        finally:
            job.done.cancel()

    async def run(self) -> None:
        """Work batches until it is cancelled."""
        try:
            while True:
                self._jobs = [job for job in self._jobs if not job.done.done()]
                if self._jobs:
                    await self._work(self._next_batch())
                else:
                    self._news.clear()
                    await self._news.wait()
        finally:
            self._thread.shutdown()

    def _next_batch(self) -> list[tuple[Job, str]]:
        """Texts of all requests for the same work, in turn."""
        work = self._jobs[0].work
        same = [job for job in self._jobs if job.work == work]
        self._jobs = [job for job in self._jobs if job.work != work] + same
        batch: list[tuple[Job, str]] = []
        characters, turns = 0, deque(same)
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
        """Work a batch; a text that breaks the work must not fail the other requests."""
        begun, loop = time.perf_counter(), asyncio.get_running_loop()
        texts = [text for _, text in batch]
        try:
            results = await loop.run_in_executor(self._thread, _quietly, batch[0][0].work, texts)
        except Exception as error:
            jobs = dict.fromkeys(job for job, _ in batch)
            for job in jobs if len(jobs) > 1 else ():
                await self._work([part for part in batch if part[0] is job])
            if len(jobs) == 1 and not batch[0][0].done.done():
                batch[0][0].done.set_exception(error)
            return
        for (job, _), result in zip(batch, results, strict=True):
            job.results.append(result)
            if len(job.results) == len(job.texts) and not job.done.done():
                job.done.set_result(job.results)
        self.metrics.batches.observe(len(texts))
        self.metrics.batch_seconds.observe(time.perf_counter() - begun)


def _quietly(work: Work, texts: list[str]) -> Any:
    with no_cache():  # texts of clients leave nothing on the disk
        return work(texts)
