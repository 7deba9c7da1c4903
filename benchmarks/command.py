"""What ``coterie cluster`` costs beside encoding its texts.

    python benchmarks/command.py --data DIR                 # adds what is missing
    python benchmarks/command.py --texts messages --sizes 20000
    python benchmarks/command.py --table                    # prints the table

Titles of StackOverflow, a random choice of each size, or made messages of some twenty words
(``make_texts.py``), which take longer to encode and as long for all the rest. Each command runs in
a process of its own, with an empty cache. Just before it, another process turns the same texts into
vectors and does nothing else; both are measured in processor seconds (user and system), which other
programs on the machine disturb less than the clock. The ratio is that of all a command takes, from
its start to its end, to tokenising and encoding alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lines
import numpy as np
from children import measure
from make_texts import make_texts

DATASET = "stackoverflow"
SIZES = (1_000, 5_000, 20_000)
CLUSTERS = 20
SETTINGS: dict[str, list[str]] = {
    "auto": [],
    "auto -k 20": ["-k", str(CLUSTERS)],
    "auto -k 20 --effort quick": ["-k", str(CLUSTERS), "--effort", "quick"],
    "kmeans -k 20": ["-k", str(CLUSTERS), "--method", "kmeans"],
}


def main() -> None:
    options = _options()
    if options.encode is not None:
        encode(options.encode)
        return
    if options.table:
        print(table(lines.read(options.out)))
        return
    for size in [int(part) for part in options.sizes.split(",")]:
        texts = read(options.texts, size, options.data)
        for name in SETTINGS:
            key = {"label": "command", "texts": options.texts, "setting": name}
            key |= {"n_texts": len(texts)}
            if not lines.has(lines.read(options.out), **key):
                row = key | run(name, texts)
                lines.append(options.out, row)
                print(f"{size:,} {options.texts}, {name}: {row['ratio']:.2f}", flush=True)


def read(kind: str, size: int, data: Path | None) -> list[str]:
    """So many texts: titles of the data set, or messages that are made here."""
    if kind == "messages":
        return list(make_texts(size))
    from coterie.bench.run import load_data

    texts = load_data(DATASET, data).texts
    return [texts[i] for i in np.random.default_rng(0).permutation(len(texts))[:size]]


def run(name: str, texts: list[str]) -> dict[str, Any]:
    """Encoding alone, then the command."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source, out, log = folder / "texts.csv", folder / "out", folder / "log.txt"
        with source.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text"], *([text] for text in texts)])
        measure([sys.executable, __file__, "--encode", str(source)], log)
        alone = json.loads(log.read_text("utf-8").splitlines()[-1])
        command = [sys.executable, "-m", "coterie", "cluster", str(source), "--out", str(out)]
        took = measure([*command, *SETTINGS[name]], log)
        manifest = json.loads((out / "manifest.json").read_text("utf-8"))
        clusters = json.loads((out / "clusters.json").read_text("utf-8"))
    return {
        "n_clusters": len(clusters),
        "seconds": {"wall": took["wall"], "processor": took["processor"], **manifest["seconds"]},
        "encoding": alone,
        "ratio": round(took["processor"] / alone["processor"], 3),
        "peak_memory": took["peak_memory"],
        "load_before": took["load_before"],
    }


def encode(source: Path) -> None:
    """Turn the texts of a file into vectors and say how long that took, start-up left out."""
    from coterie.encoders import DEFAULT, load_encoder, no_cache

    with source.open(newline="", encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    encoder = load_encoder(DEFAULT)
    begun, used = time.perf_counter(), time.process_time()
    with no_cache():
        items, _ = encoder.prepare(texts)
        encoder.encode(items)
    found = {"wall": time.perf_counter() - begun, "processor": time.process_time() - used}
    print(json.dumps({name: round(value, 2) for name, value in found.items()}))


def table(rows: list[dict[str, Any]]) -> str:
    """A line per size and setting; of several runs the last."""
    last = {(row["texts"], row["n_texts"], row["setting"]): row for row in rows}
    body = [
        [
            f"{size:,} {kind}",
            f"`{name}`",
            f"{row['encoding']['processor']:.1f}",
            f"{row['seconds']['processor']:.1f}",
            f"{row['ratio']:.2f}",
            f"{row['peak_memory'] / 1e9:.1f} GB",
        ]
        for (kind, size, name), row in sorted(
            last.items(), key=lambda item: (-len(item[0][0]), item[0][1])
        )
    ]
    header = ["texts", "setting", "encoding alone", "command", "ratio", "memory"]
    return lines.table(header, body)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("COTERIE_DATA"))
    parser.add_argument("--out", type=Path, default=Path("results/command.jsonl"))
    parser.add_argument("--texts", choices=["titles", "messages"], default="titles")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    parser.add_argument("--encode", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
