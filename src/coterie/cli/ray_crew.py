"""Parts of a corpus on the machines of a Ray cluster.

Why Ray's processes (actors) and not Ray Data: its Parquet writer opens files under their final
names, so that a worker that dies leaves half a file there; it names files by the run, so that a
second run adds rows again; and which rows share a file is up to its scheduler. Here a part goes to
one worker at a time, is put in its place in one step, and has a name that depends on nothing else.

Retries are ours as well. Ray would repeat a call on the restarted worker it was sent to; here the
part goes to whoever is free, and a part that kills every worker is given up after a few.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from coterie._errors import CoterieError, UsageError
from coterie._validation import need
from coterie.cli.parts import Job, Outcome, Part, PartWorker

TRIES = 3  # of a part, and of workers in a row that die before they are ready
PATIENCE = 10  # seconds for a cluster to answer
CPUS = 4  # of a worker, where nobody says how many workers; each holds a model in memory

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Share:
    """How many workers, and the CPUs and GPUs of each."""

    workers: int
    cpus: int
    gpus: int = 0


def on_ray(job: Job, parts: Sequence[Part], workers: int | None) -> Generator[Outcome, None, None]:
    """Label parts on a cluster; outcomes as they come.

    It is the cluster that this process is connected to, else that of ``RAY_ADDRESS``, else one
    that runs on this machine, else one of this machine alone that is stopped afterwards.

    Parameters
    ----------
    job : Job
    parts : sequence of Part
    workers : int, optional
        Default: one for each GPU, or for every four CPUs.
    """
    ray = need("ray", "ray")
    with _connected(ray):
        alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        share = share_out(alive, workers)
        logger.info("%d workers of %d CPUs, %d GPUs", share.workers, share.cpus, share.gpus)
        crew = Crew(ray, job, share)
        try:
            yield from crew.label(parts)
        finally:
            crew.stop()


def share_out(nodes: Sequence[dict[str, float]], workers: int | None = None) -> Share:
    """Divide machines among workers, each of which is on one machine.

    Examples
    --------
    >>> share_out([{"CPU": 16.0}, {"CPU": 10.0}])
    Share(workers=6, cpus=4, gpus=0)
    >>> share_out([{"CPU": 16.0}, {"CPU": 10.0}], 3)
    Share(workers=3, cpus=8, gpus=0)
    """
    gpus = sum(int(node.get("GPU", 0)) for node in nodes)
    cpus = [int(node.get("CPU", 0)) for node in nodes]
    most = gpus or sum(cpus)
    if not most:
        raise UsageError("--engine ray: the cluster has no CPU to work on.")
    if workers is not None and not 1 <= workers <= most:
        kind = "GPUs" if gpus else "CPUs"
        raise UsageError(
            f"--workers {workers}: the cluster has {most} {kind}; ask for 1 to {most}."
        )
    if gpus:
        return Share(workers or gpus, 1, 1)
    if workers is None:
        each = min(CPUS, max(cpus))
        return Share(sum(n // each for n in cpus), each)
    each = next(c for c in range(max(cpus), 0, -1) if sum(n // c for n in cpus) >= workers)
    return Share(workers, each)


class Crew:
    """Workers, the parts they have, and what to do when one is lost.

    Parameters
    ----------
    ray : module
    job : Job
    share : Share
    """

    def __init__(self, ray: Any, job: Job, share: Share) -> None:
        self.ray, self.job, self.share = ray, job, share
        self._make = ray.remote(PartWorker).options(
            num_cpus=share.cpus, num_gpus=share.gpus, max_restarts=0, max_task_retries=0
        )
        self._busy: dict[Any, tuple[Any, Part | None]] = {}  # no part: it loads the model
        self._idle: list[Any] = []
        self._failed_starts = 0

    def label(self, parts: Sequence[Part]) -> Generator[Outcome, None, None]:
        """Hand out the parts until each has an outcome."""
        waiting, left = deque(parts), len(parts)
        tries: Counter[Part] = Counter()
        while left:
            self._fill(left)
            while waiting and self._idle:
                worker = self._idle.pop()
                part = waiting.popleft()
                tries[part] += 1
                self._busy[worker.label.remote(part)] = worker, part
            (call, *_), _ = self.ray.wait(list(self._busy), num_returns=1)
            worker, done = self._busy.pop(call)
            facts, error = self._answer(call, worker)
            if done is None:
                self._count_start(error)
            elif facts is not None or isinstance(error, CoterieError) or tries[done] >= TRIES:
                left -= 1
                yield Outcome(done, facts, "" if error is None else _line(error), tries[done])
            else:
                logger.warning("%s goes to another worker: %s", done.name, _line(error))
                waiting.appendleft(done)

    def stop(self) -> None:
        """Let all workers go, also those that wait for a machine."""
        for worker in [*self._idle, *(worker for worker, _ in self._busy.values())]:
            self.ray.kill(worker)
        self._idle, self._busy = [], {}

    def _fill(self, left: int) -> None:
        """As many workers as there are to be, in place of those that were lost."""
        # A worker gets its first part when it is ready: one that no machine has room for would
        # keep it for ever.
        for _ in range(min(self.share.workers, left) - len(self._busy) - len(self._idle)):
            worker = self._make.remote(self.job)
            self._busy[worker.load.remote()] = worker, None

    def _answer(self, call: Any, worker: Any) -> tuple[Any, Exception | None]:
        """What a worker returned, or what went wrong; it is idle if it still lives."""
        wrong = self.ray.exceptions
        try:
            answer = self.ray.get(call)
        except wrong.RayTaskError as error:  # raised in the worker, which is well
            self._idle.append(worker)
            return None, error.cause if isinstance(error.cause, Exception) else error
        except wrong.RayError as error:  # the worker or its machine is gone
            return None, error
        self._idle.append(worker)
        return answer, None

    def _count_start(self, error: Exception | None) -> None:
        if isinstance(error, CoterieError):
            raise error
        if error is None:
            self._failed_starts = 0
            return
        self._failed_starts += 1
        if self._failed_starts >= TRIES:
            raise CoterieError(
                f"--engine ray: {TRIES} workers in a row were lost while they loaded the model "
                f"({_line(error)}); is coterie installed on all machines, and memory left?"
            ) from error


@contextmanager
def _connected(ray: Any) -> Iterator[None]:
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent unless asked for
    _check_address(os.environ.get("RAY_ADDRESS", ""))
    try:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise UsageError(f"--engine ray: no cluster answers ({_line(error)}).") from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Say at once that nobody listens; Ray itself tries for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or "/" in address or not port.isdecimal():
        return  # none, "auto", "local", or a kind that only Ray understands
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except OSError as error:
        raise UsageError(
            f"RAY_ADDRESS={address}: no Ray cluster answers there ({error}); start one with ray "
            "start, or unset it to work on this machine alone."
        ) from error


def _line(error: Exception | None) -> str:
    """The first line of an error."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
