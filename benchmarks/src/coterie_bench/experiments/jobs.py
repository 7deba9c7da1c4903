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

import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from coterie.encoders import DEFAULT
from coterie_bench import ROOT
from coterie_bench.experiments import children, lines
from coterie_bench.tables import about

SMALL = ["--datasets", "tweet", "--only", "SCCL, default"]
PASS = ROOT / "results" / "pass.jsonl"
REST = "encoding, start, labels"
PHASES = {"train": "training", "prepare": "tokens and pairs", "other": "word vectors, signs, rest"}


def cases(options: Namespace) -> list[lines.Row]:
    """Every number of processes; a time is measured anew whenever it is asked for."""
    now = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    return [{"jobs": jobs, "how": options.how, "begun": now} for jobs in options.jobs]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """Seconds of one command, which finds no vectors, and no results but those of ``--keep``."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(options.keep or temporary)
        before = len(_made(folder))
        command = [
            sys.executable, "-m", "coterie_bench", options.suite or "papers", "--out", folder,
            *([] if options.suite else SMALL), "--seeds", str(options.seeds), "--quiet",
            "--jobs", str(key["jobs"]), "--device", options.device, "--encoder", options.encoder,
            *(["--data", str(options.data)] if options.data else []),
        ]  # fmt: skip
        took = children.measure(command, Path(temporary) / "log.txt")
        made = _made(folder)[before:]
    data = dict(sorted({row["dataset"]: row["dataset_sha256"] for row in made}.items()))
    what = {"methods": _methods(made), "datasets": data, "seeds": options.seeds}
    gpu = made[0]["hardware"].get("gpu")
    return what | {"runs": len(made), "gpu": gpu, "wall": float(took["wall"])}


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


def both(rows: list[lines.Row]) -> str:
    """Both tables."""
    return f"{table(rows)}\n\n{phases(lines.read(PASS))}"


OPTIONS = {
    "--encoder": DEFAULT,
    "--device": "auto",
    "--jobs": (1, 2, 4),
    "--suite": None,
    "--seeds": 8,
    "--how": "time slices",
    "--keep": None,
}
main = lines.Experiment("jobs", __doc__, cases, measure, both, OPTIONS)
