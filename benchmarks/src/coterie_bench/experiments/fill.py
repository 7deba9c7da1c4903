"""Put tables of the newest result lines into the README and the pages of docs/: ``make tables``.

They go between a mark such as ``<!-- overview: acc -->`` and ``<!-- end -->``. ``PARTS`` says what
each mark stands for; ``<!-- table: NAME -->`` is a table of ``results/NAME.jsonl``.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from coterie_bench import ROOT
from coterie_bench.beside import overview
from coterie_bench.datasets import BENCHMARKS, LANGUAGES
from coterie_bench.experiments import (
    bertopic,
    command,
    faithful,
    generalization,
    levels,
    pages,
    settings,
    steering,
    trained_encoders,
    updates,
)
from coterie_bench.ledger import Row, read_results
from coterie_bench.suites import SUITES
from coterie_bench.tables import read_folder

DOCS, RESULTS = ROOT / "docs", ROOT / "results"
TABLES: dict[str, Callable[[list[Row]], str]] = {
    "bertopic": bertopic.summary,
    "bertopic:sets": bertopic.sets,
    "command": command.table,
    "command:parts": command.parts,
    "levels": levels.two_levels,
    "levels:sets": levels.sets,
    "second-steps": trained_encoders.table,
    "settings": settings.table,
    "updates": updates.table,
}
PARTS: dict[str, Callable[[Sequence[Row], list[str]], str]] = {
    "table": lambda rows, words: table(words[0]),
    **{name: lambda rows, words, n=name: table(n) for name in TABLES},  # a mark without "table:"
    "measured": lambda rows, words: pages.method_part(rows, words[1:], words[0]),
    "ablations": lambda rows, words: pages.ablation_part(rows, SUITES[words[0]]),
    "overview": lambda rows, words: overview(rows, words[0]).to_markdown(3),
    "short": lambda rows, words: pages.short_part(rows),
    "systems": lambda rows, words: pages.systems_part(rows),
    "development": lambda rows, words: generalization.development_part(suite("dev")),
    "languages": lambda rows, words: generalization.table_part(
        suite("lang"), LANGUAGES, "coterie-bench lang --data DIR"
    ),
    "reported": lambda rows, words: generalization.table_part(
        rows, BENCHMARKS, "coterie-bench auto --find-k --data DIR"
    ),
    "numbers": lambda rows, words: generalization.both_part([*rows, *suite("dev")]),
    "stability": lambda rows, words: generalization.stability_part(suite("stability")),
    "guard": lambda rows, words: generalization.guard_sentence(suite("dev-systems")),
    "dev-gain": lambda rows, words: generalization.gain(suite("dev")),
    "claims": lambda rows, words: faithful.claims_part(words[0], rows),
    "verdicts": lambda rows, words: faithful.summary_part(rows),
    "headlines": lambda rows, words: faithful.headlines_part(rows),
    "steering": lambda rows, words: steering.steering_page(suite("steering")),
}
PLACE = re.compile(rf"(<!-- ({'|'.join(PARTS)})(?:: ([^\n]*?))? -->\n?).*?(<!-- end -->)", re.S)


def table(name: str) -> str:
    """A table of an experiment; a second one of the same lines is NAME:WHAT."""
    file = name.partition(":")[0]
    rows = suite(file)
    return TABLES[name](rows) if rows else f"Not measured yet: `coterie-bench {file}`.\n"


def suite(name: str) -> list[Row]:
    """Lines of one file; none where there is no file."""
    return read_results([RESULTS / f"{name}.jsonl"])


def fill(text: str, rows: Sequence[Row]) -> str:
    """The page with its tables made anew, and with the figures of marks inside a line."""

    def part(place: re.Match[str]) -> str:
        made = PARTS[place[2]](rows, (place[3] or "").split()).strip()
        return place[1] + (f"\n{made}\n\n" if place[1].endswith("\n") else made) + place[4]

    return PLACE.sub(part, text)


def places() -> list[Path]:
    """Pages with places to fill."""
    everything = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted(RESULTS.rglob("*.md"))]
    return [page for page in everything if PLACE.search(page.read_text("utf-8"))]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for page, new in made():
        if not page.exists() or page.read_text("utf-8") != new:
            page.write_text(new, encoding="utf-8")
            print(f"filled {page.relative_to(ROOT)}")


def made() -> Iterator[tuple[Path, str]]:
    """Every file that is made from the lines, with what it has to hold."""
    rows = read_folder(RESULTS)
    yield RESULTS / "verdicts.csv", faithful.verdicts_file(rows)
    for page in places():
        yield page, fill(page.read_text("utf-8"), rows)
