"""The benchmarks of the papers: known by address and checksum, found by path, never bundled.

The one corpus that comes with the package is :func:`sample`, which its authors wrote.
"""

from coterie.datasets.cards import CARDS, PAIRS, Card, Pairs
from coterie.datasets.files import (
    Dataset,
    find_pairs,
    get_dataset,
    load_dataset,
    locate_dataset,
    sample,
)

__all__ = [
    "CARDS",
    "PAIRS",
    "Card",
    "Dataset",
    "Pairs",
    "find_pairs",
    "get_dataset",
    "load_dataset",
    "locate_dataset",
    "sample",
]
