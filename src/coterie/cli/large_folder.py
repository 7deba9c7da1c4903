"""The folder of a run whose method saw a sample, and whose table holds all rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie._errors import UsageError
from coterie._facts import hardware, peak_memory
from coterie._files import write_json, write_text
from coterie._progress import make_progress, working
from coterie._types import Floats, Ints
from coterie._validation import check_device
from coterie.cli.claim import read_manifest
from coterie.cli.labelling import Labeller, label
from coterie.cli.large import LargeCorpus
from coterie.cli.run_folder import RunFolder, now, write_page
from coterie.cli.summary import (
    BORDERLINE,
    about_confidence,
    about_model,
    about_outliers,
    about_sizes,
    about_themes,
)
from coterie.corpus import Chunk
from coterie.corpus.growing import GrowingTable
from coterie.description import Cluster, describe
from coterie.description.tally import Tally
from coterie.methods import load
from coterie.report import own_columns
from coterie.report.folder import make_map
from coterie.report.skim import reading
from coterie.run_files import model_folder, read_clusters, read_levels

MAP_MEMORY = 128  # megabytes of distances at a time; by default it would be eight times that
WHOLE = re.compile(r"cluster|runner_up|nearest_cluster|level_\d+|theme")
NUMBER = {"confidence", "margin", "outlier_score"}


class LargeFolder(RunFolder):
    """Describes the sample, then labels all rows; can be stopped and continued between rows."""

    corpus: LargeCorpus  # type: ignore[assignment]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        found = self.corpus.survey
        self.manifest["fit_sample"] = len(found.texts)
        self.manifest["data"] |= {"texts": found.filled, "different_texts": found.distinct}

    def begin(self, *, resume: bool, overwrite: bool) -> str:
        earlier = (read_manifest(self.work) if resume else None) or {}
        if "fitted" in earlier:  # before the manifest is written anew
            self.manifest |= {key: earlier[key] for key in ("fitted", "number_of_clusters")}
        state = super().begin(resume=resume, overwrite=overwrite)
        if state == "resumed" and "fitted" in self.manifest:
            verbose = self.model.verbose
            self.model, self.fitted = load(model_folder(self.work)), True
            self.model.verbose = verbose
        return state

    def finish(self, *, include_encoder: bool) -> list[Cluster]:
        """Describe the sample and save the model, unless that is done; then label all rows."""
        if self.fitted:
            clusters, self.hierarchy = read_clusters(self.work), read_levels(self.work)
        else:
            clusters = self._describe_sample(include_encoder)
        tally = self._label_all(clusters)
        clusters = self._recount(tally, clusters)
        self._write_other_tables()
        last = dict(self.manifest)  # the manifest itself stays as it is until all is written
        fitted = dict(last.pop("fitted"))
        self.summary = self._sentences(tally, clusters, fitted.pop("remarks"))
        device = str(check_device(self.model.device))
        last |= {
            "status": "done",
            "finished": now(),
            **fitted,
            "hardware": hardware(device),
            "peak_memory": peak_memory(device),
            "summary": self.summary,
        }
        write_page(self.work, last, clusters)
        self.manifest = last
        self._complete()
        return clusters

    def _describe_sample(self, include_encoder: bool) -> list[Cluster]:
        model = self.model
        marked = self._mark_outliers()
        labels = np.where(marked, -1, model.labels_) if marked is not None else model.labels_
        clusters = self._nest(self._describe(labels, model.probabilities_), labels)
        self._write_map(marked)
        model.save(self.work / "model", include_encoder=include_encoder)
        write_json(self.work / "clusters.json", [cluster.to_dict() for cluster in clusters])
        self.manifest |= {
            "fitted": {
                "seed": model.seed_,
                "guard": model.guard_.to_dict() if model.guard_ is not None else None,
                "seconds": model.seconds_,
                "remarks": about_model(model),
            },
            "number_of_clusters": self.choice,
        }
        self._write_manifest()
        return clusters

    def _describe(self, labels: Ints, probabilities: Floats) -> list[Cluster]:
        model = self.model
        topics = getattr(model, "topics_", None)
        return describe(
            self.corpus.texts, labels, model.vectors_, probabilities=probabilities, topics=topics
        )

    def _write_map(self, marked: Any) -> None:
        """The texts of the sample on the map, each at its first row."""
        from sklearn import config_context

        model, found = self.model, self.corpus.survey
        place = {text: i for i, text in reversed(list(enumerate(self.corpus.texts)))}
        rows = np.array([place[text] for text in found.texts])
        odd = None if marked is None else marked[rows]
        with config_context(working_memory=MAP_MEMORY):
            made = make_map(model.vectors_[rows], model.labels_[rows], model.seed_, odd)
        made |= {"rows": found.first[made["rows"]].tolist(), "total": found.filled}
        write_text(self.work / "map.json", json.dumps(made, separators=(",", ":")) + "\n")

    def _label_all(self, clusters: Sequence[Cluster]) -> Tally:
        """Write ``assignments.csv`` and count; goes on where an earlier run stopped."""
        tally = Tally(self.corpus.kinds, BORDERLINE)
        file, corpus = self.work / "assignments.csv", self.corpus
        if self.fitted and file.exists():
            for rows, columns in joined(corpus, file):
                tally.add(rows, columns)
            return tally
        labeller = Labeller(self.model, clusters, self.hierarchy)
        made_from = {"texts": corpus.sha256, "started": self.manifest["started"]}
        progress = make_progress(self.model.verbose)
        with GrowingTable(file, lambda: made_from, resume=self.fitted) as table:
            if table.rows:
                for rows, columns in joined(corpus, table.partial, table.rows):
                    tally.add(rows, columns)
            with working(progress, "assign", len(corpus), table.rows):
                for rows, columns in label(corpus, labeller, table):
                    table.write(rows, columns)
                    tally.add(rows, columns)
                    progress.advance(table.rows)
        return tally

    def _recount(self, tally: Tally, clusters: Sequence[Cluster]) -> list[Cluster]:
        """The clusters and levels with the counts of all rows."""
        counted = tally.apply(clusters)
        write_json(self.work / "clusters.json", [cluster.to_dict() for cluster in counted])
        if self.hierarchy is not None:
            both = list(zip(self.hierarchy.levels, self.hierarchy.above, strict=True))
            levels = [tally.nested(level, above) for level, above in both]
            self.hierarchy = replace(self.hierarchy, levels=levels)
            write_json(self.work / "levels.json", self.hierarchy.to_dict())
        if self.plan.max_outliers is not None:
            limit = self.model.outlier_limit_
            assert limit is not None
            self.manifest["outliers"] = {"marked": tally.outliers, **limit.to_dict()}
        return counted

    def _write_other_tables(self) -> None:
        for form in dict.fromkeys(self.plan.formats):
            if form != "csv":
                with GrowingTable(self.work / f"assignments.{form}") as table:
                    for part in joined(self.corpus, self.work / "assignments.csv"):
                        table.write(*part)

    def _sentences(
        self, tally: Tally, clusters: Sequence[Cluster], remarks: list[str]
    ) -> list[str]:
        found, placed = self.corpus.survey, max(tally.placed, 1)
        out = [
            *about_sizes(tally.placed, tally.rows, clusters),
            about_confidence(tally.confidence / placed, tally.close_calls / placed),
        ]
        if self.plan.max_outliers is not None:
            out.append(about_outliers(tally.outliers, tally.placed + tally.outliers))
        out += [*remarks, *about_themes(self.hierarchy)]
        out.append(
            f"{len(found.texts):,} of the {found.distinct:,} different texts were clustered, and "
            "all rows put into those clusters. Counts are of all rows; names, words, examples and "
            "the map come from the texts that were clustered."
        )
        choice = self.manifest["number_of_clusters"]
        return out if choice is None else [*out, choice["reason"]]

    def _check_same(self, earlier: dict[str, Any]) -> None:
        super()._check_same(earlier)
        before, now_ = earlier.get("fit_sample"), self.manifest["fit_sample"]
        if before != now_:
            raise UsageError(
                f"--resume: the run in {self.work} was fitted on "
                f"{'all' if before is None else format(before, ',')} texts, not {now_:,}; repeat "
                "the same command."
            )


def joined(
    chunks: Iterable[Chunk], file: Path, most: int | None = None
) -> Iterator[tuple[pa.Table, dict[str, list[Any]]]]:
    """The input's rows beside the result columns of a table that was written for them.

    Parameters
    ----------
    chunks : iterable of Chunk
    file : Path
    most : int, optional
        Rows to read of the table; default: all.
    """
    with reading(file) as (header, body):
        body = islice(body, most)
        place = {name: header.index(column) for name, column in own_columns(header).items()}
        for chunk in chunks:
            rows = list(islice(body, len(chunk)))
            if not rows:
                return
            columns = {n: [read_cell(n, row[i]) for row in rows] for n, i in place.items()}
            yield chunk.table.slice(0, len(rows)), columns


def read_cell(name: str, cell: str) -> Any:
    """A value of a result column.

    Examples
    --------
    >>> read_cell("cluster", "-1"), read_cell("margin", "0.25"), read_cell("runner_up", "")
    (-1, 0.25, None)
    """
    if WHOLE.fullmatch(name):
        return int(cell) if cell else None
    if name in NUMBER:
        return float(cell) if cell else None
    return cell
