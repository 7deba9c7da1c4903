"""Inputs that once broke a reader or the loader, and others like them, break nothing."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FUZZ = runpy.run_path(str(Path(__file__).with_name("fuzz.py")))
SEEDS = sorted(path for path in FUZZ["SEEDS"].rglob("*") if path.is_file())


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_seeds_end_in_a_result_or_an_error_of_our_own(seed: Path, tmp_path: Path) -> None:
    FUZZ["TARGETS"][seed.parent.name](tmp_path)(seed.read_bytes())


def test_both_targets_have_seeds() -> None:
    assert {seed.parent.name for seed in SEEDS} == set(FUZZ["TARGETS"])
