"""The suites of everything: all systems on all eight benchmarks, and all ablations.

Settings by data set are those that the papers and their code give. Where no augmentations were
published, our own EDA variants take their place, and the line says so (``views_source``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coterie.bench.baselines import BASELINES, RSTC_SETS, UNTRAINED
from coterie.bench.entries import Entry, Suite, union
from coterie.bench.papers import (
    ADSL,
    AECL,
    AECL_ABLATIONS,
    CLUSTER_BERT,
    CLUSTER_BERT_ABLATIONS,
    DECCRL,
    DECCRL_ABLATIONS,
    EDA,
    SCCL,
    SCCL_ABLATIONS,
)
from coterie.datasets import CARDS

BENCHMARKS = tuple(name for name, card in CARDS.items() if card.group == "benchmark")
DEV = tuple(name for name, card in CARDS.items() if card.group == "dev")
LANGUAGES = tuple(name for name, card in CARDS.items() if card.group == "lang")
NEWS = ("googlenews-ts", "googlenews-t", "googlenews-s")


def _aecl(first: int, second: int, balance: float) -> dict[str, Any]:
    return {"contrast_epochs": first, "label_epochs": second, "balance_weight": balance}


# Lengths of the first two stages and the weight of even sizes, section 4.2 of AECL.
AECL_SETS = {
    "agnews": _aecl(10, 1, 10.0),
    "searchsnippets": _aecl(10, 1, 0.18),
    "stackoverflow": _aecl(2, 1, 10.0),
    "biomedical": _aecl(2, 1, 10.0),
    **{name: _aecl(10, 6, 0.09) for name in NEWS},
    "tweet": _aecl(20, 10, 0.09),
}
# The rest of the authors' script: eps2 over the scale, refreshes, steps of contrast alone.
RSTC_ALL: dict[str, dict[str, Any]] = {
    **RSTC_SETS,
    "agnews": {"balance_weight": 0.1, "refreshes": 110, "contrast_steps": 600},
    "biomedical": {"balance_weight": 0.1, "refreshes": 50},
    **{n: {"balance_weight": 0.001, "refreshes": 82, "contrast_steps": 600} for n in NEWS},
}


def _own(entry: Entry, **changes: Any) -> Entry:
    """The entry with our own pairs where none were published."""
    return replace(entry, own_views="eda", **changes)


def _rstc() -> list[Entry]:
    default, paper = (entry for entry in BASELINES.entries if entry.method == "rstc")
    return [_own(default), _own(paper, by_dataset=RSTC_ALL)]


PAPERS = Suite(
    "papers",
    "the papers' systems, the encoder alone and auto on the eight benchmarks; wants a GPU",
    (
        *UNTRAINED,
        Entry("auto", "auto"),
        *(_own(entry) for entry in SCCL.entries),
        *(_own(entry) for entry in AECL.entries),
        Entry("AECL, settings of the paper", "aecl", {}, None, EDA, AECL_SETS, "eda"),
        *(_own(entry) for entry in DECCRL.entries),
        *CLUSTER_BERT.entries,
        *_rstc(),
        Entry("NN+ADSL", "adsl"),
    ),
    BENCHMARKS,
    5,
    parts=("sccl", "aecl", "deccrl", "cluster-bert", "adsl", "encoder", "two-step", "auto",
           "baselines"),
)  # fmt: skip

FIVE = ("SCCL, default", "AECL, default", "DECCRL, default", "ClusterBERT, fast preset",
        "RSTC, default")  # fmt: skip
SYSTEMS = replace(
    PAPERS,
    name="systems",
    about="five trained systems, one setting each, on the eight benchmarks; wants a GPU",
    entries=tuple(entry for entry in PAPERS.entries if entry.label in FIVE),
    parts=("papers", *PAPERS.parts),
)

ABLATIONS = union(
    "ablations",
    "the ablations of all papers: what each part brings; wants a GPU",
    (SCCL_ABLATIONS, AECL_ABLATIONS, DECCRL_ABLATIONS, CLUSTER_BERT_ABLATIONS, ADSL),
    3,
)
