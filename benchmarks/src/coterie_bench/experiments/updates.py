"""How well ``update`` finds new classes, and what it costs not to move old rows.

    coterie-bench updates [--method auto] [--seeds 0,1,2] [--sets SET,...]
    coterie-bench updates --table

The texts of a development set (``--data`` or COTERIE_DATA) arrive in ten parts. Six of ten classes,
drawn at random, are in all parts; the others begin in a later part each, evenly spread over the
second to the tenth. The first part is clustered into as many clusters as it has classes; the other
parts are added by ``update``. Beside it, all texts are clustered at once into as many clusters as
there are classes.

Of each set and seed one line says: rows that moved; NMI at the end, and of all texts at once; how
many of the later classes (with five texts or more in their first part) have a cluster of their own,
that is one in which they are the majority, and how many parts after they first came; and alarms of
``update`` when a part holds a new class, and when it is drawn from the classes of the first part.
The set "sample" is the bundled messages: each theme in turn is left out, and 30 of its texts are
added to the run of all others.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from typing import Any

import numpy as np

import coterie
from coterie.arrays.metrics import external_scores
from coterie_bench.datasets import DEV, load_dataset
from coterie_bench.experiments import lines

PARTS = 10
EARLY = 0.6  # share of the classes that are in all parts
LEAST = 5  # texts of a class in its first part, for it to be found
THEME_ROWS = 30


def arrive(labels: np.ndarray, seed: int) -> tuple[np.ndarray, dict[str, int]]:
    """The part of each text, and the first part of each class."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(labels))
    early = max(2, round(EARLY * len(classes)))
    late = classes[early:]
    first = {str(c): 0 for c in classes[:early]}
    places = np.linspace(1, PARTS - 1, len(late)) if len(late) > 1 else np.array([PARTS // 2])
    first |= {str(c): round(float(p)) for c, p in zip(late, places, strict=True)}
    part = np.zeros(len(labels), dtype=np.int64)
    for c in classes:
        rows, width = rng.permutation(np.flatnonzero(labels == c)), PARTS - first[str(c)]
        begin = 0 if first[str(c)] else rng.integers(width)
        part[rows] = first[str(c)] + (begin + np.arange(len(rows))) % width
    return part, first


class Parts:
    """The clusters of the parts that have come, by ``coterie.cluster`` and ``Run.update``."""

    def __init__(self, texts: list[str], rows: np.ndarray, k: int, method: str, seed: int) -> None:
        self.texts, self.rows, self.moved = texts, rows, 0
        self.run = coterie.cluster([texts[i] for i in rows], k, method, seed=seed)

    @property
    def labels(self) -> np.ndarray:
        """Clusters of the rows so far."""
        return self.run.labels

    def add(
        self, rows: np.ndarray, *, keep: bool = True
    ) -> tuple[np.ndarray, list[int], int, bool]:
        """Clusters of new texts, which are new, how many texts fit nowhere, and the alarm."""
        before = self.run.labels
        done = self.run.update([self.texts[i] for i in rows], dry_run=not keep)
        after = self.run.labels
        self.moved += int((before != after[: len(before)]).sum())
        if keep:
            self.rows = np.concatenate([self.rows, rows])
        return after[len(before) :], [c.id for c in done.new], done.drift.strange, done.drift.alarm


def follow(texts: list[str], labels: np.ndarray, key: lines.Row) -> lines.Row:
    """One set in ten parts."""
    seed, method = key["seed"], key["method"]
    part, first = arrive(labels, seed)
    here = [np.flatnonzero(part == t) for t in range(PARTS)]
    known = set(labels[here[0]])
    begun = time.perf_counter()
    alarms: dict[str, list[bool]] = {"same": [], "new": []}
    shares: dict[str, list[float]] = {"same": [], "new": []}
    found: dict[str, int] = {}
    new_clusters = 0
    run = Parts(texts, here[0], len(known), method, seed)
    for t in range(1, PARTS):  # parts of the same classes, each beside the first part alone
        same = here[t][np.isin(labels[here[t]], list(known))]
        if len(same) >= LEAST:
            _, _, strange, alarm = run.add(same, keep=False)
            alarms["same"].append(alarm)
            shares["same"].append(strange / len(same))
    for t in range(1, PARTS):
        true = labels[here[t]]
        got, new, strange, alarm = run.add(here[t])
        new_clusters += len(new)
        if any(first[str(c)] == t and (true == c).sum() >= LEAST for c in np.unique(true)):
            alarms["new"].append(alarm)
            shares["new"].append(strange / len(true))
        for cluster in new:
            c, count = Counter(true[got == cluster]).most_common(1)[0]
            if first[str(c)] and 2 * count > (got == cluster).sum():
                found.setdefault(str(c), t - first[str(c)])
    seconds = time.perf_counter() - begun
    final = np.empty(len(labels), dtype=np.int64)
    final[run.rows] = run.labels
    whole = coterie.make_method(method, len(first), random_state=seed).fit(texts)
    possible = [c for c, t in first.items() if t and (labels[here[t]] == c).sum() >= LEAST]
    return {
        "rows": len(texts),
        "classes": len(first),
        "first_rows": len(here[0]),
        "first_classes": len(known),
        "moved": run.moved,
        "scores": _rounded(external_scores(labels, final)),
        "at_once": _rounded(external_scores(labels, whole.labels_)),
        "clusters": len(np.unique(run.labels)),
        "new_clusters": new_clusters,
        "late_classes": len(possible),
        "found": sum(c in found for c in possible),
        "delay": [found[c] for c in possible if c in found],
        "alarms": {key: [sum(values), len(values)] for key, values in alarms.items()},
        "fit_nowhere": {key: _mean(values) for key, values in shares.items()},
        "seconds": round(seconds, 1),
    }


def thirty(seed: int, method: str) -> list[dict[str, Any]]:
    """Each theme of the bundled messages as a new one: 30 of its texts beside all others."""
    corpus = coterie.sample()
    themes = np.array([str(t) for t in corpus.table.column("theme").to_pylist()])
    out = []
    for theme in sorted(set(themes) - {"none"}):
        new = np.flatnonzero(themes == theme)[:THEME_ROWS]
        if len(new) < THEME_ROWS - LEAST:
            continue
        old = np.flatnonzero(themes != theme)
        run = Parts(corpus.texts, old, len(set(themes)) - 1, method, seed)
        got, made, _, _ = run.add(new)
        out.append(
            {
                "theme": theme,
                "rows": len(new),
                "together": max((int((got == cluster).sum()) for cluster in made), default=0),
                "new_clusters": len(made),
            }
        )
    return out


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 5) for key, value in scores.items()}


def _mean(values: list[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def table(rows: list[lines.Row]) -> str:
    """Means over the seeds, by set and method, and of the themes of the bundled messages."""
    sets = [row for row in rows if row["dataset"] != "sample"]
    named = [(row["method"] + ", files" * row["files"], row["dataset"]) for row in sets]
    groups = [*dict.fromkeys(named)]
    groups += [(method, "all") for method in dict.fromkeys(method for method, _ in groups)]
    body = []
    for method, name in groups:
        mine = [
            row
            for row, (own, dataset) in zip(sets, named, strict=True)
            if own == method and name in ("all", dataset)
        ]
        nmi, once = (100 * np.mean([row[k]["nmi"] for row in mine]) for k in ("scores", "at_once"))
        found, late = (sum(row[key] for row in mine) for key in ("found", "late_classes"))
        delays = [d for row in mine for d in row["delay"]]
        counted = [row["moved"] for row in mine if row["moved"] is not None]
        alarms = (
            "{} of {}".format(*np.sum([row["alarms"][key] for row in mine], axis=0))
            for key in ("new", "same")
        )
        moved = str(sum(counted)) if counted else "not counted"
        delay = f"{np.mean(delays):.1f}" if delays else ""
        head = [f"{name}, {method} ({len(mine)})", f"{nmi:.1f}", f"{once:.1f}", moved]
        body.append([*head, f"{found} of {late}", delay, *alarms])
    header = ["set", "NMI, updated", "NMI, at once", "moved", "later classes found", "mean delay",
              "alarms: new class", "same classes"]  # fmt: skip
    out = lines.table(header, body)
    themes = [row for row in rows if row["dataset"] == "sample"]
    if themes:
        good = sum(row["together"] >= min(25, row["rows"] - LEAST) for row in themes)
        together = np.median([row["together"] for row in themes])
        out += (
            f"\n\n{len(themes)} new themes of up to 30 texts: together in one new cluster "
            f"{together:g} (median), at least 25 (or all but 5) in {good}."
        )
    return out


def cases(options: Namespace) -> list[lines.Row]:
    return [
        {"dataset": name, "seed": seed, "method": options.method}
        | ({} if name == "sample" else {"files": True})  # older lines are without
        for seed in options.seeds
        for name in options.sets
    ]


def measure(key: lines.Row, options: Namespace) -> lines.Row | list[lines.Row]:
    """The lines of one set and seed."""
    if key["dataset"] == "sample":
        return thirty(key["seed"], key["method"])
    data = load_dataset(key["dataset"], options.data)
    return follow(data.texts, np.array(data.labels), key)


OPTIONS = {"--sets": (*DEV, "sample"), "--seeds": (0, 1, 2), "--method": "auto"}
main = lines.Experiment("updates", __doc__, cases, measure, table, OPTIONS)
