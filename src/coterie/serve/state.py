"""Runs in memory: one state of each, which the next one replaces when the folder changes."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import logging
import math
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
from coterie.base.storage import read_config
from coterie.corpus.corpus import clean_text, value_to_text
from coterie.errors import CoterieError
from coterie.neighbors import unit_rows
from coterie.report import read_run, render
from coterie.report.points import visible
from coterie.run_files import model_folder
from coterie.run_history import last_logged
from coterie.runs import Run, open_run
from coterie.runs.label import Labeller
from coterie.serve.errors import ServeError
from coterie.serve.metrics import Metrics

log = logging.getLogger(__name__)

STEP = 128  # texts of a run that are encoded at a time, between requests
RETRY = 10.0  # seconds until a folder that could not be read is read again
WORD = re.compile(r"\w+")
WORDS = 50  # different words of a query, so that no query takes long
FUSE = 60  # of reciprocal rank fusion, as its authors have it


@dataclass(frozen=True)
class Vectors:
    """Texts of an earlier state and their vectors, and all that decides vectors."""

    encoder: str
    texts: list[str]
    vectors: Floats


class Snapshot:
    """One state of a run, whole in memory; nothing of it changes but that vectors come in.

    Parameters
    ----------
    name : str
        That the service calls the run by.
    run : Run
    labeller : Labeller
    state : tuple of int or None
        Of the folder; another one means that the run has changed.
    encoder : str
        All that decides the vectors of texts.
    """

    def __init__(
        self,
        name: str,
        run: Run,
        labeller: Labeller,
        state: tuple[int, ...] | None,
        encoder: str,
    ) -> None:
        self.name, self.run, self.labeller = name, run, labeller
        self.state, self.encoder = state, encoder
        self.version = run.version
        self.texts = run.texts
        self.labels = run.labels
        self.text_column = run.manifest["data"]["text_column"]
        self.id_column = run.manifest["data"].get("id_column")
        masked = run.manifest["data"].get("masked")
        self.masks = masked is not None  # whether personal data of the run is masked
        self.masked_by_list = self.masks and masked["by_list"]
        editing = run.manifest.get("editing", {})
        self.locked = set(editing.get("locked", ()))
        self.named = set(editing.get("named", ()))
        self.done = set(editing.get("done", ()))
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
        live = {
            "version": self.version,
            "made": run.manifest["finished"],
            "locked": sorted(self.locked),
            "done": sorted(self.done),
            "last": [visible(sentence) for sentence in last_logged(run.folder)],
        }
        self.page = render(read_run(run.folder, run.manifest, run.clusters), live).encode("utf-8")
        del run.__dict__["texts"]  # kept here; the model is kept by the labeller

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
    def rows_by_id(self) -> dict[str, int]:
        """The first row of each id; rows count from zero."""
        if self.id_column is None:
            return {}
        found: dict[str, int] = {}
        for row, value in enumerate(self.run.column(self.id_column)):
            found.setdefault(value_to_text(value), row)
        return found

    def number(self, name: str) -> Floats:
        """A result column of numbers; not a number where it is empty."""
        column = self.run.cells[self.run.own[name]]
        return np.asarray(column.to_numpy(), dtype=np.float64)

    @cached_property
    def outliers(self) -> Bools:
        """Which rows are outliers."""
        if "outlier" not in self.run.own:
            return np.zeros(len(self.labels), dtype=bool)
        marks = self.run.cells[self.run.own["outlier"]].to_pylist()
        return np.array([value == "yes" for value in marks], dtype=bool)

    def find_row(self, wanted: str) -> int:
        """The row of an id if the run has ids, else of a number counted from one; from zero."""
        if self.id_column is not None:
            row = self.rows_by_id.get(wanted)
        else:
            number = int(wanted) if re.fullmatch(r"[0-9]{1,12}", wanted) else 0
            row = number - 1 if 1 <= number <= len(self.texts) else None
        if row is None:
            kind = "id" if self.id_column is not None else "number"
            raise ServeError(f"no row has the {kind} {wanted!r:.80}.", code="serve.no_row")
        return row

    def rows(self, index: Sequence[int] | Ints) -> list[dict[str, Any]]:
        """Rows as the service answers them; ``index`` counts from zero."""
        table, own = self.run.cells, self.run.own
        part = table.take(pa.array(np.asarray(index, dtype=np.int64)))
        columns = {name: part[written].to_pylist() for name, written in own.items()}
        texts = [value_to_text(value) for value in part[self.text_column].to_pylist()]
        out = []
        for i, row in enumerate(np.asarray(index).tolist()):
            found: dict[str, Any] = {"row": row + 1}
            if self.id_column is not None:
                found["id"] = value_to_text(part[self.id_column][i].as_py())
            out.append({**found, "text": texts[i], **result_row(columns, i, self.names)})
        return out

    @cached_property
    def names(self) -> dict[int, str]:
        """Names of the clusters."""
        return {cluster.id: cluster.name for cluster in self.run.clusters}

    def list_clusters(self) -> list[dict[str, Any]]:
        """The clusters with all that is known of them."""
        return [
            {
                **c.to_dict(),
                "locked": c.id in self.locked,
                "done": c.id in self.done,
                "named_by_hand": c.id in self.named,
            }
            for c in self.run.clusters
        ]

    def inherit(self, earlier: Vectors | None) -> bool:
        """Take the vectors of an earlier state if they are those of these very texts."""
        if earlier is None or earlier.encoder != self.encoder or earlier.texts != self.distinct:
            return False
        self.vectors = earlier.vectors
        return True

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

    # Search -------------------------------------------------------------------------------------

    def by_words(self, query: str, inside: Bools | None) -> list[tuple[int, float]]:
        """Different texts that have words of the query, the best first, with their scores.

        A word counts by how rare it is, also as a part of a longer one; of equal scores the shorter
        text comes first. Of a long query the first 50 different words count.
        """
        cleaned = clean_text(query).casefold()
        words = list(dict.fromkeys(WORD.findall(cleaned)))[:WORDS] or [cleaned]
        scores = np.zeros(len(self.lowered))
        for word in words:
            has = np.array([word in text for text in self.lowered], dtype=bool)
            scores += has * math.log(1 + len(has) / max(int(has.sum()), 1))
        if inside is not None:
            scores[~inside] = 0
        found = np.flatnonzero(scores)
        lengths = np.array([len(self.lowered[i]) for i in found])
        order = np.lexsort((lengths, -scores[found]))
        return [(int(i), float(scores[i])) for i in found[order]]

    def by_meaning(
        self, vector: Floats, inside: Bools | None, limit: int, without: int = -1
    ) -> list[tuple[int, float]]:
        """Different texts by the cosine to a vector, the most similar first."""
        if self.trouble is not None:
            raise self.trouble
        if self.vectors is None:
            raise ServeError(
                f"the {len(self.distinct):,} texts are still being encoded; search with "
                "by=words, or try again later.",
                code="serve.vectors_not_ready",
            )
        length = float(np.linalg.norm(vector))
        scores = self.vectors @ (vector / length if length else vector)
        usable = np.ones(len(scores), dtype=bool) if inside is None else inside.copy()
        if without >= 0:
            usable[without] = False
        found = np.flatnonzero(usable & (scores > 0))
        order = found[np.argsort(-scores[found], kind="stable")[:limit]]
        return [(int(i), float(scores[i])) for i in order]

    def in_cluster(self, cluster: int | None) -> Bools | None:
        """Which of the different texts are in a cluster; None for all of them."""
        if cluster is None:
            return None
        return np.asarray(self.labels[self.first_row] == cluster)


def result_row(columns: dict[str, list[Any]], i: int, names: dict[int, str]) -> dict[str, Any]:
    """One row of result columns as values for JSON."""
    out = {name: values[i] for name, values in columns.items()}
    out["outlier"] = out.get("outlier") == "yes"
    out["runner_up_name"] = names.get(out["runner_up"]) if "runner_up" in out else None
    return {name: None if value != value else value for name, value in out.items()}


def fuse(*rankings: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """One ranking of several, by reciprocal rank fusion.

    Examples
    --------
    >>> [place for place, _ in fuse([(7, 0.9), (3, 0.5)], [(3, 2.0), (5, 1.0)])]
    [3, 7, 5]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (place, _) in enumerate(ranking, 1):
            scores[place] = scores.get(place, 0.0) + 1 / (FUSE + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def read_snapshot(name: str, folder: Path) -> Snapshot:
    """Read a run, all of it from one state of its folder."""

    def read() -> Snapshot:
        state = folder_state(folder)
        run = open_run(folder)
        labeller = Labeller.read(folder)
        config = read_config(model_folder(folder))
        own = {k: v for k, v in config.get("files", {}).items() if k.startswith("encoder/")}
        encoder = json.dumps([config["encoder"], own], sort_keys=True)
        return Snapshot(name, run, labeller, state, encoder)

    return one_state([folder], read)


class LiveRun:
    """A run that is served: its newest state that could be read.

    Parameters
    ----------
    name : str
    folder : Path
    metrics : Metrics
    """

    def __init__(self, name: str, folder: Path, metrics: Metrics) -> None:
        self.name, self.folder, self.metrics = name, folder, metrics
        self.snapshot = read_snapshot(name, folder)
        self.trouble = ""  # why the newest state cannot be read
        self.encoded: Vectors | None = None  # of the last state whose texts were all encoded
        self.editing = asyncio.Lock()
        self._loading = asyncio.Lock()
        self._failed: tuple[tuple[int, ...] | None, float] | None = None

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
            self.snapshot, self.trouble, self._failed = new, "", None
            self.metrics.loads.labels(self.name, "done").inc()
            return True

    def _changed(self) -> bool:
        state = folder_state(self.folder)
        if state == self.snapshot.state:
            self.trouble, self._failed = "", None
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
