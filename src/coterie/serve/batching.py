"""Texts of many requests are encoded together, by one thread that has the models to itself."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie._cache import no_cache
from coterie._types import Floats
from coterie.runs.label import Labeller
from coterie.serve.errors import ServeError, stopping
from coterie.serve.metrics import Metrics

log = logging.getLogger(__name__)

CHARACTERS = 10_000  # of the texts of a batch, besides one of the oldest request
TURN = 8  # batches of requests between two steps of background work, however many wait


@dataclass(frozen=True)
class Assigned:
    """The result columns of some texts, and their vectors."""

    columns: dict[str, list[Any]]
    vectors: Floats


@dataclass(eq=False)
class Job:
    """The texts of one request."""

    labeller: Labeller
    texts: list[str]
    future: Future[Assigned] = field(default_factory=Future)
    taken: int = 0  # texts that are in a batch already
    columns: dict[str, list[Any]] = field(default_factory=dict)
    vectors: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size = sum(map(len, self.texts))  # characters that are in no batch yet

    @property
    def left(self) -> int:
        """Texts that are in no batch yet."""
        return len(self.texts) - self.taken

    def take(self) -> int:
        """Put the next text into a batch; its characters."""
        length = len(self.texts[self.taken])
        self.taken += 1
        self.size -= length
        return length

    def add(self, columns: dict[str, list[Any]], vectors: Floats) -> None:
        """Take in the results of the next texts; the last ones end the job."""
        for name, values in columns.items():
            self.columns.setdefault(name, []).extend(values)
        self.vectors.append(vectors)
        if sum(map(len, self.vectors)) == len(self.texts):
            with suppress(InvalidStateError):  # the client is gone
                self.future.set_result(Assigned(self.columns, np.concatenate(self.vectors)))


Part = tuple[Job, int, int]  # texts of a job, from and to


class Batcher:
    """Puts the texts of waiting requests into one batch.

    While a batch is worked, further requests wait and form the next one. A request that comes alone
    is worked at once; if others are on their way, the batch waits for them a few milliseconds.
    A batch has one text of the oldest request, then those of the smallest ones: neither many texts
    nor long ones hold up a small request, and a large one goes on, too. What nobody waits for any
    more is left out of the next batch. Requests of several texts
    are refused where more than ``max_queued`` texts would wait.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        max_batch: int = 64,
        max_wait: float = 0.003,
        max_queued: int = 4096,
    ) -> None:
        self.metrics = metrics
        self.max_batch, self.max_wait, self.max_queued = max_batch, max_wait, max_queued
        self._changed = threading.Condition()
        self._jobs: list[Job] = []
        self._background: dict[str, Iterator[None]] = {}
        self._batches = 0  # since the last step of background work
        self._arriving = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="coterie-batches", daemon=True)
        self._thread.start()

    @contextmanager
    def arriving(self) -> Iterator[Callable[[], None]]:
        """Around a request whose texts are not here yet; the function ends that early."""
        here = False

        def arrived() -> None:
            nonlocal here
            if not here:
                here = True
                with self._changed:
                    self._arriving -= 1
                    self._changed.notify()

        with self._changed:
            self._arriving += 1
        try:
            yield arrived
        finally:
            arrived()

    def submit(self, labeller: Labeller, texts: list[str]) -> Future[Assigned]:
        """Queue the texts of a request; the future has their results."""
        job = Job(labeller, list(texts))
        with self._changed:
            if self._closed:
                raise stopping()
            if len(texts) > 1 and self.queued + len(texts) > self.max_queued:
                said = f"{self.queued:,} texts are waiting already; try again later."
                raise ServeError(503, "busy", said)
            self._jobs.append(job)
            self._changed.notify()
        return job.future

    def add_background(self, name: str, work: Iterator[None]) -> None:
        """Queue work that goes on a step at a time while no request waits, or now and then.

        It replaces earlier work of this name.
        """
        with self._changed:
            self._background[name] = work
            self._changed.notify()

    @property
    def alive(self) -> bool:
        """Whether batches are worked."""
        return self._thread.is_alive() and not self._closed

    @property
    def queued(self) -> int:
        """Texts that wait."""
        return sum(job.left for job in self._jobs)

    def close(self) -> None:
        """Finish what is queued, then end the thread; background work is dropped."""
        with self._changed:
            self._closed = True
            self._background.clear()
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._jobs or self._background or self._closed):
                    self._changed.wait()
                if not self._jobs and self._closed:
                    return
                waiting = bool(self._background) and self._batches >= TURN
                parts = self._share() if self._jobs and not waiting else []
                name, step = next(iter(self._background.items()), ("", None))
            if parts:
                self._batches += 1
                with no_cache():  # texts of clients leave nothing on the disk
                    self._work(parts)
            elif step is not None:
                self._batches = 0
                self._step(name, step)
            del parts, step  # nothing is kept of what was worked

    def _step(self, name: str, work: Iterator[None]) -> None:
        """One step of the background work."""
        try:
            next(work)
        except StopIteration:
            pass
        except Exception as error:  # the work itself tells whoever waits for it
            log.warning("background work ended: %s", type(error).__name__)
        else:
            return
        with self._changed:
            if self._background.get(name) is work:
                del self._background[name]

    def _share(self) -> list[Part]:
        """The next batch: parts of all jobs of one model. The lock is held."""
        end = time.monotonic() + self.max_wait
        while self._arriving and self.queued < self.max_batch:
            left = end - time.monotonic()
            if left <= 0:
                break
            self._changed.wait(left)
        self._jobs = [job for job in self._jobs if not job.future.done()]  # clients that are gone
        jobs = [job for job in self._jobs if job.labeller is self._jobs[0].labeller]
        begun = [job.taken for job in jobs]
        room, characters = self.max_batch, CHARACTERS
        if jobs:
            jobs[0].take()
            room -= 1
        small = sorted(jobs, key=lambda job: job.size)
        for share in (max(1, room // max(len(jobs), 1)), room):  # evenly, then what is left
            for job in small:
                for _ in range(min(job.left, share, room)):
                    if len(job.texts[job.taken]) > characters:
                        break
                    characters -= job.take()
                    room -= 1
        parts = [(job, first, job.taken) for job, first in zip(jobs, begun, strict=True)]
        self._jobs = [job for job in self._jobs if job.left]
        return [(job, first, last) for job, first, last in parts if first < last]

    def _work(self, parts: list[Part]) -> None:
        """Assign the texts; one that cannot be must not fail the others."""
        begun = time.perf_counter()
        texts = [text for job, first, last in parts for text in job.texts[first:last]]
        labeller = parts[0][0].labeller
        try:
            seen = labeller.assess(texts)
            columns, begin = labeller.columns(seen), 0
        except Exception as error:
            if len(parts) > 1:
                for part in parts:
                    self._work([part])
                return
            with suppress(InvalidStateError):
                parts[0][0].future.set_exception(error)
        else:
            for job, first, last in parts:
                end = begin + last - first
                job.add({n: v[begin:end] for n, v in columns.items()}, seen.vectors[begin:end])
                begin = end
        self.metrics.batches.observe(len(texts))
        self.metrics.batch_seconds.observe(time.perf_counter() - begun)
