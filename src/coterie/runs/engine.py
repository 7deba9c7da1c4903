"""The same work on each of many files: in this process, or by Ray Data on a cluster of machines.

Ray Data holds one worker a GPU, or one for some CPUs; it hands out the files, and repeats one whose
worker died. Which worker does which file changes nothing: results are told apart by their file.
"""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from coterie._validation import check_choice, need
from coterie.errors import CoterieError, DataError, UsageError

ENGINES = ("local", "ray")
TRIES = 3  # of a file whose workers die
PATIENCE = 10  # seconds for a cluster to answer
CPUS = 4  # of a worker, where nobody says how many workers; each holds a model in memory
SHOWN = 3  # files that failed, by name

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Done(Generic[T, R]):
    """What became of a file: the result, or why there is none."""

    item: T
    found: R | None
    error: str = ""


class Engine:
    """Where the work is done: "local" is this process, "ray" a cluster, by so many workers.

    A cluster that has to be started is stopped when the work ends; used as a context, at its end.
    """

    def __init__(self, name: str = "local", workers: int | None = None) -> None:
        self.name, self.workers = check_choice("engine", name, ENGINES), workers
        if workers is not None and name != "ray":
            raise UsageError("`workers` needs `engine='ray'`.")
        self._open: ExitStack | None = None

    def __enter__(self) -> Engine:
        self._open = ExitStack()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._open is not None
        self._open.close()

    def each(
        self, make: Callable[[], Callable[[T], R]], items: Sequence[T]
    ) -> Generator[Done[T, R], None, None]:
        """Do the work that ``make`` gives, once per worker, on every item; results as they come."""
        if not items:  # no model is loaded, and no cluster started, for nothing
            return
        if self.name == "local":
            work = make()
            for item in items:
                yield _attempt(work, item)
            return
        ray = need("ray", "ray")
        need("ray.data", "ray")
        if self._open is not None:
            self._open.enter_context(_connected(ray))
        with nullcontext() if self._open is not None else _connected(ray):
            yield from _on_ray(ray, make, items, self.workers)


def _attempt(work: Callable[[T], R], item: T) -> Done[T, R]:
    try:
        return Done(item, work(item))
    except (CoterieError, OSError) as error:  # a damaged file, a full disk: others may do
        return Done(item, None, str(error))


def failures(failed: dict[str, str], total: int, what: str) -> DataError:
    """What to say about files that failed: ``what`` could not be done, and the remedy."""
    lines = [f"{name}: {why}" for name, why in list(failed.items())[:SHOWN]]
    lines += [f"and {len(failed) - SHOWN:,} more"] if len(failed) > SHOWN else []
    listed = "\n  ".join(lines)
    return DataError(f"{len(failed):,} of {total:,} files could not be {what}.\n  {listed}")


class RayWorker:
    """A process of a cluster, as Ray Data makes it: what it needs is loaded with the first file."""

    def __init__(
        self, make: Callable[[], Callable[[T], R]], items: Sequence[T], version: str
    ) -> None:
        self.make, self.items, self.version = make, items, version
        self.work: Callable[[T], R] | None = None

    def __call__(self, row: dict[str, int]) -> dict[str, Any]:
        """The result for an item; an error about all items alone, if the worker cannot work."""
        from coterie import __version__

        try:
            if self.version != __version__:
                raise DataError(
                    f"--engine ray: {socket.gethostname()} has coterie {__version__}, and this "
                    f"machine {self.version}; install the same version on all machines."
                )
            self.work = self.work or self.make()
        except (CoterieError, OSError) as error:
            return {"number": -1, "done": Done(None, None, str(error))}
        item = self.items[row["item"]]
        try:
            done = _attempt(self.work, item)
        except Exception as error:  # a fault, no memory: Ray Data would leave the file out
            done = Done(item, None, f"{type(error).__name__}: {error}")
        return {"number": row["item"], "done": done}


def _on_ray(
    ray: Any, make: Callable[[], Callable[[T], R]], items: Sequence[T], workers: int | None
) -> Generator[Done[T, R], None, None]:
    """Work on the cluster, by Ray Data; files whose workers died are done again at the end.

    Ray's own tries of a call are not used: after the loss of a machine they are spent within a
    second, while it still looks alive.
    """
    missing = set(range(len(items)))
    for attempt in range(TRIES):
        alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        share = share_out(alive, None if attempt else workers)  # there may be fewer machines now
        with _quiet(ray):
            for number, done in _rows(ray, make, items, sorted(missing), share):
                if number in missing:  # counted once, whatever the engine repeats
                    missing.discard(number)
                    yield done
        if not missing:
            return
    for number in sorted(missing):
        yield Done(items[number], None, f"{TRIES} workers were lost while they worked on it.")


def _rows(
    ray: Any,
    make: Callable[[], Callable[[T], R]],
    items: Sequence[T],
    numbers: list[int],
    share: Share,
) -> Generator[tuple[int, Done[T, R]], None, None]:
    """Results of Ray Data for the items of these numbers, but for those whose worker died."""
    from coterie import __version__

    most = min(share.workers, len(numbers))
    pool = ray.data.ActorPoolStrategy(
        min_size=1, max_size=most, initial_size=most, max_tasks_in_flight_per_actor=1
    )
    with warnings.catch_warnings():  # of the one argument that Ray will call otherwise
        warnings.simplefilter("ignore", DeprecationWarning)
        results = ray.data.from_items(numbers, override_num_blocks=len(numbers)).map(
            RayWorker,
            fn_constructor_args=(make, items, __version__),
            compute=pool,
            num_cpus=share.cpus,
            num_gpus=share.gpus,
            max_task_retries=0,
        )
    try:
        for row in results.iter_rows():
            if row["number"] < 0:
                raise DataError(row["done"].error)
            yield row["number"], row["done"]
    except ray.exceptions.RayError as error:
        last = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise CoterieError(
            f"--engine ray: the workers could not begin ({last}); is coterie installed on all "
            "machines, and memory left?"
        ) from error


@dataclass(frozen=True)
class Share:
    """How many workers, and the CPUs and GPUs of each."""

    workers: int
    cpus: int
    gpus: int = 0


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


@contextmanager
def _connected(ray: Any) -> Iterator[None]:
    """The cluster that this process is connected to, that of ``RAY_ADDRESS``, one on this machine.

    If there is none, one of this machine alone is started, and stopped at the end.
    """
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent unless asked for
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        ray.init(
            _address(), include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
        )
    except ConnectionError as error:
        raise UsageError(f"--engine ray: no cluster answers ({error}).") from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _quiet(ray: Any) -> Iterator[None]:
    """A file that kills its workers is left out, and the others are done; nothing is printed."""
    context, log = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    before = context.max_errored_blocks, context.enable_progress_bars, log.level
    try:
        context.max_errored_blocks, context.enable_progress_bars = -1, False
        log.setLevel(logging.CRITICAL)
        yield
    finally:
        context.max_errored_blocks, context.enable_progress_bars, level = before
        log.setLevel(level)


def _address() -> str | None:
    """What to connect to: None is what Ray finds, "local" a cluster of this machine alone."""
    given = os.environ.get("RAY_ADDRESS", "")
    if refused := _refused(given):
        raise UsageError(
            f"RAY_ADDRESS={given}: no Ray cluster answers there ({refused}); start one with ray "
            "start, or unset it to work on this machine alone."
        )
    return "local" if not given and _refused(_last_cluster()) else None


def _last_cluster() -> str:
    """Address that ``ray start`` wrote down on this machine; after a crash nobody listens there."""
    place = Path(
        os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), "ray", "ray_current_cluster"
    )
    return place.read_text("utf-8").strip() if place.is_file() else ""


def _refused(address: str) -> str:
    """Why nobody can be reached there, else nothing; Ray itself tries for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or "/" in address or not port.isdecimal():
        return ""  # none, "auto", "local", or a kind that only Ray understands
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except OSError as error:
        return str(error)
    return ""
