"""The README does what it says, and the glossary knows every word."""

import dataclasses
import os
import re
import subprocess
from pathlib import Path

import pytest

from coterie import METHODS

ROOT = Path(__file__).parents[1]


def test_the_python_example_of_the_readme_runs_as_printed(
    tmp_path: Path, kept_vectors, warm_python: list[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    done = subprocess.run(
        [*warm_python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "COTERIE_CACHE": str(kept_vectors)},
    )  # fmt: skip
    assert len(done.stdout.splitlines()) >= 18  # a line per cluster, and the prediction
    assert (tmp_path / "support.clusters" / "model" / "config.json").exists()


def test_commands_in_the_readme_exist() -> None:
    from typer.testing import CliRunner

    from coterie.cli import app

    text = (ROOT / "README.md").read_text("utf-8")
    verbs = set(re.findall(r"(?:^|`)coterie ([a-z]+) [\w./-]+ ?", text, re.M)) - {"clusters"}
    assert verbs >= {"cluster", "predict", "evaluate", "methods"}
    for verb in verbs:
        assert CliRunner().invoke(app, [verb, "--help"]).exit_code == 0


def test_make_targets_in_the_readme_exist() -> None:
    targets = set(re.findall(r"make ([a-z-]+)", (ROOT / "README.md").read_text("utf-8")))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert {"run", "test"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_is_in_the_glossary(name: str) -> None:
    words = set(re.findall(r"^\| `(\w+)`", (ROOT / "docs/glossary.md").read_text("utf-8"), re.M))
    assert {f.name for f in dataclasses.fields(METHODS[name].cls)} <= words
