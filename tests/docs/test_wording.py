"""How the project writes: "12%" without a space, in sources, pages and whatever a run prints."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import coterie
from coterie.cli import app

ROOT = Path(__file__).parents[2]
PACKAGE = Path(coterie.__file__).parent
SOURCES = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "benchmarks/src").rglob("*.py")])
SHOWN = sorted(
    [*ROOT.glob("*.md")]
    + [path for top in ("docs", "results") for path in (ROOT / top).rglob("*.md")]
    + [path for top in ("docs", "results") for path in (ROOT / top).rglob("*.svg")]
    + [path for path in PACKAGE.rglob("*") if path.suffix in (".html", ".js")]
)
SPACED = re.compile(
    r"(?:\d|\.\.\.|\}\}) ?(?: |\u00a0|&nbsp;)%(?!\})"
)  # "%}" ends a tag of a template


def strings(path: Path) -> Iterator[str]:
    """The strings of a source file, with 0 where an f-string fills in a value."""
    tree = ast.parse(path.read_text("utf-8"))
    parts = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(v.value if isinstance(v, ast.Constant) else "0" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in parts:
                yield node.value


def test_strings_sees_what_an_f_string_prints(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text("odd = 7 % 2\nprint(f'{odd:.0f} % of the texts')\n")
    assert "0 % of the texts" in strings(file)
    assert SPACED.search("0 % of the texts") and not SPACED.search("0% of the texts")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(p.parents[1])))
def test_sources_write_per_cent_without_a_space(path: Path) -> None:
    assert not [text for text in strings(path) if SPACED.search(text)]


@pytest.mark.parametrize("path", SHOWN, ids=lambda p: str(p.relative_to(p.parents[1])))
def test_pages_write_per_cent_without_a_space(path: Path) -> None:
    assert not [line for line in path.read_text("utf-8").splitlines() if SPACED.search(line)]


def test_what_a_run_prints_and_writes_has_no_space_before_per_cent(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = ["cluster", "sample", "-k", "5", "--method", "kmeans", "--encoder", "tfidf"]
    done = CliRunner().invoke(app, [*run, "--out", str(out), "--max-outliers", "5%"])
    assert done.exit_code == 0, done.output
    written = [p.read_text("utf-8") for p in out.iterdir() if p.suffix in (".html", ".json")]
    for text in (done.output, *written):
        assert not SPACED.search(text)
    assert re.search(r"\d%", done.output)
