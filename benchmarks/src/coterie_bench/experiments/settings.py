"""Compare settings of ``auto`` on the development sets, and fit its mean confidence there.

    coterie-bench settings --data DIR                       # adds what is missing
    coterie-bench settings --data DIR --only "restart=0.2"  # some settings alone
    coterie-bench settings --table    # mean NMI of each setting, and the two coefficients of auto

Each setting changes one thing of the default. A line is written per setting, set and seed. Labels
score at the end. Choose here and report on the benchmarks: never the other way round.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from coterie import Auto
from coterie._util.types import Floats
from coterie.arrays import consensus
from coterie.arrays.metrics import external_scores
from coterie.encoders import DEFAULT, CharNgrams, Encoder, MixedEncoder, lexical, views
from coterie.models import auto
from coterie_bench.data import load_data
from coterie_bench.datasets import DEV
from coterie_bench.experiments import lines
from coterie_bench.verdicts import Side, effect


class WithNgrams(MixedEncoder):
    """The embedding and n-grams, without the further views."""

    gated = False

    def __init__(self, encoder: Encoder, seed: int = 0) -> None:
        super().__init__(encoder, 0.5, seed, CharNgrams(seed=seed))


SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    **{f"neighbors={k}": {"NEIGHBORS": (4, k)} for k in (6, 8, 12, 15)},
    **{f"rounds={r}": {"ROUNDS": r} for r in (1, 2, 4, 16)},
    **{f"restart={a}": {"RESTART": a} for a in (0.0, 0.2, 0.4)},
    **{f"runs={n}": {"RUNS": {"standard": n}} for n in (1, 3, 40)},
    "embedding and n-grams": {"ViewsEncoder": WithNgrams, "FLATTEN": 0.0},
    "no middle layers": {"MIDDLE_WEIGHT": 0.0},
    **{f"middle layers={w}": {"MIDDLE_WEIGHT": w} for w in (0.4, 0.65)},
    "tokens not weighted": {"COMMON": 1e6},
    **{f"common={c}": {"COMMON": c} for c in (0.003, 0.03)},
    **{f"n-grams={w}": {"weights": {"ngrams": w, "words": 0.25}} for w in (0.0, 0.4, 0.6)},
    **{f"words={w}": {"weights": {"ngrams": 0.5, "words": w}} for w in (0.0, 0.4)},
    **{f"flatten={a}": {"FLATTEN": a} for a in (0.0, 0.5)},
    "no words, flatten=0": {"weights": {"ngrams": 0.5, "words": 0.0}, "FLATTEN": 0.0},
}


def cases(options: Namespace) -> list[lines.Row]:
    return [
        {"setting": name, "dataset": dataset, "seed": seed}
        for name in SETTINGS
        if (options.only or "") in name
        for dataset in (options.datasets.split(",") if options.datasets else DEV)
        for seed in range(options.seeds)
    ]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """Scores of ``auto`` with a setting on one set."""
    data = load_data(key["dataset"], options.data)
    with setting(SETTINGS[key["setting"]]):
        model = Auto(data.n_clusters, random_state=key["seed"], encoder=options.encoder)
        model.fit(data.texts)
    return {"scores": external_scores(data.labels, model.labels_), "choice": model.choice_}


@contextmanager
def setting(changed: dict[str, Any]) -> Iterator[None]:
    """Settings of ``auto`` as given, for as long as the block lasts."""
    places = (auto, consensus, views, lexical.NgramsAndWords)
    kept = [(p, n, getattr(p, n)) for n in changed for p in places if hasattr(p, n)]
    assert {name for _, name, _ in kept} == changed.keys()
    try:
        for module, name, _ in kept:
            setattr(module, name, changed[name])
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def table(rows: list[lines.Row]) -> str:
    """Mean NMI of each setting over the sets that all of them have, beside the default."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        one = found.setdefault(row["setting"], {}).setdefault(row["dataset"], [])
        one.append(100 * row["scores"]["nmi"])
    shared = sorted(set.intersection(*(set(sets) for sets in found.values()))) if found else []
    means = {name: [float(np.mean(sets[d])) for d in shared] for name, sets in found.items()}
    body = []
    for name, values in means.items():
        spread = [float(np.std(one, ddof=1)) for d in shared if len(one := found[name][d]) > 1]
        gains = [a - b for a, b in zip(values, means.get("default", values), strict=True)]
        beside = ""
        if any(gains):
            e = effect("", name, "default", (Side.of(gains),))
            beside = f"{e.value:+.1f} [{e.low:.1f}, {e.high:.1f}]"
        deviation = f"{np.mean(spread):.1f}" if spread else ""
        body.append([name, f"{np.mean(values):.1f}", deviation, beside])
    header = ["setting", f"NMI, mean of {len(shared)} sets", "deviation over seeds",
              "over the default [95% interval over sets]"]  # fmt: skip
    return lines.table(header, body)


def confidence(rows: list[lines.Row]) -> str:
    """The logistic regression behind the mean confidence, and its error on sets left out."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row["setting"] == "default" and "plain" in row["choice"]:
            one = found.setdefault(row["dataset"], [])
            one.append((row["choice"]["plain"], row["scores"]["acc"]))
    if len(found) < 2:
        return "The mean confidence is fitted to lines of the default on two sets or more."
    points = np.array([np.mean(found[name], axis=0) for name in sorted(found)])
    share, right = points.T
    intercept, slope = logistic(share, right)
    errors = []
    for i in range(len(points)):
        others = np.arange(len(points)) != i
        a, b = logistic(share[others], right[others])
        errors.append(abs(1 / (1 + np.exp(-(a + b * share[i]))) - right[i]))
    return (
        f"intercept {intercept:.2f}, slope {slope:.2f}; correlation "
        f"{np.corrcoef(share, right)[0, 1]:.2f} over {len(points)} sets; mean error on a set "
        f"left out {100 * np.mean(errors):.0f} points"
    )


def logistic(x: Floats, shares: Floats) -> tuple[float, float]:
    """Logistic regression of shares on one number, by Newton's method."""
    design, found = np.column_stack([np.ones(len(x)), x]), np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ found))
        curvature = (design * (p * (1 - p))[:, None]).T @ design + 1e-6 * np.eye(2)
        found += np.linalg.solve(curvature, design.T @ (shares - p))
    return float(found[0]), float(found[1])


def both(rows: list[lines.Row]) -> str:
    """The table, and the fit."""
    return f"{table(rows)}\n\n{confidence(rows)}"


OPTIONS = {"--seeds": 2, "--encoder": DEFAULT, "--datasets": None, "--only": None}
main = lines.Experiment("settings", __doc__, cases, measure, both, OPTIONS)
