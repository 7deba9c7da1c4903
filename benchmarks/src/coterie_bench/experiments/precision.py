"""What 8 bits change in the clusters: ``auto`` and k-means on the development sets.

    coterie-bench precision --data DIR    # adds what is missing
    coterie-bench precision --table

The true number of clusters is given. Of a set with more than 1,000 texts so many are drawn, the
same for all precisions and seeds. A line is written per set, seed and precision.
"""

from __future__ import annotations

from argparse import Namespace

import numpy as np

from coterie import Auto, TwoStep
from coterie._random import numpy_generator
from coterie.metrics import nmi
from coterie_bench.data import load_data
from coterie_bench.datasets import DEV, LEVELS, TAILS
from coterie_bench.experiments import lines

TEXTS = 1_000
PRECISIONS = "float32", "auto"
SHOWN = {"auto": "8 bits (default)"}
METHODS = {"auto": Auto, "k-means": TwoStep}


def cases(options: Namespace) -> list[lines.Row]:
    return [
        {"dataset": dataset, "seed": seed, "precision": precision}
        for seed in range(options.seeds)
        for dataset in (*DEV, *TAILS, *LEVELS)
        for precision in PRECISIONS
    ]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """NMI of both methods."""
    data = load_data(key["dataset"], options.data)
    rows = np.sort(numpy_generator(0, "precision").permutation(len(data.texts))[:TEXTS])
    texts, truth = [data.texts[i] for i in rows], [data.labels[i] for i in rows]
    k, found = len(set(truth)), {}
    for name, method in METHODS.items():
        model = method(k, precision=key["precision"], random_state=key["seed"])
        found[name] = nmi(truth, model.fit(texts).labels_)
        inner = getattr(model.encoder_, "inner", model.encoder_)
    return {"n_texts": len(texts), "n_clusters": k, "used": inner.encode_precision, "nmi": found}


def table(rows: list[lines.Row]) -> str:
    """Mean NMI, its deviation over the seeds, and the difference from float32 set by set."""
    body = []
    for method in METHODS:
        found: dict[str, dict[str, list[float]]] = {p: {} for p in PRECISIONS}
        for row in rows:
            pair = {"dataset": row["dataset"], "seed": row["seed"]}
            if all(lines.has(rows, **pair, precision=other) for other in PRECISIONS):
                one = found[row["precision"]].setdefault(row["dataset"], [])
                one.append(100 * row["nmi"][method])
        shared = sorted(found[PRECISIONS[0]])
        exact = np.array([np.mean(found[PRECISIONS[0]][name]) for name in shared])
        for precision, sets in found.items():
            means = np.array([np.mean(sets[name]) for name in shared])
            spread = [np.std(sets[name], ddof=1) for name in shared if len(sets[name]) > 1]
            least, most = (f(means - exact) for f in (np.argmin, np.argmax))
            body.append(
                [
                    method,
                    SHOWN.get(precision, precision),
                    f"{means.mean():.2f}",
                    f"{np.mean(spread):.1f}" if spread else "",
                    f"{(means - exact).mean():+.2f}",
                    f"{(means - exact)[least]:+.1f} ({shared[least]})",
                    f"{(means - exact)[most]:+.1f} ({shared[most]})",
                ]
            )
    header = (
        f"NMI, mean of {len(shared)} sets",
        "deviation over seeds",
        "difference",
        "least",
        "most",
    )
    return lines.table(["method", "precision", *header], body)


OPTIONS = {"--seeds": 3}
main = lines.Experiment("precision", __doc__, cases, measure, table, OPTIONS)
