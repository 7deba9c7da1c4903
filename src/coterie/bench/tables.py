"""Tables from result lines: mean and deviation over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Cell:
    """Mean and sample deviation of one score over seeds, in per cent."""

    mean: float
    deviation: float
    seeds: int

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + (f" ± {self.deviation:.1f}" if self.seeds > 1 else "")


def cell(rows: Sequence[dict[str, Any]], score: str, part: str = "scores") -> Cell:
    """One score over the given rows."""
    values = 100 * np.array([row[part][score] for row in rows])
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Cell(float(values.mean()), spread, len(values))


def summarize(
    rows: Sequence[dict[str, Any]], scores: Sequence[str] = ("acc", "nmi")
) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table: a line per method, a column per data set."""
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    labels = list(dict.fromkeys(row["label"] for row in rows))
    body = []
    for label in labels:
        line = [label]
        for dataset in datasets:
            chosen = [r for r in rows if r["label"] == label and r["dataset"] == dataset]
            line.append(" / ".join(str(cell(chosen, s)) for s in scores) if chosen else "")
        body.append(line)
    return ["", *datasets], body


def markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
