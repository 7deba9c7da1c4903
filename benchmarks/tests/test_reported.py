"""The papers' numbers: known ones are there, names are ours, slips are marked."""

import pytest

from coterie.models.registry import METHODS
from coterie_bench.beside import ELSEWHERE, PAPERS, PARTIAL, load_reported
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
