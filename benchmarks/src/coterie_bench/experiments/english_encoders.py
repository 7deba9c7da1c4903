"""Other English encoders: ``auto`` with one of them alone, and with two side by side.

    coterie-bench english-encoders --data DIR --encoders models/gte-small    # adds what is missing
    coterie-bench english-encoders --data DIR --encoders models/gte-small --benchmarks
    coterie-bench english-encoders --table

Of a development set with more than 2,000 texts so many are drawn, the same for all encoders and
seeds; the true number of clusters is given. An encoder is named by its folder. With
``--benchmarks`` the same is done on the benchmarks, which chose nothing. Speed is that of the
embeddings on 300 texts, by processor time, with tokenizing, without loading and without the cache.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coterie import Auto
from coterie._random import numpy_generator
from coterie._types import Floats
from coterie.corpus import texts_from
from coterie.encoders import DEFAULT, SentenceEncoder, no_cache
from coterie.metrics import accuracy, nmi
from coterie_bench.data import load_data
from coterie_bench.datasets import BENCHMARKS, DEV, LEVELS, TAILS
from coterie_bench.experiments import lines

TEXTS, TIMED = 2_000, 300
ALL_DEV = *DEV, *TAILS, *LEVELS
METRICS = {"acc": accuracy, "nmi": nmi}


def cases(options: Namespace) -> list[lines.Row]:
    others = [name for name in map(_named, options.encoders) if name != DEFAULT]
    names = [DEFAULT, *others, *(f"{DEFAULT}+{name}" for name in others)]
    sets = BENCHMARKS if options.benchmarks else ALL_DEV
    return [
        {"dataset": dataset, "seed": seed, "encoder": name}
        for seed in range(options.seeds)
        for dataset in sets
        for name in names
    ]


def _named(folder: str) -> str:
    return Path(folder).name


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """ACC and NMI; of one encoder its precision, with the first seed its speed."""
    data = load_data(key["dataset"], options.data)
    rows = np.sort(numpy_generator(0, "precision").permutation(len(data.texts))[:TEXTS])
    texts = texts_from([data.texts[i] for i in rows])
    truth = [data.labels[i] for i in rows]
    k, seed = len(set(truth)), key["seed"]
    folders = {_named(folder): folder for folder in options.encoders}
    encoders = [folders.get(name, name) for name in key["encoder"].split("+")]
    found: lines.Row = {"n_texts": len(texts), "n_clusters": k}
    model = Auto(k, encoder="+".join(encoders), random_state=seed).fit(texts)
    if len(encoders) == 1:
        found["precision"] = model.encoder_.inner.encode_precision
        if seed == 0:
            found["texts_per_cpu_second"] = round(speed(model.encoder_.inner, texts[:TIMED]), 1)
    scores = {name: score(truth, model.labels_) for name, score in METRICS.items()}
    return {**found, "scores": scores, "sizes": model.choice_.get("sizes")}


def speed(encoder: SentenceEncoder, texts: list[str]) -> float:
    """Texts in a second of processor time."""
    with no_cache():
        encoder.encode(encoder.prepare(texts[:32])[0])
        begun = time.process_time()
        encoder.encode(encoder.prepare(texts)[0])
        return len(texts) / (time.process_time() - begun)


def table(rows: list[lines.Row]) -> str:
    """Means over the development sets, differences from the default, and speed."""
    return _table(rows, ALL_DEV)


def benchmarks(rows: list[lines.Row]) -> str:
    """The same of the benchmarks."""
    return _table(rows, BENCHMARKS)


def _table(rows: list[lines.Row], names: Sequence[str]) -> str:
    by: dict[str, dict[str, list[lines.Row]]] = {}
    for row in rows:
        if row["dataset"] in names:
            by.setdefault(row["encoder"], {}).setdefault(row["dataset"], []).append(row)
    shared = [name for name in names if all(name in sets for sets in by.values())]
    first = _means(by[DEFAULT], shared, "nmi")
    body = []
    for name, sets in by.items():
        means = _means(sets, shared, "nmi")
        scores = [[100 * row["scores"]["nmi"] for row in sets[one]] for one in shared]
        spread = [np.std(one, ddof=1) for one in scores if len(one) > 1]
        moved = means - first
        least, most = int(np.argmin(moved)), int(np.argmax(moved))
        speeds = [v for one in shared for r in sets[one] if (v := r.get("texts_per_cpu_second"))]
        body.append(
            [
                name,
                f"{_means(sets, shared, 'acc').mean():.1f} / {means.mean():.1f}",
                f"{np.mean(spread):.1f} ({min(map(len, scores))})" if spread else "",
                f"{moved.mean():+.1f}",
                f"{moved[least]:+.1f} ({shared[least]})",
                f"{moved[most]:+.1f} ({shared[most]})",
                f"{np.median(speeds):.0f}" if speeds else "",
            ]
        )
    header = (
        f"ACC / NMI, mean of {len(shared)} sets",
        "deviation of NMI (seeds)",
        "difference, NMI",
        "least",
        "most",
        "texts a second of processor time",
    )
    return lines.table(["encoder", *header], body)


def _means(sets: dict[str, list[lines.Row]], names: Sequence[str], metric: str) -> Floats:
    return np.array([np.mean([100 * r["scores"][metric] for r in sets[one]]) for one in names])


OPTIONS = {"--seeds": 3, "--encoders": (DEFAULT,), "--benchmarks": False}
main = lines.Experiment("english-encoders", __doc__, cases, measure, table, OPTIONS)
