"""What it takes to make the same runs by one process, and by several that share the machine.

    coterie-bench jobs --data DIR --device cuda --jobs 1,2,4    # one process up to four
    coterie-bench jobs --data DIR --device cuda --jobs 4 --how MPS
    coterie-bench jobs --data DIR --device cuda --jobs 4 --suite systems --seeds 1
    coterie-bench jobs --table                                  # prints the tables

SCCL on Tweet, some seeds, or a whole suite, by `coterie-bench`, from the start of the command to
its end: what a process takes to load torch and to reach the GPU is in it. `--how` is a word of
yours on how the GPU was shared, written beside the time. `--keep DIR` leaves the results in a
folder, so that a command that was ended is not lost: started again it goes on with what is
missing, and the line says how many runs it made itself. `results/pass.jsonl` are the runs of the
last whole suite, from which the second table takes what the seconds went to.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from coterie.encoders import DEFAULT
from coterie_bench import ROOT
from coterie_bench.experiments import children, lines
from coterie_bench.tables import about

SMALL = ["--datasets", "tweet", "--only", "SCCL, default"]
OUT = ROOT / "results" / "jobs.jsonl"
PASS = OUT.with_name("pass.jsonl")
REST = "encoding, start, labels"
PHASES = {"train": "training", "prepare": "tokens and pairs", "other": "word vectors, signs, rest"}


def main() -> None:
    options = _options()
    if options.table:
        print(table(lines.read(options.out)))
        print(phases(lines.read(PASS)))
        return
    for jobs in map(int, options.jobs.split(",")):
        lines.append(options.out, run(jobs, options))


def run(jobs: int, options: argparse.Namespace) -> lines.Row:
    """Seconds of one command, which finds no vectors, and no results but those of ``--keep``."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(options.keep or temporary)
        before = len(_made(folder))
        command = [
            sys.executable, "-m", "coterie_bench", options.suite or "papers", "--out", folder,
            *([] if options.suite else SMALL), "--seeds", str(options.seeds), "--quiet",
            "--jobs", str(jobs), "--device", options.device, "--encoder", options.encoder,
            *(["--data", str(options.data)] if options.data else []),
        ]  # fmt: skip
        took = children.measure(command, Path(temporary) / "log.txt")
        made = _made(folder)[before:]
    wall = float(took["wall"])
    print(f"{len(made)} runs, {jobs} at a time: {wall:.1f} s", flush=True)
    methods = _methods(made)
    data = dict(sorted({row["dataset"]: row["dataset_sha256"] for row in made}.items()))
    what = {"methods": methods, "datasets": data, "seeds": options.seeds, "runs": len(made)}
    gpu = made[0]["hardware"].get("gpu")
    return what | {"jobs": jobs, "how": options.how, "gpu": gpu, "wall": wall}


def _made(folder: str) -> list[lines.Row]:
    """Lines of the results in a folder, in the order in which they were written."""
    return [row for file in sorted(Path(folder).glob("*.jsonl")) for row in lines.read(file)]


def table(rows: Sequence[lines.Row]) -> str:
    """Seconds of all runs, and of one run on the average, by how many went at a time."""
    one = {_what(row): row["wall"] for row in rows if row["jobs"] == 1}
    body = []
    for row in sorted(rows, key=lambda row: (row["runs"], row["jobs"], row["how"])):
        base = one.get(_what(row))
        times = "" if base is None else f"{base / row['wall']:.2f}"
        each = f"{row['wall'] / row['runs']:.1f}"
        body.append([_what(row), str(row["jobs"]), row["how"], f"{row['wall']:.0f}", each, times])
    header = ["runs", "at a time", "GPU shared by", "all, s", "a run, s", "times as fast as one"]
    on = " and ".join(sorted({str(row["gpu"] or "no GPU") for row in rows}))
    return f"{lines.table(header, body)}\n\n{on}; {about(list(rows))}"


def phases(rows: Sequence[lines.Row]) -> str:
    """Seconds of all processes by system and by what they went to, and the share of training."""
    spent = {name: dict.fromkeys([*PHASES.values(), REST], 0.0) for name in _methods(rows)}
    for row in rows:
        for phase, seconds in row["seconds"].items():
            spent[row["method"]][PHASES.get(phase, REST)] += seconds
    body = []
    for name, parts in spent.items():
        runs = sum(row["method"] == name for row in rows)
        longest = max(sum(row["seconds"].values()) for row in rows if row["method"] == name)
        body.append([name, str(runs), *(f"{s:.0f}" for s in parts.values()), f"{longest:.0f}"])
    every = [sum(parts[key] for parts in spent.values()) for key in (*PHASES.values(), REST)]
    body.append(["all", str(len(rows)), *(f"{s:.0f}" for s in every), ""])
    header = ["system", "runs", *PHASES.values(), REST, "longest run"]
    return f"{lines.table(header, body)}\n\nSeconds, summed over processes; {about(list(rows))}"


def _methods(rows: Sequence[lines.Row]) -> list[str]:
    return sorted({row["method"] for row in rows})


def _what(row: lines.Row) -> str:
    sets = list(row["datasets"])
    where = sets[0] if len(sets) == 1 else f"{len(sets)} sets"
    return f"{row['runs']}: {', '.join(row['methods'])} on {where}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the same runs by one process and several.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--encoder", default=DEFAULT)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", default="1,2,4", help="numbers of processes, by commas")
    parser.add_argument("--suite", help="a whole suite in place of SCCL on Tweet")
    parser.add_argument("--seeds", type=int, default=8, help="seeds of each command")
    parser.add_argument("--how", default="time slices", help="how the GPU is shared, in words")
    parser.add_argument("--keep", type=Path, help="a folder in which the results stay")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
