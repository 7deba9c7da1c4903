"""Runs in memory: one state of each, which the next one replaces when the folder changes."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import logging
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._folders import folder_state, one_state
from coterie._types import Bools, Floats, Ints
from coterie._validation import check_memory
from coterie.clustering import read
from coterie.corpus.corpus import value_to_text
from coterie.errors import CoterieError
from coterie.neighbors import unit_rows
from coterie.report import read_run, render
from coterie.report.points import shorten, visible
from coterie.run_history import can_undo, read_log
from coterie.runs.label import Labeller
from coterie.serve.changes import seen
from coterie.serve.errors import ServeError
from coterie.serve.metrics import Metrics
from coterie.tree import need_tree

log = logging.getLogger(__name__)

STEP = 128  # texts of a run that are encoded at a time, between requests
CHANGES = 50  # that the page knows of
RETRY = 10.0  # seconds until a folder that could not be read is read again


@dataclass(frozen=True)
class Vectors:
    """Texts of an earlier state and their vectors, and all that decides vectors."""

    encoder: str
    texts: list[str]
    vectors: Floats


class Snapshot:
    """One state of a run, whole in memory; nothing of it changes but that vectors come in."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name  # that the service calls the run by
        self.state = folder_state(folder)  # another one means that the run has changed
        self.run = run = read(folder)
        self.labeller = Labeller.read(folder)
        self._labellers: dict[int, Labeller] = {}  # of other cuts of the merge tree
        own = {k: v for k, v in run.config.get("files", {}).items() if k.startswith("encoder/")}
        self.encoder = json.dumps([run.config["encoder"], own], sort_keys=True)
        self.version, self.texts, self.labels = run.version, run.texts, run.labels
        self.names = run.names
        self.marks = {
            name: set(run.facts.get("editing", {}).get(name, ()))
            for name in ("locked", "done", "named")
        }
        first: dict[str, int] = {}
        for row, text in enumerate(self.texts):
            if text:
                first.setdefault(text, row)
        self.distinct = list(first)
        self.first_row = np.array(list(first.values()), dtype=np.int64)
        self.place = {text: i for i, text in enumerate(first)}
        # The texts' vectors, of unit length; None until all are there.
        self.vectors: Floats | None = None
        self.trouble: CoterieError | None = None  # why there will be no vectors
        log = read_log(folder)
        undo = {change.id for change in can_undo(log)}
        self.live = {
            "version": self.version,
            "seen": seen(run.facts["finished"], len(log)),
            "made": run.facts["finished"],
            "clusters": [
                {"id": c.id, "name": visible(c.name), "size": c.size} for c in run.clusters
            ],
            "locked": sorted(self.marks["locked"]),
            "done": sorted(self.marks["done"] & run.names.keys()),
            "changes": [
                {
                    "id": change.id,
                    "by": change.by,
                    "said": visible(shorten(change.said)),
                    "can_undo": change.id in undo,
                }
                for change in log[-CHANGES:]
            ],
            "logged": len(log),
        }
        self.page = render(read_run(folder, run.facts, run.clusters), self.live).encode("utf-8")

    @cached_property
    def lowered(self) -> list[str]:
        """The different texts in lower case, for search."""
        return [text.casefold() for text in self.distinct]

    @cached_property
    def copies(self) -> Ints:
        """How often each of the different texts occurs."""
        places = [self.place[text] for text in self.texts if text]
        return np.bincount(places, minlength=len(self.distinct))

    @cached_property
    def rows_by_id(self) -> dict[str, int] | None:
        """The first row of each id, from zero; None where rows have no ids."""
        if self.run.ids is None:
            return None
        return {value_to_text(id): row for row, id in reversed([*enumerate(self.run.ids)])}

    def number(self, name: str) -> Floats:
        """A result column of numbers; not a number where it is empty."""
        column = self.run.table[self.run.own[name]]
        return np.asarray(column.to_numpy(), dtype=np.float64)

    def find_row(self, wanted: str) -> int:
        """The row of an id if the run has ids, else of a number counted from one; from zero."""
        if self.rows_by_id is not None:
            kind, row = "id", self.rows_by_id.get(wanted, -1)
        else:
            number = int(wanted) if re.fullmatch(r"[0-9]{1,12}", wanted) else 0
            kind, row = "number", number - 1 if number <= len(self.texts) else -1
        if row < 0:
            raise ServeError(404, "no_row", f"no row has the {kind} {wanted!r:.80}.")
        return row

    def rows(self, index: Sequence[int] | Ints) -> list[dict[str, Any]]:
        """Rows as the service answers them; ``index`` counts from zero."""
        run, rows = self.run, np.asarray(index, dtype=np.int64)
        part = run.table.take(pa.array(rows))
        columns = {name: part[written].to_pylist() for name, written in run.own.items()}
        told = {"id": run.id_column, "text": run.text_column}
        cells = {name: part[column].to_pylist() for name, column in told.items() if column}
        return [
            {"row": row + 1}
            | {name: value_to_text(values[i]) for name, values in cells.items()}
            | result_row(columns, i, self.names)
            for i, row in enumerate(rows.tolist())
        ]

    def at_level(self, level: int | str | None) -> Labeller:
        """What assigns new texts to the clusters of a cut; default: of the one that is shown."""
        if level is None:
            return self.labeller
        n = need_tree(self.run.tree).number(level)
        if n not in self._labellers:
            given = self.run.clusters, self.run.hierarchy, None, self.run.tree, n
            self._labellers[n] = Labeller(self.labeller.model, *given)
        return self._labellers[n]

    def list_clusters(self) -> dict[str, Any]:
        """The clusters with all that is known of them, and the levels above them."""
        marks = {"locked": "locked", "done": "done", "named_by_hand": "named"}
        levels, tree = self.run.hierarchy.levels if self.run.hierarchy else [], self.run.tree
        cuts = None
        if tree is not None:
            cuts = {"at": tree.at, "finest": tree.finest, "levels": dict(tree.levels)}
        return {
            "version": self.version,
            "rows": len(self.texts),
            "clusters": [
                c.to_dict() | {name: c.id in self.marks[kind] for name, kind in marks.items()}
                for c in self.run.clusters
            ],
            "levels": [[c.to_dict() for c in level] for level in levels],
            "tree": cuts,
        }

    def in_cluster(self, cluster: int | None) -> Bools | None:
        """Which of the different texts are in a cluster; None for all of them."""
        return None if cluster is None else np.asarray(self.labels[self.first_row] == cluster)

    def need_vectors(self) -> Floats:
        """The vectors of the different texts; it is said why they are not there."""
        if self.trouble is not None:
            raise self.trouble
        if self.vectors is None:
            raise ServeError(
                503,
                "vectors_not_ready",
                f"the {len(self.distinct):,} texts are still being encoded; search with "
                "by=words, or try again later.",
            )
        return self.vectors

    def inherit(self, earlier: Vectors | None) -> None:
        """Take the vectors of an earlier state if they are those of these very texts."""
        if earlier and earlier.encoder == self.encoder and earlier.texts == self.distinct:
            self.vectors = earlier.vectors

    def encode_texts(self, earlier: Vectors | None) -> Iterator[None]:
        """Encode all texts, some at a time, without those of an earlier state."""
        try:
            yield from self._encode_texts(earlier)
        except CoterieError as error:
            self.trouble = error
            raise

    def _encode_texts(self, earlier: Vectors | None) -> Iterator[None]:
        model, n = self.labeller.model, len(self.distinct)
        dim = int(model.encoder_.dim)
        check_memory(4 * n * dim, f"vectors of {n:,} texts", "take an encoder of fewer numbers")
        out = np.zeros((n, dim), dtype=np.float32)
        todo = np.arange(n)
        if earlier is not None and earlier.encoder == self.encoder:
            known = {text: i for i, text in enumerate(earlier.texts)}
            places = np.array([known.get(text, -1) for text in self.distinct], dtype=np.int64)
            out[places >= 0] = earlier.vectors[places[places >= 0]]
            todo = np.flatnonzero(places < 0)
        for begin in range(0, len(todo), STEP):
            part = todo[begin : begin + STEP]
            out[part] = unit_rows(np.asarray(model.transform([self.distinct[i] for i in part])))
            yield
        self.vectors = out


def result_row(columns: dict[str, list[Any]], i: int, names: dict[int, str]) -> dict[str, Any]:
    """One row of result columns as values for JSON."""
    out = {name: values[i] for name, values in columns.items()}
    out["outlier"] = out.get("outlier") == "yes"
    out["runner_up_name"] = names.get(out["runner_up"]) if "runner_up" in out else None
    return {name: None if value != value else value for name, value in out.items()}


def read_snapshot(name: str, folder: Path) -> Snapshot:
    """Read a run, all of it from one state of its folder."""
    return one_state([folder], lambda: Snapshot(name, folder))


class LiveRun:
    """A run that is served: its newest state that could be read."""

    def __init__(self, name: str, folder: Path, metrics: Metrics) -> None:
        self.name, self.folder, self.metrics = name, folder, metrics
        self.snapshot = read_snapshot(name, folder)
        self.trouble: str | None = None  # why the newest state cannot be read
        self.encoded: Vectors | None = None  # of the last state whose texts were all encoded
        self.editing = asyncio.Lock()
        self._loading = asyncio.Lock()
        self._failed: tuple[object, float] | None = None  # the state that could not be read; when
        metrics.rows.labels(name).set_function(lambda: len(self.snapshot.texts))

    def about(self) -> dict[str, Any]:
        """The run in a few values."""
        return {
            "name": self.name,
            "version": self.snapshot.version,
            "rows": len(self.snapshot.texts),
            "clusters": len(self.snapshot.run.clusters),
            "searchable": self.snapshot.vectors is not None,
            "trouble": self.trouble,
        }

    async def refresh(self, loader: ThreadPoolExecutor) -> bool:
        """Take in what has changed in the folder; whether there was anything.

        Requests that have begun go on with the state that they began with. A folder that cannot be
        read leaves the run as it was.
        """
        if not self._changed():
            return False
        async with self._loading:
            state = folder_state(self.folder)
            if not self._changed():
                return False
            loop = asyncio.get_running_loop()
            try:
                new = await loop.run_in_executor(loader, read_snapshot, self.name, self.folder)
            except (CoterieError, OSError, MemoryError) as error:
                self._failed = state, time.monotonic()
                self.trouble = without_paths(str(error), self)
                self.metrics.loads.labels(self.name, "failed").inc()
                log.warning("the run %s cannot be read: %s", self.name, type(error).__name__)
                return False
            old = self.snapshot
            if old.vectors is not None:
                self.encoded = Vectors(old.encoder, old.distinct, old.vectors)
            new.inherit(self.encoded)
            self.snapshot, self.trouble, self._failed = new, None, None
            self.metrics.loads.labels(self.name, "done").inc()
            return True

    def _changed(self) -> bool:
        state = folder_state(self.folder)
        if state == self.snapshot.state:
            self.trouble = self._failed = None
            return False
        if self._failed is None or self._failed[0] != state:
            return True
        return time.monotonic() - self._failed[1] > RETRY


def release_memory() -> None:
    """Give back what a replaced state and a change have held.

    Models are in cycles of references, which wait for the collector; and the C library keeps what
    is freed in the threads that load and edit.
    """
    gc.collect()
    with suppress(OSError, AttributeError):  # not every system has it
        ctypes.CDLL(None).malloc_trim(0)


def without_paths(said: str, live: LiveRun) -> str:
    """A message without the place of the run on this machine."""
    for path in sorted({str(live.folder), str(live.folder.resolve())}, key=len, reverse=True):
        said = said.replace(path, live.name)
    return said
