"""Running a suite: resumable, one JSON line per run, labels used for scoring alone."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coterie._facts import hardware, peak_memory, versions
from coterie._files import plain
from coterie._validation import check_device
from coterie.base import TextClusterer
from coterie.bench.entries import Entry, Suite
from coterie.bench.speed import step_ms
from coterie.datasets import PAIRS, find_pairs, load_dataset, sample
from coterie.methods import METHODS, make_method
from coterie.metrics import external_scores, silhouette

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Data:
    """Texts and labels of one data set; rows with no theme are left out of the scores."""

    name: str
    sha256: str
    texts: list[str]
    labels: list[str]
    n_clusters: int
    scored: Any


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user may set from outside for all runs of a suite."""

    data: Path | None = None
    encoder: str | None = None
    device: str = "auto"
    parameters: dict[str, Any] | None = None
    verbose: int = 0


def load_data(name: str, folder: Path | None) -> Data:
    """A benchmark, or the bundled sample."""
    if name == "sample":
        corpus = sample()
        labels = [str(label) for label in corpus.table.column("theme").to_pylist()]
        scored = np.array([label != "none" for label in labels])
        return Data(name, corpus.sha256, corpus.texts, labels, 17, scored)
    dataset = load_dataset(name, folder)
    everything = np.ones(len(dataset.texts), dtype=bool)
    return Data(name, dataset.card.sha256, dataset.texts, dataset.labels,
                dataset.card.classes, everything)  # fmt: skip


def run_suite(
    suite: Suite,
    file: Path,
    options: Options,
    *,
    seeds: Iterable[int] | None = None,
    tell: Callable[[str], None] = log.info,
) -> list[dict[str, Any]]:
    """Run what ``file`` does not hold yet and append a line per run; return all its lines."""
    done = {_key(row) for row in read_results([file])} if file.exists() else set()
    file.parent.mkdir(parents=True, exist_ok=True)
    for name, entry, seed in _plan(suite, seeds):
        data = load_data(name, options.data)
        model = make(entry, data, seed, options)
        row = _head(entry, model, data, seed)
        if _key(row) in done:
            continue
        row |= run_one(model, data, options)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, default=plain) + "\n")
        scores = row["scores"]
        tell(f"{entry.label} on {name}, seed {seed}: ACC {100 * scores['acc']:.1f}, "
             f"NMI {100 * scores['nmi']:.1f}, {sum(row['seconds'].values()):.0f} s")  # fmt: skip
    return read_results([file])


def make(entry: Entry, data: Data, seed: int, options: Options) -> TextClusterer:
    """The estimator of an entry for one data set."""
    own = entry.by_dataset.get(data.name, {})
    parameters = {**entry.parameters, **own, **(options.parameters or {})}
    kind = next((kind for kind in entry.views if (data.name, kind) in PAIRS), None)
    if kind is not None:
        parameters["views"] = str(find_pairs(data.name, kind, options.data))
    if options.encoder is not None and "encoder" not in parameters:
        if "encoder" not in METHODS[entry.method].parameters:
            parameters["encoder"] = options.encoder
    parameters |= {"random_state": seed, "device": options.device, "verbose": options.verbose}
    model: TextClusterer = make_method(entry.method, data.n_clusters, entry.preset, **parameters)
    return model


def run_one(model: TextClusterer, data: Data, options: Options) -> dict[str, Any]:
    """Fit on the texts alone, then score."""
    begun = time.perf_counter()
    model.fit(data.texts)
    total = time.perf_counter() - begun
    device = str(check_device(options.device))
    truth = np.asarray(data.labels)[data.scored]
    final, start = model.labels_[data.scored], model.start_labels_[data.scored]
    trained = model.trained_labels_
    scores = external_scores(truth, final)
    scores["silhouette"] = silhouette(model.vectors_[data.scored], final)
    verdict = model.guard_.to_dict() if model.guard_ is not None else None
    return {
        "scores": {k: round(v, 5) for k, v in scores.items()}
        | {"n_clusters_used": len(np.unique(final))},
        "start_scores": {k: round(v, 5) for k, v in external_scores(truth, start).items()},
        "trained_scores": None
        if trained is None
        else {k: round(v, 5) for k, v in external_scores(truth, trained[data.scored]).items()},
        "signs": None if verdict is None else {k: verdict[k] for k in ("start", "final")},
        "guard": None if verdict is None else {k: verdict[k] for k in ("fired", "reason")},
        "seconds": model.seconds_ | {"other": round(total - sum(model.seconds_.values()), 3)},
        "step_ms": step_ms(model.history_.rows),
        "peak_memory": peak_memory(device),
        "hardware": hardware(device),
        "versions": versions(),
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def read_results(files: Iterable[Path]) -> list[dict[str, Any]]:
    """All lines of result files."""
    lines = (line for file in files for line in file.read_text("utf-8").splitlines())
    return [json.loads(line) for line in lines if line.strip()]


def _plan(suite: Suite, seeds: Iterable[int] | None) -> Iterator[tuple[str, Entry, int]]:
    chosen = list(seeds) if seeds is not None else list(range(suite.seeds))
    for name in suite.datasets:
        for entry in suite.entries:
            for seed in chosen:
                yield name, entry, seed


def _head(entry: Entry, model: TextClusterer, data: Data, seed: int) -> dict[str, Any]:
    skip = {"device", "verbose", "checkpoint", "checkpoint_every", "random_state"}
    parameters = {k: v for k, v in model.get_params(deep=False).items() if k not in skip}
    # A path says where a file lay on one machine; its name is what matters.
    for key in ("encoder", "views"):
        if key in parameters and isinstance(parameters[key], str):
            parameters[key] = Path(parameters[key]).name
    return {
        "label": entry.label,
        "method": entry.method,
        "preset": entry.preset,
        "parameters": parameters,
        "dataset": data.name,
        "dataset_sha256": data.sha256,
        "seed": seed,
    }


def _key(row: dict[str, Any]) -> str:
    keys = ("label", "method", "preset", "parameters", "dataset", "dataset_sha256", "seed")
    return json.dumps({key: row[key] for key in keys}, sort_keys=True, default=plain)


def _commit() -> str | None:
    """Commit of the checkout the code runs from; a copy without one is told by COTERIE_COMMIT."""
    if told := os.environ.get("COTERIE_COMMIT"):
        return told
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],
            cwd=here, capture_output=True, text=True, check=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
