"""Put tables of the newest result lines into the README and the pages of results/.

coterie-bench fill, or: make tables

They go between marks: ``<!-- measured: SUITE METHOD ... -->``, ``<!-- ablations: SUITE -->``,
``<!-- overview: acc -->``, ``<!-- short -->``, ``<!-- gains -->``, ``<!-- found -->`` or
``<!-- details -->``, and ``<!-- end -->``.
``<!-- views -->``, ``<!-- jobs -->``, ``<!-- pass -->`` and ``<!-- masked-head -->`` are the
tables of ``views.py``, ``jobs.py`` and ``masked_head.py``, ``<!-- figure: NAME -->`` a figure of
``figures_page.py``. ``<!-- development -->``, ``<!-- reported -->``, ``<!-- numbers -->``,
``<!-- stability -->`` and ``<!-- guarded -->`` are the tables of generalization.md,
``<!-- verdicts -->``, ``<!-- faithful: METHOD -->``, ``<!-- authors -->``, ``<!-- weights -->``
and ``<!-- missing -->`` those of faithful.md, ``<!-- steering -->`` those of
steering.md.
``<!-- static -->`` is the table of ``static_encoders.py``, ``<!-- serve -->`` that of ``serve.py``,
``<!-- names -->`` that of ``names.py``. ``<!-- guard -->`` and ``<!-- dev-gain -->`` stand inside a
line: what the guard did and what ``auto`` gains on the development sets.
Those of ``compared_page.py`` and ``speed_pages.py`` have pages of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from coterie_bench import ROOT, SUITES
from coterie_bench.beside import details, overview
from coterie_bench.experiments import compared_page as compared
from coterie_bench.experiments import (
    faithful,
    generalization,
    jobs,
    lines,
    masked_head,
    names,
    serve,
    static_encoders,
    views,
)
from coterie_bench.experiments import figures_page as figures
from coterie_bench.experiments import speed_pages as speed
from coterie_bench.experiments.pages import (
    ablation_part,
    found_part,
    gains_part,
    method_part,
    short_part,
)
from coterie_bench.ledger import Row, read_results
from coterie_bench.steering import steering_page
from coterie_bench.tables import read_folder

DOCS, RESULTS = ROOT / "docs", ROOT / "results"
KINDS = (
    "found|gains|measured|ablations|overview|details|short|views|jobs|pass|masked-head|figure"
    "|development|reported|numbers|stability|guarded|faithful|authors|weights|missing|steering|static"
    "|languages|serve|names|verdicts|guard|dev-gain"
)
PLACE = re.compile(rf"(<!-- ({KINDS})(?:: ([^\n]*?))? -->\n?).*?(<!-- end -->)", re.S)
PARTS: dict[str, Callable[[Sequence[Row], list[str]], str]] = {
    "measured": lambda rows, words: method_part(rows, words[1:], words[0]),
    "ablations": lambda rows, words: ablation_part(rows, SUITES[words[0]]),
    "overview": lambda rows, words: overview(rows, words[0]).to_markdown(3),
    "details": lambda rows, words: "\n".join(t.to_markdown(2) for t in details(rows)),
    "found": lambda rows, words: found_part(rows),
    "gains": lambda rows, words: gains_part(rows),
    "short": lambda rows, words: short_part(rows),
    "views": lambda rows, words: views.made(RESULTS),
    "jobs": lambda rows, words: jobs.table(lines.read(RESULTS / "jobs.jsonl")),
    "pass": lambda rows, words: jobs.phases(lines.read(RESULTS / "pass.jsonl")),
    "masked-head": lambda rows, words: masked_head.table(RESULTS / "masked-head.jsonl"),
    "figure": lambda rows, words: figures.block(words[0]),
    "development": lambda rows, words: generalization.development_part(suite("dev")),
    "languages": lambda rows, words: generalization.languages_part(suite("lang")),
    "reported": lambda rows, words: generalization.benchmark_part(rows),
    "numbers": lambda rows, words: generalization.both_part([*rows, *suite("dev")]),
    "stability": lambda rows, words: generalization.stability_part(suite("stability")),
    "faithful": lambda rows, words: faithful.paper_part(words[0], rows),
    "verdicts": lambda rows, words: faithful.summary_part(rows),
    "authors": lambda rows, words: faithful.authors_part(rows),
    "missing": lambda rows, words: faithful.missing_part(rows),
    "weights": lambda rows, words: faithful.weights_part(rows),
    "guard": lambda rows, words: generalization.guard_sentence(suite("dev-systems")),
    "dev-gain": lambda rows, words: generalization.gain(suite("dev")),
    "guarded": lambda rows, words: generalization.systems_part(suite("dev-systems")),
    "steering": lambda rows, words: steering_page(suite("steering")),
    "serve": lambda rows, words: serve.table(RESULTS / "serve.jsonl") + "\n",
    "names": lambda rows, words: names.table(lines.read(names.OUT)) + "\n",
    "static": lambda rows, words: static_encoders.table(lines.read(static_encoders.OUT)) + "\n",
}


def suite(name: str) -> list[Row]:
    """Lines of one suite that has a page of its own; none where there is no file."""
    file = RESULTS / f"{name}.jsonl"
    return read_results([file]) if file.exists() else []


def fill(text: str, rows: Sequence[Row]) -> str:
    """The page with its tables made anew, and with the figures of marks inside a line."""

    def part(place: re.Match[str]) -> str:
        made = PARTS[place[2]](rows, (place[3] or "").split()).strip()
        return place[1] + (f"\n{made}\n\n" if place[1].endswith("\n") else made) + place[4]

    return PLACE.sub(part, text)


def pages() -> list[Path]:
    """Pages with places to fill."""
    everything = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted(RESULTS.rglob("*.md"))]
    return [page for page in everything if PLACE.search(page.read_text("utf-8"))]


def main() -> None:
    compared.main()
    speed.main()
    figures.make_page()
    rows = read_folder(RESULTS)
    for page in pages():
        old = page.read_text("utf-8")
        new = fill(old, rows)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"filled {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
