"""Time and memory of each method as texts and clusters become more.

    coterie-bench curve                       # adds what is missing to results/curve.jsonl
    coterie-bench curve --encoder static:DIR --methods auto,kmeans --sizes 1000,1000000
    coterie-bench curve --table               # prints the table, draws results/pages/cost.svg

Every point is ``coterie cluster FILE -k K --method M`` in a process of its own, without the cache:
reading, encoding, clustering, describing, the page and the table. Up to 100,000 texts all are
fitted; of more, a sample is (docs/howto/large-files.md). A run that takes longer than ``--limit``
is stopped and recorded as such, and larger ones of the method that also fit all texts are left out.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

from coterie.encoders import DEFAULT
from coterie.runs.sample import LARGE
from coterie_bench import ROOT
from coterie_bench.experiments import children, lines
from coterie_bench.experiments.make_texts import make_texts
from coterie_bench.figures.picture import Lines, Panel, Picture, save

METHODS = ("auto", "kmeans", "umap-kmeans", "average", "ward", "tfidf-kmeans")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CLUSTERS = (10, 30, 100, 300, 1_000)
USUAL_CLUSTERS = 50  # while the number of texts grows
USUAL_SIZE = 20_000  # while the number of clusters grows
PICTURES = ROOT / "results" / "pages"
STOPPED = 124  # how the program timeout ends when it has stopped another


def cases(options: Namespace) -> Iterator[lines.Row]:
    """All points, but none larger than one that was stopped."""
    for method in options.methods:
        for size, clusters in points(list(options.sizes), list(options.clusters)):
            key = {"label": "cost", "method": method, "encoder": plain_name(options.encoder)}
            key |= {"n_texts": size, "n_clusters": clusters}
            if not too_long(lines.read(options.out), key):
                yield key


def points(sizes: list[int], clusters: list[int]) -> list[tuple[int, int]]:
    """Pairs of texts and clusters to measure, the quick ones first; both curves share one.

    Examples
    --------
    >>> points([1_000, 20_000], [10, 50])
    [(1000, 50), (20000, 10), (20000, 50)]
    """
    several = {(n, USUAL_CLUSTERS) for n in sizes}
    several |= {(min(USUAL_SIZE, max(sizes)), k) for k in clusters}
    return sorted(pair for pair in several if pair[0] > pair[1])


def too_long(done: list[lines.Row], row: lines.Row) -> bool:
    """Whether a smaller run of the kind was stopped already; samples are another kind."""
    same = [other for other in done if all(other.get(k) == row[k] for k in ("method", "encoder"))]
    return any(
        other.get("stopped")
        and other["n_texts"] <= row["n_texts"]
        and other["n_clusters"] <= row["n_clusters"]
        and (other["n_texts"] > LARGE) == (row["n_texts"] > LARGE)
        for other in same
    )


def plain_name(encoder: str) -> str:
    """What is written down of an encoder: its name, not where it lies on this machine.

    Examples
    --------
    >>> plain_name("static:/home/me/models/potion-base-8M"), plain_name("all-MiniLM-L6-v2")
    ('static:potion-base-8M', 'all-MiniLM-L6-v2')
    """
    kind, colon, where = encoder.rpartition(":")
    return f"{kind}{colon}{Path(where).name}"


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """One run of the command."""
    asked = ["--no-cache", "-k", str(key["n_clusters"]), "--method", key["method"]]
    if not key["method"].startswith("tfidf"):
        asked += ["--encoder", options.encoder]
    start = ("timeout", str(options.limit), sys.executable, "-m", "coterie")
    try:
        row = children.cluster(make_texts(key["n_texts"]), *asked, start=start)
    except SystemExit as error:
        if f"ended with {STOPPED}" in str(error):
            return {"stopped": options.limit}
        raise
    return {k: row[k] for k in ("seconds", "peak_memory", "load_before", "fit_sample")}


def picture(rows: list[lines.Row]) -> Picture:
    """Four panels: time and memory, over texts and over clusters."""
    measured = [row for row in rows if "seconds" in row]
    fixed = min(USUAL_SIZE, max((row["n_texts"] for row in measured), default=0))
    over_texts = [row for row in measured if row["n_clusters"] == USUAL_CLUSTERS]
    over_clusters = [row for row in measured if row["n_texts"] == fixed]
    panels: list[Panel] = []
    for name, chosen, axis in (
        (f"{USUAL_CLUSTERS} clusters", over_texts, "texts"),
        (f"{fixed:,} texts", over_clusters, "clusters"),
    ):
        for title, y in (("processor seconds", seconds), ("memory in MB", megabytes)):
            series = curves(chosen, f"n_{axis}", y)
            panels.append(Lines(x=axis, y=title, series=series, title=name, log="both"))
    return Picture(title="Time and memory of each method", panels=panels, columns=2)


def table(rows: list[lines.Row]) -> str:
    """A line per run that ended; of several of the same, the newest."""
    key = ("method", "encoder", "n_clusters", "n_texts")
    last = {tuple(row[name] for name in key): row for row in rows if "seconds" in row}
    body = [
        [
            f"`{method}`", encoder, f"{texts:,}", str(clusters), f"{row['fit_sample'] or texts:,}",
            f"{seconds(row):.0f}", f"{row['peak_memory'] / 1e9:.1f} GB",
        ]
        for (method, encoder, clusters, texts), row in sorted(last.items())
    ]  # fmt: skip
    header = ["method", "encoder", "texts", "clusters", "fitted", "processor seconds", "memory"]
    return lines.table(header, body)


def seconds(row: lines.Row) -> float:
    """Processor time of a run, which other programs on the machine disturb less than the clock."""
    return float(row["seconds"]["processor"])


def megabytes(row: lines.Row) -> float:
    """Peak memory of a run."""
    return float(row["peak_memory"]) / 1e6


def curves(
    rows: list[lines.Row], x: str, y: Callable[[lines.Row], float]
) -> dict[str, list[list[float]]]:
    """Points of each method; of several runs of the same, the newest."""
    found: dict[str, dict[float, float]] = {}
    for row in rows:
        found.setdefault(row["method"], {})[float(row[x])] = y(row)
    return {m: [[*point] for point in sorted(points.items())] for m, points in found.items()}


def show(rows: list[lines.Row]) -> str:
    """Draw the picture of the documentation, and return the table."""
    save(picture(rows), PICTURES, "cost", ["svg"])
    return table(rows)


main = lines.Experiment(
    "curve",
    __doc__,
    cases,
    measure,
    show,
    {
        "--methods": METHODS,
        "--sizes": SIZES,
        "--clusters": CLUSTERS,
        "--encoder": DEFAULT,
        "--limit": 7200,  # seconds that a run may take
    },
)
