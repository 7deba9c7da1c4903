"""The scripts and notebooks in ``examples`` run, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
EXAMPLES = HOME / "examples"
if not EXAMPLES.is_dir():
    pytest.skip("needs the checkout", allow_module_level=True)
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(path.name for path in EXAMPLES.glob("*.ipynb"))


@pytest.fixture
def run(tmp_path: Path, kept_vectors: Path, warm_python: list[str]) -> Callable[[str], str]:
    """Runs a script in a process and a folder of its own, and gives what it printed."""

    def run(script: str) -> str:
        done = subprocess.run(
            [*warm_python, script], cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "COTERIE_CACHE": str(kept_vectors)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def marked(name: str) -> object:
    """Training takes long."""
    return pytest.param(name, marks=pytest.mark.slow) if name.startswith("train") else name


@pytest.mark.parametrize("name", list(map(marked, SCRIPTS)))
def test_a_script_runs(name: str, run: Callable[[str], str]) -> None:
    assert len(run(str(EXAMPLES / name)).splitlines()) >= 3


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_cells_of_a_notebook_run_in_order(
    name: str, tmp_path: Path, run: Callable[[str], str]
) -> None:
    notebook = json.loads((EXAMPLES / name).read_text("utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebook["nbformat"] == 4 and len(cells) >= 4
    assert all(cell["outputs"] == [] for cell in cells)  # results are made, not kept
    (tmp_path / "cells.py").write_text("\n\n".join("".join(c["source"]) for c in cells), "utf-8")
    assert run("cells.py")
