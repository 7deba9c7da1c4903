"""Milliseconds of a training step on a GPU, from lines of `coterie-bench speed`."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from coterie_bench.experiments import lines
from coterie_bench.tables import about

WHOLE = "whole run"
PHASES = ("prepare", "encode", "start", "train", "finish", "calibrate")


def table(rows: Sequence[lines.Row]) -> str:
    """Milliseconds of a step in the stage with all terms, and what a shortcut is worth."""
    newest = {row["label"]: row for row in rows if WHOLE not in row["label"]}
    steps = {label: list(row["step_ms"].values())[-1] for label, row in newest.items()}
    body = []
    for label in sorted(steps, key=lambda label: (label.split(",")[0], steps[label])):
        method, _, variant = label.partition(", ")
        whole = steps.get(f"{method}, all shortcuts")
        times = "" if whole is None else f"{steps[label] / whole:.1f}"
        nmi = lines.percent(newest[label]["scores"]["nmi"])
        body.append([method, variant, f"{steps[label]:.1f}", times, nmi])
    header = [
        "method",
        "shortcuts",
        "ms a step",
        "of all shortcuts, times",
        "NMI after these steps",
    ]
    return f"{lines.table(header, body)}\n\n{about(list(newest.values()))}"


def phases(rows: Sequence[lines.Row]) -> str:
    """Seconds of each phase of whole runs."""
    whole = [row for row in rows if WHOLE in row["label"]]
    body = []
    for row in whole:
        took = [row["seconds"].get(name, 0.0) for name in PHASES]
        method, step = row["label"].split(",")[0], list(row["step_ms"].values())[-1]
        body.append([method, *(f"{t:.1f}" for t in took), f"{sum(took):.1f}", f"{step:.1f}"])
    header = ["method", *PHASES, "in all, s", "ms a step"]
    return f"{lines.table(header, body)}\n\n{about(whole)}"


def same(rows: Sequence[lines.Row]) -> str:
    """Means and deviations over the seeds of the fast path and of the plain one."""
    groups: dict[tuple[str, str], list[lines.Row]] = {}
    for row in rows:
        groups.setdefault((row["dataset"], row["label"]), []).append(row)
    body = []
    for (dataset, label), group in sorted(groups.items()):
        method, _, path = label.partition(", ")
        cells = [_spread(group, "acc"), _spread(group, "nmi")]
        body.append([dataset, method, path, *cells, str(len(group))])
    header = ["data set", "method", "path", "ACC", "NMI", "seeds"]
    return f"{lines.table(header, body)}\n\n{about(list(rows))}"


def _spread(rows: Sequence[lines.Row], score: str) -> str:
    values = [100 * row["scores"][score] for row in rows]
    return f"{statistics.fmean(values):.1f} ± {statistics.stdev(values):.1f}"
