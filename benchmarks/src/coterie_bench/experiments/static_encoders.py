"""Static encoders beside the default: texts a second, and NMI on the development sets, in one run.

    coterie-bench static-encoders --data DIR           # all encoders in turns; adds lines
    coterie-bench static-encoders --data DIR --auto    # the same by ``auto``
    coterie-bench static-encoders --table              # prints the table

Of each set at most ``--texts`` random texts are taken, the same for all encoders. Speed is by the
clock and by processor time, with tokenising, without loading and without the cache. NMI is the mean
of three seeds, with the true number of clusters: k-means on the embeddings alone, and ``auto``,
which adds lexical features.
"""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Any

import numpy as np

from coterie import METHODS, TwoStep
from coterie.encoders import DEFAULT, load_encoder, no_cache
from coterie.metrics import nmi
from coterie_bench.datasets import DEV, load_dataset
from coterie_bench.experiments import lines

ENCODERS = (DEFAULT, "static:wordllama", "static:model2vec")
SEEDS = 3


def cases(options: Namespace) -> list[lines.Row]:
    method = "auto" if options.auto else "kmeans"
    return [
        {"dataset": dataset, "encoder": name, "method": method}
        for dataset in DEV
        for name in ENCODERS
    ]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """NMI on some texts of a set, and of the encoder alone its speed."""
    data = load_dataset(key["dataset"], options.data)
    rows = np.random.default_rng(0).permutation(len(data.texts))[: options.texts]
    texts, truth = [data.texts[i] for i in rows], np.asarray(data.labels)[rows]
    if options.auto:
        found = by_auto(key["encoder"], texts, truth)
    else:
        found = by_kmeans(load_encoder(key["encoder"]), texts, truth)
    return {"texts": len(texts), **found}


def by_kmeans(encoder: Any, texts: list[str], truth: np.ndarray) -> dict[str, Any]:
    """Speed of the encoder, and k-means on its vectors."""
    k = len(set(truth.tolist()))
    encoder.learn(texts)
    with no_cache():
        encoder.encode(encoder.prepare(texts[:32])[0])
        begun, used = time.perf_counter(), time.process_time()
        items, rows = encoder.prepare(texts)
        vectors = encoder.encode(items)[rows]
        seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    models = [TwoStep(k, encoder="precomputed", random_state=seed) for seed in range(SEEDS)]
    found = [nmi(truth, model.fit(vectors).labels_) for model in models]
    return {
        "clusters": k,
        "dim": encoder.dim,
        "texts_per_second": round(len(texts) / seconds, 1),
        "texts_per_cpu_second": round(len(texts) / cpu, 1),
        "nmi": round(float(np.mean(found)), 4),
    }


def by_auto(name: str, texts: list[str], truth: np.ndarray) -> dict[str, Any]:
    k = len(set(truth.tolist()))
    models = [METHODS["auto"].make(k, encoder=name, random_state=seed) for seed in range(SEEDS)]
    found = [nmi(truth, model.fit(texts).labels_) for model in models]
    return {"clusters": k, "nmi": round(float(np.mean(found)), 4)}


def table(rows: list[dict[str, Any]]) -> str:
    """One line per set: NMI by k-means and by ``auto`` for each encoder; means, and speed."""
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    body = [
        [dataset, *(_pair(rows, name, dataset) for name in ENCODERS)] for dataset in sorted(sets)
    ]
    body.append(["mean", *(_pair(rows, name) for name in ENCODERS)])
    speeds = [
        float(
            np.median(
                [
                    row["texts_per_cpu_second"]
                    for row in rows
                    if row["encoder"] == name and row["method"] == "kmeans"
                ]
            )
        )
        for name in ENCODERS
    ]
    body.append(
        ["texts a second of processor time", *(f"{float(f'{s:.2g}'):,.0f}" for s in speeds)]
    )
    return lines.table(["data set", *ENCODERS], body)


def _pair(rows: list[dict[str, Any]], encoder: str, dataset: str | None = None) -> str:
    """Means over the sets, or one set, by both methods."""
    cells = []
    for method in ("kmeans", "auto"):
        found = [
            row["nmi"]
            for row in rows
            if (row["encoder"], row["method"]) == (encoder, method)
            and dataset in (None, row["dataset"])
        ]
        cells += [lines.percent(float(np.mean(found)))] if found else []
    return " / ".join(cells)


OPTIONS = {"--texts": 300, "--auto": False}
main = lines.Experiment("static-encoders", __doc__, cases, measure, table, OPTIONS)
