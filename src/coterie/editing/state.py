"""The clustering while it is edited: a copy, so that nothing is written before all is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from coterie._types import Bools, Floats, Ints
from coterie.base.edited import Step, fingerprint


@dataclass
class State:
    """Rows, their clusters, and what is known about these.

    Attributes
    ----------
    texts : list of str
        Cleaned; empty where a row has none.
    labels : ndarray of shape (n,)
        Cluster of each row, -1 for those without a text; of outliers, the nearest one.
    get_vectors : callable
        Gives the vectors of all rows; asked only if an edit needs them.
    names : dict of int to str or None
        Of every cluster; None for one that needs a new name.
    next_id : int
        The lowest number that no cluster ever had.
    ids : list of str, optional
    outliers : ndarray of shape (n,)
        Rows that fit no cluster; they follow the nearest one, but do not count.
    locked : set of int
    named : set of int
        Clusters whose names a person gave.
    corrections : dict of str to int
        Clusters of texts by their fingerprints.
    steps : list of Merge or Split
        What the edits add to the assigner of the model.
    done : list of str
        What was done, in sentences.
    seed : int
    """

    texts: list[str]
    labels: Ints
    get_vectors: Callable[[], Floats]
    names: dict[int, str | None]
    next_id: int
    ids: list[str] | None = None
    outliers: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))
    locked: set[int] = field(default_factory=set)
    named: set[int] = field(default_factory=set)
    corrections: dict[str, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    seed: int = 0
    moved: bool = False  # whether a row is in another cluster, or bound to one, than before

    def __post_init__(self) -> None:
        if not len(self.outliers):
            self.outliers = np.zeros(len(self.labels), dtype=bool)

    def rename(self, cluster: int, name: str | None) -> None:
        """Give a cluster the name that a person chose; None asks for one made of its words."""
        self.names[cluster] = name
        (self.named.discard if name is None else self.named.add)(cluster)

    def retire(self, cluster: int) -> None:
        """A number that is not used any more, and never again."""
        del self.names[cluster]
        self.named.discard(cluster)

    def size(self, cluster: int) -> int:
        """Rows in a cluster."""
        return len(self.rows(cluster))

    def rows(self, cluster: int) -> Ints:
        """Rows in a cluster, without outliers."""
        return np.flatnonzero((self.labels == cluster) & ~self.outliers)

    def correct(self, rows: Ints, cluster: int) -> None:
        """Put rows into a cluster and remember their texts."""
        self.labels[rows] = cluster
        self.outliers[rows] = False
        self.corrections.update((fingerprint(self.texts[row]), cluster) for row in rows)
        self.moved = True

    def follow_corrections(self, clusters: set[int]) -> None:
        """Take corrections that lead to these clusters to where their texts are now."""
        rows = np.flatnonzero(self.labels >= 0)
        now = {fingerprint(self.texts[row]): int(self.labels[row]) for row in rows}
        for mark, cluster in self.corrections.items():
            if cluster in clusters:
                self.corrections[mark] = now.get(mark, cluster)

    def bound_rows(self) -> list[tuple[int, int]]:
        """Rows whose text was given a cluster by a person, and that cluster."""
        if not self.corrections:
            return []
        marks = [fingerprint(text) if text else "" for text in self.texts]
        return [(i, self.corrections[m]) for i, m in enumerate(marks) if m in self.corrections]

    def shown(self, cluster: int) -> str:
        """A cluster as sentences call it."""
        name = self.names.get(cluster)
        return f"{cluster} ({name})" if name else str(cluster)
