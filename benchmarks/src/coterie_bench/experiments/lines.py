"""What the scripts here share: result lines that are written once, and tables made from them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from coterie._facts import hardware, versions
from coterie._files import plain
from coterie_bench.score import commit
from coterie_bench.tables import markdown

Row = dict[str, Any]
COMMIT = commit()  # now, not when a run ends: others may commit meanwhile


def read(file: Path) -> list[Row]:
    """The lines of a result file, none where there is no file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def has(rows: Iterable[Row], **key: Any) -> bool:
    """Whether one of the rows has all these values."""
    return any(all(row.get(k) == v for k, v in key.items()) for row in rows)


def append(file: Path, row: Row) -> None:
    """Add a line, with what is known about software, machine and day."""
    facts = {
        "hardware": hardware() | {"nice": os.nice(0)},
        "versions": versions(),
        "commit": COMMIT,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(row | facts, default=plain) + "\n")


def table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table without a line end."""
    return markdown(header, body).rstrip("\n")


def percent(value: float | None, digits: int = 1) -> str:
    """``0.4567`` becomes ``45.7``; nothing stays nothing."""
    return "" if value is None else f"{100 * value:.{digits}f}"


def scores(row: Row) -> str:
    """ACC / NMI in %."""
    return f"{percent(row['scores']['acc'])} / {percent(row['scores']['nmi'])}"
