"""Time and memory of clustering a folder of Parquet files, here and by the workers of Ray.

    coterie-bench shards                      # adds what is missing to results/shards.jsonl
    coterie-bench shards --sizes 1000000,10000000 --workers 0,1,2 --encoder static:wordllama
    coterie-bench shards --table              # prints the table

Every point is ``coterie cluster FOLDER -k 50 --method kmeans`` in a process of its own, without the
cache. Workers 0 is ``--engine local``; others are those of ``--engine ray``, on a cluster that the
command starts itself on this machine. Seconds are those of the clock; each pass has its own. Memory
is that of the largest moment of the command and all processes it started, together.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from argparse import Namespace
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from coterie_bench.experiments import children, lines
from coterie_bench.experiments.curve import plain_name
from coterie_bench.experiments.make_texts import make_texts
from coterie_bench.tables import about

PASSES = {"read": "first pass", "assign": "second pass"}
PAGE = os.sysconf("SC_PAGE_SIZE")


def cases(options: Namespace) -> Iterator[lines.Row]:
    """All points, the small ones first."""
    for size in sorted(options.sizes):
        for workers in options.workers:
            key = {"n_texts": size, "workers": workers, "encoder": plain_name(options.encoder)}
            yield key | {"file_rows": options.rows, "cpus": len(os.sched_getaffinity(0))}


def write_shards(size: int, rows: int, folder: Path) -> None:
    """Made texts, in files of so many rows."""
    texts, first = make_texts(size), 0
    while part := list(islice(texts, rows)):
        table = pa.table({"id": range(first, first + len(part)), "text": part})
        pyarrow.parquet.write_table(table, folder / f"part-{first // rows:05}.parquet")
        first += len(part)


class Memory(threading.Thread):
    """Watches the resident memory of this process's descendants; shared pages count once each."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self._end = 0, threading.Event()

    def run(self) -> None:
        """Look four times a second."""
        while not self._end.wait(0.25):
            self.peak = max(self.peak, sum(map(_private, _descendants(os.getpid()))))

    def stop(self) -> int:
        """The most there was, in bytes."""
        self._end.set()
        self.join()
        return self.peak


def _descendants(process: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue  # it has ended
        parents.setdefault(parent, []).append(int(stat.parent.name))
    found, new = [], [process]
    while new:
        new = [child for one in new for child in parents.get(one, ())]
        found += new
    return found


def _private(process: int) -> int:
    """Resident bytes that no other process shares."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0
    return PAGE * (int(resident) - int(shared))


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """One run of the command."""
    asked = ["-k", "50", "--method", "kmeans", "--encoder", options.encoder]
    if key["workers"]:
        asked += ["--engine", "ray", "--workers", str(key["workers"])]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        parts, out, log = folder / "parts", folder / "out", folder / "log.txt"
        parts.mkdir()
        write_shards(key["n_texts"], key["file_rows"], parts)
        watch = Memory()
        watch.start()
        command = [sys.executable, "-m", "coterie", "cluster", str(parts), "--out", str(out)]
        took = children.measure([*command, *asked], log)
        said = dict(re.findall(r"(\w+) [\d/]+, took ([\d.]+) s", log.read_text("utf-8")))
        seconds = {name: float(said[word]) for word, name in PASSES.items()}
        seconds["all"] = took["wall"]
        if not key["workers"]:  # of Ray's processes nobody knows
            seconds["processor"] = took["processor"]
        return {
            "seconds": seconds,
            "peak_memory": watch.stop(),
            "load_before": took["load_before"],
        }


def table(rows: list[lines.Row]) -> str:
    """A line per run, with rows a second of each pass."""
    body = []
    order = ("encoder", "cpus", "n_texts", "workers")
    for row in sorted(rows, key=lambda row: [row[name] for name in order]):
        n, took = row["n_texts"], row["seconds"]
        who = f"{row['workers']} of Ray" if row["workers"] else "local"
        speeds = [f"{n / took[name]:,.0f}" for name in PASSES.values()]
        all_of_it = [f"{took['all']:.0f}", f"{took['all'] / n * 1e6:.0f}"]
        all_of_it.append(f"{took['processor'] / n * 1e6:.0f}" if "processor" in took else "")
        memory = f"{row['peak_memory'] / 1e9:.1f} GB"
        body.append([row["encoder"], str(row["cpus"]), f"{n:,}", who, *speeds, *all_of_it, memory])
    header = ["encoder", "cores", "rows", "workers", "first pass, rows/s", "second pass, rows/s"]
    header += ["all, s", "s for a million", "processor s for a million", "memory"]
    return f"{lines.table(header, body)}\n\n{about(list(rows))}"


OPTIONS = {
    "--sizes": (300_000, 1_000_000, 3_000_000),
    "--workers": (0, 1, 2),
    "--rows": 50_000,  # of a file
    "--encoder": "static:wordllama",
}
main = lines.Experiment("shards", __doc__, cases, measure, table, OPTIONS)
