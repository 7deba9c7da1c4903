"""Several processes at a suite: each takes the next run that nobody has claimed."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from coterie._errors import CoterieError
from coterie.bench.keys import Row
from coterie.bench.run import Report, Task, work

WAIT = 0.2  # seconds between two looks at whether the processes live


def run_jobs(task: Task, jobs: int, report: Report) -> None:
    """Work at a suite with ``jobs`` processes and pass on what they report.

    They are started anew, not forked: a GPU does not survive a fork. If this process is
    interrupted, they end, and what they were at is lost; lines that are written stay.
    """
    context = multiprocessing.get_context("spawn")
    events: Any = context.Queue()
    broken: Any = context.RawArray("b", len(task.jobs()))
    with _threads_shared(jobs):
        crew = [context.Process(target=_serve, args=(task, events, broken)) for _ in range(jobs)]
        for process in crew:
            process.start()
    try:
        while any(process.is_alive() for process in crew):
            _pass_on(events, report, WAIT)
        for process in crew:
            process.join()
        while _pass_on(events, report, WAIT):
            pass
    finally:
        for process in crew:
            if process.is_alive():
                process.terminate()
            process.join()
    lost = [process.exitcode for process in crew if process.exitcode]
    if lost:
        raise CoterieError("bench.processes_ended", lost=len(lost), jobs=jobs, code=lost[0])


def _pass_on(events: Any, report: Report, wait: float) -> bool:
    with suppress(queue.Empty):
        report(events.get(timeout=wait))
        return True
    return False


def _serve(task: Task, events: Any, broken: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears it and ends this one

    def report(event: Row) -> None:
        events.put(event)

    work(task, report, broken)


@contextmanager
def _threads_shared(jobs: int) -> Iterator[None]:
    """Processes started in the block share the cores, unless the user has said how many."""
    if "OMP_NUM_THREADS" in os.environ:
        yield
        return
    os.environ["OMP_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // jobs))
    try:
        yield
    finally:
        del os.environ["OMP_NUM_THREADS"]
