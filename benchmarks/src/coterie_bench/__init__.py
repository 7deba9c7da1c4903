"""Benchmarks: suites as data, one JSON line per run, tables and figures from the lines.

The parts are imported when they are asked for: reading result lines needs no torch.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie_bench.run import run_suite
    from coterie_bench.suites import SUITES, Entry, Suite
    from coterie_bench.tables import summarize

# The checkout with results/ and docs/; the working folder where the package is installed elsewhere.
ROOT = next((p for p in Path(__file__).parents if (p / "results").is_dir()), Path.cwd())

__all__ = ["ROOT", "SUITES", "Entry", "Suite", "run_suite", "summarize"]

_PLACES = {
    "SUITES": "suites",
    "Entry": "suites",
    "Suite": "suites",
    "run_suite": "run",
    "summarize": "tables",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'coterie_bench' has no attribute {name!r}")
    return getattr(importlib.import_module(f"coterie_bench.{_PLACES[name]}"), name)
