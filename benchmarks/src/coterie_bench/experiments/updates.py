"""How well ``update`` finds new classes, and what it costs not to move old rows.

    coterie-bench updates [--method auto] [--seeds 0,1,2] [--jobs 8] [--out FILE] [SET ...]
    coterie-bench updates --table results/updates.jsonl

The texts of a development set (``--data`` or COTERIE_DATA) arrive in ten parts. Six of ten classes,
drawn at random, are in all parts; the others begin in a later part each, evenly spread over the
second to the tenth. The first part is clustered into as many clusters as it has classes; the other
parts are added as ``update`` does it. With ``--files`` they are added by ``update`` itself, which
also writes tables and pages; only then is it counted which old rows moved. Beside it, all texts are
clustered at once into as many clusters as there are classes.

Of each set and seed one line says: rows that moved; NMI at the end, and of all texts at once; how
many of the later classes (with five texts or more in their first part) have a cluster of their own,
that is one in which they are the majority, and how many parts after they first came; and alarms of
``update`` when a part holds a new class, and when it is drawn from the classes of the first part.
The set "sample" is the bundled messages: each theme in turn is left out, and 30 of its texts are
added to the run of all others.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

import coterie
from coterie._facts import hardware, versions
from coterie.metrics import external_scores
from coterie.runs.update import learn_new
from coterie_bench.datasets import DEV

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


def read(path: Path) -> tuple[list[str], np.ndarray]:
    """Texts and labels of a set."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], np.array([row["label"] for row in rows])


class Vectors:
    """The clusters of the parts that have come, without files: what ``update`` computes."""

    def __init__(self, texts: list[str], rows: np.ndarray, k: int, method: str, seed: int) -> None:
        model = coterie.make_method(method, k, random_state=seed)
        model.fit([texts[i] for i in rows])
        self.vectors = np.asarray(model.transform(texts))
        self.seed, self.rows, self.labels = seed, rows, np.asarray(model.labels_)

    def add(
        self, rows: np.ndarray, *, keep: bool = True
    ) -> tuple[np.ndarray, list[int], int, bool]:
        """Clusters of new texts, which are new, how many texts fit nowhere, and the alarm."""
        ids = np.unique(self.labels).tolist()
        new, old = self.vectors[rows], self.vectors[self.rows]
        _, first, back = np.unique(new.round(3), axis=0, return_index=True, return_inverse=True)
        found = learn_new(old, self.labels, new[first], ids, ids[-1] + 1, self.seed)
        placed = found.placed
        labels, strange = placed.labels[back.ravel()], placed.nowhere[back.ravel()]
        if keep:
            self.rows = np.concatenate([self.rows, rows])
            self.labels = np.concatenate([self.labels, labels])
        return labels, placed.new, int(strange.sum()), placed.alarm


class Files:
    """The same by ``coterie.cluster`` and ``Run.update``, with all files of the run."""

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
        """As :meth:`Vectors.add`."""
        before = self.run.labels
        done = self.run.update([self.texts[i] for i in rows], again=True, dry_run=not keep)
        after = self.run.labels
        self.moved += int((before != after[: len(before)]).sum())
        if keep:
            self.rows = np.concatenate([self.rows, rows])
        return after[len(before) :], [c.id for c in done.new], done.drift.strange, done.drift.alarm


def follow(name: str, path: Path, seed: int, method: str, files: bool) -> dict[str, Any]:
    """One set in ten parts."""
    texts, labels = read(path)
    part, first = arrive(labels, seed)
    here = [np.flatnonzero(part == t) for t in range(PARTS)]
    known = set(labels[here[0]])
    begun = time.perf_counter()
    alarms: dict[str, list[bool]] = {"same": [], "new": []}
    shares: dict[str, list[float]] = {"same": [], "new": []}
    found: dict[str, int] = {}
    new_clusters = 0
    run = (Files if files else Vectors)(texts, here[0], len(known), method, seed)
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
        "dataset": name,
        "seed": seed,
        "method": method,
        "rows": len(texts),
        "classes": len(first),
        "first_rows": len(here[0]),
        "first_classes": len(known),
        "files": files,
        "moved": run.moved if isinstance(run, Files) else None,
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
        run = Vectors(corpus.texts, old, len(set(themes)) - 1, method, seed)
        got, made, _, _ = run.add(new)
        out.append(
            {
                "dataset": "sample",
                "seed": seed,
                "method": method,
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


def table(path: Path) -> None:
    """Print the lines as a table, mean over the seeds."""
    with path.open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    sets = [line for line in lines if line["dataset"] != "sample"]
    for line in sets:
        line["method"] += ", files" if line["files"] else ""
    print(
        "| set | NMI, updated | NMI, at once | moved | later classes found | mean delay "
        "| alarms: new class | same classes |"
    )
    print("|---|---|---|---|---|---|---|---|")
    groups = list(dict.fromkeys((line["method"], line["dataset"]) for line in sets))
    groups += [(method, "all") for method in dict.fromkeys(method for method, _ in groups)]
    for method, name in groups:
        mine = [
            line for line in sets if line["method"] == method and name in ("all", line["dataset"])
        ]
        nmi, once = (
            100 * np.mean([line[key]["nmi"] for line in mine]) for key in ("scores", "at_once")
        )
        found, late = (sum(line[key] for line in mine) for key in ("found", "late_classes"))
        delays = [d for line in mine for d in line["delay"]]
        alarms = [
            "{} of {}".format(*np.sum([line["alarms"][key] for line in mine], axis=0))
            for key in ("new", "same")
        ]
        delay = f"{np.mean(delays):.1f}" if delays else ""
        counted = [line["moved"] for line in mine if line["moved"] is not None]
        moved = sum(counted) if counted else "not counted"
        print(
            f"| {name}, {method} ({len(mine)}) | {nmi:.1f} | {once:.1f} | {moved} | "
            f"{found} of {late} | {delay} | {alarms[0]} | {alarms[1]} |"
        )
    themes = [line for line in lines if line["dataset"] == "sample"]
    if themes:
        good = sum(line["together"] >= min(25, line["rows"] - LEAST) for line in themes)
        together = [line["together"] for line in themes]
        print(
            f"\n{len(themes)} new themes of up to 30 texts: together in one new cluster "
            f"{np.median(together):g} (median), at least 25 (or all but 5) in {good}."
        )


def work(job: tuple[str, str, int, str, bool]) -> list[dict[str, Any]]:
    """The lines of one set and seed, in a process of its own."""
    name, path, seed, method, files = job
    if name == "sample":
        lines = thirty(seed, method)
    else:
        lines = [follow(name, Path(path), seed, method, files)]
    facts = {"hardware": hardware("cpu"), "versions": versions()}
    return [{**line, **facts} for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="default: all, and sample")
    parser.add_argument("--data", default=os.environ.get("COTERIE_DATA", "."))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--files", action="store_true", help="by the command's own functions")
    parser.add_argument("--out", default="results/updates.jsonl")
    parser.add_argument("--table", type=Path)
    args = parser.parse_args()
    if args.table is not None:
        table(args.table)
        return
    folder = Path(args.data)
    folder = folder / "dev" if (folder / "dev").is_dir() else folder
    names = args.sets or [*DEV, "sample"]
    seeds = [int(seed) for seed in args.seeds.split(",")]
    jobs = [(n, str(folder / f"{n}.csv"), s, args.method, args.files) for s in seeds for n in names]
    with (
        Path(args.out).open("a", encoding="utf-8") as out,
        ProcessPoolExecutor(args.jobs) as pool,
    ):
        for future in as_completed([pool.submit(work, job) for job in jobs]):
            for line in future.result():
                out.write(json.dumps(line) + "\n")
                shown = {k: line[k] for k in ("dataset", "seed", "method")}
                print(
                    shown,
                    line.get("scores", {}).get("nmi"),
                    line.get("at_once", {}).get("nmi"),
                    line.get("together"),
                    file=sys.stderr,
                    flush=True,
                )
            out.flush()


if __name__ == "__main__":
    main()
