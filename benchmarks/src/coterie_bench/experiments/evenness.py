"""How even the clusters before training are, beside the classes: what sets AECL's lambda 4.

    coterie-bench evenness --data DIR                       # the development sets
    coterie-bench evenness --data DIR --datasets tweet      # others, to see what they would get
    coterie-bench evenness --table                          # the sets by skew, and the two cuts

AECL's paper has three weights of even clusters: 10 where all classes have one size, 0.18 where the
largest has 7 times the texts of the smallest, 0.09 where it has 140 times and more. The class sizes
of a user's texts are not known, so AECL goes by the skew (coefficient of variation) of cluster
shares estimated from the vectors before training. The cuts between the three weights are those
that agree best with the class sizes of the development sets, of which at most 2,000 texts are drawn
once. No score of a clustering counts.
"""

from __future__ import annotations

from argparse import Namespace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from coterie import AECL
from coterie.encoders import DEFAULT, load_encoder
from coterie_bench.data import load_data
from coterie_bench.datasets import DEV, LEVELS, TAILS
from coterie_bench.experiments import lines

SETS = (*DEV, *TAILS, *LEVELS)
KINDS = "even", "skewed", "long tail"
SAMPLE = 1  # seed of the draw of texts
LIMITS = 3.0, 20.0  # of the largest class over the smallest, between 1, 7 and 140 of the paper


def cases(options: Namespace) -> list[lines.Row]:
    names = options.datasets.split(",") if options.datasets else SETS
    return [{"dataset": name, "texts": options.texts} for name in names]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """The skew of the classes, and of the shares for each seed."""
    data = load_data(key["dataset"], options.data)
    chosen = np.random.default_rng(SAMPLE).permutation(len(data.texts))[: options.texts]
    encoder: Any = load_encoder(options.encoder, max_length=AECL.max_length)
    items, rows = encoder.prepare([data.texts[i] for i in chosen])
    vectors = encoder.encode(items)[rows]
    sizes = np.unique([data.labels[i] for i in chosen], return_counts=True)[1]
    found = []
    for seed in range(options.seeds):
        model = AECL(len(sizes), encoder="precomputed", epochs=0, random_state=seed)
        found.append(skew(model.fit(vectors)._shares))
    return {
        "classes": {"skew": skew(sizes), "ratio": round(float(sizes.max() / sizes.min()), 1)},
        "skews": found,
        "n_texts": len(chosen),
        "dataset_sha256": data.sha256,
    }


def skew(sizes: Any) -> float:
    """Coefficient of variation.

    Examples
    --------
    >>> skew([1, 3])
    0.5
    """
    return round(float(np.std(sizes) / np.mean(sizes)), 4)


def kind_of(value: float, limits: tuple[float, float]) -> str:
    """Which of the three kinds a number is of.

    Examples
    --------
    >>> [kind_of(value, (3.0, 20.0)) for value in (1.0, 3.0, 143.0)]
    ['even', 'skewed', 'long tail']
    """
    return KINDS[sum(value >= limit for limit in limits)]


def cuts(rows: list[lines.Row]) -> tuple[float, float]:
    """The two cuts of the skew with the fewest sets of another kind than their classes.

    A cut is half-way between two sets; of equal ones the pair with the widest gaps is taken.
    """
    found = sorted((float(np.mean(row["skews"])), row["classes"]["ratio"]) for row in rows)
    middles = {(a[0] + b[0]) / 2: b[0] - a[0] for a, b in pairwise(found)}

    def merit(pair: tuple[float, float]) -> tuple[int, float]:
        right = sum(kind_of(s, pair) == kind_of(ratio, LIMITS) for s, ratio in found)
        return right, sum(middles[cut] for cut in pair)

    return max(combinations(sorted(middles), 2), key=merit)


def table(rows: list[lines.Row]) -> str:
    """Sets by their skew, and the cuts."""
    rows = sorted(rows, key=lambda row: float(np.mean(row["skews"])))
    header = [
        "set",
        "skew of the shares (seeds)",
        "of the classes",
        "largest / smallest class",
        "kind",
    ]
    body = [
        [
            row["dataset"],
            f"{np.mean(row['skews']):.2f} ({len(row['skews'])})",
            f"{row['classes']['skew']:.2f}",
            f"{row['classes']['ratio']:g}",
            kind_of(row["classes"]["ratio"], LIMITS),
        ]
        for row in rows
    ]
    found = lines.table(header, body)
    known = [row for row in rows if row["dataset"] in SETS]
    if len(known) < 3:
        return found
    pair = cuts(known)
    right = sum(
        kind_of(float(np.mean(row["skews"])), pair) == kind_of(row["classes"]["ratio"], LIMITS)
        for row in known
    )
    return f"{found}\n\ncuts {pair[0]:.2f} and {pair[1]:.2f}: {right} of {len(known)} sets right"


OPTIONS = {"--seeds": 3, "--texts": 2000, "--encoder": DEFAULT, "--datasets": None}
main = lines.Experiment("evenness", __doc__, cases, measure, table, OPTIONS)
