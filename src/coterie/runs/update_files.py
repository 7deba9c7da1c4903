"""New Parquet files in a run whose table is a folder of such files; no more than a sample is held.

A sample of the old rows and one of the new stand for all of them: in these, new clusters are found
and the classifier is learned, as where all rows are at hand. Then it labels the new files, each by
itself, on one machine or on many. The old files are counted again; they stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from coterie._files import write_json
from coterie._folders import held
from coterie._progress import make_progress
from coterie._trust import damaged
from coterie._types import Ints
from coterie.base.storage import save_clusters
from coterie.clustering import Clustering, check_version, write_clusters
from coterie.corpus import Survey, TextStream
from coterie.corpus.corpus import build
from coterie.corpus.source import Source
from coterie.description.tally import ColumnLook, Kinds, Tally
from coterie.errors import DataError, counted
from coterie.exports import refresh
from coterie.report.folder import make_map, write_map
from coterie.report.html import write_changes
from coterie.run_files import MANIFEST, SHARDS, RunFiles, as_cells, own_columns, shards_of
from coterie.run_history import append_log, change_run, last_change
from coterie.runs.added import AddedRows, Updated
from coterie.runs.engine import Engine, failures
from coterie.runs.label import Labeller, model_digest
from coterie.runs.results import count_rows
from coterie.runs.sample import Looking, files_of, sample_size, survey_shards
from coterie.runs.shards import (
    KEY,
    Job,
    Shard,
    in_threads,
    label_shards,
    read_footer,
    read_shard,
    shards_from,
)
from coterie.summary import CLOSE, summarise

PART_ROWS = 65_536  # of a file that are read at a time


def new_files(run: Path, data: Any, form: str) -> list[str]:
    """The files of new rows, if these are Parquet and the table of the run is a folder of such."""
    if not files_of(data) or data == "-" or not shards_of(run):
        return []
    stream = TextStream(Source(data), format=form)
    if stream.format != "parquet":
        return []
    parts = stream.source.parts or [stream.source]
    return [part.name for part in parts if part.head()]


def add_files(
    folder: Path,
    files: Sequence[str],
    engine: Engine,
    *,
    dry_run: bool = False,
    version: str | None = None,
) -> Updated:
    """Add the rows of Parquet files to a run; see :func:`~coterie.runs.update.update`."""
    folder = folder.resolve()
    RunFiles(folder).check()  # before a lock is put into it
    with nullcontext() if dry_run else held(folder), engine:
        check_version(folder, version)
        added = AddedFiles(folder, files, engine)
        return added.add(write=not dry_run)


class AddedFiles:
    """New files of a run, beside those it has.

    Files that the run has already are left out; they are told by their size and footer.
    """

    def __init__(
        self,
        folder: Path,
        files: Sequence[str],
        engine: Engine,
    ) -> None:
        self.folder, self.engine = folder, engine
        self.files = RunFiles(folder)
        self.facts = self.files.manifest
        self.text_column: str = self.facts["data"]["text_column"]
        self.id_column: str | None = self.facts["data"].get("id_column")
        self.number = len(self.facts.get("updates", [])) + 1
        old = shards_from([str(path) for path in shards_of(folder)])
        self.own = own_columns(old[0].columns)
        known = set(in_threads(_made_from, old))
        given = [shard for shard in shards_from(files) if shard.rows]
        kept = [shard for shard in given if shard.digest not in known]
        # Names are those in the folder of the table, where each update has a folder of its own.
        base, mine = folder / SHARDS, f"update-{self.number:04}"
        self.old = [replace(s, name=s.source.relative_to(base).as_posix()) for s in old]
        before = accumulate((shard.rows for shard in kept), initial=0)
        self.new = [
            replace(shard, name=f"{mine}/{shard.name}", first=first)
            for shard, first in zip(kept, before, strict=False)
        ]
        self.notes: list[str] = []
        if left := len(given) - len(kept):
            said = counted(len(given), "file")
            self.notes.append(f"{left:,} of {said} left out: the run has the same already.")
        self._check_columns()

    def _check_columns(self) -> None:
        wanted = tuple(name for name in self.old[0].columns if name not in self.own.values())
        for shard in self.new:
            if shard.columns != wanted:
                raise DataError(
                    f"{shard.source} has the columns {', '.join(shard.columns)}, but the files of "
                    f"the run have {', '.join(wanted)}; give files of the same table."
                )

    def add(self, *, write: bool) -> Updated:
        """Find new clusters in the samples; then label the new files, if that is wanted."""
        if not self.new:
            return Updated(self.folder, 0, 0, notes=tuple(self.notes))
        files, survey, self.kinds = self.files, *self._survey(self.old)
        table = self._rows_at(self.old, survey.first, self.own)
        levels = files.hierarchy, files.tree
        run = Clustering(self.folder, self.facts, table, files.clusters, *levels)
        found, _ = self._survey(self.new)
        self.notes += [note.message for note in found.notes]
        table = self._rows_at(self.new, found.first, {})
        added = AddedRows(run, build(table, self.text_column, self.id_column))
        self.samples, self.texts = (survey, found), survey.filled + found.filled
        if len(found.texts) < found.distinct:
            part = f"{len(found.texts):,} of the {found.distinct:,} different new texts"
            self.notes.append(f"New clusters are searched in {part}.")
        update = Updated(
            self.folder,
            self.number,
            found.rows,
            new=tuple(c for c in added.clusters if c.id in added.new),
            drift=added.drift,
            written=write,
            notes=tuple(self.notes),
        )
        return self._write(added, update) if write else update

    def _survey(self, shards: Sequence[Shard]) -> tuple[Survey, Kinds]:
        """A sample of the rows of some files, and the columns worth counting."""
        first = next(shard for shard in shards if shard.rows)
        begin = next(iter(read_shard(first, self.text_column, self.id_column))).table
        own = [name for name in self.own.values() if name in begin.column_names]
        columns = ColumnLook(self.text_column, self.id_column)
        columns.begin(begin.drop_columns(own))
        usual, _ = sample_size(None, len(self.files.clusters))
        size = max(usual, self.facts.get("fit_sample") or 0)
        seed = int(self.facts.get("seed") or 0)
        looking = Looking(size, seed, columns, self.id_column)
        return survey_shards(shards, looking, self.engine, 1)

    def _rows_at(self, shards: Sequence[Shard], rows: Ints, own: Mapping[str, str]) -> pa.Table:
        """Some rows of the table that the files are, as a run has them."""
        items = []
        for shard in shards:
            inside = rows[(rows >= shard.first) & (rows < shard.first + shard.rows)]
            if len(inside):
                items.append((shard, inside - shard.first, own))
        tables, failed = dict[int, pa.Table](), dict[str, str]()
        results = self.engine.each(_taking, items)
        with closing(results):
            for done in results:
                if done.found is None:
                    failed[done.item[0].name] = done.error
                else:
                    tables[done.item[0].first] = done.found
        if failed:
            raise failures(failed, len(items), "read; repair or remove them")
        return pa.concat_tables([tables[first] for first in sorted(tables)])

    def _write(self, added: AddedRows, update: Updated) -> Updated:
        """Label the new files in a copy of the run, which then takes its place."""
        done = [update]

        def change(fresh: Path) -> None:
            save_clusters(added.model, fresh / "model", outliers=True)
            tree = None if added.tree is None else added.tree.described(added.clusters)
            parts = added.clusters, added.hierarchy, tree
            write_clusters(fresh, *parts)
            everything, inside = self._label(fresh, Labeller(added.model, *parts[:2], tree=tree))
            clusters, hierarchy, tree = count_rows(everything, *parts)
            write_clusters(fresh, clusters, hierarchy, tree)
            if self.files.map is not None:
                write_map(fresh, self._map(added))
            done[0] = replace(update, new=tuple(c for c in clusters if c.id in added.new))
            facts = self._about(added, everything, inside)
            if tree is not None:
                facts["levels"] = dict(tree.levels)
            facts["summary"] = summarise(facts, clusters, hierarchy)
            odd = [t for t, odd in zip(added.corpus.texts, added.strange, strict=True) if odd]
            said = done[0].sentences()
            write_changes(
                fresh / "changes.html", self.folder.name, said, added.drift, done[0].new, odd
            )
            refresh(fresh, facts, clusters)
            write_json(fresh / MANIFEST, facts)
            entry = {key: facts["updates"][-1][key] for key in ("rows", "sha256", "new")}
            number = last_change(self.folder) + 1
            append_log(fresh, {"change": number, "update": entry, "done": said[:1]})

        change_run(self.folder, change)
        return done[0]

    def _label(self, fresh: Path, labeller: Labeller) -> tuple[Tally, Tally]:
        """Label the new files and count all; what is in all rows, and in the new ones."""
        finest = "cluster" if labeller.tree is None else labeller.tree.column
        everything, inside = (Tally(self.kinds, CLOSE, finest) for _ in range(2))
        model = model_digest(fresh / "model")
        job = Job(
            fresh,
            model_digest(fresh),
            self.text_column,
            self.id_column,
            made_from={"texts": self.samples[1].sha256, "model": model},
            tally=everything.empty(),
        )
        shards = [replace(s, target=fresh / SHARDS / s.name) for s in [*self.old, *self.new]]
        shards[: len(self.old)] = [replace(s, source=s.target) for s in shards[: len(self.old)]]

        def take(shard: Shard, found: Tally) -> None:
            everything.merge(found)
            if shard.source != shard.target:
                inside.merge(found)

        progress = make_progress(1)
        label_shards(job, shards, self.engine, labeller, progress, take, "repeat the command")
        return everything, inside

    def _map(self, added: AddedRows) -> dict[str, Any]:
        """The samples on the map, at the rows that they have in the grown table."""
        firsts, total = dict[str, int](), 0
        for shard in sorted([*self.old, *self.new], key=lambda shard: shard.name):
            firsts[shard.name], total = total, total + shard.rows
        rows = []
        for shards, sample in zip((self.old, self.new), self.samples, strict=True):
            begin = np.array([shard.first for shard in shards])
            place = np.searchsorted(begin, sample.first, side="right") - 1
            there = np.array([firsts[shard.name] for shard in shards])
            rows.append(sample.first - begin[place] + there[place])
        odd = added.outliers if added.run.marks else None
        made = make_map(added.vectors, added.nearest, added.run.seed, odd, added.texts)
        where = np.concatenate(rows)[made["rows"]]
        order = np.argsort(where)
        moved = {key: np.array(made[key])[order].tolist() for key in ("x", "y")}
        return {**made, **moved, "rows": where[order].tolist(), "total": self.texts}

    def _about(self, added: AddedRows, everything: Tally, inside: Tally) -> dict[str, Any]:
        """The manifest of the grown run."""
        facts, found = added.facts(), self.samples[1]
        both = f"{self.facts['data']['sha256']} {found.sha256}"
        facts["data"] |= {
            "rows": everything.rows,
            "sha256": sha256(both.encode()).hexdigest(),
        }
        entry = {**facts["updates"][-1], "rows": found.rows, "sha256": found.sha256}
        del entry["first"]  # rows of an update are not always the last ones of the table
        facts["updates"][-1] = {**entry, "files": len(self.new)}
        if "outliers" in facts:
            facts["outliers"] |= {"marked": everything.outliers}
        sizes = {str(i): n for i, n in sorted(inside.sizes.items()) if i >= 0}
        facts["figures"] = {**everything.figures(), "added": sizes}
        return facts


def _made_from(shard: Shard) -> str:
    """Digest of the file that a labelled one was made from."""
    with damaged(shard.source, "a table of coterie"):
        said = (read_footer(shard.source).metadata or {}).get(KEY.encode(), b"{}")
        return str(json.loads(said).get("source", ""))


def _taking() -> Callable[[tuple[Shard, Ints, Mapping[str, str]]], pa.Table]:
    return take_rows


def take_rows(item: tuple[Shard, Ints, Mapping[str, str]]) -> pa.Table:
    """Some rows of a file, with its result columns; those of the input become texts."""
    shard, rows, own = item
    parts, first = [], 0
    with shard.source.open("rb") as file:
        for batch in pyarrow.parquet.ParquetFile(file).iter_batches(PART_ROWS):
            inside = rows[(rows >= first) & (rows < first + len(batch))] - first
            first += len(batch)
            parts.append(as_cells(batch.take(pa.array(inside)), own))
    return pa.Table.from_batches(parts)
