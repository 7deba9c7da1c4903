"""The papers' numbers: known ones are there, names are ours, slips are marked."""

from coterie.models.registry import METHODS
from coterie_bench.beside import ELSEWHERE, PAPERS, PARTIAL, load_reported
from coterie_bench.datasets import CARDS
from coterie_bench.suites import SUITES


def test_names_are_those_of_the_registry() -> None:
    everything = load_reported()
    labels = PARTIAL | {entry.label for suite in SUITES.values() for entry in suite.entries}
    assert {r.dataset for r in everything} <= {*CARDS, "bbc-sentences", *ELSEWHERE}
    assert {r.method for r in everything} <= {*METHODS, ""}
    assert {r.variant for r in everything} - {""} <= labels
    assert {r.metric for r in everything} == {"acc", "nmi"}
    assert {r.paper for r in everything} == set(PAPERS)
    assert all(0 < r.value <= 100 and r.value == float(r.text) for r in everything)
