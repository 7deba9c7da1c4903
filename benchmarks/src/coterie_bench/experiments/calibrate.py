"""What the estimate before a large run says, beside what the run takes.

    coterie-bench calibrate --encoder static:DIR     # adds what is missing
    coterie-bench calibrate --table                  # prints the table

The estimate (``runs/estimate.py``) probes the machine for a moment and multiplies by known counts.
Here the probe is timed by the processor, as the run is, so that a busy machine counts for neither.
Texts are made from the bundled sample, see make_texts.py; more than 100,000 rows are needed, since
smaller files are fitted whole and nothing is estimated.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coterie._validation import whole_number
from coterie.methods import METHODS
from coterie.runs.estimate import Speeds, bytes_for, make_job, probe, seconds_for
from coterie.runs.sample import sample_size
from coterie_bench.experiments import lines
from coterie_bench.experiments.children import measure
from coterie_bench.experiments.curve import plain_name
from coterie_bench.experiments.make_texts import make_texts, write_texts

SIZES = (110_000, 300_000)
CLUSTERS = 50


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        return
    for size in [int(part) for part in options.sizes.split(",")]:
        for method in options.methods.split(","):
            key = {"label": "calibrate", "method": method, "n_texts": size}
            key |= {"encoder": plain_name(options.encoder), "n_clusters": CLUSTERS}
            if not lines.has(lines.read(options.out), **key):
                lines.append(options.out, key | run(key, options.encoder))


def run(key: lines.Row, encoder: str) -> lines.Row:
    """Probe, then run the command."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source, out, log = folder / "texts.csv", folder / "out", folder / "log.txt"
        write_texts(make_texts(key["n_texts"]), source)
        asked = [sys.executable, __file__, "--probe", key["method"], "--encoder", encoder]
        measure([*asked, "--texts", str(source)], log)
        speeds = json.loads(log.read_text("utf-8").splitlines()[-1])
        command = [sys.executable, "-m", "coterie", "cluster", str(source), "--no-cache", "--out"]
        command += [str(out), "-k", str(key["n_clusters"]), "--method", key["method"]]
        took = measure([*command, "--encoder", encoder], log)
        manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    said, _ = estimates(key | {"speeds": speeds})
    print(f"{key['n_texts']:,} texts, {key['method']}: {said:.0f} s said, "
          f"{took['processor']:.0f} s taken", flush=True)  # fmt: skip
    return {
        "speeds": speeds,
        "seconds": {"wall": took["wall"], "processor": took["processor"], **manifest["seconds"]},
        "peak_memory": manifest["peak_memory"].get("resident", took["peak_memory"]),
        "load_before": took["load_before"],
    }


def look(method: str, encoder: str, source: Path) -> None:
    """Probe this machine, in a process as fresh as that of the command, and print what it found."""
    from coterie.corpus import TextStream

    model = METHODS[method].make(2, encoder=encoder)
    begun, rows, texts = time.process_time(), 0, []
    for chunk in TextStream(source):
        rows += len(chunk)
        texts = texts or list(dict.fromkeys(chunk.texts))
    spent = (time.process_time() - begun) / rows
    print(json.dumps(asdict(probe(model, texts, spent, time.process_time))))


def estimates(row: lines.Row) -> tuple[float, float]:
    """Seconds and bytes as the estimate is now, from the speeds that were measured then."""
    clusters, speeds = whole_number(str(row["n_clusters"])), Speeds(**row["speeds"])
    sample = sample_size(None, clusters)[0]
    job = make_job(METHODS[row["method"]].make(2), row["n_texts"], sample, clusters)
    return seconds_for(job, speeds), float(bytes_for(job, speeds))


def table(rows: list[dict[str, Any]]) -> str:
    """A line per run."""
    body = []
    for row in rows:
        seconds, memory = estimates(row)
        body.append([
            row["method"], f"{row['n_texts']:,}", f"{seconds:.0f}",
            f"{row['seconds']['processor']:.0f}", f"{memory / 1e9:.1f} GB",
            f"{row['peak_memory'] / 1e9:.1f} GB",
        ])  # fmt: skip
    header = ["method", "texts", "seconds said", "taken", "memory said", "taken"]
    return lines.table(header, body)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--encoder", help="static:DIR")
    parser.add_argument("--out", type=Path, default=Path("results/calibrate.jsonl"))
    parser.add_argument("--methods", default="kmeans,auto")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--table", action="store_true", help="print the table and run nothing")
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    parser.add_argument("--texts", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.probe:
        look(options.probe, options.encoder, options.texts)
        raise SystemExit
    return options


if __name__ == "__main__":
    main()
