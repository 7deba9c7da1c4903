"""The two commands, what they install, and what continuous integration may not leave out."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

HOME = Path(__file__).parents[1]
if not (HOME / "Makefile").exists():
    pytest.skip("needs the checkout", allow_module_level=True)

LEFT_OUT = """
import pytest

def test_page(): pytest.skip("no Chromium or Chrome is installed: apt-get install chromium")

@pytest.mark.skipif(True, reason="the files of WordNet are not here")
def test_synonyms(): ...

def test_data(benchmarks): ...

def test_other(): pytest.skip("needs a CUDA device")

def test_good(): ...
"""


def run_suite(
    python: list[str], folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The hooks of these tests over a file of others that lack something."""
    shutil.copy(HOME / "conftest.py", folder)
    (folder / "test_parts.py").write_text(LEFT_OUT, "utf-8")
    clean = {k: v for k, v in os.environ.items() if k not in ("CI", "COTERIE_DATA")}
    return subprocess.run(
        [*python, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", str(folder)],
        cwd=folder, env={**clean, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_suite_says_in_one_line_what_was_left_out(tmp_path: Path, warm_python) -> None:
    done = run_suite(warm_python, tmp_path)
    assert done.returncode == 0, done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Left out: ")]
    for reason in (
        "no Chromium or Chrome is installed: apt-get install chromium",
        "the files of WordNet are not here",
        "set COTERIE_DATA to their folder",
        "needs a CUDA device",
    ):
        assert f"{reason})" in line
    assert "1 passed, 4 skipped" in done.stdout.partition("Left out: ")[2]  # at the end


def test_continuous_integration_leaves_no_part_out(tmp_path: Path, warm_python) -> None:
    done = run_suite(warm_python, tmp_path, CI="true")
    assert done.returncode == 1
    assert "1 failed, 1 passed, 1 skipped, 2 errors" in done.stdout  # errors: before the test
    assert "With CI=true this may not be left out" in done.stdout
    assert "export CI=true" in (HOME / ".ci" / "run").read_text("utf-8")


def test_the_version_has_one_place() -> None:
    import coterie

    project = (HOME / "pyproject.toml").read_text("utf-8")
    assert 'dynamic = ["version"]' in project and 'path = "src/coterie/__init__.py"' in project
    cited = yaml.safe_load((HOME / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == coterie.__version__
    assert f'Homepage = "{cited["repository-code"]}"' in project
    assert f'license = "{cited["license"]} AND LicenseRef-WordNet"' in project
    assert f'"{cited["license-url"].partition("/main/")[2]}"' in project  # among license-files
