"""What happened in training, one row per logged step, in memory and as JSON lines in a file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from coterie._errors import TrainingError
from coterie._types import Terms


@dataclass
class History:
    """Rows of ``stage``, ``step``, ``epoch``, ``seconds`` and the mean of each loss term."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    file: Path | None = None

    def add(self, row: dict[str, Any]) -> None:
        """Append a row, and write it at once where a file is wanted."""
        self.rows.append(row)
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")

    def restart(self, rows: list[dict[str, Any]]) -> None:
        """Begin with the rows of an interrupted run; the file is written anew."""
        self.rows = list(rows)
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    def losses(self, stage: str | None = None) -> list[float]:
        """Sum of all terms at every logged step, of one stage or of all."""
        chosen = [row for row in self.rows if stage in (None, row["stage"]) and "terms" in row]
        return [sum(v for k, v in row["terms"].items() if counts(k)) for row in chosen]


def counts(name: str) -> bool:
    """Whether a term of this name is part of the loss, not just watched."""
    return not name.startswith("~")


class Meter:
    """Means of the loss terms since the last reading, summed on the device.

    Reading is the only point where the host waits for the device.
    """

    def __init__(self) -> None:
        self.sums: Terms = {}
        self.steps = 0

    def add(self, terms: Terms) -> None:
        """Count the terms of one step."""
        for name, term in terms.items():
            value = term.detach()
            self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.steps += 1

    def read(self, where: str) -> dict[str, float]:
        """Mean of each term since the last reading; refuse what is not a number."""
        values = (torch.stack(list(self.sums.values())) / self.steps).tolist()
        means = dict(zip(self.sums, values, strict=True))
        self.sums, self.steps = {}, 0
        if not all(torch.isfinite(torch.tensor(values))):
            raise TrainingError(f"{where}: the loss is not a finite number ({means}).")
        return means
