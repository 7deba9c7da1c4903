"""What a run sees of a data set, and what only its score sees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from coterie._util.random import numpy_generator
from coterie.errors import UsageError
from coterie.texts import sample
from coterie_bench.datasets import load_dataset

# Texts to fit on, of those that DECCRL's Table 1 prints; the rest is scored.
SPLITS = {"agnews": 6_400, "stackoverflow": 15_084, "biomedical": 15_583}


@dataclass(frozen=True)
class Data:
    """Texts and labels of one data set; rows with no theme are left out of the scores.

    Attributes
    ----------
    name, sha256 : str
    texts, labels : list of str
    n_clusters : int
    scored : ndarray of bool
    train : ndarray of bool, optional
        The texts to fit on, where the others are scored; None is all for both.
    coarse : list of str, optional
        Coarse classes of a set with two levels.
    """

    name: str
    sha256: str
    texts: list[str]
    labels: list[str]
    n_clusters: int
    scored: Any
    train: Any = None
    coarse: list[str] | None = None


@lru_cache(maxsize=2)  # plans go data set by data set
def load_data(name: str, folder: Path | None) -> Data:
    """A benchmark or the bundled sample."""
    if name == "sample":
        corpus = sample()
        labels = [str(label) for label in corpus.table.column("theme").to_pylist()]
        scored = np.array([label != "none" for label in labels])
        return Data(name, corpus.sha256, corpus.texts, labels, 17, scored)
    dataset = load_dataset(name, folder)
    everything = np.ones(len(dataset.texts), dtype=bool)
    return Data(
        name,
        dataset.card.sha256,
        dataset.texts,
        dataset.labels,
        dataset.card.classes,
        everything,
        coarse=dataset.coarse,
    )


def split(data: Data, seed: int) -> Data:
    """The data set cut at random into a part to fit on and a part to score.

    Sizes are those of DECCRL's Table 1.
    """
    if data.name not in SPLITS:
        raise UsageError(
            f"protocol 'split' has no sizes for {data.name!r}, only for "
            f"{', '.join(SPLITS)}; choose among them with --datasets."
        )
    n = len(data.texts)
    train = np.zeros(n, dtype=bool)
    train[numpy_generator(seed, "split").permutation(n)[: SPLITS[data.name]]] = True
    return replace(data, train=train)
