"""The start guard: detects collapse and degradation without labels, and returns the start instead.

- *clusters used* and *size entropy*: a head that gives most texts to a few clusters has collapsed.
- *consensus agreement*: NMI with a reference clustering of the same texts, the consensus of k-means
  runs that ``auto`` makes: on the views of the encoder before training, n-grams and words,
  smoothed; on the vectors and character n-grams for other encoders. Where training moves the
  clusters away from it, the start is returned (``results/pages/generalization.md``).
- *neighbour agreement*: how much more often than by chance a text and its nearest neighbours, in
  the vectors before training, are in the same cluster. It decides where there are no texts: a fall
  by more than 15% returns the start.
"""

from __future__ import annotations

import logging

import numpy as np

from coterie._util.random import derive_seed, some_rows
from coterie._util.torch import torch
from coterie._util.types import Floats, Ints
from coterie.arrays.consensus import reference
from coterie.arrays.metrics import nmi, size_entropy
from coterie.arrays.neighbors import top_k, unit_rows
from coterie.encoders import Encoder, SentenceEncoder, ViewsEncoder
from coterie.encoders.base import distinct
from coterie.models.choose import with_ngrams
from coterie.models.guarded import Diagnostics, GuardResult

log = logging.getLogger(__name__)

NEIGHBORS = 10
ANCHORS = 2000
FEWEST_CLUSTERS = 0.5  # of those the start uses
LOWEST_ENTROPY = 0.7  # of the start's
LOWEST_AGREEMENT = 0.85  # of the start's
TEXTS = 20_000  # texts that are read
TOLERANCE = 0.01  # fall of the agreement with the reference that is accepted
FEWEST_TEXTS = 50  # different ones, for a reference


class Guard:
    """Compares clusterings of the same texts with the start, by criteria that need no labels.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    start : ndarray of shape (n,)
    n_clusters, seed : int
    texts : list of str, optional
        The ``n`` texts; without them only neighbours and sizes are compared.
    encoder : Encoder, optional
        As it is before training. A sentence encoder gives the reference all its views.
    """

    def __init__(
        self,
        vectors: Floats,
        start: Ints,
        n_clusters: int,
        seed: int,
        texts: list[str] | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        self.read = np.arange(len(vectors))
        self.reference: Ints | None = None
        if texts is not None:
            self.read = some_rows(len(texts), TEXTS, seed, "guard texts")
            some = [texts[i] for i in self.read]
            self.reference = _reference(vectors[self.read], some, n_clusters, seed, encoder)
        self.neighbors, self.anchors = nearest_neighbors(vectors, seed)
        self.n_clusters = n_clusters
        self.start_labels = start
        self.start = self.measure(start)

    def measure(self, labels: Ints) -> Diagnostics:
        """Measure one clustering."""
        agreement = None
        if self.reference is not None:
            agreement = round(nmi(self.reference, labels[self.read]), 5)
        return Diagnostics(
            clusters_used=len(np.unique(labels)),
            size_entropy=round(size_entropy(labels, self.n_clusters), 4),
            neighbor_agreement=round(neighbor_agreement(labels, self.neighbors, self.anchors), 4),
            consensus_agreement=agreement,
        )

    def judge(self, labels: Ints) -> GuardResult:
        """Compare trained labels with the start."""
        final = self.measure(labels)
        reason = _reason(self.start, final)
        agreement = round(nmi(self.start_labels, labels), 4)
        return GuardResult(bool(reason), reason, self.start, final, agreement)


def _reason(start: Diagnostics, final: Diagnostics) -> str:
    if final.clusters_used < FEWEST_CLUSTERS * start.clusters_used:
        return (
            f"training collapsed: {final.clusters_used} clusters are in use, "
            f"{start.clusters_used} at the start"
        )
    if final.size_entropy < LOWEST_ENTROPY * start.size_entropy:
        return (
            f"training collapsed: size entropy fell from {start.size_entropy:.2f} to "
            f"{final.size_entropy:.2f}"
        )
    before, after = start.consensus_agreement, final.consensus_agreement
    if before is not None and after is not None:
        if after < before - TOLERANCE:
            return (
                "training moved the clusters away from the structure of the texts: agreement with "
                "a consensus clustering of embeddings and words fell from "
                f"{before:.3f} to {after:.3f}"
            )
        return ""
    least = LOWEST_AGREEMENT * start.neighbor_agreement
    if start.neighbor_agreement > 0 and final.neighbor_agreement < least:
        return (
            "neighbour agreement fell from "
            f"{start.neighbor_agreement:.2f} to {final.neighbor_agreement:.2f}"
        )
    return ""


def _reference(
    vectors: Floats, texts: list[str], n_clusters: int, seed: int, encoder: Encoder | None
) -> Ints | None:
    """The consensus clustering; None where there are too few different texts."""
    first, rows = distinct(texts)
    if n_clusters < 2 or len(first) < max(2 * n_clusters, FEWEST_TEXTS):
        return None
    some = [texts[i] for i in first]
    own = derive_seed(seed, "guard", "n-grams")
    if isinstance(encoder, SentenceEncoder):
        views = ViewsEncoder(encoder, own)
        views.learn(some)
        items, numbers = views.prepare(some)
        x = views.encode(items.to(encoder.device or torch.device("cpu")))[numbers]
    else:
        x = with_ngrams(unit_rows(np.asarray(vectors)[first]), some, own)
    counts = np.bincount(rows, minlength=len(first)).astype(np.float32)
    return np.asarray(reference(x, n_clusters, counts, seed)[rows])


def nearest_neighbors(vectors: Floats, seed: int) -> tuple[Ints, Ints]:
    """The nearest texts by cosine of some texts (all, up to 2,000): neighbours and anchors."""
    n = len(vectors)
    anchors = some_rows(n, ANCHORS, seed, "guard")
    unit = torch.nn.functional.normalize(torch.as_tensor(vectors, dtype=torch.float32), dim=1)
    found, _ = top_k(unit[anchors], min(NEIGHBORS, n - 1), unit, itself=anchors)
    return found.numpy(), anchors


def neighbor_agreement(labels: Ints, neighbors: Ints, anchors: Ints) -> float:
    """Share of neighbour pairs in one cluster, less chance, over its maximum (a kappa)."""
    if neighbors.size == 0:
        return 1.0
    same = float((labels[anchors][:, None] == labels[neighbors]).mean())
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    chance = float(np.square(share).sum())
    return (same - chance) / (1 - chance) if chance < 1 else 0.0
