"""Running a program and knowing what it took: seconds, processor time, peak memory.

The program is started by a small Python of its own. A process begins its life with the peak memory
of the one that started it, so under a parent that has loaded torch every program would look large.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def measure(command: Sequence[str], log: Path) -> dict[str, Any]:
    """Run a program to its end; its words go to ``log``. Memory in bytes, of its process alone.

    It finds an empty cache of vectors, so that a second run takes as long as the first.
    """
    load = os.getloadavg()[0]  # what others did on the machine: above zero, times are too long
    with tempfile.TemporaryDirectory() as folder:
        facts = Path(folder) / "facts.json"
        starter = [sys.executable, "-I", "-S", __file__, str(facts), str(log), *command]
        empty = {**os.environ, "COTERIE_CACHE": str(Path(folder) / "cache")}
        subprocess.run(starter, check=True, env=empty)
        found = json.loads(facts.read_text("utf-8"))
    if status := found.pop("status"):
        raise SystemExit(f"{command[0]} ended with {status}:\n{log.read_text('utf-8')[-2000:]}")
    return {"load_before": round(load, 2), **found}


def cluster(
    texts: Iterable[str], *options: str, start: Sequence[str] = (sys.executable, "-m", "coterie")
) -> dict[str, Any]:
    """What ``coterie cluster`` takes on a file of these texts, and what it wrote."""
    from coterie_bench.experiments.make_texts import write_texts

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source, out, log = folder / "texts.csv", folder / "out", folder / "log.txt"
        write_texts(texts, source)
        took = measure([*start, "cluster", str(source), "--out", str(out), *options], log)
        manifest = json.loads((out / "manifest.json").read_text("utf-8"))
        seconds = {"wall": took["wall"], "processor": took["processor"], **manifest["seconds"]}
        return {
            "seconds": seconds,
            "peak_memory": manifest["peak_memory"].get("resident", took["peak_memory"]),
            "load_before": took["load_before"],
            "fit_sample": manifest.get("fit_sample"),
            "n_clusters": len(json.loads((out / "clusters.json").read_text("utf-8"))["clusters"]),
            "page_bytes": (out / "report.html").stat().st_size,
            "said": log.read_text("utf-8"),
        }


def _start(facts: str, log: str, *command: str) -> None:
    begun = time.perf_counter()
    with Path(log).open("w", encoding="utf-8") as stream:
        child = subprocess.Popen(command, stdout=stream, stderr=stream)
        _, status, usage = os.wait4(child.pid, 0)
    found = {
        "status": os.waitstatus_to_exitcode(status),
        "wall": round(time.perf_counter() - begun, 2),
        "processor": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_memory": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    Path(facts).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    _start(*sys.argv[1:])
