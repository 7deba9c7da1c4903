"""The two commands, what they install, and what continuous integration may not leave out."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

HOME = Path(__file__).parents[1]
if not (HOME / "Makefile").exists():
    pytest.skip("needs the checkout", allow_module_level=True)
SYSTEM = runpy.run_path(str(HOME / "tools" / "system.py"))

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


LINE = "run: sudo apt-get install chromium wordnet-base apertium apertium-eng-spa\n"


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_apt_get_is_called_with_what_is_missing(tmp_path: Path, monkeypatch, capsys) -> None:
    """An apt-get that writes down its arguments stands before the real one."""
    program = tmp_path / "apt-get"
    script = 'echo "$@" >> asked\necho no such package\nexit $(cat code)\n'
    program.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SYSTEM", raising=False)
    inside = SYSTEM["main"].__globals__
    monkeypatch.setitem(inside, "missing", lambda part: list(SYSTEM["ALL"]))
    monkeypatch.setitem(inside, "rights", list)
    for code, said in (("0", ""), ("100", "no such package")):
        (tmp_path / "code").write_text(code)
        assert SYSTEM["main"](["test"]) == 0  # the tests say what that left out
        error = capsys.readouterr().err
        assert (LINE in error) == bool(said) and said in error
    update, install = (tmp_path / "asked").read_text().splitlines()[:2]
    assert update.endswith(" update") and " -y " in install and " install " in install
    assert install.endswith(LINE.partition(" install ")[2].strip())


def test_the_readme_reads_outside_the_checkout() -> None:
    """Links and pictures are absolute; tests/docs/test_names_exist.py looks where they lead."""
    text = (HOME / "README.md").read_text("utf-8")
    targets = re.findall(r"(?:\]\(|src=\")([^)\s\"]+)", text)
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith(("#", "https://"))] == []
    home = "https://raw.githubusercontent.com/coterie-project/coterie/main/"
    pictures = [target for target in targets if target.startswith(home)]
    assert pictures and all((HOME / name.removeprefix(home)).exists() for name in pictures)


def test_the_version_has_one_place() -> None:
    import coterie

    project = (HOME / "pyproject.toml").read_text("utf-8")
    assert 'dynamic = ["version"]' in project and 'path = "src/coterie/__init__.py"' in project
    cited = yaml.safe_load((HOME / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == coterie.__version__
    assert f'Homepage = "{cited["repository-code"]}"' in project
    assert f'license = "{cited["license"]} AND LicenseRef-WordNet"' in project
    assert f'"{cited["license-url"].partition("/main/")[2]}"' in project  # among license-files


def test_files_for_github_and_pre_commit_are_yaml() -> None:
    files = [*(HOME / ".github").rglob("*.yml"), HOME / ".pre-commit-config.yaml"]
    assert len(files) == 6
    read = {path.name: yaml.safe_load(path.read_text("utf-8")) for path in files}
    matrix = read["test.yml"]["jobs"]["newest"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert [system.partition("-")[0] for system in matrix["system"]] == [
        "ubuntu",
        "macos",
        "windows",
    ]
    project = (HOME / "pyproject.toml").read_text("utf-8")
    assert re.findall(r'Python :: (3\.\d+)"', project) == matrix["python"]
    assert f'requires-python = ">={matrix["python"][0]}"' in project


def test_tools_that_others_bring_are_pinned() -> None:
    """Actions by commit, and the linter of pre-commit as in the constraints."""
    for path in (HOME / ".github" / "workflows").iterdir():
        uses = re.findall(r"uses: (\S+)(.*)", path.read_text("utf-8"))
        assert uses
        for action, comment in uses:
            assert re.search(r"@[0-9a-f]{40}$", action) and re.match(r" # v\d", comment), action
    hooks = yaml.safe_load((HOME / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]
    for hook in hooks["hooks"]:
        (ruff,) = hook["additional_dependencies"]
        assert ruff in (HOME / "constraints.txt").read_text("utf-8").replace(" ", "\n").split()


def test_the_image_gets_all_that_the_build_needs() -> None:
    """What the Dockerfile copies is there and not ignored, and the wheel needs no more."""
    copied = re.findall(
        r"^COPY (?!--from)(.+) \S+$", (HOME / "Dockerfile").read_text("utf-8"), re.MULTILINE
    )
    names = {name for line in copied for name in line.split()}
    allowed = (HOME / ".dockerignore").read_text("utf-8").split("\n")
    assert {f"!{name}" for name in names} == set(allowed) - {"*", ""}
    assert all((HOME / name).exists() for name in names)
    project = (HOME / "pyproject.toml").read_text("utf-8")
    for name in re.findall(r'license-files = \["([^"]+)", "([^"]+)"\]', project)[0]:
        assert name.partition("/")[0] in names
    assert {"README.md", "pyproject.toml"} <= names


@pytest.mark.full
def test_the_tests_of_the_source_distribution_are_collected(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=HOME, check=True, capture_output=True)
    (packed,) = tmp_path.glob("*.tar.gz")
    (tmp_path / "unpacked").mkdir()
    subprocess.run(["tar", "-xzf", packed, "-C", tmp_path / "unpacked"], check=True)
    (folder,) = (tmp_path / "unpacked").iterdir()
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(collect, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    tracked = subprocess.run(["git", "ls-files"], cwd=HOME, capture_output=True, text=True)
    lacking = [name for name in tracked.stdout.splitlines() if not (folder / name).exists()]
    assert lacking == []
