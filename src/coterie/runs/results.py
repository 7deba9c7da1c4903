"""What a fitted model becomes: described clusters, tables, map, page, all in the run's folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from coterie._facts import hardware, peak_memory
from coterie._files import write_json, write_text
from coterie._progress import make_progress, working
from coterie._types import Bools, Floats, Ints
from coterie._validation import check_device
from coterie.base import TextClusterer
from coterie.corpus import Chunk, Corpus, LargeTable, write_rows
from coterie.corpus.sentences import split_sentence
from coterie.corpus.write import GrowingTable, record_path, table_rows
from coterie.description import (
    Cluster,
    describe,
    describe_numbered,
    guess_columns,
    names_by_number,
)
from coterie.description.tally import Tally
from coterie.exports import write_clusters, write_page, write_sentence_rows
from coterie.hierarchy import READABLE, Hierarchy, build_hierarchy, build_themes
from coterie.options import Options
from coterie.report import write_map
from coterie.report.folder import make_map
from coterie.report.quality import (
    BORDERLINE,
    about_confidence,
    about_labels,
    about_outliers,
    about_sizes,
    about_themes,
)
from coterie.run_files import (
    own_columns,
    read_clusters,
    read_header,
    read_levels,
    result_columns,
    table_parts,
)
from coterie.runs.folder import RunFolder, now
from coterie.runs.guide import guidance_sentences
from coterie.runs.label import Labeller, label
from coterie.runs.places import PLACER, RowPlaces, save_placer, write_places

if TYPE_CHECKING:
    from coterie.editing.keep import Kept

MAP_MEMORY = 128  # megabytes of distances at a time; by default it would be eight times that


class Results:
    """Writes the results of a fitted model into the folder of its run.

    ``kept`` is what the run takes over from an earlier one.
    """

    def __init__(
        self,
        folder: RunFolder,
        options: Options,
        model: TextClusterer,
        corpus: Corpus,
        kept: Kept | None = None,
    ) -> None:
        self.folder, self.options, self.model = folder, options, model
        self.corpus, self.kept = corpus, kept
        self.hierarchy: Hierarchy | None = None

    def write(self) -> None:
        """Write all files and mark the run as done."""
        raise NotImplementedError

    def _fitted(self) -> dict[str, Any]:
        """What the manifest says about the fit."""
        guard, reading = self.model.guard_, self.model.reading_
        told: dict[str, Any] = {} if reading is None else {"reading": reading.to_dict()}
        if self.model.encoder_notes_:
            told["warnings"] = list(self.model.encoder_notes_)
        return {
            "seed": self.model.seed_,
            "encoder": {"used": self.model.encoder_.kind, **told},
            "guard": guard.to_dict() if guard is not None else None,
            "seconds": self.model.seconds_,
        }

    def _about_choice(self) -> list[str]:
        """Why there are so many clusters, where the number was found."""
        choice = self.folder.manifest["number_of_clusters"]
        return [] if choice is None else [choice["reason"]]

    def _machine(self) -> dict[str, Any]:
        device = str(check_device(self.model.device))
        return {"hardware": hardware(device), "peak_memory": peak_memory(device)}

    def _mark_outliers(self) -> Bools | None:
        """Which texts are outliers; None if none were asked for."""
        if self.options.max_outliers is None:
            return None
        marked = self.model.mark_outliers(self.options.max_outliers)
        self._note_outliers(int(marked.sum()))
        return marked

    def _note_outliers(self, marked: int) -> None:
        limit = self.model.outlier_limit_
        assert limit is not None
        self.folder.manifest["outliers"] = {"marked": marked, **limit.to_dict()}

    def _nest(self, clusters: list[Cluster], labels: Ints) -> list[Cluster]:
        """The clusters with their parents, where there are levels; writes ``levels.json``."""
        texts, vectors, levels = self.corpus.texts, self.model.vectors_, self.options.levels
        if levels:
            self.hierarchy, nested = build_hierarchy(texts, labels, vectors, clusters, levels)
        elif self.options.wanted is None and len(clusters) > READABLE:
            seed = self.model.seed_
            self.hierarchy, nested = build_themes(texts, labels, vectors, clusters, seed=seed)
        else:
            return clusters
        write_json(self.folder.work / "levels.json", self.hierarchy.to_dict())
        return nested


class WholeResults(Results):
    """Results of a model that was fitted on all texts."""

    def write(self) -> None:
        """Write all files and mark the run as done."""
        model, corpus, path = self.model, self.corpus, self.folder.work
        if self.kept is not None:
            from coterie.editing.keep import keep

            keep(model, self.kept, corpus.texts)
            if "guidance" in self.folder.manifest:
                self.folder.manifest["guidance"]["numbers"] = self.kept.numbers
        probabilities, marked = model.probabilities_, self._mark_outliers()
        labels = np.where(marked, -1, model.labels_) if marked is not None else model.labels_
        clusters = self._nest(self._describe(labels, probabilities), labels)
        names = names_by_number(clusters, probabilities.shape[1])  # some may have no text
        columns = result_columns(
            model.labels_, probabilities, names, model.outlier_scores(), marked, self.hierarchy
        )
        odd = None if marked is None else int(marked.sum())
        summary = about_labels(labels, probabilities, len(clusters), odd)
        summary += [*about_model(model), *about_themes(self.hierarchy)]
        summary += self._about_choice()
        split = self.folder.manifest.get("split")
        if split is not None:
            summary.insert(0, split_sentence(split["rows"], len(corpus)))
        if "guidance" in self.folder.manifest:
            summary += guidance_sentences(self.folder.manifest["guidance"])
        if self.kept is not None:
            summary += self.kept.sentences
            self.folder.manifest["editing"] = self.kept.to_dict()
        write_json(path / "clusters.json", [cluster.to_dict() for cluster in clusters])
        self._write_tables(columns, clusters)
        if split is not None:
            write_sentence_rows(path, split, corpus.text_column)
        write_map(
            path / "map.json", model.vectors_, model.labels_, model.seed_, marked, corpus.texts
        )
        model.save(path / "model", include_encoder=self.options.include_encoder)
        self.folder.manifest |= {
            "status": "done",
            "finished": now(),
            **self._fitted(),
            **self._machine(),
            "summary": summary,
        }
        write_page(path, self.folder.manifest, clusters)
        self.folder.complete()

    def _write_tables(self, columns: dict[str, list[Any]], clusters: list[Cluster]) -> None:
        work, remarks = self.folder.work, self.folder.remarks
        for form in dict.fromkeys(["csv", *self.options.write]):
            remarks += write_rows(work / f"assignments.{form}", self.corpus.table, columns)
        if "xlsx" in self.options.write:
            remarks += write_clusters(work / "clusters.xlsx", clusters, self.hierarchy)

    def _describe(self, labels: Ints, probabilities: Floats) -> list[Cluster]:
        """Clusters with all that the table of the corpus tells about them."""
        model, corpus, kept = self.model, self.corpus, self.kept
        table = corpus.table
        date, categories = guess_columns(table, corpus.text_column, corpus.id_column)
        facts: dict[str, Any] = {
            "probabilities": probabilities,
            "dates": None if date is None else table.column(date),
            "columns": {name: table.column(name) for name in categories},
        }
        texts, vectors = corpus.texts, model.vectors_
        if kept is not None:
            found = describe_numbered(
                texts, labels, vectors, kept.names, topics=kept.topics, **facts
            )
            return kept.with_descriptions(found, texts, labels)
        topics = getattr(model, "topics_", None)  # only some methods find any
        if model.classes_:
            names = dict(enumerate(model.classes_))
            return describe_numbered(texts, labels, vectors, names, topics=topics, **facts)
        return describe(texts, labels, vectors, topics=topics, **facts)


class SampledResults(Results):
    """Describes the sample, then labels all rows; can be stopped and resumed between rows."""

    @property
    def rows(self) -> LargeTable:
        """All rows."""
        assert self.corpus.large is not None
        return self.corpus.large

    def write(self) -> None:
        """Describe the sample and save the model, unless that is done; then label all rows."""
        work, manifest = self.folder.work, self.folder.manifest
        resumed = "fitted" in manifest
        if resumed:
            clusters, self.hierarchy = read_clusters(work), read_levels(work)
        else:
            clusters = self._describe_sample()
        tally = self._label_all(clusters, resumed)
        clusters = self._recount(tally, clusters)
        write_places(work, self.model.seed_)
        for form in dict.fromkeys(self.options.write):
            if form != "csv":
                with GrowingTable(work / f"assignments.{form}") as table:
                    for part in joined(self.rows, work / "assignments.csv"):
                        table.write(*part)
        last = dict(manifest)  # the manifest itself stays as it is until all is written
        fitted = dict(last.pop("fitted"))
        summary = self._sentences(tally, clusters, fitted.pop("remarks"))
        last |= {"status": "done", "finished": now(), **fitted, **self._machine()}
        last["summary"] = summary
        write_page(work, last, clusters)
        self.folder.manifest = last
        self.folder.complete()

    def _describe_sample(self) -> list[Cluster]:
        model, work = self.model, self.folder.work
        marked = self._mark_outliers()
        labels = np.where(marked, -1, model.labels_) if marked is not None else model.labels_
        clusters = self._nest(self._describe(labels, model.probabilities_), labels)
        self._write_map(marked)
        model.save(work / "model", include_encoder=self.options.include_encoder)
        write_json(work / "clusters.json", [cluster.to_dict() for cluster in clusters])
        self.folder.manifest["fitted"] = {**self._fitted(), "remarks": about_model(model)}
        self.folder.write_manifest()
        return clusters

    def _describe(self, labels: Ints, probabilities: Floats) -> list[Cluster]:
        model = self.model
        topics = getattr(model, "topics_", None)
        return describe(
            self.corpus.texts, labels, model.vectors_, probabilities=probabilities, topics=topics
        )

    def _write_map(self, marked: Bools | None) -> None:
        """The texts of the sample on the map, each at its first row."""
        from sklearn import config_context

        model, found = self.model, self.rows.survey
        place = {text: i for i, text in reversed(list(enumerate(self.corpus.texts)))}
        rows = np.array([place[text] for text in found.texts])
        odd = None if marked is None else marked[rows]
        with config_context(working_memory=MAP_MEMORY):
            vectors, labels = model.vectors_[rows], model.labels_[rows]
            made = make_map(vectors, labels, model.seed_, odd, found.texts)
            save_placer(self.folder.work, vectors[made["rows"]], made, model.seed_)
        made |= {"rows": found.first[made["rows"]].tolist(), "total": found.filled}
        text = json.dumps(made, separators=(",", ":")) + "\n"
        write_text(self.folder.work / "map.json", text)

    def _label_all(self, clusters: Sequence[Cluster], resumed: bool) -> Tally:
        """Write ``assignments.csv`` and count; goes on where an earlier run stopped."""
        tally = Tally(self.rows.columns, BORDERLINE)
        file, corpus = self.folder.work / "assignments.csv", self.rows
        if resumed and file.exists():
            record_path(file).unlink(missing_ok=True)  # a kill may have come before
            for rows, columns in joined(corpus, file):
                tally.add(rows, columns)
            return tally
        labeller = Labeller(self.model, clusters, self.hierarchy)
        made_from = {"texts": corpus.survey.sha256, "started": self.folder.manifest["started"]}
        progress = make_progress(self.options.verbose)
        with GrowingTable(file, lambda: made_from, resume=resumed) as table:
            if table.rows:
                for rows, columns in joined(corpus, table.partial, table.rows):
                    tally.add(rows, columns)
            with ExitStack() as open_files:
                if (self.folder.work / PLACER).exists():
                    places = RowPlaces(self.folder.work, table.rows)
                    labeller.places = open_files.enter_context(places)
                open_files.enter_context(working(progress, "assign", len(self.corpus), table.rows))
                for rows, columns in label(corpus, labeller, table):
                    table.write(rows, columns)
                    tally.add(rows, columns)
                    progress.advance(table.rows)
        return tally

    def _recount(self, tally: Tally, clusters: Sequence[Cluster]) -> list[Cluster]:
        """The clusters and levels with the counts of all rows."""
        work, counted = self.folder.work, tally.apply(clusters)
        write_json(work / "clusters.json", [cluster.to_dict() for cluster in counted])
        if self.hierarchy is not None:
            both = zip(self.hierarchy.levels, self.hierarchy.above, strict=True)
            levels = [tally.nested(level, above) for level, above in both]
            self.hierarchy = replace(self.hierarchy, levels=levels)
            write_json(work / "levels.json", self.hierarchy.to_dict())
        if self.options.max_outliers is not None:
            self._note_outliers(tally.outliers)
        return counted

    def _sentences(
        self, tally: Tally, clusters: Sequence[Cluster], remarks: list[str]
    ) -> list[str]:
        found, placed = self.rows.survey, max(tally.placed, 1)
        out = [
            about_sizes(tally.placed, tally.rows, len(clusters), max(c.share for c in clusters)),
            about_confidence(tally.confidence / placed, tally.close_calls / placed, len(clusters)),
        ]
        if self.options.max_outliers is not None:
            out.append(about_outliers(tally.outliers, tally.placed + tally.outliers))
        out += [*remarks, *about_themes(self.hierarchy)]
        out.append(
            f"{len(found.texts):,} of the {found.distinct:,} different texts were clustered, and "
            "all rows were assigned to these clusters. Counts are of all rows; names, words and "
            "examples come from the texts that were clustered."
        )
        return out + self._about_choice()


def make_results(
    folder: RunFolder,
    options: Options,
    model: TextClusterer,
    corpus: Corpus,
    kept: Kept | None = None,
) -> Results:
    """What writes the results, for texts that were fitted whole or by a sample."""
    if corpus.large is None:
        return WholeResults(folder, options, model, corpus, kept)
    return SampledResults(folder, options, model, corpus, kept)


def joined(
    chunks: Iterable[Chunk], file: Path, most: int | None = None
) -> Iterator[tuple[pa.Table, dict[str, list[Any]]]]:
    """The input's rows beside the result columns of a table that was written for them.

    Of the table at most so many rows are read; default: all.
    """
    header = read_header(file)
    place = {name: header.index(column) for name, column in own_columns(header).items()}
    body = islice((row for part in table_parts(file) for row in table_rows(part)), most)
    for chunk in chunks:
        rows = list(islice(body, len(chunk)))
        if not rows:
            return
        columns = {name: [row[i] for row in rows] for name, i in place.items()}
        yield chunk.table.slice(0, len(rows)), columns


def about_model(model: TextClusterer) -> list[str]:
    """What the method itself wants to be known."""
    out = [*model.encoder_notes_, *model.history_.notes, *model.remarks()]
    if model.kept_start and model.guard_ is not None:
        out.append(
            f"The start guard rejected the training: {model.guard_.reason}. These are the "
            "clusters from before training."
        )
    return out
