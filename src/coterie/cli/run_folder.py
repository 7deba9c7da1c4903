"""The folder of one clustering run: what is in it, and that it is never half a run unsaid."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from coterie._errors import DataError, UsageError
from coterie._facts import hardware, peak_memory, versions
from coterie._files import read_json, write_json
from coterie._types import Floats
from coterie._validation import check_device
from coterie.base import TextClusterer
from coterie.corpus import Corpus, write_rows
from coterie.description import Cluster, describe, guess_columns
from coterie.report import read_run, without_texts, write_map, write_report

BORDERLINE = 0.1  # a margin below this is a close call
NO_CLUSTER = "(no text)"


class RunFolder:
    """Writes ``manifest.json`` first and last, and everything else in between."""

    def __init__(self, path: Path, method: str, model: TextClusterer, corpus: Corpus) -> None:
        self.path, self.method, self.model, self.corpus = path, method, model, corpus
        self.summary: list[str] = []
        self.choice: dict[str, Any] | None = None  # of the number of clusters, if it was found
        self.manifest: dict[str, Any] = {
            "status": "running",
            "started": _now(),
            "method": method,
            "parameters": _parameters(model),
            "data": {
                "rows": len(corpus),
                "text_column": corpus.text_column,
                "sha256": corpus.sha256,
                "notes": [note.message for note in corpus.notes],
            },
            "versions": versions(),
        }

    def begin(self, *, resume: bool, overwrite: bool) -> str:
        """Claim the folder; returns "new", "resumed" or "done"."""
        earlier = self._earlier()
        if earlier is not None and resume:
            self._check_same(earlier)
            if earlier["status"] == "done":
                return "done"
            self.manifest["started"] = earlier["started"]
        elif self.path.exists() and any(self.path.iterdir()):
            if earlier is None:
                raise UsageError(
                    f"--out {self.path} is not empty and holds no run; choose another folder."
                )
            if not overwrite:
                done = earlier["status"] == "done"
                raise UsageError(
                    f"--out {self.path} holds a run ({earlier['status']}); "
                    + ("" if done else "--resume continues it, ")
                    + "--overwrite replaces it."
                )
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._write_manifest()
        return "new" if earlier is None or not resume else "resumed"

    def interrupted(self) -> None:
        """Say in the manifest that the run was stopped."""
        self.manifest["status"] = "interrupted"
        self._write_manifest()

    def finish(self, *, include_encoder: bool) -> list[Cluster]:
        """Write all results and mark the run as done."""
        model, corpus, path = self.model, self.corpus, self.path
        probabilities = model.probabilities_
        clusters = self._describe(probabilities)
        columns = assignment_columns(model.labels_, probabilities, [c.name for c in clusters])
        self.summary = _sentences(model, probabilities, clusters)
        if self.choice is not None:
            self.summary.append(self.choice["reason"])
        write_rows(path / "assignments.csv", corpus.table, columns)
        write_json(path / "clusters.json", [cluster.to_dict() for cluster in clusters])
        write_map(path / "map.json", model.vectors_, model.labels_, model.seed_)
        model.save(path / "model", include_encoder=include_encoder)
        device = str(check_device(model.device))
        self.manifest |= {
            "status": "done",
            "finished": _now(),
            "seed": model.seed_,
            "guard": model.guard_.to_dict() if model.guard_ is not None else None,
            "seconds": model.seconds_,
            "hardware": hardware(device),
            "peak_memory": peak_memory(device),
            "summary": self.summary,
            "number_of_clusters": self.choice,
        }
        write_page(path, self.manifest, clusters)
        self._write_manifest()
        shutil.rmtree(path / "checkpoint", ignore_errors=True)
        return clusters

    def _describe(self, probabilities: Floats) -> list[Cluster]:
        """Clusters with all that the table of the corpus tells about them."""
        model, corpus = self.model, self.corpus
        table = corpus.table
        date, categories = guess_columns(table, corpus.text_column, corpus.id_column)
        return describe(
            corpus.texts,
            model.labels_,
            model.vectors_,
            probabilities=probabilities,
            dates=None if date is None else table.column(date),
            columns={name: table.column(name) for name in categories},
            topics=getattr(model, "topics_", None),  # only some methods find any
        )

    def _earlier(self) -> dict[str, Any] | None:
        file = self.path / "manifest.json"
        return dict(read_json(file)) if file.exists() else None

    def _check_same(self, earlier: dict[str, Any]) -> None:
        for key in ("method", "parameters"):
            if earlier[key] != self.manifest[key]:
                raise UsageError(
                    f"--resume: the run in {self.path} has other settings ({key}: "
                    f"{_difference(earlier[key], self.manifest[key])}); repeat the same command."
                )
        if earlier["data"]["sha256"] != self.manifest["data"]["sha256"]:
            raise DataError(f"--resume: the texts differ from those of the run in {self.path}.")

    def _write_manifest(self) -> None:
        write_json(self.path / "manifest.json", self.manifest)


def assignment_columns(
    labels: Any, probabilities: Floats, names: list[str]
) -> dict[str, list[Any]]:
    """The columns cluster, name, confidence, runner_up and margin."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    rows = np.arange(len(labels))
    best = probabilities[rows, order[:, 0]]
    second = order[:, 1] if probabilities.shape[1] > 1 else np.full(len(labels), -1)
    margin = best - (probabilities[rows, second] if probabilities.shape[1] > 1 else 0.0)
    empty = labels < 0
    return {
        "cluster": [int(label) for label in labels],
        "name": [names[label] if label >= 0 else NO_CLUSTER for label in labels],
        "confidence": [round(float(value), 4) for value in best],
        "runner_up": [None if gone else int(r) for r, gone in zip(second, empty, strict=True)],
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


def _sentences(model: TextClusterer, probabilities: Floats, clusters: list[Cluster]) -> list[str]:
    placed = model.labels_ >= 0
    top = np.sort(probabilities[placed], axis=1)[:, ::-1]
    margin = top[:, 0] - (top[:, 1] if top.shape[1] > 1 else 0.0)
    close = float((margin < BORDERLINE).mean())
    out = [
        f"{int(placed.sum()):,} of {len(placed):,} texts are in {len(clusters)} clusters; the "
        f"largest holds {100 * clusters[0].share:.0f} %.",
        f"Mean confidence is {float(top[:, 0].mean()):.2f}; {100 * close:.0f} % of the texts are "
        "close calls between two clusters.",
    ]
    out += model.remarks()
    if model.kept_start and model.guard_ is not None:
        out.append(
            f"The start guard stepped in: {model.guard_.reason}. These are the clusters before "
            "training."
        )
    return out


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
    return ", ".join(f"{key}={a.get(key)} there, {b.get(key)} now" for key in sorted(keys))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
