"""What it takes to make the same runs by one process, and by several that share the machine.

    python benchmarks/jobs.py --data DIR --device cuda --jobs 1,2,4    # one process up to four
    python benchmarks/jobs.py --data DIR --device cuda --jobs 4 --how MPS
    python benchmarks/jobs.py --table                                  # prints the table

SCCL on Tweet, some seeds, by `coterie bench`, from the start of the command to its end: what a
process takes to load torch and to reach the GPU is in it. `--how` is a word of yours on how the
GPU was shared, written beside the time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import children
import lines

from coterie.bench.collect import about
from coterie.encoders import DEFAULT

SUITE, DATASET, LABEL = "papers", "tweet", "SCCL, default"
OUT = Path(__file__).parents[1] / "results" / "jobs.jsonl"


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        return
    for jobs in map(int, options.jobs.split(",")):
        lines.append(options.out, run(jobs, options))


def run(jobs: int, options: argparse.Namespace) -> lines.Row:
    """Seconds of one command, which finds no results and no vectors of an earlier one."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "coterie", "bench", SUITE, "--out", folder, "--quiet",
            "--datasets", DATASET, "--only", LABEL, "--seeds", str(options.seeds),
            "--jobs", str(jobs), "--device", options.device, "--encoder", options.encoder,
            *(["--data", str(options.data)] if options.data else []),
        ]  # fmt: skip
        took = children.measure(command, Path(folder) / "log.txt")
        made = lines.read(Path(folder) / f"{SUITE}.jsonl")
    if len(made) != options.seeds:
        raise SystemExit(f"{len(made)} of {options.seeds} runs were made.")
    wall = float(took["wall"])
    print(f"{options.seeds} runs, {jobs} at a time: {wall:.1f} s", flush=True)
    what = {"label": LABEL, "dataset": DATASET, "dataset_sha256": made[0]["dataset_sha256"]}
    how = {"runs": options.seeds, "jobs": jobs, "how": options.how, "on": options.device}
    return what | how | {"wall": wall}


def table(rows: Sequence[lines.Row]) -> str:
    """Seconds of all runs, and of one run on the average, by how many went at a time."""
    one = {row["runs"]: row["wall"] for row in rows if row["jobs"] == 1}
    body = []
    for row in sorted(rows, key=lambda row: (row["jobs"], row["how"])):
        base = one.get(row["runs"])
        body.append([
            str(row["jobs"]), row["how"], f"{row['wall']:.0f}", f"{row['wall'] / row['runs']:.1f}",
            "" if base is None else f"{base / row['wall']:.2f}",
        ])  # fmt: skip
    header = ["runs at a time", "GPU shared by", "all runs, s", "a run, s", "times as fast as one"]
    made = f"{rows[0]['runs']} runs of {rows[0]['label']} on {rows[0]['dataset']}." if rows else ""
    return f"{lines.table(header, body)}\n\n{made} {about(list(rows))}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the same runs by one process and several.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--encoder", default=DEFAULT)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", default="1,2,4", help="numbers of processes, by commas")
    parser.add_argument("--seeds", type=int, default=8, help="runs of each command")
    parser.add_argument("--how", default="time slices", help="how the GPU is shared, in words")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
