"""How fast texts become vectors: coterie beside ``SentenceTransformer.encode`` at its defaults.

    coterie-bench encode --static FOLDER    # takes all ways in turns and adds lines
    coterie-bench encode --table            # prints the table

Each round runs every way once, so that all meet the same machine; a ratio is one of medians over
the rounds. Two are taken: by the clock, and by processor time, which other programs on the machine
disturb less. Nothing is read from or kept on disk. ``cosine`` is the lowest between a text's vector
and the one of the library, ``scores`` are means of k-means with the true number of clusters, five
seeds. Both read the same number of tokens.
"""

from __future__ import annotations

import os
import statistics
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from coterie import TwoStep, sample
from coterie.encoders import DEFAULT, load_encoder, no_cache
from coterie.encoders.load import locate
from coterie.metrics import accuracy, nmi
from coterie_bench.datasets import load_dataset
from coterie_bench.experiments import lines

SEEDS = 5  # of k-means
LIBRARY = "sentence-transformers"
PRECISIONS = {"float32": "coterie", "bfloat16": "coterie, bfloat16", "int8": "coterie, 8 bits"}
Way = Callable[[list[str]], Any]


def cases(options: Namespace) -> list[lines.Row]:
    return [{"dataset": name} for name in options.sets]


def measure(key: lines.Row, options: Namespace) -> list[lines.Row]:
    """A line for each way."""
    texts, truth = read(key["dataset"], options.texts, options.data)
    with no_cache():
        return compare(make_ways(options.static), texts, truth, options.rounds)


def make_ways(static: str | None) -> dict[str, Way]:
    """Functions from texts to vectors."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(locate(DEFAULT)), device="cpu")
    read_as_far = {"max_length": model.max_seq_length}  # else the shorter reading would be faster
    ways: dict[str, Way] = {LIBRARY: lambda texts: model.encode(texts, show_progress_bar=False)}
    for precision, label in PRECISIONS.items():
        encoder = load_encoder(DEFAULT, **read_as_far)
        encoder.encode_precision = precision
        if encoder.precision_here() == precision:
            ways[label] = _coterie(encoder)
    if static:
        ways["coterie, static"] = _coterie(load_encoder(f"static:{static}", **read_as_far))
    return ways


def _coterie(encoder: Any) -> Way:
    def go(texts: list[str]) -> Any:
        items, rows = encoder.prepare(texts)
        return encoder.encode(items)[rows]

    return go


def read(name: str, n: int, folder: Path | None) -> tuple[list[str], list[Any]]:
    """At most ``n`` texts, drawn at random, and their true labels."""
    corpus = sample() if name == "sample" else load_dataset(name, folder)
    labels = corpus.table["theme"].to_pylist() if name == "sample" else list(corpus.labels)
    kept = [(t, y) for t, y in zip(corpus.texts, labels, strict=True) if t and y is not None]
    picks = np.random.default_rng(0).permutation(len(kept))[:n]
    return [kept[i][0] for i in picks], [kept[i][1] for i in picks]


def compare(
    ways: dict[str, Way], texts: list[str], truth: list[Any], rounds: int
) -> list[dict[str, Any]]:
    """A row per way."""
    clock: dict[str, list[float]] = {label: [] for label in ways}
    processor: dict[str, list[float]] = {label: [] for label in ways}
    made: dict[str, Any] = {label: way(texts[:64]) for label, way in ways.items()}  # warm up
    load = os.getloadavg()[0]
    for _ in range(rounds):
        for label, way in ways.items():
            begun, used = time.perf_counter(), time.process_time()
            made[label] = way(texts)
            clock[label].append(time.perf_counter() - begun)
            processor[label].append(time.process_time() - used)
    took = {label: statistics.median(values) for label, values in clock.items()}
    worked = {label: statistics.median(values) for label, values in processor.items()}
    return [
        {
            "label": label,
            "n_texts": len(texts),
            "rounds": rounds,
            "ratio": {
                "clock": round(took[LIBRARY] / took[label], 2),
                "processor": round(worked[LIBRARY] / worked[label], 2),
            },
            "cosine": _cosine(made[label], made[LIBRARY]),
            "scores": _scores(made[label], truth),
            "seconds": {"clock": clock[label], "processor": processor[label]},
            "load_before": load,
        }
        for label in ways
    ]


def _cosine(a: Any, b: Any) -> float | None:
    if a.shape != b.shape:
        return None  # another kind of vectors
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(((a * b).sum(axis=1) / norms).min())


def _scores(vectors: Any, truth: list[Any]) -> dict[str, Any]:
    """Mean over the seeds, and the deviation of NMI."""
    k, found = len(set(truth)), []
    for seed in range(SEEDS):
        labels = TwoStep(k, encoder="precomputed", random_state=seed).fit(vectors).labels_
        found.append((accuracy(truth, labels), nmi(truth, labels)))
    acc, information = np.asarray(found).T
    return {"acc": acc.mean(), "nmi": information.mean(), "nmi_deviation": information.std(ddof=1)}


def table(rows: list[dict[str, Any]]) -> str:
    """A line per set and way; of several runs the last."""
    last = {(row["dataset"], row["label"]): row for row in rows}
    body = [
        [
            dataset,
            label,
            f"{row['n_texts'] / statistics.median(row['seconds']['processor']):,.0f}",
            f"{row['ratio']['processor']:.2f}",
            "" if row["cosine"] is None else f"{row['cosine']:.5f}",
            lines.scores(row),
        ]
        for (dataset, label), row in last.items()
    ]
    return lines.table(
        ["texts", "way", "texts a processor second", "ratio", "lowest cosine", "ACC / NMI"], body
    )


OPTIONS = {
    "--sets": ("sample", "stackoverflow", "agnews"),
    "--texts": 2_000,
    "--rounds": 3,
    "--static": None,
}
main = lines.Experiment("encode", __doc__, cases, measure, table, OPTIONS)
