"""Fit the number of clusters on the development sets: log K from effective dimension and size.

    coterie-bench fit-number --data DIR           # adds what is missing, then fits
    coterie-bench fit-number --table              # fits the lines that are there
    coterie-bench fit-number --encoder tfidf-svd  # the same for another encoder

A line is written for each whole set, and for parts of it: some of its classes, or fewer texts. Sets
weigh the same, and their parts together as much as the whole. Reported is the factor between the
number predicted and the number of classes, each set predicted by a fit on all others; the factor
that holds four of five sets; and how far the nearest of the levels broad, medium and fine is.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from coterie._util.types import Floats
from coterie.arrays import tree
from coterie.encoders import DEFAULT
from coterie.models import choose
from coterie_bench.data import load_data
from coterie_bench.datasets import DEV, LEVELS, TAILS
from coterie_bench.experiments import lines

PARTS = (  # share of the classes, most texts
    (1.0, 3_000), (0.5, 3_000), (0.25, 3_000), (0.12, 3_000), (0.5, 1_000), (0.25, 300),
    (1.0, 1_000), (1.0, 300), (1.0, 100),
)  # fmt: skip
FEWEST_TEXTS, FEWEST_CLASSES = 60, 3
SHARE = 0.8  # of the sets, that a range should hold
RIDGE = 0.1  # penalty on the slopes of standardised columns


def cases(options: Namespace) -> list[lines.Row]:
    return [
        {"dataset": dataset, "share": share, "most": most, "seed": seed,
         "encoder": options.encoder}
        for dataset in (*DEV, *TAILS, *LEVELS)
        for share, most in PARTS
        for seed in range(options.seeds)
    ]  # fmt: skip


def measure(key: lines.Row, options: Namespace) -> lines.Row | None:
    """Effective dimension of one part of a set; None where too little of it is left."""
    data = load_data(key["dataset"], options.data)
    rng = np.random.default_rng(key["seed"])
    labels = np.asarray(data.labels)
    classes = np.unique(labels)
    some = rng.permutation(classes)[: round(key["share"] * len(classes))]
    rows = rng.permutation(np.flatnonzero(np.isin(labels, some)))
    first = {data.texts[i]: i for i in rows[::-1] if data.texts[i]}  # different texts
    rows = np.array(list(first.values())[: key["most"]])
    if len(rows) < FEWEST_TEXTS or len(some) < FEWEST_CLASSES:
        return None
    vectors, _ = choose._prepare([data.texts[i] for i in rows], key["encoder"], key["seed"])
    dimension = choose._Smoothed(vectors).dimension()
    found = {"n": len(vectors), "classes": len(np.unique(labels[rows]))}
    return found | {"dimension": round(dimension, 4)}


def report(rows: list[dict[str, Any]]) -> str:
    """Coefficients, and how far predictions for sets that were left out are from the truth."""
    x = np.log([[row["dimension"], row["n"]] for row in rows])
    y = np.log([row["classes"] for row in rows])
    sets = np.array([row["dataset"] for row in rows])
    whole = np.array(
        [row["share"] == 1 and row["most"] == max(m for _, m in PARTS) for row in rows]
    )
    errors = np.empty(len(y))
    for name in np.unique(sets):
        left_out = sets == name
        intercept, slopes = fit(x[~left_out], y[~left_out], weights(sets, whole)[~left_out])
        errors[left_out] = intercept + x[left_out] @ slopes - y[left_out]
    intercept, slopes = fit(x, y, weights(sets, whole))
    off = {
        name: float(np.mean([abs(errors[chosen & (sets == s)]).mean() for s in np.unique(sets)]))
        for name, chosen in (("whole sets", whole), ("parts", ~whole & np.isin(sets, sets)))
    }
    inside = np.mean(
        [(abs(errors[whole & (sets == s)]) <= np.log(choose.RANGE)).mean() for s in np.unique(sets)]
    )
    by_set = [errors[whole & (sets == s)] for s in np.unique(sets)]
    worst = max(abs(own).mean() for own in by_set)
    wide = np.quantile([abs(own).mean() for own in by_set], SHARE)
    away = [min_over_levels(own).mean() for own in by_set]
    return (
        f"COEFFICIENTS = {intercept:.3f}, {slopes[0]:.3f}, {slopes[1]:.3f}\n"
        f"factor, each set left out: {np.exp(off['whole sets']):.2f} on whole sets "
        f"(worst {np.exp(worst):.1f}), {np.exp(off['parts']):.2f} on parts; "
        f"the range holds the number on {100 * inside:.0f}% of the sets, "
        f"a factor of {np.exp(wide):.2f} that of {100 * SHARE:.0f}%\n"
        f"nearest of three levels: factor {np.exp(np.mean(away)):.2f} "
        f"(worst {np.exp(max(away)):.2f})"
    )


def min_over_levels(errors: Floats) -> Floats:
    """Distance of the nearest level from the truth, where the medium one is off by ``errors``.

    All in logarithms; that a level has too few texts is not looked at.
    """
    levels = np.log([1 / tree.BROAD, 1, tree.FINE])
    return np.asarray(np.abs(errors[:, None] + levels).min(axis=1))


def weights(sets: np.ndarray, whole: np.ndarray) -> Floats:
    """Each whole set weighs one, and so do its parts together."""
    out = np.empty(len(sets))
    for name in np.unique(sets):
        for kind in (whole, ~whole):
            here = (sets == name) & kind
            out[here] = 1 / max(1, here.sum())
    return out


def fit(x: Floats, y: Floats, weight: Floats) -> tuple[float, Floats]:
    """Weighted ridge regression with a free intercept; columns are standardised."""
    center = np.average(x, axis=0, weights=weight)
    scale = x.std(axis=0)
    z = (x - center) / scale
    mean = np.average(y, weights=weight)
    square = (z * weight[:, None]).T @ z + RIDGE * np.eye(x.shape[1])
    slopes = np.linalg.solve(square, (z * weight[:, None]).T @ (y - mean)) / scale
    return float(mean - center @ slopes), slopes


def reports(rows: list[lines.Row]) -> str:
    """A report for each encoder."""
    encoders = dict.fromkeys(row["encoder"] for row in rows)
    return "\n".join(
        f"{name}: {report([row for row in rows if row['encoder'] == name])}" for name in encoders
    )


OPTIONS = {"--encoder": DEFAULT, "--seeds": 3}
main = lines.Experiment("dimension", __doc__, cases, measure, reports, OPTIONS)
