"""Time and memory of ``coterie cluster FILE`` as files grow.

    coterie-bench size --sizes 1000,5000,20000,100000   # adds what is missing
    coterie-bench size --table                          # prints the table

The texts are made from the bundled sample, see make_texts.py. They say how long the work takes, not
how good it is.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from coterie_bench.experiments import lines
from coterie_bench.experiments.children import measure
from coterie_bench.experiments.make_texts import make_texts

SIZES = (1_000, 5_000, 20_000, 100_000)


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        return
    for size in [int(part) for part in options.sizes.split(",")]:
        if lines.has(lines.read(options.out), n_texts=size):
            continue
        row = run(list(make_texts(size)))
        lines.append(options.out, row)
        print(f"{size:,} texts: {row['seconds']['wall']:.0f} s", flush=True)


def run(texts: list[str]) -> dict[str, Any]:
    """The bare command on a file of these texts."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source, out = folder / "texts.csv", folder / "out"
        with source.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text"], *([text] for text in texts)])
        command = [sys.executable, "-m", "coterie", "cluster", str(source), "--out", str(out)]
        took = measure(command, folder / "log.txt")
        manifest = json.loads((out / "manifest.json").read_text("utf-8"))
        clusters = json.loads((out / "clusters.json").read_text("utf-8"))
        page = (out / "report.html").stat().st_size
        bytes_in = source.stat().st_size
    return {
        "label": "coterie cluster FILE",
        "n_texts": len(texts),
        "n_different": len(set(texts)),
        "bytes": bytes_in,
        "n_clusters": len(clusters),
        "seconds": {"wall": took["wall"], "processor": took["processor"], **manifest["seconds"]},
        "peak_memory": took["peak_memory"],
        "load_before": took["load_before"],
        "page_bytes": page,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """A line per size."""
    body = [
        [
            f"{row['n_texts']:,}",
            f"{row['seconds']['wall']:.0f}",
            f"{row['seconds']['processor']:.0f}",
            f"{row['peak_memory'] / 1e9:.1f} GB",
            str(row["n_clusters"]),
            f"{row['page_bytes'] / 1e6:.1f} MB",
        ]
        for row in sorted(rows, key=lambda row: row["n_texts"])
    ]
    return lines.table(
        ["texts", "seconds", "processor seconds", "memory", "clusters", "page"], body
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/size.jsonl"))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
