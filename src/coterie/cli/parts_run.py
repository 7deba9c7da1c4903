"""``coterie predict`` over many Parquet files: what is done, what is left, and the manifest."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from coterie._errors import CoterieError, DataError, UsageError
from coterie._files import write_json
from coterie._progress import Silent, make_progress, working
from coterie._validation import check_choice
from coterie.cli.outputs import check_parts_folder
from coterie.cli.parts import (
    READERS,
    Job,
    Outcome,
    Part,
    PartWorker,
    clear_unfinished,
    find_parts,
    look_at,
    read_facts,
)
from coterie.cli.talk import say

ENGINES = ("local", "ray")
COUNTS = ("rows", "placed", "outliers")
SHOWN = 3  # parts that failed, by name; the manifest has all


def predict_parts(
    folder: Path,
    said: str,
    out: Path,
    *,
    text_column: str | None = None,
    id_column: str | None = None,
    outlier_limit: float | None = None,
    engine: str = "local",
    workers: int | None = None,
    resume: bool = False,
) -> None:
    """Label every row of every part exactly once, into a folder of parts of the same names.

    Parameters
    ----------
    folder : Path
        Of a run, or of a saved model.
    said : str
        A folder, a pattern or a file.
    out : Path
        Folder to write.
    text_column, id_column : str, optional
        One for all parts; the first part decides where none is named.
    outlier_limit : float, optional
    engine : {"local", "ray"}, default="local"
        This process, or the workers of a cluster.
    workers : int, optional
        Only for ``"ray"``.
    resume : bool, default=False
        Go on with the parts that are missing.
    """
    check_choice("--engine", engine, ENGINES)
    if workers is not None and engine != "ray":
        raise UsageError("--workers needs --engine ray.")
    parts = look_at(find_parts(said, out))
    _check_out(out.resolve(), parts, resume=resume)
    column = _text_column(parts, text_column, id_column)
    job = _job(folder, out, column, id_column, outlier_limit)
    run = PartsRun(parts, job, out.resolve(), {"name": engine, "workers": workers})
    run.go(_here(job, run.missing) if engine == "local" else _cluster(job, run.missing, workers))


class PartsRun:
    """The state of a run, told by the files in its folder.

    Parameters
    ----------
    parts : sequence of Part
    job : Job
    out : Path
    engine : dict
        For the manifest.

    Attributes
    ----------
    done : dict of str to dict
        Counts by the names of the parts that are labelled.
    failed : dict of str to str
        Why others are not.
    """

    def __init__(
        self, parts: Sequence[Part], job: Job, out: Path, engine: dict[str, Any] | None = None
    ) -> None:
        self.parts, self.job, self.out, self.engine = parts, job, out, engine or {}
        self.done: dict[str, dict[str, Any]] = self._read(parts)
        self.failed: dict[str, str] = {}
        self._begun = time.monotonic()

    @property
    def missing(self) -> list[Part]:
        """Parts that are to be labelled yet."""
        return [part for part in self.parts if part.name not in self.done]

    @property
    def counts(self) -> dict[str, int]:
        """Rows, placed texts and outliers of the parts that are done."""
        return {key: sum(facts[key] for facts in self.done.values()) for key in COUNTS}

    def go(self, outcomes: Generator[Outcome, None, None]) -> None:
        """Take outcomes until all are there; then look whether every row is."""
        self.out.mkdir(parents=True, exist_ok=True)
        clear_unfinished(self.out)
        if self.done:
            say(f"{len(self.done):,} of {len(self.parts):,} parts are labelled already.")
        status = "failed"
        self._write("running")
        try:
            self._take(outcomes)
            self._check()
            status = "done"
        except KeyboardInterrupt:
            status = "interrupted"
            self.done |= self._read(self.missing)  # finished, but not reported any more
            say(
                f"\n{len(self.done):,} of {len(self.parts):,} parts are in {self.out}; --resume "
                "goes on with the others."
            )
            raise
        finally:
            clear_unfinished(self.out)
            self._write(status)
        counts = self.counts
        say(f"{counts['rows']:,} rows in {len(self.parts):,} parts written to {self.out}")
        if counts["outliers"]:
            share = 100 * counts["outliers"] / max(counts["placed"], 1)
            say(
                f"{counts['outliers']:,} of {counts['placed']:,} texts ({share:.1f}%) are none "
                "of these."
            )

    def _read(self, parts: Sequence[Part]) -> dict[str, dict[str, Any]]:
        """Counts of those parts that are in the folder; refuses what was made otherwise."""
        with ThreadPoolExecutor(READERS) as pool:
            found = list(pool.map(lambda part: read_facts(part, self.job), parts))
        pairs = zip(parts, found, strict=True)
        return {part.name: facts for part, facts in pairs if facts is not None}

    def _take(self, outcomes: Generator[Outcome, None, None]) -> None:
        total = sum(part.rows for part in self.parts)
        rows = self.counts["rows"]
        progress = make_progress(1) if self.missing else Silent()
        # Closed at once, not when it is collected: workers must not outlive an interrupt.
        with closing(outcomes), working(progress, "label", total, rows):
            for outcome in outcomes:
                if outcome.facts is None:
                    self.failed[outcome.part.name] = outcome.error
                    continue
                self.done[outcome.part.name] = {**outcome.facts, "tries": outcome.tries}
                rows += outcome.part.rows
                progress.advance(rows)

    def _check(self) -> None:
        """Every row once: each part is there and has the rows of its source."""
        if self.failed:
            lines = [f"{name}: {why}" for name, why in list(self.failed.items())[:SHOWN]]
            more = len(self.failed) - len(lines)
            lines += [f"and {more:,} more, in manifest.json"] if more else []
            raise DataError(
                f"{len(self.failed):,} of {len(self.parts):,} parts could not be labelled; mend "
                "them and repeat the command with --resume.\n  " + "\n  ".join(lines)
            )
        if gone := {part.name for part in self.parts} - self._read(self.parts).keys():
            raise CoterieError(f"{min(gone)} is gone from {self.out}; go on with --resume.")
        if not self.counts["placed"]:
            from coterie.corpus.corpus import no_words

            raise no_words(self.counts["rows"], self.job.text_column)

    def _write(self, status: str) -> None:
        from coterie._facts import versions

        shown = (*COUNTS, "seconds", "tries")
        parts: list[dict[str, Any]] = []
        for part in self.parts:
            facts = self.done.get(part.name, {})
            known = {key: facts[key] for key in shown if key in facts}
            error = {"error": self.failed[part.name]} if part.name in self.failed else {}
            parts.append({"part": part.name, "source_rows": part.rows, **known, **error})
        write_json(
            self.out / "manifest.json",
            {
                "status": status,
                "model": {"folder": str(self.job.folder), "sha256": self.job.model},
                "text_column": self.job.text_column,
                "outlier_limit": self.job.outlier_limit,
                "engine": self.engine,
                "versions": versions(),
                "counts": {"parts": len(self.done), **self.counts},
                "seconds": round(time.monotonic() - self._begun, 3),
                "parts": parts,
            },
        )


def _here(job: Job, parts: Sequence[Part]) -> Generator[Outcome, None, None]:
    """Label parts in this process."""
    worker = PartWorker(job)
    for part in parts:
        try:
            yield Outcome(part, worker.label(part))
        except CoterieError as error:
            yield Outcome(part, None, str(error))


def _cluster(
    job: Job, parts: Sequence[Part], workers: int | None
) -> Generator[Outcome, None, None]:
    """Label parts on a cluster, which is not started for nothing."""
    if parts:
        from coterie.cli.ray_crew import on_ray

        yield from on_ray(job, parts, workers)


def _check_out(out: Path, parts: Sequence[Part], *, resume: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; parts need a folder.")
    check_parts_folder(out)
    there = {path for path in out.rglob("*.parquet") if not path.name.startswith(".")}
    if there and not resume:
        raise UsageError(
            f"--out {out} holds {len(there):,} parts already; add --resume to label those that "
            "are missing, or name another folder."
        )
    if strange := there - {part.target for part in parts}:
        raise DataError(
            f"--resume: {min(strange)} is no part of this corpus; remove it, or name another "
            "folder."
        )


def _text_column(parts: Sequence[Part], asked: str | None, id_column: str | None) -> str:
    """The column of the texts, the same for all parts, whatever their first rows look like."""
    from coterie.corpus import TextStream

    first = next((part for part in parts if part.rows), None)
    if first is None:
        raise DataError(f"all {len(parts):,} parts are empty: there is nothing to read.")
    stream = TextStream(first.source, text_column=asked, id_column=id_column, format="parquet")
    next(iter(stream))
    return str(stream.text_column)


def _job(
    folder: Path, out: Path, text_column: str, id_column: str | None, outlier_limit: float | None
) -> Job:
    from coterie._cache import cache_folder
    from coterie._folders import one_state
    from coterie.cli.labelling import model_digest
    from coterie.run_files import model_folder

    folder = folder.resolve()
    root = model_folder(folder)
    if out.resolve().is_relative_to(root):
        raise UsageError(f"--out {out} is inside the model {root}; name a folder outside of it.")
    cache = cache_folder() is not None
    digest = one_state([folder], lambda: model_digest(folder))
    return Job(folder, digest, text_column, id_column, outlier_limit, cache)
