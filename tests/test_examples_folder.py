"""The scripts and notebooks in ``examples`` run, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
EXAMPLES = HOME / "examples"
if not EXAMPLES.is_dir():
    pytest.skip("needs the checkout", allow_module_level=True)
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(path.name for path in EXAMPLES.glob("*.ipynb"))


def run(folder: Path, cache: Path, *arguments: str) -> str:
    environment = {**os.environ, "COTERIE_CACHE": str(cache), "PYTHONPATH": str(HOME / "src")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def marked(name: str) -> object:
    """Training takes long."""
    return pytest.param(name, marks=pytest.mark.slow) if name.startswith("train") else name


@pytest.mark.parametrize("name", map(marked, SCRIPTS))
def test_a_script_runs(name: str, tmp_path: Path, kept_vectors: Path) -> None:
    said = run(tmp_path, kept_vectors, str(EXAMPLES / name))
    assert len(said.splitlines()) >= 3


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_cells_of_a_notebook_run_in_order(name: str, tmp_path: Path, kept_vectors) -> None:
    notebook = json.loads((EXAMPLES / name).read_text("utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebook["nbformat"] == 4 and len(cells) >= 4
    assert all(cell["outputs"] == [] for cell in cells)  # results are made, not kept
    (tmp_path / "cells.py").write_text("\n\n".join("".join(c["source"]) for c in cells), "utf-8")
    assert run(tmp_path, kept_vectors, "cells.py")


def test_there_are_scripts_and_notebooks() -> None:
    assert len(SCRIPTS) == 3 and len(NOTEBOOKS) == 2
