"""Time and memory of each method as texts and clusters become more.

    coterie-bench curve                       # adds what is missing to results/curve.jsonl
    coterie-bench curve --encoder static:DIR --methods auto,kmeans --sizes 1000,1000000
    coterie-bench curve --draw                # draws results/pages/cost.svg, runs nothing

Every point is ``coterie cluster FILE -k K --method M`` in a process of its own, without the cache:
reading, encoding, clustering, describing, the page and the table. Up to 100,000 texts all are
fitted; of more, a sample is (docs/howto/large-files.md). A run that takes longer than ``--limit``
is stopped and recorded as such, and larger ones of the method that also fit all texts are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from coterie.encoders import DEFAULT
from coterie.runs.sample import LARGE
from coterie_bench import ROOT
from coterie_bench.experiments import lines
from coterie_bench.experiments.children import measure
from coterie_bench.experiments.drawing import Panel, draw
from coterie_bench.experiments.make_texts import make_texts, write_texts

METHODS = ("auto", "kmeans", "umap-kmeans", "average", "ward", "tfidf-kmeans")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CLUSTERS = (10, 30, 100, 300, 1_000)
USUAL_CLUSTERS = 50  # while the number of texts grows
USUAL_SIZE = 20_000  # while the number of clusters grows
PICTURE = ROOT / "results" / "pages" / "cost.svg"
STOPPED = 124  # how the program timeout ends when it has stopped another


def main() -> None:
    options = _options()
    if not options.draw:
        for method in options.methods.split(","):
            for size, clusters in points(_numbers(options.sizes), _numbers(options.clusters)):
                row = {"label": "cost", "method": method, "encoder": plain_name(options.encoder)}
                row |= {"n_texts": size, "n_clusters": clusters}
                done = lines.read(options.out)
                if not lines.has(done, **row) and not too_long(done, row):
                    lines.append(options.out, row | run(row, options.encoder, options.limit))
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(picture(lines.read(options.out)), encoding="utf-8")


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


def run(row: lines.Row, encoder: str, limit: int) -> lines.Row:
    """One run of the command."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source, out = folder / "texts.csv", folder / "out"
        write_texts(make_texts(row["n_texts"]), source)
        command = ["timeout", str(limit), sys.executable, "-m", "coterie", "cluster", str(source)]
        command += ["--no-cache", "-k", str(row["n_clusters"]), "--method", row["method"]]
        if not row["method"].startswith("tfidf"):
            command += ["--encoder", encoder]
        try:
            took = measure([*command, "--out", str(out)], folder / "log.txt")
        except SystemExit as error:
            if f"ended with {STOPPED}" in str(error):
                return {"stopped": limit}
            raise
        manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    print(f"{row['method']}: {row['n_texts']:,} texts, {row['n_clusters']} clusters: "
          f"{took['wall']:.0f} s", flush=True)  # fmt: skip
    return {
        "seconds": {"wall": took["wall"], "processor": took["processor"], **manifest["seconds"]},
        "peak_memory": manifest["peak_memory"].get("resident", took["peak_memory"]),
        "load_before": took["load_before"],
        "fit_sample": manifest.get("fit_sample"),
    }


def picture(rows: list[lines.Row]) -> str:
    """Four panels: time and memory, over texts and over clusters."""
    measured = [row for row in rows if "seconds" in row]
    largest = max((row["n_texts"] for row in measured), default=0)
    fixed = min(USUAL_SIZE, largest)
    over_texts = [row for row in measured if row["n_clusters"] == USUAL_CLUSTERS]
    over_clusters = [row for row in measured if row["n_texts"] == fixed]
    panels = []
    for name, chosen, axis in (
        (f"{USUAL_CLUSTERS} clusters", over_texts, "texts"),
        (f"{fixed:,} texts", over_clusters, "clusters"),
    ):
        title = f"processor seconds, {name}"
        panels.append(Panel(title, axis, curves(chosen, f"n_{axis}", seconds)))
        panels.append(Panel(f"memory in MB, {name}", axis, curves(chosen, f"n_{axis}", megabytes)))
    return draw(panels, "Time and memory of each method over the number of texts and of clusters")


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


def curves(rows: list[lines.Row], x: str, y: Any) -> dict[str, list[tuple[float, float]]]:
    """Points of each method; of several runs of the same, the newest."""
    found: dict[str, dict[float, float]] = {}
    for row in rows:
        found.setdefault(row["method"], {})[float(row[x])] = y(row)
    return {method: sorted(points.items()) for method, points in found.items()}


def _numbers(said: str) -> list[int]:
    return [int(part) for part in said.split(",")]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/curve.jsonl"))
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--clusters", default=",".join(map(str, CLUSTERS)))
    parser.add_argument("--encoder", default=DEFAULT, help="static:DIR measures more quickly")
    parser.add_argument("--limit", type=int, default=7200, help="seconds that a run may take")
    parser.add_argument("--draw", action="store_true", help="draw the picture and run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
