"""Runs in memory: one state of each, which the next one replaces when the folder changes."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._util.folders import folder_state, one_state
from coterie._util.types import Bools, Floats, Ints
from coterie.arrays.neighbors import unit_rows
from coterie.describe.tree import levels_above
from coterie.errors import CoterieError
from coterie.page import render
from coterie.page.points import shorten, visible
from coterie.runs.label import Labeller
from coterie.runs.page_data import page_data
from coterie.runs.store import read, undoable
from coterie.serve.batching import BATCH, Batcher, Work
from coterie.serve.errors import ServeError
from coterie.serve.metrics import Metrics
from coterie.texts.corpus import value_to_text


class Snapshot:
    """One state of a run, whole in memory; nothing of it changes but that vectors come in.

    ``earlier`` is the state before it, which may know the vectors of its texts.
    """

    def __init__(self, name: str, folder: Path, earlier: Snapshot | None = None) -> None:
        self.name = name  # that the service calls the run by
        self.run = run = read(folder)
        self.labeller = Labeller.read(folder)
        self._assign: dict[int | None, Work] = {}  # for the cuts of the merge tree
        own = {k: v for k, v in run.config.get("files", {}).items() if k.startswith("encoder/")}
        self.encoder = json.dumps(own, sort_keys=True)
        self.version, self.texts, self.labels = run.version, run.texts, run.labels
        self.names = run.names
        first: dict[str, int] = {}
        for row, text in enumerate(self.texts):
            if text:
                first.setdefault(text, row)
        self.distinct = list(first)
        self.first_row = np.array(list(first.values()), dtype=np.int64)
        self.place = {text: i for i, text in enumerate(first)}
        self.trouble: CoterieError | None = None  # why there will be no vectors
        self._vectors: Floats
        self._has_vector: Bools
        self._take_vectors(earlier)
        undo = undoable(run)
        live = {
            "version": self.version,
            "clusters": [
                {"id": c.id, "name": visible(c.name), "size": c.size} for c in run.clusters
            ],
            "undo": undo and visible(shorten(undo)),
        }
        self.page = render(page_data(run), live).encode("utf-8")

    def _take_vectors(self, earlier: Snapshot | None) -> None:
        """The vectors of an earlier state, of unit length; the others are to be made."""
        same = earlier is not None and earlier.encoder == self.encoder
        if earlier is not None and same and earlier.distinct == self.distinct:
            self._vectors, self._has_vector = earlier._vectors, earlier._has_vector
            return
        n = len(self.distinct)
        self._vectors = np.zeros((n, int(self.labeller.model.encoder_.dim)), dtype=np.float32)
        self._has_vector = np.zeros(n, dtype=bool)
        if earlier is not None and same:
            places = np.array([earlier.place.get(text, -1) for text in self.distinct], dtype=int)
            self._has_vector = (places >= 0) & earlier._has_vector[places]
            self._vectors[self._has_vector] = earlier._vectors[places[self._has_vector]]

    @property
    def searchable(self) -> bool:
        """Whether all texts have vectors."""
        return bool(self._has_vector.all())

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

    def assign(self, level: int | str | None) -> Work:
        """What assigns new texts to the clusters of a cut; default: of the one that is shown."""
        n = None if level is None else self.run.tree.number(level)
        if n not in self._assign:
            given = self.run.clusters, (self.run.tree, self.run.nodes)
            model = self.labeller.model
            labeller = self.labeller if n is None else Labeller(model, *given, level=n)
            names = {c.id: c.name for c in labeller.clusters or ()}

            def assign(texts: list[str]) -> list[dict[str, Any]]:
                columns = labeller(texts)
                return [result_row(columns, i, names) for i in range(len(texts))]

            self._assign[n] = assign
        return self._assign[n]

    def encode(self, texts: list[str]) -> Floats:
        """Vectors of unit length."""
        return unit_rows(np.asarray(self.labeller.model.transform(texts)))

    def list_clusters(self) -> dict[str, Any]:
        """The clusters with all that is known of them, and the levels above them."""
        tree = self.run.tree
        levels = levels_above(tree, self.run.nodes)
        return {
            "version": self.version,
            "rows": len(self.texts),
            "clusters": [c.to_dict() for c in self.run.clusters],
            "levels": [[c.to_dict() for c in level] for level in levels],
            "tree": {"at": tree.at, "finest": tree.finest, "levels": dict(tree.levels)},
        }

    def in_cluster(self, cluster: int | None) -> Bools | None:
        """Which of the different texts are in a cluster; None for all of them."""
        return None if cluster is None else np.asarray(self.labels[self.first_row] == cluster)

    def need_vectors(self) -> Floats:
        """The vectors of the different texts; it is said why they are not there."""
        if self.trouble is not None:
            raise self.trouble
        if not self.searchable:
            raise ServeError(
                503,
                "vectors_not_ready",
                f"the {len(self.distinct):,} texts are still being encoded; search with "
                "by=words, or try again later.",
            )
        return self._vectors

    async def encode_texts(self, batcher: Batcher) -> None:
        """Encode the texts that have no vectors yet, a batch at a time."""
        todo = np.flatnonzero(~self._has_vector)
        try:
            for begin in range(0, len(todo), BATCH):
                part = todo[begin : begin + BATCH]
                texts = [self.distinct[i] for i in part]
                self._vectors[part] = await batcher.results(self.encode, texts)
                self._has_vector[part] = True
        except CoterieError as error:
            self.trouble = error


def result_row(columns: dict[str, list[Any]], i: int, names: dict[int, str]) -> dict[str, Any]:
    """One row of result columns as values for JSON."""
    out = {name: values[i] for name, values in columns.items()}
    out["outlier"] = out.get("outlier") == "yes"
    out["runner_up_name"] = names.get(out["runner_up"]) if "runner_up" in out else None
    return {name: None if value != value else value for name, value in out.items()}


def read_snapshot(name: str, folder: Path, earlier: Snapshot | None = None) -> Snapshot:
    """Read a run, all of it from one state of its folder."""
    return one_state([folder], lambda: Snapshot(name, folder, earlier))


class LiveRun:
    """A run that is served: its newest state that could be read."""

    def __init__(self, name: str, folder: Path, metrics: Metrics) -> None:
        self.name, self.folder, self.metrics = name, folder, metrics
        self._state = folder_state(folder)  # of the folder when it was last read
        self.snapshot = read_snapshot(name, folder)
        self.trouble: str | None = None  # why the newest state cannot be read
        self.changing = asyncio.Lock()
        self.encoding: asyncio.Task[None] | None = None
        metrics.rows.labels(name).set_function(lambda: len(self.snapshot.texts))

    def about(self) -> dict[str, Any]:
        """The run in a few values."""
        return {
            "name": self.name,
            "version": self.snapshot.version,
            "rows": len(self.snapshot.texts),
            "clusters": len(self.snapshot.run.clusters),
            "searchable": self.snapshot.searchable,
            "trouble": self.trouble,
        }

    async def refresh(self) -> bool:
        """Read the folder again if it has changed; whether there is a new state.

        Requests that have begun go on with the state that they began with. A folder that cannot be
        read leaves the run as it was. The caller holds ``changing``.
        """
        state = folder_state(self.folder)
        if state == self._state:
            return False
        self._state = state
        try:
            new = await asyncio.to_thread(read_snapshot, self.name, self.folder, self.snapshot)
        except (CoterieError, OSError, MemoryError) as error:
            self.trouble = self.without_path(str(error))
            self.metrics.loads.labels(self.name, "failed").inc()
            return False
        self.snapshot, self.trouble = new, None
        self.metrics.loads.labels(self.name, "done").inc()
        gc.collect()  # models are in cycles of references
        return True

    def without_path(self, said: str) -> str:
        """A message without the place of the run on this machine."""
        for path in sorted({str(self.folder), str(self.folder.resolve())}, key=len, reverse=True):
            said = said.replace(path, self.name)
        return said
