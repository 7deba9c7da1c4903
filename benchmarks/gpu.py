"""What a training step takes on a GPU, with each shortcut and without, from `coterie bench speed`.

python benchmarks/gpu.py        # prints the table of results/speed.jsonl
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import lines

from coterie.bench.collect import about

AUTHORS = {"SCCL": 190.0, "AECL": 127.0}  # ms of the released loops on the same kind of GPU
RESULTS = Path(__file__).parents[1] / "results" / "speed.jsonl"


def main() -> None:
    print(table(lines.read(RESULTS)))


def table(rows: Sequence[lines.Row]) -> str:
    """Milliseconds of a step in the stage with all terms, and what a shortcut is worth."""
    newest = {row["label"]: row for row in rows}
    steps = {label: list(row["step_ms"].values())[-1] for label, row in newest.items()}
    body = []
    for label in sorted(steps, key=lambda label: (label.split(",")[0], steps[label])):
        method, _, variant = label.partition(", ")
        whole = steps.get(f"{method}, all shortcuts")
        times = "" if whole is None else f"{steps[label] / whole:.1f}"
        faster = f"{AUTHORS[method] / steps[label]:.0f}" if method in AUTHORS else ""
        nmi = lines.percent(newest[label]["scores"]["nmi"])
        body.append([method, variant, f"{steps[label]:.1f}", times, faster, nmi])
    header = ["method", "shortcuts", "ms a step", "of all shortcuts, times",
              "faster than the released loop, times", "NMI after these steps"]  # fmt: skip
    return f"{lines.table(header, body)}\n\n{about(list(newest.values()))}"


if __name__ == "__main__":
    main()
