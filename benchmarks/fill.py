"""Put tables of the newest result lines into the pages of docs/, between their marks.

python benchmarks/fill.py, or: make tables

A page has ``<!-- measured: SUITE METHOD ... -->``, ``<!-- ablations: SUITE -->``,
``<!-- overview: acc -->`` or ``<!-- details -->``, and behind it ``<!-- end -->``. The tables of
the scripts here are those of ``compared.py`` and ``speed.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import compared
import speed

from coterie.bench import SUITES
from coterie.bench.beside import details, overview
from coterie.bench.collect import read_folder
from coterie.bench.keys import Row
from coterie.bench.pages import ablation_part, method_part

ROOT = Path(__file__).parents[1]
DOCS, RESULTS = ROOT / "docs", ROOT / "results"
PLACE = re.compile(
    r"(<!-- (measured|ablations|overview|details)(?:: ([^\n]*))? -->\n).*?(<!-- end -->)", re.S
)
PARTS: dict[str, Callable[[Sequence[Row], list[str]], str]] = {
    "measured": lambda rows, words: method_part(rows, words[1:], words[0]),
    "ablations": lambda rows, words: ablation_part(rows, SUITES[words[0]]),
    "overview": lambda rows, words: overview(rows, words[0]).to_markdown(3),
    "details": lambda rows, words: "\n".join(t.to_markdown(2) for t in details(rows)),
}


def fill(text: str, rows: Sequence[Row]) -> str:
    """The page with its tables made anew."""
    return PLACE.sub(
        lambda p: f"{p[1]}\n{PARTS[p[2]](rows, (p[3] or '').split()).strip()}\n\n{p[4]}", text
    )


def pages() -> list[Path]:
    """Pages with places to fill."""
    return [page for page in sorted(DOCS.rglob("*.md")) if PLACE.search(page.read_text("utf-8"))]


def main() -> None:
    compared.main()
    speed.main()
    rows = read_folder(RESULTS)
    for page in pages():
        old = page.read_text("utf-8")
        new = fill(old, rows)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"filled {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
