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


def shown(row: dict[str, Any]) -> str:
    """The label of a line, with what sets the run apart from the usual ones."""
    split = ", fitted on a part" if row.get("protocol", "all") == "split" else ""
    found = ", K found" if row.get("k", "given") == "found" else ""
    return f"{row['label']}{split}{found}{', with noise' if row.get('noise') else ''}"


def summarize(
    rows: Sequence[dict[str, Any]], scores: Sequence[str] = ("acc", "nmi")
) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table of methods and data sets; the fewer of the two are columns."""
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    labels = list(dict.fromkeys(shown(row) for row in rows))

    def entry(label: str, dataset: str) -> str:
        chosen = [r for r in rows if shown(r) == label and r["dataset"] == dataset]
        return " / ".join(str(cell(chosen, s)) for s in scores) if chosen else ""

    if len(labels) < len(datasets):
        return ["", *labels], [[d, *(entry(m, d) for m in labels)] for d in datasets]
    return ["", *datasets], [[m, *(entry(m, d) for d in datasets)] for m in labels]


def markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
