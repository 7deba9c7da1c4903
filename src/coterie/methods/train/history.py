"""What happened in training, one row per logged step, in memory and as JSON lines in a file."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie._util.files import append, write_text
from coterie._util.torch import Tensor
from coterie.errors import TrainingError

REMEDY = "use smaller learning rates (`lr`), or `precision='float32'`."  # where numbers run away


@dataclass
class History:
    """Rows of ``stage``, ``step``, ``epoch``, ``seconds`` and the mean of each loss term."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    file: Path | None = None

    def add(self, row: dict[str, Any]) -> None:
        """Append a row, and write it at once where a file is wanted."""
        self.rows.append(row)
        if self.file is not None:
            append(self.file, json.dumps(row).encode() + b"\n")

    def restart(self, rows: list[dict[str, Any]]) -> None:
        """Begin with the rows of an interrupted run; the file is written anew."""
        self.rows = list(rows)
        if self.file is not None:
            write_text(self.file, "".join(json.dumps(row) + "\n" for row in rows))

    def losses(self, stage: str | None = None) -> list[float]:
        """Sum of all terms at every logged step, of one stage or of all."""
        chosen = [row for row in self.rows if stage in (None, row["stage"]) and "terms" in row]
        return [sum(v for k, v in row["terms"].items() if counts(k)) for row in chosen]


def counts(name: str) -> bool:
    """Whether a term of this name is part of the loss, not just watched."""
    return not name.startswith("~")


def _placed(values: Tensor, names: list[str], all_names: list[str]) -> Tensor:
    """The values in the places of their names among all names, zero elsewhere."""
    out = values.new_zeros(len(all_names))
    out[[all_names.index(name) for name in names]] = values
    return out


@dataclass
class Meter:
    """Means of the loss terms since the last reading, summed on the device.

    Reading is the only point where the host waits for the device.
    """

    names: list[str] = field(default_factory=list)
    steps: int = 0
    sums: Tensor | None = None

    def add(self, names: list[str], values: Tensor) -> None:
        """Count the terms of one step, a vector of one value for each name.

        A step may lack terms, such as one that compares texts on a batch of one; they count zero.
        """
        if self.sums is not None and names != self.names:
            union = list(dict.fromkeys([*self.names, *names]))
            self.sums = _placed(self.sums, self.names, union)
            values, names = _placed(values, names, union), union
        self.names = names
        self.sums = values.clone() if self.sums is None else self.sums + values
        self.steps += 1

    def read(self, where: str) -> dict[str, float]:
        """Mean of each term since the last reading; refuse what is not a number."""
        means = self.check(where)
        self.sums, self.steps = None, 0
        return means

    def check(self, where: str) -> dict[str, float]:
        """The same, and the reading goes on."""
        if self.sums is None:
            return {}
        means = dict(zip(self.names, (self.sums / self.steps).tolist(), strict=True))
        if not all(map(math.isfinite, means.values())):
            raise TrainingError(f"{where}: the loss is not a finite number ({means}); {REMEDY}")
        return means
