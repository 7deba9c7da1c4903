"""The benchmarks of the papers: known by address and checksum, found by path, never bundled."""

from coterie_bench.datasets.cards import (
    BENCHMARKS,
    CARDS,
    DEV,
    GROUPS,
    LANGUAGES,
    LEVELS,
    PAIRS,
    TAILS,
    Card,
    Pairs,
)
from coterie_bench.datasets.files import (
    Dataset,
    find_pairs,
    get_dataset,
    load_dataset,
    locate_dataset,
)

__all__ = [
    "BENCHMARKS",
    "CARDS",
    "DEV",
    "GROUPS",
    "LANGUAGES",
    "LEVELS",
    "PAIRS",
    "TAILS",
    "Card",
    "Dataset",
    "Pairs",
    "find_pairs",
    "get_dataset",
    "load_dataset",
    "locate_dataset",
]
