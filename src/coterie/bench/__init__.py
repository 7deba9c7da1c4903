"""Benchmarks: suites as data, one JSON line per run, tables from the lines."""

from coterie.bench.entries import Entry, Suite
from coterie.bench.run import run_suite
from coterie.bench.suites import SUITES
from coterie.bench.tables import summarize

__all__ = ["SUITES", "Entry", "Suite", "run_suite", "summarize"]
