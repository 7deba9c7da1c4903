"""The papers' numbers: known ones are there, names are ours, slips are marked."""

from collections import Counter

import pytest

from coterie.models.registry import METHODS
from coterie_bench.beside import DOUBTS, ELSEWHERE, PAPERS, PARTIAL, load_reported
from coterie_bench.datasets import CARDS
from coterie_bench.suites import SUITES


def values(**wanted: str) -> list[str]:
    return [r.text for r in load_reported() if all(getattr(r, k) == v for k, v in wanted.items())]


@pytest.mark.parametrize(
    ("paper", "table", "printed", "dataset", "numbers"),
    [  # as printed, ACC and NMI in the order of the paper
        ("SCCL", "Table 1", "SCCL", "googlenews-t", ["75.8", "88.3"]),
        ("SCCL", "Table 3", "SCCL (contextual augmenter)", "googlenews-t", ["73.9", "87.5"]),
        ("AECL", "Table 2", "RSTC", "biomedical", ["45.69", "38.57"]),
        ("AECL", "Table 4", "AECL (No Stage 2)", "stackoverflow", ["44.65", "48.69"]),
        ("DECCRL", "Table 3", "DECCRL w/o CRL", "biomedical", ["28.0", "29.4"]),
        ("ClusterBERT", "Table 3", "VaSCL+UMAP+k-means", "stackoverflow", ["72.2", "82.3"]),
        ("ADSL", "Table 2", "NN+ADSL", "reuters10k", ["76.72", "57.41"]),
    ],
)
def test_known_values(paper, table, printed, dataset, numbers) -> None:
    found = values(paper=paper, table=table, printed=printed, dataset=dataset)
    assert sorted(found) == sorted(numbers)


def test_names_are_those_of_the_registry() -> None:
    everything = load_reported()
    labels = PARTIAL | {entry.label for suite in SUITES.values() for entry in suite.entries}
    assert {r.dataset for r in everything} <= {*CARDS, "bbc-sentences", *ELSEWHERE}
    assert {r.method for r in everything} <= {*METHODS, ""}
    assert {r.variant for r in everything} - {""} <= labels
    assert {r.metric for r in everything} == {"acc", "nmi"}
    assert {r.paper for r in everything} == set(PAPERS)
    assert all(0 < r.value <= 100 and r.value == float(r.text) for r in everything)


def test_each_cell_of_a_table_is_there_once() -> None:
    cells = Counter(
        (r.paper, r.table, r.printed, r.dataset, r.metric, r.note if "40" in r.note else "")
        for r in load_reported()
    )
    assert max(cells.values()) == 1
    sizes = Counter((r.paper, r.table) for r in load_reported())
    assert sizes["ClusterBERT", "Table 3"] == 29 * 6 * 2  # all cells of the printed table
    assert sizes["SCCL", "Table 3"] == 3 * 8 * 2


def test_what_looks_wrong_is_marked() -> None:
    assert {d for r in load_reported() for d in r.doubts} == set(DOUBTS)
    marked = [r for r in load_reported() if "suspect" in r.doubts]
    assert all(r.note for r in marked)
    table = [r for r in load_reported() if (r.paper, r.table) == ("ClusterBERT", "Table 3")]
    by = {(r.printed, r.dataset, r.metric): r for r in table}
    doubled = set()
    for printed in {r.printed for r in table}:
        for column, twin in (("biomedical", "bbc-sentences"), ("bbc-sentences", "stackoverflow")):
            here = [by[printed, column, metric] for metric in ("acc", "nmi")]
            there = [by[printed, twin, metric] for metric in ("acc", "nmi")]
            if [r.value for r in here] == [r.value for r in there]:  # a column that is set twice
                assert all("suspect" in r.doubts for r in here), (printed, column)
                doubled.add(printed)
    assert doubled >= {"SBERT+k-means", "SBERT+IDEC", "VaSCL+UMAP+k-means"}
    purity = [r for r in load_reported() if r.printed == "HAC-SD" and r.metric == "acc"]
    assert purity and all("suspect" in r.doubts for r in purity)
    own = [r for r in load_reported() if r.paper == "ClusterBERT" and r.dataset == "agnews"]
    assert own and all("other data" in r.doubts for r in own)
