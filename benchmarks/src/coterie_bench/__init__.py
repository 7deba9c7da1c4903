"""Benchmarks of coterie: suites as data, one JSON line per run, tables and figures of them."""

from pathlib import Path

# The checkout with results/ and docs/; the working folder where the package is installed elsewhere.
ROOT = next((p for p in Path(__file__).parents if (p / "results").is_dir()), Path.cwd())
