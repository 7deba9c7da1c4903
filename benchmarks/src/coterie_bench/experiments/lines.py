"""What experiments share: result lines that are written once, tables, and the command."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie_bench import ROOT
from coterie_bench.ledger import Ledger, Row, commit, facts, read_results
from coterie_bench.tables import markdown


def read(file: Path) -> list[Row]:
    """The lines of a result file, none where there is no file."""
    return read_results([file])


def has(rows: Iterable[Row], **key: Any) -> bool:
    """Whether one of the rows has all these values."""
    return any(all(row.get(k) == v for k, v in key.items()) for row in rows)


def append(file: Path, row: Row) -> None:
    """Add a line, with what is known about software, machine and day."""
    Ledger(file).append(facts() | row)


def table(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A Markdown table without a line end."""
    return markdown(header, list(body)).rstrip("\n")


def percent(value: float | None, digits: int = 1) -> str:
    """``0.4567`` becomes ``45.7``; nothing stays nothing."""
    return "" if value is None else f"{100 * value:.{digits}f}"


def scores(row: Row) -> str:
    """ACC / NMI in %."""
    return f"{percent(row['scores']['acc'])} / {percent(row['scores']['nmi'])}"


@dataclass(frozen=True)
class Experiment:
    """A measurement as a command: what its file lacks is measured and added, line by line.

    Several commands may work on one file: what one of them measures the others leave to it.

    Attributes
    ----------
    name : str
        The lines are in ``results/NAME.jsonl``.
    doc : str
        Its first line is the help.
    cases : callable
        From the options to the keys of the lines; a case whose key has a line is left out.
    measure : callable
        From a key and the options to the rest of the line, or to several; None adds none.
    table : callable
        From all lines to what ``--table`` prints.
    options : mapping
        Further options with their defaults, such as ``{"--sizes": (10, 20)}``; a tuple is given
        with commas, True or False is a flag.
    """

    name: str
    doc: str | None
    cases: Callable[[argparse.Namespace], Iterable[Row]]
    measure: Callable[[Row, argparse.Namespace], Row | list[Row] | None]
    table: Callable[[list[Row]], str]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        """Where the lines are."""
        return ROOT / "results" / f"{self.name}.jsonl"

    def __call__(self, words: Sequence[str] | None = None) -> None:
        """Run the command."""
        options = self.parse(words)
        commit()  # now, not when a run ends: others may commit meanwhile
        if not options.table:
            for key in self.cases(options):
                with Ledger(options.out).claim(str(key)) as ours:
                    if not ours or has(read(options.out), **key):
                        continue
                    found = self.measure(key, options)
                    for row in found if isinstance(found, list) else [found] if found else []:
                        append(options.out, key | row)
                    print(", ".join(map(str, key.values())), flush=True)
        print(self.table(read(options.out)))

    def parse(self, words: Sequence[str] | None) -> argparse.Namespace:
        """The options, those of all experiments and its own."""
        parser = argparse.ArgumentParser(description=(self.doc or "").partition("\n")[0])
        parser.add_argument("--data", type=Path, default=os.environ.get("COTERIE_DATA"))
        parser.add_argument("--out", type=Path, default=self.file)
        parser.add_argument("--table", action="store_true", help="print the table, measure nothing")
        for flag, default in self.options.items():
            if isinstance(default, bool):
                parser.add_argument(flag, action="store_true")
            elif isinstance(default, tuple):
                kind = type(default[0])
                parser.add_argument(
                    flag, type=lambda s, k=kind: tuple(map(k, s.split(","))), default=default
                )
            else:
                kind = str if default is None else type(default)
                parser.add_argument(flag, type=kind, default=default)
        return parser.parse_args(words)
