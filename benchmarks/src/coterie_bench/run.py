"""Run a suite: resumable, in one process or several, one JSON line per run.

Labels are used for scoring alone.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from coterie._util.validation import check_choice, check_integer
from coterie.encoders import AUTO, DEFAULT, BagOfWords
from coterie.encoders.load import locate
from coterie.encoders.static import is_static
from coterie.errors import CoterieError
from coterie.models.choose import Choice, choose_n_clusters
from coterie.models.clusterer import TextClusterer
from coterie.models.registry import METHODS, make_method
from coterie_bench.apertium import Apertium
from coterie_bench.data import Data, load_data, split
from coterie_bench.datasets import PAIRS, find_pairs
from coterie_bench.ledger import Ledger, Row, head, key_of, read_results
from coterie_bench.noise import with_noise
from coterie_bench.score import fitted_texts, score_fit
from coterie_bench.suites import PROTOCOLS, Entry, Job, Suite, plan

log = logging.getLogger(__name__)

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user may set from outside for all runs of a suite.

    Attributes
    ----------
    data : Path, optional
        Folder of the benchmarks.
    encoder : str, optional
    device : str
    parameters : dict, optional
        For all entries; they have the last word.
    protocol : {"all", "split"}
        Fit and score all texts, or fit on one part and score the other.
    find_k : bool
        Also run each entry with a number of clusters found without labels.
    """

    data: Path | None = None
    encoder: str | None = None
    device: str = "auto"
    parameters: dict[str, Any] | None = None
    protocol: str = "all"
    find_k: bool = False


@dataclass(frozen=True)
class Task:
    """All that a process needs to take part in a suite."""

    suite: Suite
    seeds: tuple[int, ...] | None
    options: Options
    file: Path

    @property
    def also(self) -> tuple[Path, ...]:
        """Files of suites with runs in common."""
        return tuple(self.file.with_name(f"{part}.jsonl") for part in self.suite.parts)

    def jobs(self) -> list[Job]:
        """The runs in their order."""
        return plan(self.suite, self.seeds, find_k=self.options.find_k)

    def ledger(self) -> Ledger:
        """The file of its lines."""
        return Ledger(self.file, self.also)

    def prepare(self, job: Job) -> tuple[Row, TextClusterer, Data]:
        """The head of a run's line, its estimator and its data."""
        data = load_data(job.dataset, self.options.data)
        if self.options.protocol == "split":
            data = split(data, job.seed)
        model = make(job.entry, data, job.seed, self.options)
        row = head(job, model, data)
        if isinstance(model.encoder, BagOfWords):  # of a table in the suite
            given = job.entry.parameters["encoder"]
            row["parameters"]["encoder"] = ", ".join(f"{k}={v}" for k, v in given.items())
        return row, model, data


def run_suite(
    suite: Suite,
    file: Path,
    options: Options,
    *,
    seeds: Iterable[int] | None = None,
    tell: Tell = log.info,
    jobs: int = 1,
) -> list[Row]:
    """Run what ``file`` does not hold yet and append a line per run.

    Parameters
    ----------
    suite : Suite
    file : Path
        Several commands may work on it at once: what one of them runs the others leave to it.
    options : Options
    seeds : iterable of int, optional
    tell : callable
        Gets a line for each run that ends; a function of a module where there are more processes.
    jobs : int, default=1
        Processes at a time.

    Returns
    -------
    list of dict
        All lines of ``file``, and those of the suite that the files of its parts hold.
    """
    check_integer("jobs", jobs)
    check_choice("protocol", options.protocol, PROTOCOLS)
    task = Task(suite, None if seeds is None else tuple(seeds), options, file)
    # Before the first run: are all data there?
    keys = frozenset(key_of(task.prepare(job)[0]) for job in task.jobs())
    try:
        failures = work(task, keys, tell) if jobs == 1 else share(task, keys, tell, jobs)
    finally:
        task.ledger().tidy()
    if failures:
        raise CoterieError(f"{len(failures)} of {len(keys)} runs failed, first {failures[0]}")
    return read_results([file]) + [row for row in read_results(task.also) if key_of(row) in keys]


def work(task: Task, keys: frozenset[str], tell: Tell) -> list[str]:
    """Do the runs that nobody has done or is doing, until none is left; what failed, in words.

    A run that breaks down is told and the others go on.
    """
    ledger = task.ledger()
    broken: dict[str, str] = {}
    again = True
    while again:  # what another process gave up is free again
        again = False
        for job in task.jobs():
            row, model, data = task.prepare(job)
            key = key_of(row)
            if key in broken or key in ledger.done():
                continue
            with ledger.claim(key) as ours:
                if not ours:
                    continue
                again = True
                try:
                    ledger.append(_run(row, model, data, task.options))
                    tell(f"[{len(keys & ledger.done())}/{len(keys)}] {told(row)}")
                except Exception as error:  # whatever it is, the other runs may be well
                    log.debug("a run broke down", exc_info=True)
                    broken[key] = f"{name_of(job)}: {type(error).__name__}: {error}"
                    tell(f"failed: {broken[key]}")
    return list(broken.values())


def share(task: Task, keys: frozenset[str], tell: Tell, jobs: int) -> list[str]:
    """The same by ``jobs`` processes; they are started anew, as a GPU does not survive a fork."""
    with threads_shared(jobs), ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        running = [pool.submit(work, task, keys, tell) for _ in range(min(jobs, len(keys)))]
        try:
            found = [failure for one in running for failure in one.result()]
        except BrokenProcessPool as error:
            raise CoterieError(
                "A process ended before its work was done, often for want of memory. Run the "
                "command again with fewer --jobs: lines that are written stay."
            ) from error
    return list(dict.fromkeys(found))


def name_of(job: Job) -> str:
    """A run in words."""
    found = ", K found" if job.k == "found" else ""
    noise = "" if job.draw is None else f", noise {job.draw}"
    return f"{job.entry.label} on {job.dataset}, seed {job.seed}{found}{noise}"


def _run(row: Row, model: TextClusterer, data: Data, options: Options) -> Row:
    encoder: Any = options.encoder or AUTO
    if row.get("noise"):
        model.encoder = encoder = with_noise(model, row["noise"]["size"], row["noise"]["draw"])
    if row["k"] == "found":
        begun = time.perf_counter()
        found = _find_k(data.name, tuple(fitted_texts(data)), encoder, row["seed"])
        took = round(time.perf_counter() - begun, 3)
        model.n_clusters = row["parameters"]["n_clusters"] = found.n_clusters
        row["found"] = {
            "n_clusters": found.n_clusters,
            "low": found.low,
            "high": found.high,
            "seconds": took,
        }
    if getattr(model, "views", None) == Apertium.kind:
        model.views = Apertium()  # type: ignore[attr-defined]
    row |= run_one(model, data, options)
    return row


@lru_cache(maxsize=32)  # the same for all entries
def _find_k(name: str, texts: tuple[str, ...], encoder: Any, seed: int) -> Choice:
    return choose_n_clusters(list(texts), encoder=encoder, random_state=seed)


def make(entry: Entry, data: Data, seed: int, options: Options) -> TextClusterer:
    """The estimator of an entry for one data set."""
    own = entry.by_dataset.get(data.name, {})
    parameters = {**entry.parameters, **own, **(options.parameters or {})}
    kind = next((kind for kind in entry.views if (data.name, kind) in PAIRS), None)
    if kind is not None:
        parameters["views"] = str(find_pairs(data.name, kind, options.data))
    elif entry.own_views is not None:
        parameters["views"] = entry.own_views
    recipe = METHODS[entry.method]
    preset = recipe.cls.presets.get(entry.preset or "", {})
    if "encoder" not in {**recipe.parameters, **parameters} and (
        options.encoder or "encoder" in preset
    ):
        # One encoder for all entries of a suite, also where a preset names that of its paper.
        parameters["encoder"] = options.encoder or DEFAULT
        if "pooling" in preset and has_pooling(parameters["encoder"]):
            parameters.setdefault("pooling", "auto")
    if isinstance(parameters.get("encoder"), dict):
        parameters["encoder"] = BagOfWords(**parameters["encoder"])
    parameters |= {"random_state": seed, "device": options.device}
    k = parameters.pop("n_clusters", data.n_clusters)
    model: TextClusterer = make_method(entry.method, k, entry.preset, **parameters)
    return model


def has_pooling(encoder: str) -> bool:
    """Whether an encoder says itself how it pools; a transformer alone, as roberta-base, does not.

    A preset's pooling is for those that do not.
    """
    try:
        folder = locate(encoder)
        return is_static(folder) or (folder / "modules.json").exists()
    except CoterieError:  # "tfidf" and the like have no tokens to pool
        return True


def run_one(model: TextClusterer, data: Data, options: Options) -> Row:
    """Fit on the texts alone, then score; "auto" as pooling does not say what it came to."""
    found = score_fit(model, data, options.device)
    return found | {"pooling": getattr(model.encoder_, "pooling", None)}


@contextmanager
def threads_shared(jobs: int) -> Iterator[None]:
    """Processes started in the block share the cores, unless the user has said how many."""
    if "OMP_NUM_THREADS" in os.environ:
        yield
        return
    os.environ["OMP_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // jobs))
    try:
        yield
    finally:
        del os.environ["OMP_NUM_THREADS"]


def told(row: Row) -> str:
    """What to say when a run has ended."""
    scores, found = row["scores"], ", K found" if row["k"] == "found" else ""
    found += f", noise {row['noise']['draw']}" if row.get("noise") else ""
    return (
        f"{row['label']} on {row['dataset']}, seed {row['seed']}{found}: "
        f"ACC {100 * scores['acc']:.1f}, NMI {100 * scores['nmi']:.1f}, "
        f"{sum(row['seconds'].values()):.0f} s"
    )
