"""How the project writes: "12%" without a space, in sources, pages and whatever a run prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import coterie
from commands import run

ROOT = Path(__file__).parents[2]
PLACES = {
    Path(coterie.__file__).parent: (".py", ".html", ".js"),
    ROOT / "benchmarks" / "src": (".py",),
    ROOT / "docs": (".md", ".svg"),
    ROOT / "results": (".md", ".svg"),
}
FILES = sorted(ROOT.glob("*.md")) + [
    path for top, kinds in PLACES.items() for path in sorted(top.rglob("*")) if path.suffix in kinds
]
SPACED = re.compile(
    r"(?:\d|\.\.\.|\}) ?(?: |\u00a0|&nbsp;)%(?!\})"
)  # "%}" ends a tag of a template


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(p.parents[1])))
def test_per_cent_is_written_without_a_space(path: Path) -> None:
    assert not [line for line in path.read_text("utf-8").splitlines() if SPACED.search(line)]


def test_the_space_would_be_found() -> None:
    assert all(
        map(SPACED.search, ("12 % of", 'f"{odd:.0f} % of the texts"', "{{ odd }}&nbsp;% of"))
    )
    assert not SPACED.search("0% of the texts")


def test_what_a_run_prints_and_writes_has_no_space_before_per_cent(tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ["-k", 5, "--method", "kmeans", "--encoder", "tfidf", "--max-outliers", "5%"]
    done = run("cluster", "sample", *options, "--out", out)
    written = [p.read_text("utf-8") for p in out.iterdir() if p.suffix in (".html", ".json")]
    for text in (done.output, *written):
        assert not SPACED.search(text)
    assert re.search(r"\d%", done.output)
