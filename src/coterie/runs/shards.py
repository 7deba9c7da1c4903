"""Labelling a corpus that lies in many Parquet files (shards): one file in, one file out.

A shard is whole or not there: it grows under a name of its own and is renamed at its end. Its
footer says of which file and by which model it was made, so that nothing else is needed to resume.
Labelled twice, it is the same file; so a worker that dies costs time and nothing else.

Ray Data is not used: its Parquet writer opens files under their final names, so that a worker that
dies leaves half a file, and it names them by the run, so that a second run adds rows again. Retries
are ours as well: Ray would repeat a call on the worker it was sent to, restarted; here the shard
goes to whoever is free, and one that kills every worker is given up after a few.
"""

from __future__ import annotations

import glob
import json
import logging
import os
import re
import secrets
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet

from coterie._cache import is_on, no_cache
from coterie._facts import versions
from coterie._files import write_json
from coterie._folders import one_state
from coterie._progress import Progress, make_progress, say, working
from coterie._validation import check_choice, need
from coterie.corpus import Source, TextStream
from coterie.corpus.corpus import no_words
from coterie.corpus.source import file_of
from coterie.corpus.tables import count_rows
from coterie.corpus.write import GrowingTable
from coterie.errors import CoterieError, DataError, UsageError
from coterie.masking import Masker, masked_sentence
from coterie.run_files import model_folder
from coterie.runs.label import Labeller, made_from, model_digest, outlier_sentence
from coterie.runs.masked import masker_of
from coterie.runs.outputs import check_shards_folder

KEY = "coterie.part"  # in the footer of a labelled shard
UNFINISHED = ".unfinished"
READERS = 16  # footers read at a time; on a network drive most of it is waiting
ENGINES = ("local", "ray")
COUNTS = ("rows", "placed", "outliers")
SHOWN = 3  # shards that failed, by name; the manifest has all
TRIES = 3  # of a shard, and of workers in a row that die before they are ready
PATIENCE = 10  # seconds for a cluster to answer
CPUS = 4  # of a worker, where nobody says how many workers; each holds a model in memory

T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shard:
    """One file of the corpus."""

    name: str  # its path below the folder, the same before and after
    source: Path
    target: Path
    rows: int = 0
    digest: str = ""  # of its size and footer, which tell changes without reading the texts


@dataclass(frozen=True)
class Job:
    """What is the same for all shards."""

    folder: Path  # of a run, or of a saved model
    model: str  # digest of what is read from it
    text_column: str
    id_column: str | None = None
    outlier_limit: float | None = None
    cache: bool = True  # whether vectors may be kept on disk
    masker: Masker | None = None  # of personal data, if it is masked
    level: int | str | None = None  # of the merge tree; default: the one that is shown

    def stamp(self, shard: Shard) -> dict[str, Any]:
        """What decides the content of a labelled shard."""
        settings = made_from(
            self.model, self.text_column, self.outlier_limit, self.masker, self.level
        )
        return {**settings, "source": shard.digest}


@dataclass(frozen=True)
class Outcome:
    """What became of a shard."""

    shard: Shard
    facts: dict[str, Any] | None  # of a labelled shard, as :meth:`ShardWorker.label` returns them
    error: str = ""  # why there are none
    tries: int = 1


class ShardWorker:
    """A process that holds the model, loaded once, and labels the shards it is given."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._labeller: Labeller | None = None

    def load(self) -> int:
        """Read the model, unless it is another one than that of the run; the process id."""
        folder = self.job.folder
        found = None
        if folder.is_dir():
            found = Labeller.read(folder, self.job.outlier_limit, self.job.level)
        if found is None or found.digest != self.job.model:
            raise DataError(
                f"a worker finds no model, or another one, in {folder}; all machines must see "
                "the same folders under the same path."
            )
        self._labeller = found
        return os.getpid()

    def label(self, shard: Shard) -> dict[str, Any]:
        """Label all rows of a shard in their order and put the file in its place.

        Returns the stamp, ``rows``, ``placed`` and ``outliers``, as in the footer, and ``seconds``.
        """
        begun, job = time.monotonic(), self.job
        if self._labeller is None:
            self.load()
        labeller = self._labeller
        assert labeller is not None
        if look_at(shard) != shard:
            raise DataError(
                f"{shard.source} is not the file it was when the run began; start anew."
            )
        # Two workers may have the same shard, if one that seemed lost is not; each has its own.
        own = f"{os.getpid()}-{secrets.token_hex(4)}"
        unfinished = shard.target.with_name(f".{shard.target.stem}.{own}{UNFINISHED}.parquet")
        marked, placed = labeller.marked, labeller.placed
        table = GrowingTable(unfinished)
        try:
            with table, nullcontext() if job.cache else no_cache():
                for rows, texts in self._read(shard):
                    table.write(rows, labeller(texts))
                if table.rows != shard.rows:
                    raise DataError(
                        f"{shard.source}: {table.rows:,} of {shard.rows:,} rows were read."
                    )
                facts = {**job.stamp(shard), "rows": table.rows}
                facts["placed"] = labeller.placed - placed
                facts["outliers"] = labeller.marked - marked
                if job.masker is not None:
                    facts["masked"] = dict(job.masker.counts)
                table.facts[KEY] = json.dumps(facts)
            unfinished.replace(shard.target)
        finally:
            table.discard()
            unfinished.unlink(missing_ok=True)
        return {**facts, "seconds": round(time.monotonic() - begun, 3)}

    def _read(self, shard: Shard) -> Iterator[tuple[pa.Table, list[str]]]:
        job = self.job
        if job.masker is not None:
            job.masker.counts.clear()
        if not shard.rows:  # writers of many shards leave empty ones
            yield pyarrow.parquet.read_schema(shard.source).empty_table(), []
            return
        for chunk in TextStream(
            shard.source,
            text_column=job.text_column,
            id_column=job.id_column,
            format="parquet",
            masker=job.masker,
        ):
            yield chunk.table, chunk.texts


def is_sharded(said: str) -> bool:
    """Whether a folder or a pattern is meant, not one file."""
    path, _ = file_of(said)
    return path.is_dir() or (glob.has_magic(str(path)) and not path.exists())


def find_shards(said: str, out: Path) -> list[Shard]:
    """The files of a folder, those that match a pattern, or one file, by name.

    Files and folders whose names begin with a dot or an underscore are left out, as readers of
    such folders do.
    """
    path, steps = Path(said), Path(said).parts
    found: Iterable[Path] = [path]
    if path.is_dir():
        base, found = path, path.rglob("*.parquet")
    elif path.exists():
        base = path.parent
    else:
        plain = next((i for i, step in enumerate(steps) if glob.has_magic(step)), len(steps) - 1)
        base = Path(*steps[:plain])
        found = base.glob("/".join(steps[plain:]))
    files = [
        file
        for file in found
        if file.is_file()
        and (file == path or not re.search(r"(^|/)[._]", file.relative_to(base).as_posix()))
    ]
    whole, out = base.resolve(), out.resolve()
    if not files:
        raise UsageError(f"{said}: there is no Parquet file; name a folder of them or a pattern.")
    if path.is_dir() and out.is_relative_to(whole):
        raise UsageError(f"--out: {out} is inside {whole}; name a folder outside of it.")
    shards: dict[str, Shard] = {}
    for name in sorted(file.relative_to(base).as_posix() for file in files):
        file = whole / name
        name += "" if file.suffix.lower() == ".parquet" else ".parquet"
        if file.is_relative_to(out) or name in shards:
            raise UsageError(
                f"{said}: {file} would overwrite a labelled shard; name another --out."
            )
        shards[name] = Shard(name, file, out / name)
    return list(shards.values())


def read_facts(shard: Shard, job: Job) -> dict[str, Any] | None:
    """The counts of a shard that is labelled already; None if it is not.

    Refuses what was made from other texts, by another model or with other settings.
    """
    if not shard.target.exists():
        return None
    metadata = pyarrow.parquet.read_metadata(shard.target)
    facts: dict[str, Any] = json.loads((metadata.metadata or {}).get(KEY.encode(), b"{}"))
    stamp = job.stamp(shard)
    if {key: facts.get(key) for key in stamp} != stamp or metadata.num_rows != shard.rows:
        raise DataError(
            f"`resume`: {shard.target} was made from other texts, by another model or with other "
            "settings; delete it, or name another folder."
        )
    return facts


def clear_unfinished(out: Path) -> None:
    """Remove what killed workers left."""
    for path in out.rglob(f".*{UNFINISHED}*.parquet"):
        path.unlink(missing_ok=True)


def look_at(shard: Shard) -> Shard:
    """The shard with its rows and digest."""
    rows = count_rows(Source(shard.source), "parquet")  # exact for Parquet; refuses what is none
    footer = pyarrow.parquet.read_metadata(shard.source).to_dict()
    size = shard.source.stat().st_size
    return replace(shard, rows=rows, digest=sha256(f"{size} {footer}".encode()).hexdigest())


def predict_shards(  # noqa: PLR0913 - what the command has
    folder: Path,
    said: str,
    out: Path,
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    level: int | str | None = None,
    outlier_limit: float | None = None,
    engine: str = "local",
    workers: int | None = None,
    resume: bool = False,
    mask: bool | None = None,
    mask_names: Path | None = None,
) -> None:
    """Label every row of every shard exactly once, into a folder of shards of the same names.

    ``said`` is a folder, a pattern or a file. The engine is this process ("local") or the
    ``workers`` of a cluster ("ray"). The rest is as in :func:`~coterie.runs.label.predict_file`;
    the first shard decides on the column of texts where none is named.
    """
    check_choice("--engine", engine, ENGINES)
    if workers is not None and engine != "ray":
        raise UsageError("--workers needs --engine ray.")
    folder, out = folder.resolve(), out.resolve()
    shards = _in_threads(look_at, find_shards(said, out))
    _check_out(out, shards, model_folder(folder), resume=resume)
    column = _text_column(shards, text_column, id_column)
    masker = masker_of(folder, mask, mask_names)
    digest = one_state([folder], lambda: model_digest(folder))
    job = Job(folder, digest, column, id_column, outlier_limit, is_on(), masker, level)
    run = ShardsRun(shards, job, out, {"name": engine, "workers": workers})
    run.go(_here(job, run.missing) if engine == "local" else on_ray(job, run.missing, workers))


def _in_threads(work: Callable[[Shard], T], shards: Sequence[Shard]) -> list[T]:
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(work, shards))


class ShardsRun:
    """The state of a run, told by the files in its folder; ``engine`` is for the manifest."""

    def __init__(
        self, shards: Sequence[Shard], job: Job, out: Path, engine: dict[str, Any]
    ) -> None:
        self.shards, self.job, self.out, self.engine = shards, job, out, engine
        self.done = self._read(shards)  # counts of the shards that are labelled, by name
        self.failed: dict[str, str] = {}  # why others are not
        self._begun = time.monotonic()

    @property
    def missing(self) -> list[Shard]:
        """Shards that are to be labelled yet."""
        return [shard for shard in self.shards if shard.name not in self.done]

    @property
    def counts(self) -> dict[str, int]:
        """Rows, placed texts and outliers of the shards that are done."""
        return {key: sum(facts[key] for facts in self.done.values()) for key in COUNTS}

    def go(self, outcomes: Generator[Outcome, None, None]) -> None:
        """Take outcomes until all are there; then look whether every row is."""
        self.out.mkdir(parents=True, exist_ok=True)
        clear_unfinished(self.out)
        if self.done:
            say(f"{len(self.done):,} of {len(self.shards):,} shards are labelled already.")
        status = "failed"
        self._write("running")
        try:
            self._take(outcomes)
            self._check()
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
            self.done |= self._read(self.missing)  # finished, but not reported any more
            done, shards = len(self.done), len(self.shards)
            say(
                f"\n{done:,} of {shards:,} shards are in {self.out}; --resume continues with the "
                "others."
            )
            raise
        finally:
            clear_unfinished(self.out)
            self._write(status)
        counts = self.counts
        say(f"{counts['rows']:,} rows in {len(self.shards):,} shards written to {self.out}")
        if counts["outliers"]:
            say(outlier_sentence(counts["outliers"], counts["placed"]))
        if self.job.masker is not None:
            say(masked_sentence(self.masked))

    @property
    def masked(self) -> dict[str, int]:
        """How often each kind of personal data was masked in the shards that are done."""
        found = sum((Counter(facts["masked"]) for facts in self.done.values()), Counter[str]())
        return dict(sorted(found.items()))

    def _read(self, shards: Sequence[Shard]) -> dict[str, dict[str, Any]]:
        """Counts of those shards that are in the folder; refuses what was made otherwise."""
        found = _in_threads(lambda shard: read_facts(shard, self.job), shards)
        pairs = zip(shards, found, strict=True)
        return {shard.name: facts for shard, facts in pairs if facts is not None}

    def _take(self, outcomes: Generator[Outcome, None, None]) -> None:
        total = sum(shard.rows for shard in self.shards)
        rows = self.counts["rows"]
        progress = make_progress(1) if self.missing else Progress()
        # Closed at once, not when it is collected: workers must not outlive an interrupt.
        with closing(outcomes), working(progress, "label", total, rows):
            for outcome in outcomes:
                if outcome.facts is None:
                    self.failed[outcome.shard.name] = outcome.error
                    continue
                self.done[outcome.shard.name] = {**outcome.facts, "tries": outcome.tries}
                rows += outcome.shard.rows
                progress.advance(rows)

    def _check(self) -> None:
        """Every row once: each shard is there and has the rows of its source."""
        if self.failed:
            lines = [f"{name}: {why}" for name, why in list(self.failed.items())[:SHOWN]]
            more = len(self.failed) - len(lines)
            lines += [f"and {more:,} more, in manifest.json"] if more else []
            failures = "\n  ".join(lines)
            raise DataError(
                f"{len(self.failed):,} of {len(self.shards):,} shards could not be labelled; fix "
                f"them and repeat the command with `resume`.\n  {failures}"
            )
        if gone := {shard.name for shard in self.shards} - self._read(self.shards).keys():
            raise CoterieError(f"{min(gone)} is gone from {self.out}; go on with `resume`.")
        if not self.counts["placed"]:
            raise no_words(self.counts["rows"], self.job.text_column)

    def _write(self, status: str) -> None:
        shown = (*COUNTS, "seconds", "tries")
        shards: list[dict[str, Any]] = []
        for shard in self.shards:
            facts = self.done.get(shard.name, {})
            known = {key: facts[key] for key in shown if key in facts}
            error = {"error": self.failed[shard.name]} if shard.name in self.failed else {}
            shards.append({"part": shard.name, "source_rows": shard.rows, **known, **error})
        write_json(
            self.out / "manifest.json",
            {
                "status": status,
                "model": {"folder": str(self.job.folder), "sha256": self.job.model},
                "text_column": self.job.text_column,
                "outlier_limit": self.job.outlier_limit,
                **({} if self.job.level is None else {"level": self.job.level}),
                "engine": self.engine,
                "versions": versions(),
                "counts": {"parts": len(self.done), **self.counts},
                **({} if self.job.masker is None else {"masked": self.masked}),
                "seconds": round(time.monotonic() - self._begun, 3),
                "parts": shards,
            },
        )


def _here(job: Job, shards: Sequence[Shard]) -> Generator[Outcome, None, None]:
    """Label shards in this process."""
    worker = ShardWorker(job)
    for shard in shards:
        try:
            yield Outcome(shard, worker.label(shard))
        except CoterieError as error:
            yield Outcome(shard, None, str(error))


def _check_out(out: Path, shards: Sequence[Shard], model: Path, *, resume: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"`out={str(out)!r}` is a file; shards need a folder.")
    if out.is_relative_to(model):
        raise UsageError(
            f"`out={str(out)!r}` is inside the model {model}; name a folder outside of it."
        )
    check_shards_folder(out)
    there = {path for path in out.rglob("*.parquet") if not path.name.startswith(".")}
    if there and not resume:
        raise UsageError(
            f"`out={str(out)!r}` holds {len(there):,} shards already; add `resume` to label "
            "those that are missing, or name another folder."
        )
    if strange := there - {shard.target for shard in shards}:
        raise DataError(
            f"`resume`: {min(strange)} is not a shard of this corpus; remove it, or name another "
            "folder."
        )


def _text_column(shards: Sequence[Shard], asked: str | None, id_column: str | None) -> str:
    """The column of the texts, the same for all shards, whatever their first rows look like."""
    first = next((shard for shard in shards if shard.rows), None)
    if first is None:
        raise DataError(f"all {len(shards):,} shards are empty: there is nothing to read.")
    stream = TextStream(first.source, text_column=asked, id_column=id_column, format="parquet")
    next(iter(stream))
    return str(stream.text_column)


@dataclass(frozen=True)
class Share:
    """How many workers, and the CPUs and GPUs of each."""

    workers: int
    cpus: int
    gpus: int = 0


def on_ray(
    job: Job, shards: Sequence[Shard], workers: int | None
) -> Generator[Outcome, None, None]:
    """Label shards on a cluster; outcomes as they come.

    It is the cluster that this process is connected to, else that of ``RAY_ADDRESS``, else one
    that runs on this machine, else one of this machine alone that is stopped afterwards. By
    default there is a worker for each GPU, or for every four CPUs.
    """
    if not shards:  # no cluster is started for nothing
        return
    ray = need("ray", "ray")
    with _connected(ray):
        alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        share = share_out(alive, workers)
        logger.info("%d workers of %d CPUs, %d GPUs", share.workers, share.cpus, share.gpus)
        yield from _hand_out(ray, job, shards, share)


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


def _hand_out(
    ray: Any, job: Job, shards: Sequence[Shard], share: Share
) -> Generator[Outcome, None, None]:
    """Give shards to workers until each has an outcome; those of a lost worker go to others."""
    make = ray.remote(ShardWorker).options(
        num_cpus=share.cpus, num_gpus=share.gpus, max_restarts=0, max_task_retries=0
    )
    waiting, left, lost = deque(shards), len(shards), 0  # lost: workers in a row, while they load
    tries: Counter[Shard] = Counter()
    idle: list[Any] = []
    busy: dict[Any, tuple[Any, Shard | None]] = {}  # no shard: it loads the model
    try:
        while left:
            # A worker gets its first shard when it is ready: one that no machine has room for
            # would keep it for ever.
            for _ in range(min(share.workers, left) - len(busy) - len(idle)):
                worker = make.remote(job)
                busy[worker.load.remote()] = worker, None
            while waiting and idle:
                worker, shard = idle.pop(), waiting.popleft()
                tries[shard] += 1
                busy[worker.label.remote(shard)] = worker, shard
            (call, *_), _ = ray.wait(list(busy), num_returns=1)
            worker, done = busy.pop(call)
            facts, error, alive = _answer(ray, call)
            if alive:
                idle.append(worker)
            if done is None:
                lost = 0 if error is None else lost + 1
                if isinstance(error, CoterieError):
                    raise error
                if lost >= TRIES:
                    raise CoterieError(
                        f"--engine ray: {TRIES} workers in a row were lost while they loaded the "
                        f"model ({_line(error)}); is coterie installed on all machines, and memory "
                        "left?"
                    ) from error
            elif facts is not None or isinstance(error, CoterieError) or tries[done] >= TRIES:
                left -= 1
                yield Outcome(done, facts, "" if error is None else _line(error), tries[done])
            else:
                logger.warning("%s goes to another worker: %s", done.name, _line(error))
                waiting.appendleft(done)
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            ray.kill(worker)


def _answer(ray: Any, call: Any) -> tuple[Any, Exception | None, bool]:
    """What a worker returned, or what went wrong; and whether it still lives."""
    try:
        return ray.get(call), None, True
    except ray.exceptions.RayTaskError as error:  # raised in the worker, which is well
        return None, error.cause if isinstance(error.cause, Exception) else error, True
    except ray.exceptions.RayError as error:  # the worker or its machine is gone
        return None, error, False


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
