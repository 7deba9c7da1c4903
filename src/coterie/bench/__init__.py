"""Benchmarks: suites as data, one JSON line per run, tables and figures from the lines.

The parts are imported when they are asked for: reading result lines needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.bench.entries import Entry, Suite
    from coterie.bench.run import run_suite
    from coterie.bench.suites import SUITES
    from coterie.bench.tables import summarize

__all__ = ["SUITES", "Entry", "Suite", "run_suite", "summarize"]

_PLACES = {
    "SUITES": "suites",
    "Entry": "entries",
    "Suite": "entries",
    "run_suite": "run",
    "summarize": "tables",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'coterie.bench' has no attribute {name!r}")
    return getattr(importlib.import_module(f"coterie.bench.{_PLACES[name]}"), name)
