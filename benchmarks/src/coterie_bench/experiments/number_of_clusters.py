"""How many clusters do texts have? Four ways to find the number, on data where it is known.

    coterie-bench number-of-clusters --data DIR --cache DIR   # adds what is missing
    coterie-bench number-of-clusters --table                  # prints the table

For the bundled sample and the eight benchmarks: ``choose_n_clusters``, the largest silhouette, the
gap statistic, and HDBSCAN on UMAP as BERTopic has it. Labels are used for scoring alone. A line is
written per set and way; lines that are there are not made again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie._types import Floats, Ints
from coterie.choose import choose_n_clusters, numbers_to_try
from coterie.metrics import external_scores
from coterie_bench.experiments import lines
from coterie_bench.run import Data, load_data
from coterie_bench.suites import BENCHMARKS

SETS = ("sample", *BENCHMARKS)
TRUE, OURS, OURS_AUTO = "true number", "coterie", "coterie, method auto"
WAYS = (TRUE, OURS, "silhouette", "HDBSCAN", OURS_AUTO, "gap statistic")
SAMPLE = 5_000  # texts that silhouette and gap statistic look at
LARGEST = 250  # clusters, as choose_n_clusters has it
STARTS = 10  # of k-means at the number found, as in the tables of the README
REFERENCES = 5
SEED = 0


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        return
    for name in options.datasets.split(","):
        data = load_data(name, options.data)
        for way in options.ways.split(";"):
            if lines.has(lines.read(options.out), dataset=name, label=way):
                continue
            work = Work(data, options.cache)
            row = {"label": way, "dataset": name, "dataset_sha256": data.sha256, "seed": SEED}
            row |= {"n_texts": len(data.texts), "n_clusters_true": data.n_clusters}
            row |= work.run(way, lines.read(options.out))
            lines.append(options.out, row)
            print(f"{name}, {way}: {row['n_clusters']} clusters, {lines.scores(row)}", flush=True)


class Work:
    """One data set: its vectors, and the ways to a number."""

    def __init__(self, data: Data, cache: Path) -> None:
        self.data = data
        self.full = np.array([bool(text.strip()) for text in data.texts])
        self.vectors = _encode([t for t in data.texts if t.strip()], cache / f"{data.sha256}.npy")

    def run(self, way: str, before: list[dict[str, Any]]) -> dict[str, Any]:
        """The number by one way, and how well its clusters fit the truth."""
        begun = time.perf_counter()
        if way == OURS_AUTO:
            return self._auto(before)
        found, labels = self._find(way)
        chosen = time.perf_counter()
        if labels is None:
            labels = kmeans(self.vectors, found["n_clusters"], STARTS)[0]
        seconds = {"choose": chosen - begun, "cluster": time.perf_counter() - chosen}
        return found | self._score(labels, seconds)

    def _find(self, way: str) -> tuple[dict[str, Any], Ints | None]:
        if way == TRUE:
            return {"n_clusters": self.data.n_clusters, "clustering": "k-means"}, None
        if way == "HDBSCAN":
            labels = hdbscan(self.vectors)
            noise = float((labels < 0).mean())
            k = len(np.unique(labels[labels >= 0]))
            return {"n_clusters": k, "noise": round(noise, 4), "clustering": "its own"}, labels
        if way == OURS:
            choice = choose_n_clusters(self.data.texts, random_state=SEED)
            found = {k: v for k, v in choice.to_dict().items() if k != "reason"}
            return found | {"clustering": "k-means"}, None
        rng = np.random.default_rng(SEED)
        some = self.vectors[np.sort(rng.permutation(len(self.vectors))[:SAMPLE])]
        grid = numbers_to_try(min(LARGEST, len(some) // 5))
        k, curve = silhouette_number(some, grid) if way == "silhouette" else gap_number(some, grid)
        return {"n_clusters": k, "curve": curve, "clustering": "k-means"}, None

    def _auto(self, before: list[dict[str, Any]]) -> dict[str, Any]:
        """The whole default: the number that was found, and the method that the words choose."""
        from coterie import Auto

        ours = [r for r in before if r["dataset"] == self.data.name and r["label"] == OURS]
        if not ours:
            raise SystemExit(f"the way {OURS!r} comes before {OURS_AUTO!r}")
        k = ours[0]["n_clusters"]
        begun = time.perf_counter()
        model = Auto(k, random_state=SEED).fit(self.data.texts)
        seconds = {"choose": ours[0]["seconds"]["choose"], "cluster": time.perf_counter() - begun}
        found = {"n_clusters": k, "clustering": "auto", "chosen": model.choice_["chosen"]}
        return found | self._score(model.labels_[self.full], seconds)

    def _score(self, labels: Ints, seconds: dict[str, float]) -> dict[str, Any]:
        everything = np.full(len(self.full), -1)
        everything[self.full] = labels
        scored = self.data.scored
        found = external_scores(np.asarray(self.data.labels)[scored], everything[scored])
        return {
            "scores": {key: round(value, 5) for key, value in found.items()},
            "seconds": {key: round(value, 2) for key, value in seconds.items()},
        }


def kmeans(x: Floats, k: int, starts: int) -> tuple[Ints, float]:
    """Labels and the sum of squared distances to the centers."""
    from sklearn.cluster import KMeans

    model = KMeans(k, n_init=starts, random_state=SEED).fit(x)
    return model.labels_.astype(np.int64), float(model.inertia_)


def silhouette_number(x: Floats, grid: Sequence[int]) -> tuple[int, list[Any]]:
    """The number with the largest mean silhouette of k-means clusters (Rousseeuw, 1987)."""
    from sklearn.metrics import silhouette_score

    values = [float(silhouette_score(x, kmeans(x, k, 3)[0])) for k in grid]
    curve = [[k, round(v, 5)] for k, v in zip(grid, values, strict=True)]
    return grid[int(np.argmax(values))], curve


def gap_number(x: Floats, grid: Sequence[int]) -> tuple[int, list[Any]]:
    """The number by the gap statistic, against boxes along the main axes of the data.

    Tibshirani, Walther and Hastie (2001), their reference distribution (b).
    """
    grid = [1, *grid]
    rng = np.random.default_rng(SEED)
    mean = x.mean(axis=0)
    axes = np.linalg.svd(x - mean, full_matrices=False)[2]
    along = (x - mean) @ axes.T
    low, high = along.min(axis=0), along.max(axis=0)
    own = np.log([kmeans(x, k, 1)[1] for k in grid])
    boxes = []
    for _ in range(REFERENCES):
        box = (rng.uniform(low, high, size=along.shape) @ axes + mean).astype(x.dtype)
        boxes.append([np.log(kmeans(box, k, 1)[1]) for k in grid])
    gaps, errors = gap_values(own, np.array(boxes))
    rounded = [[round(float(v), 5) for v in values] for values in (gaps, errors)]
    curve = [list(point) for point in zip(grid, *rounded, strict=True)]
    return grid[first_that_suffices(gaps, errors)], curve


def gap_values(own: Floats, references: Floats) -> tuple[Floats, Floats]:
    """Gap and its error for each number, from logs of the dispersion W_k.

    Gap(k) = mean_b log W*_kb - log W_k and s_k = sd_k sqrt(1 + 1/B), equations (3) and (5). The sum
    of squared distances to the centers is W_k, equation (2).

    Parameters
    ----------
    own : ndarray of shape (numbers,)
    references : ndarray of shape (B, numbers)
    """
    error = references.std(axis=0) * np.sqrt(1 + 1 / len(references))
    return references.mean(axis=0) - own, error


def first_that_suffices(gaps: Floats, errors: Floats) -> int:
    """Index of the first gap that is no more than one error below the next; else the last."""
    enough = gaps[:-1] >= gaps[1:] - errors[1:]
    return int(np.argmax(enough)) if enough.any() else len(gaps) - 1


def hdbscan(x: Floats) -> Ints:
    """Density clusters of the vectors in five dimensions; -1 is noise. Defaults of BERTopic."""
    from sklearn.cluster import HDBSCAN

    from coterie.methods.baselines.classical import reduce_by_umap

    reduced = reduce_by_umap(x, 5, 15, SEED)
    labels = HDBSCAN(min_cluster_size=10, copy=False).fit_predict(reduced)
    return np.asarray(labels, dtype=np.int64)


def table(rows: list[dict[str, Any]]) -> str:
    """Number found, range, and ACC / NMI in %, for each set and way."""
    ways = [way for way in WAYS if lines.has(rows, label=way)]
    body = []
    for name in SETS:
        found = {row["label"]: row for row in rows if row["dataset"] == name}
        if found:
            true = next(iter(found.values()))["n_clusters_true"]
            cells = [_cell(found[way]) if way in found else "" for way in ways[1:]]
            first = lines.scores(found[TRUE]) if TRUE in found else ""
            body.append([name, str(true), first, *cells])
    return lines.table(["", "true K", "k-means there", *ways[1:]], body)


def _cell(row: dict[str, Any]) -> str:
    k = f"**{row['n_clusters']}**"
    if "low" in row:
        k += f" ({row['low']} to {row['high']})"
    if "noise" in row:
        k += f", {100 * row['noise']:.0f}% noise"
    return f"{k}: {lines.scores(row)}"


def _encode(texts: list[str], file: Path) -> Floats:
    """Vectors of the default encoder, kept in a file for the next time."""
    if file.exists():
        return np.load(file)
    from coterie.encoders import DEFAULT, load_encoder

    encoder = load_encoder(DEFAULT)
    items, rows = encoder.prepare(texts)
    vectors = encoder.encode(items)[rows]
    file.parent.mkdir(parents=True, exist_ok=True)
    np.save(file, vectors)
    return vectors


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the benchmark files")
    parser.add_argument("--out", type=Path, default=Path("results/number-of-clusters.jsonl"))
    parser.add_argument("--cache", type=Path, help="folder for vectors, outside the project")
    parser.add_argument("--datasets", default=",".join(SETS))
    parser.add_argument("--ways", default=";".join(WAYS), help="separated by ;")
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    options = parser.parse_args()
    if not options.table and options.cache is None:
        parser.error("--cache DIR is needed: vectors are kept there")
    return options


if __name__ == "__main__":
    main()
