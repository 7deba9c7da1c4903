"""Labelling a corpus that lies in many Parquet files (shards): one file in, one file out.

A shard is whole or not there: it grows under a name of its own and is renamed at its end. Its
footer says of which file and by which model it was made, so that nothing else is needed to resume.
Labelled twice, it is the same file; so a worker that dies costs time and nothing else.

Ray Data's own Parquet writer is not used: it opens files under their final names, so that a worker
that dies leaves half a file, and names them by the run, so that a second run adds rows again.
"""

from __future__ import annotations

import glob
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from coterie._cache import no_cache
from coterie._facts import versions
from coterie._files import write_json
from coterie._folders import one_state
from coterie._progress import Progress, make_progress, say, working
from coterie._types import Floats, Ints
from coterie.corpus import Source, TextStream
from coterie.corpus.corpus import no_words
from coterie.corpus.source import file_of, is_address, path_of, split_pattern
from coterie.corpus.tables import count_rows
from coterie.corpus.write import open_table
from coterie.description.tally import Tally
from coterie.errors import CoterieError, DataError, UsageError
from coterie.run_files import model_folder, own_columns
from coterie.runs.engine import Engine, failures
from coterie.runs.label import Labeller, Repeats, made_from, model_digest, outlier_sentence
from coterie.runs.outputs import check_shards_folder

KEY = "coterie.part"  # in the footer of a labelled shard
VECTORS = pa.list_(pa.float32())
READERS = 16  # footers read at a time; on a network drive most of it is waiting
COUNTS = ("rows", "placed", "outliers")

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """One file of the corpus."""

    name: str  # its path below the folder, the same before and after
    source: Path
    target: Path
    rows: int = 0
    columns: tuple[str, ...] = ()
    digest: str = ""  # of its size and footer, which tell changes without reading the texts
    first: int = 0  # rows of the shards before it


@dataclass(frozen=True)
class Job:
    """What is the same for all shards."""

    folder: Path  # of a run, or of a saved model
    model: str  # digest of what is read from it
    text_column: str
    id_column: str | None = None
    outlier_limit: float | None = None
    level: int | str | None = None  # of the merge tree; default: the one that is shown
    made_from: dict[str, Any] = field(default_factory=dict)  # default: model and settings
    tally: Tally | None = None  # what is counted, if anything is; without rows yet
    keep_vectors: bool = False  # as a column of the labelled shards

    def stamp(self, shard: Shard) -> dict[str, Any]:
        """What decides the content of a labelled shard."""
        settings = self.made_from or made_from(
            self.model, self.text_column, self.outlier_limit, self.level
        )
        return {**settings, "vectors": self.keep_vectors, "source": shard.digest}


class KeptVectors:
    """The vectors of the texts that were labelled last, as a column."""

    def __init__(self) -> None:
        self.column: pa.Array = pa.array([], VECTORS)

    def add(self, texts: Sequence[str], labels: Ints, vectors: Floats) -> None:
        """Take the next ones; rows without a text have none."""
        n, width = vectors.shape
        if not width:
            self.column = pa.nulls(n, VECTORS)
            return
        ends = pa.array(range(0, n * width + 1, width), pa.int32())
        values = pa.array(vectors.astype(np.float32).ravel())
        self.column = pa.ListArray.from_arrays(ends, values, mask=pa.array([not t for t in texts]))


class ShardWorker:
    """Holds the model, loaded once, and labels the shards it is given.

    The model is that of the job's folder, unless it is here already.
    """

    def __init__(self, job: Job, labeller: Labeller | None = None) -> None:
        self.job = job
        if labeller is None and job.folder.is_dir():
            labeller = Labeller.read(job.folder, job.outlier_limit, job.level)
            labeller = labeller if labeller.digest == job.model else None
        if labeller is None:
            raise DataError(
                f"a worker finds no model, or another one, in {job.folder}; all machines must see "
                "the same folders under the same path."
            )
        self.labeller = labeller

    def __call__(self, shard: Shard) -> dict[str, Any]:
        """Label all rows of a shard in their order and put the file in its place.

        Returns the stamp, ``rows``, ``placed`` and ``outliers``, as in the footer, ``seconds``,
        and the ``tally``, if one is asked for. A shard that is labelled already is only counted;
        so is one that is its own target, by whichever model it was labelled.
        """
        begun, job = time.monotonic(), self.job
        tally = None if job.tally is None else job.tally.empty()
        facts = {} if shard.source == shard.target else read_facts(shard, job)
        if facts is None:
            facts = self._label(shard, tally)
        elif tally is not None:
            for table in read_batches(shard.target):
                own = own_columns(table.column_names)
                tally.add(table, {name: table[n].to_pylist() for name, n in own.items()})
        return {**facts, "seconds": round(time.monotonic() - begun, 3), "tally": tally}

    def _label(self, shard: Shard, tally: Tally | None) -> dict[str, Any]:
        job, labeller = self.job, self.labeller
        if look_at(shard) != shard:
            raise DataError(
                f"{shard.source} is not the file it was when the run began; start anew."
            )
        marked, placed = labeller.marked, labeller.placed
        kept = KeptVectors()
        if job.keep_vectors:
            labeller.observers.append(kept)
        try:
            # Nothing is labelled twice, and a look through kept vectors costs more with every one.
            with open_table(shard.target) as table, no_cache():
                assess = Repeats(labeller.assess)
                for rows, texts in self._read(shard):
                    columns = labeller(texts, assess)
                    if job.keep_vectors:
                        rows = rows.append_column("vector", kept.column)
                    table.write(rows, columns)
                    if tally is not None:
                        tally.add(rows, columns)
                if table.rows != shard.rows:
                    raise DataError(
                        f"{shard.source}: {table.rows:,} of {shard.rows:,} rows were read."
                    )
                facts = {**job.stamp(shard), "rows": table.rows}
                facts["placed"] = labeller.placed - placed
                facts["outliers"] = labeller.marked - marked
                table.facts[KEY] = json.dumps(facts)
        finally:
            labeller.observers.clear()
        return facts

    def _read(self, shard: Shard) -> Iterator[tuple[pa.Table, list[str]]]:
        job = self.job
        if not shard.rows:  # writers of many shards leave empty ones
            yield read_footer(shard.source).schema.to_arrow_schema().empty_table(), []
            return
        for chunk in read_shard(shard, job.text_column, job.id_column):
            yield chunk.table, chunk.texts


def label_shards(  # noqa: PLR0913 - the work, and where it is done
    job: Job,
    shards: Sequence[Shard],
    engine: Engine,
    labeller: Labeller,
    progress: Progress,
    take: Callable[[Shard, Tally], None],
    remedy: str,
) -> None:
    """Label all shards of a run and count their rows; ``take`` is given what was counted in each.

    ``labeller`` is used in this process; ``remedy`` is what to do about files that failed.
    """
    failed, rows = dict[str, str](), 0
    clear_unfinished(job.folder)
    here = labeller if engine.name == "local" else None
    results = engine.each(partial(ShardWorker, job, here), shards)
    with closing(results), working(progress, "assign", sum(shard.rows for shard in shards), 0):
        for done in results:
            if done.found is None:
                failed[done.item.name] = done.error
                continue
            take(done.item, done.found["tally"])
            rows += done.item.rows
            progress.advance(rows)
    clear_unfinished(job.folder)  # of workers that died
    if failed:
        raise failures(failed, len(shards), f"labelled; repair them and {remedy}")


def read_shard(shard: Shard, text_column: str | None, id_column: str | None) -> TextStream:
    """The rows of a shard."""
    return TextStream(
        str(shard.source),
        text_column=text_column,
        id_column=id_column,
        format="parquet",
    )


def read_footer(path: Path) -> Any:
    """What a Parquet file says of itself."""
    with path.open("rb") as file:
        return pyarrow.parquet.ParquetFile(file).metadata


def read_batches(path: Path) -> Iterator[pa.Table]:
    """The rows of a labelled shard, in parts."""
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
        yield pa.Table.from_batches([batch])


def is_sharded(said: str) -> bool:
    """Whether a folder or a pattern is meant, not one file."""
    path, _ = file_of(said)
    return path.is_dir() or (glob.has_magic(str(path)) and not path.exists())


def find_shards(said: str, out: Path) -> list[Shard]:
    """The files of a folder, those that match a pattern, or one file, by name.

    Files and folders whose names begin with a dot or an underscore are left out, as readers of
    such folders do.
    """
    path = path_of(said)
    found: Iterable[Path] = [path]
    if path.is_dir():
        base, found = path, path.rglob("*.parquet")
    elif path.exists():
        base = path.parent
    else:
        base, pattern = split_pattern(said)
        found = base.glob(pattern)
    files = [
        file
        for file in found
        if file.is_file()
        and (file == path or not re.search(r"(^|/)[._]", file.relative_to(base).as_posix()))
    ]
    whole, out = base.resolve(), out.resolve()
    if not files:
        raise UsageError(f"{said}: there is no Parquet file; name a folder of them or a pattern.")
    if path.is_dir() and not is_address(said) and out.is_relative_to(whole):
        raise UsageError(f"--out: {out} is inside {whole}; name a folder outside of it.")
    shards: dict[str, Shard] = {}
    for name in sorted(file.relative_to(base).as_posix() for file in files):
        file = whole / name
        name += "" if file.suffix.lower() == ".parquet" else ".parquet"
        if (not is_address(said) and file.is_relative_to(out)) or name in shards:
            raise UsageError(
                f"{said}: {file} would overwrite a labelled shard; name another --out."
            )
        shards[name] = Shard(name, file, out / name)
    return list(shards.values())


def shards_from(names: Sequence[str]) -> list[Shard]:
    """Files of one table, looked at, in the order of their names below the folder of all."""
    paths = [path_of(name).resolve() for name in names]
    steps = [path.as_posix().split("/") for path in paths]
    folders = zip(*(path[:-1] for path in steps), strict=False)
    above = len(list(takewhile(lambda names: len({*names}) == 1, folders)))
    named = {"/".join(step[above:]): path for step, path in zip(steps, paths, strict=True)}
    found = in_threads(_try_look, [Shard(n, named[n], Path()) for n in sorted(named)])
    if damaged := dict(pair for pair in found if not isinstance(pair, Shard)):
        raise failures(damaged, len(found), "read; repair or remove them")
    shards = [shard for shard in found if isinstance(shard, Shard)]
    before = accumulate((shard.rows for shard in shards), initial=0)
    return [replace(shard, first=first) for shard, first in zip(shards, before, strict=False)]


def check_same_columns(shards: Sequence[Shard]) -> None:
    """Refuse files that are not of one table."""
    first = shards[0]
    for shard in shards:
        if shard.columns != first.columns:
            raise DataError(
                f"{shard.source} has the columns {', '.join(shard.columns)}, but {first.source} "
                f"has {', '.join(first.columns)}; give files of one table."
            )


def check_new_column(name: str, shards: Sequence[Shard]) -> None:
    """Refuse files that have a column of this name already."""
    for shard in shards:
        if name in shard.columns:
            raise DataError(
                f"`keep_vectors`: {shard.source} has a column {name!r} already; rename it, or "
                "leave the option out."
            )


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
    for path in out.rglob(".*.parquet.*.tmp"):
        path.unlink(missing_ok=True)


def look_at(shard: Shard) -> Shard:
    """The shard with its rows, columns and digest."""
    rows = count_rows(Source(str(shard.source)), "parquet")  # exact; refuses what is no Parquet
    footer, size = read_footer(shard.source), shard.source.stat().st_size
    names = tuple(footer.schema.to_arrow_schema().names)
    digest = sha256(f"{size} {footer.to_dict()}".encode()).hexdigest()
    return replace(shard, rows=rows, columns=names, digest=digest)


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
    keep_vectors: bool = False,
) -> None:
    """Label every row of every shard exactly once, into a folder of shards of the same names.

    ``said`` is a folder, a pattern or a file. The engine is this process ("local") or the
    ``workers`` of a cluster ("ray"). The rest is as in :func:`~coterie.runs.label.predict_file`;
    the first shard decides on the column of texts where none is named.
    """
    where = Engine(engine, workers)
    folder, out = folder.resolve(), out.resolve()
    found = in_threads(_try_look, find_shards(said, out))
    shards = [shard for shard in found if isinstance(shard, Shard)]
    damaged = dict(pair for pair in found if not isinstance(pair, Shard))
    _check_out(out, shards, model_folder(folder), resume=resume)
    if not shards:
        raise failures(damaged, len(found), "read")
    column = _text_column(shards, text_column, id_column)
    digest = one_state([folder], lambda: model_digest(folder))
    if keep_vectors:
        check_new_column("vector", shards)
    job = Job(folder, digest, column, id_column, outlier_limit, level)
    job = replace(job, keep_vectors=keep_vectors)
    run = ShardsRun(shards, job, out, {"name": engine, "workers": workers}, damaged)
    run.go(where)


def _try_look(shard: Shard) -> Shard | tuple[str, str]:
    """The shard, looked at; or its name and why it cannot be read."""
    try:
        return look_at(shard)
    except (CoterieError, OSError) as error:
        return shard.name, str(error)


def in_threads(work: Callable[[Shard], T], shards: Sequence[Shard]) -> list[T]:
    """What ``work`` gives for each of the shards, some at a time."""
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(work, shards))


class ShardsRun:
    """The state of a run, told by the files in its folder; ``engine`` is for the manifest.

    ``damaged`` are files that cannot be read, and why.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        job: Job,
        out: Path,
        engine: dict[str, Any],
        damaged: dict[str, str],
    ) -> None:
        self.shards, self.job, self.out, self.engine = shards, job, out, engine
        self.done = self._read(shards)  # counts of the shards that are labelled, by name
        self.failed = dict(damaged)  # why others are not
        self._begun = time.monotonic()

    @property
    def missing(self) -> list[Shard]:
        """Shards that are to be labelled yet."""
        return [shard for shard in self.shards if shard.name not in self.done]

    @property
    def counts(self) -> dict[str, int]:
        """Rows, placed texts and outliers of the shards that are done."""
        return {key: sum(facts[key] for facts in self.done.values()) for key in COUNTS}

    def go(self, engine: Engine) -> None:
        """Label what is missing; then look whether every row is there."""
        self.out.mkdir(parents=True, exist_ok=True)
        clear_unfinished(self.out)
        if self.done:
            say(f"{len(self.done):,} of {len(self.shards):,} shards are labelled already.")
        status = "failed"
        self._write("running")
        try:
            self._take(engine)
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

    def _read(self, shards: Sequence[Shard]) -> dict[str, dict[str, Any]]:
        """Counts of those shards that are in the folder; refuses what was made otherwise."""
        found = in_threads(lambda shard: read_facts(shard, self.job), shards)
        pairs = zip(shards, found, strict=True)
        return {shard.name: facts for shard, facts in pairs if facts is not None}

    def _take(self, engine: Engine) -> None:
        total = sum(shard.rows for shard in self.shards)
        rows = self.counts["rows"]
        progress = make_progress(1) if self.missing else Progress()
        results = engine.each(partial(ShardWorker, self.job), self.missing)
        # Closed at once, not when it is collected: workers must not outlive an interrupt.
        with closing(results), working(progress, "label", total, rows):
            for done in results:
                if done.found is None:
                    self.failed[done.item.name] = done.error
                    continue
                self.done[done.item.name] = done.found
                rows += done.item.rows
                progress.advance(rows)

    def _check(self) -> None:
        """Every row once: each shard is there and has the rows of its source."""
        if self.failed:
            what = "labelled; repair them and repeat the command with `resume`"
            raise failures(self.failed, len(self.failed) + len(self.done), what)
        if gone := {shard.name for shard in self.shards} - self._read(self.shards).keys():
            raise CoterieError(f"{min(gone)} is gone from {self.out}; go on with `resume`.")
        if not self.counts["placed"]:
            raise no_words(self.counts["rows"], self.job.text_column)

    def _write(self, status: str) -> None:
        shown = (*COUNTS, "seconds")
        shards: list[dict[str, Any]] = []
        for shard in self.shards:
            facts = self.done.get(shard.name, {})
            known = {key: facts[key] for key in shown if key in facts}
            shards.append({"part": shard.name, "source_rows": shard.rows, **known})
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
                "seconds": round(time.monotonic() - self._begun, 3),
                "parts": shards,
                "failed": self.failed,
            },
        )


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
    stream = read_shard(first, asked, id_column)
    next(iter(stream))
    return str(stream.text_column)
