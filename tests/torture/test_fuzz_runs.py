"""A few of the cases of ``fuzz_runs.py``; the long run has 20,000."""

from __future__ import annotations

import runpy
from pathlib import Path

FUZZ = runpy.run_path(str(Path(__file__).with_name("fuzz_runs.py")))


def test_no_verb_falls_over_a_damaged_run(request) -> None:
    cases = 2_000 if request.config.getoption("--slow") else 120
    done = FUZZ["fuzz"](cases, measure=False)
    assert done.faults == []
    assert done.codes[0] and done.codes[3] > cases / 10
