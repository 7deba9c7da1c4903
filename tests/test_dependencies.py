"""What the default job needs, what only training needs, and the weights that are trusted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from coterie.encoders import load as place
from coterie.encoders.load import load_encoder
from coterie.errors import DataError
from said import raises

HOME = Path(__file__).parents[1]
LIBRARIES = ("transformers", "sentence_transformers")
COMMAND = f"""
import sys
assert not set(sys.modules) & set({LIBRARIES})
from coterie.cli import main
main()
"""
BLOCK = f"""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {LIBRARIES}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with some messages."""
    text = (HOME / "src" / "coterie" / "sample" / "support.csv").read_text("utf-8")
    (tmp_path / "tickets.csv").write_text("".join(text.splitlines(keepends=True)[:31]), "utf-8")
    return tmp_path


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(folder: Path, warm_python: list[str]) -> Run:
    """Runs the command in a process of its own, with or without libraries that train encoders."""

    def run(line: str, *, blocked: bool) -> subprocess.CompletedProcess[str]:
        code = BLOCK + COMMAND if blocked else COMMAND
        return subprocess.run(
            [*warm_python, "-c", code, *line.split()], cwd=folder, text=True, check=False,
            capture_output=True,
        )  # fmt: skip

    return run


def test_cluster_and_predict_need_no_library_that_trains(folder: Path, run: Run) -> None:
    for name, blocked in (("with", False), ("without", True)):
        done = run(f"cluster tickets.csv -q --out {name}", blocked=blocked)
        assert done.returncode == 0, done.stderr
        done = run(f"predict {name} tickets.csv --out {name}.csv", blocked=blocked)
        assert done.returncode == 0, done.stderr
    assert (folder / "with.csv").read_bytes() == (folder / "without.csv").read_bytes()
    files = [p.relative_to(folder / "with") for p in (folder / "with").rglob("*") if p.is_file()]
    timed = {"manifest.json", "report.html"}  # they tell when it was and how long it took
    assert len([file for file in files if file.name not in timed]) > 4
    for file in files:
        if file.name not in timed:
            one, other = (folder / name / file for name in ("with", "without"))
            assert one.read_bytes() == other.read_bytes(), file


def test_what_trains_names_the_extra(run: Run) -> None:
    done = run("cluster tickets.csv -q -k 3 --method sccl --set steps=1", blocked=True)
    assert done.returncode == 1
    assert "pip install 'coterie[train]'" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_every_package_that_is_imported_is_declared() -> None:
    """Names in import statements and in ``need(...)`` against the requirements."""
    brought = {"sklearn": "scikit-learn", "yaml": "pyyaml", "umap": "umap-learn"}
    own = {"coterie", "__future__", *sys.stdlib_module_names}
    # Of users, who hand over their objects; and what only type checkers read.
    free = {"pandas", "polars", "datasets", "typing_extensions"}
    project = (HOME / "pyproject.toml").read_text("utf-8")
    declared = {name.lower() for name in re.findall(r'"([A-Za-z][\w-]*) ?[<>=]=', project)}
    pattern = re.compile(r"""^\s*(?:from|import)\s+(\w+)|\bneed\(\s*"(\w+)""", re.M)
    found = set()
    for path in (HOME / "src").rglob("*.py"):
        found |= {a or b for a, b in pattern.findall(code(path.read_text("utf-8")))}
    names = {brought.get(name, name).replace("_", "-").lower() for name in found - own - free}
    assert {"torch", "tokenizers", "huggingface-hub", "sentence-transformers"} <= names
    assert names <= {name.replace("_", "-") for name in declared}


def code(text: str) -> str:
    """Without strings of several lines, in which a sentence may begin with "from"."""
    return re.sub(r'"""(?:.|\n)*?"""', "", text)


def test_the_package_of_the_default_encoder_is_pinned() -> None:
    assert place.PIN in (HOME / "pyproject.toml").read_text("utf-8")
    assert place.PIN in (HOME / "constraints.txt").read_text("utf-8")
    name, _, version = place.PIN.partition("==")
    assert metadata.version(name) == version


def test_other_weights_in_that_package_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package of the same name, one byte of whose weights is another, comes first on the path."""
    real = place._packaged()
    assert real is not None
    changed = tmp_path / place.PACKAGE
    shutil.copytree(real, changed / "model")
    (changed / "__init__.py").write_text("raise RuntimeError('it is not run')\n")
    load_encoder(str(changed / "model"))  # a folder that the user names is the user's choice
    with (changed / "model" / "model.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, place.PACKAGE, raising=False)
    with raises(DataError, "Install them again", str(place.WEIGHTS)):
        load_encoder(place.DEFAULT)
