"""Static encoders beside the default: texts a second, and NMI on the development sets, in one run.

    python benchmarks/static.py --data DIR    # takes all encoders in turns and adds lines
    python benchmarks/static.py --table       # prints the table

Of each set at most ``--texts`` random texts are taken, the same for all encoders. Speed is by the
clock, with tokenising, without loading and the cache; each encoder meets the same machine in
turn. NMI is the mean of three seeds, with the true number of clusters: k-means on the embeddings
alone, and ``auto``, which adds lexical features.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import lines
import numpy as np

from coterie import METHODS, TwoStep
from coterie.datasets import CARDS, load_dataset
from coterie.encoders import DEFAULT, load_encoder, no_cache
from coterie.metrics import nmi

ENCODERS = (DEFAULT, "static:wordllama", "static:model2vec")
SEEDS = 3
OUT = Path(__file__).parents[1] / "results" / "static.jsonl"


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
            if lines.has(lines.read(options.out), **key):
                continue
            row = measure(name, loaded[name], texts, truth)
            lines.append(options.out, key | row)
            print(dataset, name, row, flush=True)


def read(name: str, options: argparse.Namespace) -> tuple[list[str], np.ndarray]:
    data = load_dataset(name, options.data)
    rows = np.random.default_rng(0).permutation(len(data.texts))[: options.texts]
    return [data.texts[i] for i in rows], np.asarray(data.labels)[rows]


def measure(name: str, encoder: Any, texts: list[str], truth: np.ndarray) -> dict[str, Any]:
    k = len(set(truth.tolist()))
    with no_cache():
        encoder.encode(encoder.prepare(texts[:32])[0])
        begun = time.perf_counter()
        items, rows = encoder.prepare(texts)
        vectors = encoder.encode(items)[rows]
        seconds = time.perf_counter() - begun
    alone = [
        nmi(truth, TwoStep(k, encoder="precomputed", random_state=seed).fit(vectors).labels_)
        for seed in range(SEEDS)
    ]
    auto = [
        nmi(truth, METHODS["auto"].make(k, encoder=name, random_state=seed).fit(texts).labels_)
        for seed in range(SEEDS)
    ]
    return {
        "clusters": k,
        "dim": encoder.dim,
        "texts_per_second": round(len(texts) / seconds, 1),
        "kmeans_nmi": round(float(np.mean(alone)), 4),
        "auto_nmi": round(float(np.mean(auto)), 4),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """One line per set: NMI of k-means and of ``auto`` for each encoder; means, and speed."""
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    by = {(row["dataset"], row["encoder"]): row for row in rows}
    body = []
    for dataset in sets:
        cells = [by.get((dataset, name)) for name in ENCODERS]
        body.append([dataset, *(_pair(cell) for cell in cells)])
    means = [[row for row in rows if row["encoder"] == name] for name in ENCODERS]
    body.append(["mean", *(_pair(_mean(found)) for found in means)])
    speeds = [np.median([row["texts_per_second"] for row in found]) for found in means]
    body.append(["texts a second (median), as a ratio", *(f"{s / speeds[0]:,.0f}" for s in speeds)])
    return lines.table(["data set", *ENCODERS], body)


def _mean(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {key: float(np.mean([row[key] for row in rows])) for key in ("kmeans_nmi", "auto_nmi")}


def _pair(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    return f"{lines.percent(row['kmeans_nmi'])} / {lines.percent(row['auto_nmi'])}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
