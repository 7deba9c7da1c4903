"""Cuts of the merge tree of a run without a number of clusters, beside the classes of the texts.

    coterie-bench levels --data DIR --device cuda                # all development sets, 3 seeds
    coterie-bench levels --data DIR --sets levels --seeds 0,1    # the sets with two levels

``auto`` is fitted without a number of clusters. NMI and AMI of cuts of its tree are taken against
the classes, and against the coarse classes where there are some: at the best of ``CUTS`` cuts, at
the number of classes, and at the three default levels. A second fit is told the number of classes.
Labels score at the end. Start the command several times at once to use more cores: each takes runs
that no other has begun.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

import coterie
from coterie._util.types import Ints
from coterie._util.validation import check_device
from coterie.arrays.metrics import Labels, ami, nmi, purity
from coterie.encoders import AUTO
from coterie_bench.data import load_data
from coterie_bench.datasets import CARDS
from coterie_bench.experiments import lines
from coterie_bench.experiments.generalization import APART, NONE
from coterie_bench.ledger import facts
from coterie_bench.suites import group_members
from coterie_bench.tables import about

CUTS = 40  # tried for the best one, evenly spaced by the logarithm of their number of clusters
LEVELS = ("broad", "medium", "fine")
SHOWN = {"best": "best cut", "true": "cut at K", **{level: level for level in LEVELS}}


def cases(options: Namespace) -> list[lines.Row]:
    return [
        {"dataset": name, "seed": seed}
        for name in group_members(options.sets, CARDS, "--sets")
        for seed in options.seeds
    ]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """Cuts of one tree against the classes, beside a fit that is told their number."""
    data = load_data(key["dataset"], options.data)
    begun = time.perf_counter()
    how = {"encoder": options.encoder, "device": options.device}
    run = coterie.cluster(data.texts, seed=key["seed"], **how)
    took = time.perf_counter() - begun
    tree = run.tree
    leaf = run.table.column(tree.column).to_numpy()

    def cut(n: int) -> Ints:
        found = {**tree.cut(n), -1: -1}
        return np.array([found[i] for i in leaf])

    found = {
        "dataset_sha256": data.sha256,
        "leaves": len(tree.leaves),
        "levels": dict(tree.levels),
        "classes": score_cuts(data.labels, cut, len(tree.leaves), tree.levels),
        "direct": agreement(
            data.labels,
            coterie.Auto(data.n_clusters, random_state=key["seed"], **how).fit(data.texts).labels_,
        ),
        "seconds": round(took, 2),
    }
    if data.coarse is not None:
        found["coarse"] = score_cuts(data.coarse, cut, len(tree.leaves), tree.levels)
        found["nesting"] = nesting(data.coarse, data.labels, cut(tree.levels.get("broad", 2)))
    return found | facts(str(check_device(options.device)))


def agreement(truth: Labels, labels: Labels) -> lines.Row:
    """NMI and AMI, with the number of clusters."""
    return {
        "n": len(np.unique(labels)),
        "nmi": round(nmi(truth, labels), 5),
        "ami": round(ami(truth, labels), 5),
    }


def score_cuts(
    truth: Labels, cut: Callable[[int], Ints], leaves: int, levels: Mapping[str, int]
) -> lines.Row:
    """Scores at the number of classes and at each level; of the best cut, each score's highest.

    Parameters
    ----------
    truth : sequence of length n
    cut : callable
        From a number of clusters to the cluster of each text.
    leaves : int
        The most clusters that there can be.
    levels : dict of str to int

    Returns
    -------
    dict
        ``n`` of the best cut is the number of clusters with the highest AMI.
    """
    k = len(np.unique(np.asarray(truth)))
    tried = {round(float(n)) for n in np.geomspace(min(2, leaves), leaves, CUTS)}
    at = {n: agreement(truth, cut(n)) for n in sorted({*tried, min(k, leaves), *levels.values()})}
    best = max(at.values(), key=lambda found: float(found["ami"]))
    return {
        "k": k,
        "best": best | {"nmi": max(found["nmi"] for found in at.values())},
        "true": at[min(k, leaves)],
        **{name: at[n] for name, n in levels.items()},
    }


def nesting(coarse: Labels, fine: Labels, broad: Labels) -> lines.Row:
    """How far fine classes lie in one broad cluster each, and these in one coarse class each.

    Purity is the share of texts whose coarse class is the most frequent one of their broad cluster.
    Inverse purity is the share of texts in the broad cluster that most texts of their fine class
    are in: 1 if no class is torn apart.

    Examples
    --------
    >>> nesting(["a", "a", "a", "b"], ["r", "r", "s", "t"], [0, 0, 1, 1])
    {'purity': 0.75, 'inverse': 1.0}
    """
    return {"purity": round(purity(coarse, broad), 5), "inverse": round(purity(broad, fine), 5)}


def factor(k: int, levels: Iterable[int]) -> float:
    """By what factor the nearest level is off the number of classes, at least 1.

    Examples
    --------
    >>> factor(20, [5, 16, 80])
    1.25
    """
    return min(max(k / n, n / k) for n in levels)


def _mean(values: Iterable[float]) -> str:
    return f"{100 * np.mean(list(values)):.1f}"


def _range(numbers: Iterable[int]) -> str:
    low, high = min(found := list(numbers)), max(found)
    return f"{low}" if low == high else f"{low} to {high}"


def _by_set(rows: Sequence[lines.Row]) -> dict[str, list[lines.Row]]:
    found = {name: [row for row in rows if row["dataset"] == name] for name in CARDS}
    return {name: of for name, of in found.items() if of}


def two_levels(rows: Sequence[lines.Row]) -> str:
    """Cuts against the coarse and the fine classes of sets with two levels."""
    chosen = [row for row in rows if "coarse" in row]
    if not chosen:
        return NONE.format("coterie-bench levels --data DIR --sets levels")
    body = []
    for name, of in _by_set(chosen).items():
        nested = " / ".join(_mean(row["nesting"][s] for row in of) for s in ("purity", "inverse"))
        for kind in ("coarse", "classes"):
            cells = [
                f"{_mean(row[kind][where]['nmi'] for row in of)} / "
                f"{_mean(row[kind][where]['ami'] for row in of)} "
                f"({_range(row[kind][where]['n'] for row in of)})"
                for where in SHOWN
            ]
            what = f"{_range(row[kind]['k'] for row in of)} {'coarse' * (kind == 'coarse')}".strip()
            body.append([name, what, *cells, nested if kind == "coarse" else ""])
    how = (
        "NMI / AMI in % (number of clusters), means over seeds. Best cut: the highest NMI and the "
        f"highest AMI of {CUTS} cuts or more, with the number of the latter. Nesting: purity / "
        "inverse purity of the broad clusters in %. "
    )
    made = lines.table(["", "classes", *SHOWN.values(), "nesting"], body)
    return f"{made}\n\n{how}{about(chosen)}\n"


def sets(rows: Sequence[lines.Row]) -> str:
    """The default levels and the cut at the number of classes, on all development sets."""
    if not rows:
        return NONE.format("coterie-bench levels --data DIR")
    by = _by_set(rows)
    body = [
        [
            name,
            _range(row["classes"]["k"] for row in of),
            *(_range(row["levels"][level] for row in of) for level in LEVELS),
            *_figures([of]),
        ]
        for name, of in by.items()
    ]
    for label, names in APART.items():
        if some := [by[name] for name in names if name in by]:
            body.append([f"mean of {label.format(len(some))}", "", "", "", "", *_figures(some)])
    how = (
        "Off by: factor between the number of classes and the nearest level, geometric mean. NMI "
        "in %, means over seeds: the tree cut at the number of classes, and a fit that is told it. "
    )
    head = ["", "classes", "broad", "medium", "fine", "off by", "cut at K", "K given", "difference"]
    return f"{lines.table(head, body)}\n\n{how}{about(rows)}\n"


def _figures(groups: Sequence[Sequence[lines.Row]]) -> list[str]:
    """Factor, NMI of the cut and of the fit with K given, and their difference, over sets."""

    def mean(value: Callable[[lines.Row], float]) -> float:
        return float(np.mean([np.mean([value(row) for row in of]) for of in groups]))

    off = mean(lambda row: np.log(factor(row["classes"]["k"], row["levels"].values())))
    cut = 100 * mean(lambda row: row["classes"]["true"]["nmi"])
    told = 100 * mean(lambda row: row["direct"]["nmi"])
    return [f"{np.exp(off):.1f}", f"{cut:.1f}", f"{told:.1f}", f"{cut - told:+.1f}"]


def both(rows: list[lines.Row]) -> str:
    """Both tables."""
    return f"{two_levels(rows)}\n{sets(rows)}"


OPTIONS = {
    "--sets": ("dev", "tails", "levels"),
    "--seeds": (0, 1, 2),
    "--encoder": AUTO,
    "--device": "auto",
}
main = lines.Experiment("levels", __doc__, cases, measure, both, OPTIONS)
