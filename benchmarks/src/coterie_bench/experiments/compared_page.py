"""Put the newest tables of the scripts here into docs/compared.md, between its marks.

coterie-bench fill
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from coterie_bench import ROOT
from coterie_bench.experiments import bertopic, lines

Table = Callable[[list[lines.Row]], str]
SCRIPTS: dict[str, Table] = {
    "bertopic": bertopic.summary,
    "bertopic:sets": bertopic.sets,
}


def main() -> None:
    page = ROOT / "docs" / "compared.md"
    page.write_text(fill(page.read_text("utf-8"), ROOT / "results"), encoding="utf-8")


def fill(text: str, results: Path, scripts: Mapping[str, Table] = SCRIPTS) -> str:
    """The page with the table NAME between ``<!-- table: NAME -->`` and ``<!-- end -->``.

    A second table of the same lines is NAME:WHAT.
    """
    for name, table in scripts.items():
        mark = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.S)
        if not mark.search(text):
            raise SystemExit(f"the page has no place for the table {name}")
        new = table(lines.read(results / f"{name.partition(':')[0]}.jsonl"))
        text = mark.sub(lambda found, new=new: f"{found[1]}\n{new}\n\n{found[2]}", text)
    return text


if __name__ == "__main__":
    main()
