"""The folder of one clustering run: what is in it, and that it is never half a run unsaid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie._errors import CoterieError, DataError, UsageError, param
from coterie._facts import hardware, peak_memory, versions
from coterie._files import write_json
from coterie._folders import check_replaceable
from coterie._runs import NEXT, replace_run, seal
from coterie._types import Bools, Floats, Ints
from coterie._validation import check_device
from coterie.base import TextClusterer
from coterie.cli.claim import (
    check_there,
    drop_checkpoints,
    has_progress,
    is_void,
    read_manifest,
    refuse_taken,
    sweep,
    withdraw,
)
from coterie.cli.handover import Plan, add_columns
from coterie.cli.summary import about_themes, summarize
from coterie.corpus import Corpus, write_rows
from coterie.description import (
    Cluster,
    describe,
    describe_numbered,
    guess_columns,
    names_by_number,
)
from coterie.exports import write_clusters
from coterie.hierarchy import READABLE, Hierarchy, build_hierarchy, build_themes
from coterie.report import read_run, without_texts, write_map, write_report

if TYPE_CHECKING:
    from coterie.editing.keep import Kept

NO_CLUSTER = "(no text)"


class RunFolder:
    """Writes ``manifest.json`` first and last, and everything else in between.

    A run that replaces an earlier one grows in a folder of its own, :attr:`work`, and takes the
    place of the earlier one when it is finished; until then that stays as it is.
    """

    def __init__(
        self,
        path: Path,
        method: str,
        model: TextClusterer,
        corpus: Corpus,
        plan: Plan | None = None,
    ) -> None:
        self.path, self.method, self.model, self.corpus = path, method, model, corpus
        self.work = path
        self.plan = plan or Plan()
        self.themes = False  # whether to group the clusters into broad themes
        self.hierarchy: Hierarchy | None = None
        self.remarks: list[str] = []  # about single files, in sentences
        self.summary: list[str] = []
        self.choice: dict[str, Any] | None = None  # of the number of clusters, if it was found
        self.kept: Kept | None = None  # of an earlier run
        self.fitted = False  # whether an earlier run got that far
        self.manifest: dict[str, Any] = {
            "status": "running",
            "started": now(),
            "method": method,
            "parameters": _parameters(model),
            "handover": self.plan.to_dict(),
            "data": {
                "rows": len(corpus),
                "text_column": corpus.text_column,
                "id_column": corpus.id_column,
                "sha256": corpus.sha256,
                "notes": [note.message for note in corpus.notes],
            },
            "versions": versions(),
        }

    def locate(self, *, resume: bool, overwrite: bool) -> None:
        """Find where the run grows; the same in all processes of one run."""
        if not resume:
            self.work = self.path / NEXT if overwrite or is_void(self.path) else self.path
            return
        found = {place: read_manifest(place) for place in (self.path / NEXT, self.path)}
        reasons: list[CoterieError] = []
        for self.work, earlier in found.items():
            if earlier is None or "clearing" in earlier:  # half deleted by version 0.1
                continue
            try:
                self._check_same(earlier)
                return
            except CoterieError as error:
                reasons.append(error)
        if reasons:
            raise reasons[0]
        self.work = self.path if found[self.path] is None else self.path / NEXT

    def begin(self, *, resume: bool, overwrite: bool) -> str:
        """Claim the folder; returns "new", "resumed" or "done"."""
        earlier = read_manifest(self.work) if resume else None
        if earlier is None:
            refuse_taken(self.path, resume=resume, overwrite=overwrite)
            if self.work != self.path:
                check_replaceable(self.path)
                withdraw(self.work)
        elif earlier["status"] == "done":
            drop_checkpoints(self.path)  # a kill may have come before they were deleted
            return "done"
        else:
            self.manifest["started"] = earlier.get("started", self.manifest["started"])
        self.work.mkdir(parents=True, exist_ok=True)
        sweep(self.work)
        self._write_manifest()
        return "new" if earlier is None else "resumed"

    def is_done(self) -> bool:
        """Whether the folder holds a finished run."""
        return (read_manifest(self.work) or {}).get("status") == "done"

    def keep(self, run: Path | None) -> None:
        """Take numbers, names and locks from an earlier run, which this one may replace."""
        if run is not None:
            from coterie.editing.keep import read_kept

            self.kept = read_kept(run, self.corpus.texts)

    def stopped(self, status: str, reason: str) -> None:
        """Say in the manifest how the run came to an early end: "interrupted" or "failed".

        A run that failed with nothing to go on with leaves nothing behind.
        """
        if status == "failed" and not has_progress(self.work, self.manifest):
            withdraw(self.work)
            return
        self.manifest |= {"status": status, "reason": reason}
        self._write_manifest()

    def _complete(self) -> None:
        """Say that the run is done, and put it into its place."""
        check_there(self.work)
        if self.work == self.path:
            seal(self.path, self.manifest)
        else:
            changed = replace_run(self.path, self.work, self.manifest)
            self.work = self.path
            if changed:
                self.remarks.append(
                    f"Changed by hand since coterie wrote them, so kept in {self.path}/kept*: "
                    + ", ".join(changed)
                )
        drop_checkpoints(self.path)

    def finish(self, *, include_encoder: bool) -> list[Cluster]:
        """Write all results and mark the run as done."""
        model, corpus, path = self.model, self.corpus, self.work
        if self.kept is not None:
            from coterie.editing.keep import keep

            keep(model, self.kept, corpus.texts)
        probabilities, marked = model.probabilities_, self._mark_outliers()
        labels = np.where(marked, -1, model.labels_) if marked is not None else model.labels_
        clusters = self._nest(self._describe(labels, probabilities), labels)
        names = names_by_number(clusters, probabilities.shape[1])  # some may have no text
        columns = assignment_columns(model.labels_, probabilities, names)
        columns = add_columns(columns, model.outlier_scores(), marked, self.hierarchy)
        self.summary = [
            *summarize(model, labels, probabilities, clusters),
            *about_themes(self.hierarchy),
        ]
        if self.choice is not None:
            self.summary.append(self.choice["reason"])
        if self.kept is not None:
            self.summary += self.kept.sentences
            self.manifest["editing"] = self.kept.to_dict()
        write_json(path / "clusters.json", [cluster.to_dict() for cluster in clusters])
        self._write_tables(columns, clusters)
        write_map(path / "map.json", model.vectors_, model.labels_, model.seed_, marked)
        model.save(path / "model", include_encoder=include_encoder)
        device = str(check_device(model.device))
        self.manifest |= {
            "status": "done",
            "finished": now(),
            "seed": model.seed_,
            "guard": model.guard_.to_dict() if model.guard_ is not None else None,
            "seconds": model.seconds_,
            "hardware": hardware(device),
            "peak_memory": peak_memory(device),
            "summary": self.summary,
            "number_of_clusters": self.choice,
        }
        write_page(path, self.manifest, clusters)
        self._complete()
        return clusters

    def _mark_outliers(self) -> Bools | None:
        """Which texts are outliers; None if none were asked for."""
        if self.plan.max_outliers is None:
            return None
        marked = self.model.mark_outliers(self.plan.max_outliers)
        limit = self.model.outlier_limit_
        assert limit is not None
        self.manifest["outliers"] = {"marked": int(marked.sum()), **limit.to_dict()}
        return marked

    def _nest(self, clusters: list[Cluster], labels: Ints) -> list[Cluster]:
        """The clusters with their parents, where there are levels; writes ``levels.json``."""
        texts, vectors = self.corpus.texts, self.model.vectors_
        if self.plan.levels:
            self.hierarchy, nested = build_hierarchy(
                texts, labels, vectors, clusters, self.plan.levels
            )
        elif self.themes and len(clusters) > READABLE:
            self.hierarchy, nested = build_themes(
                texts, labels, vectors, clusters, seed=self.model.seed_
            )
        else:
            return clusters
        write_json(self.work / "levels.json", self.hierarchy.to_dict())
        return nested

    def _write_tables(self, columns: dict[str, list[Any]], clusters: list[Cluster]) -> None:
        for form in dict.fromkeys(["csv", *self.plan.formats]):
            file = self.work / f"assignments.{form}"
            self.remarks += write_rows(file, self.corpus.table, columns)
        if "xlsx" in self.plan.formats:
            self.remarks += write_clusters(self.work / "clusters.xlsx", clusters, self.hierarchy)

    def _describe(self, labels: Ints, probabilities: Floats) -> list[Cluster]:
        """Clusters with all that the table of the corpus tells about them."""
        model, corpus = self.model, self.corpus
        table = corpus.table
        date, categories = guess_columns(table, corpus.text_column, corpus.id_column)
        facts: dict[str, Any] = {
            "probabilities": probabilities,
            "dates": None if date is None else table.column(date),
            "columns": {name: table.column(name) for name in categories},
        }
        texts, vectors, kept = corpus.texts, model.vectors_, self.kept
        if kept is not None:
            return describe_numbered(
                texts, labels, vectors, kept.names, topics=kept.topics, **facts
            )
        topics = getattr(model, "topics_", None)  # only some methods find any
        return describe(texts, labels, vectors, topics=topics, **facts)

    def _check_same(self, earlier: dict[str, Any]) -> None:
        for key in ("method", "parameters", "handover"):
            before = earlier.get(key, self.manifest[key])
            if before != self.manifest[key]:
                raise UsageError(
                    f"--resume: the run in {self.path} has other settings ({key}: "
                    f"{_difference(before, self.manifest[key])}); repeat the same command."
                )
        if earlier.get("data", {}).get("sha256") != self.manifest["data"]["sha256"]:
            raise DataError(f"--resume: the texts differ from those of the run in {self.path}.")

    def _write_manifest(self) -> None:
        write_json(self.work / "manifest.json", self.manifest)


def assignment_columns(
    labels: Any, probabilities: Floats, names: Sequence[str | None]
) -> dict[str, list[Any]]:
    """The columns cluster, name, confidence, runner_up and margin; names by number."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    rows = np.arange(len(labels))
    best = probabilities[rows, order[:, 0]]
    second = order[:, 1] if probabilities.shape[1] > 1 else np.full(len(labels), -1)
    margin = best - (probabilities[rows, second] if probabilities.shape[1] > 1 else 0.0)
    empty = labels < 0
    return {
        "cluster": [int(label) for label in labels],
        "name": [
            (names[label] or f"Cluster {label}") if label >= 0 else NO_CLUSTER for label in labels
        ],
        "confidence": [round(float(value), 4) for value in best],
        "runner_up": [
            None if gone or names[r] is None else int(r)
            for r, gone in zip(second, empty, strict=True)
        ],
        "margin": [round(float(value), 4) for value in margin],
    }


def write_page(
    path: Path, manifest: dict[str, Any], clusters: list[Cluster], *, texts: bool = True
) -> Path:
    """Write the page from what the other files of the folder hold, with or without the texts."""
    data = read_run(path, manifest, clusters)
    file = path / ("report.html" if texts else "report-no-texts.html")
    write_report(file, data if texts else without_texts(data))
    return file


def _parameters(model: TextClusterer) -> dict[str, Any]:
    """Parameters that decide the result, as JSON reads them back."""
    skip = {"verbose", "checkpoint", "checkpoint_every", "device"}
    out: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if name not in skip:
            simple = isinstance(value, (str, int, float, bool, type(None)))
            out[name] = value if simple else str(value)
    return out


def _difference(a: Any, b: Any) -> str:
    if not isinstance(a, dict) or not isinstance(b, dict):
        return f"{a} there, {b} now"
    keys = [key for key in {*a, *b} if a.get(key) != b.get(key)]
    return ", ".join(f"{param(key)}: {a.get(key)} there, {b.get(key)} now" for key in sorted(keys))


def now() -> str:
    """The time in a manifest."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
