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

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from coterie import METHODS, TwoStep
from coterie.encoders import DEFAULT, load_encoder, no_cache
from coterie.metrics import nmi
from coterie_bench import ROOT
from coterie_bench.datasets import CARDS, load_dataset
from coterie_bench.experiments import lines

ENCODERS = (DEFAULT, "static:wordllama", "static:model2vec")
SEEDS = 3
OUT = ROOT / "results" / "static-encoders.jsonl"


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        return
    loaded = {name: load_encoder(name) for name in ENCODERS}
    for dataset in [name for name, card in CARDS.items() if card.group == "dev"]:
        texts, truth = read(dataset, options)
        for name in ENCODERS:
            key = {"dataset": dataset, "encoder": name, "texts": len(texts)}
            key["method"] = "auto" if options.auto else "kmeans"
            if lines.has(lines.read(options.out), **key):
                continue
            measured = (
                by_auto(name, texts, truth)
                if options.auto
                else by_kmeans(loaded[name], texts, truth)
            )
            lines.append(options.out, key | measured)
            print(key, measured, flush=True)


def read(name: str, options: argparse.Namespace) -> tuple[list[str], np.ndarray]:
    data = load_dataset(name, options.data)
    rows = np.random.default_rng(0).permutation(len(data.texts))[: options.texts]
    return [data.texts[i] for i in rows], np.asarray(data.labels)[rows]


def by_kmeans(encoder: Any, texts: list[str], truth: np.ndarray) -> dict[str, Any]:
    """Speed of the encoder, and k-means on its vectors."""
    k = len(set(truth.tolist()))
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


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--auto", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
