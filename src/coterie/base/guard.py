"""The start guard: sees collapse and degradation without labels, and keeps the start instead.

Four signs, each comparing the result with the start solution:

- *clusters in use*: a head that gives most texts to a few clusters has collapsed;
- *size entropy*: one cluster that swallows the others shows before clusters run empty;
- *neighbour agreement*: how much more often than by chance a text and its nearest neighbours, in
  the vectors before training, share a cluster. Training may redraw borders, so it may fall a
  little: 3 to 12 % in runs that did no harm. Another start of k-means moves it by 1 to 3 %. When it
  falls by more than 15 %, texts that mean the same have been torn apart;
- *word information*: how much the clusters say about the words of their texts
  (``words/information.py``). The encoder has no part in it, so it is the witness that training
  cannot persuade. Another start of k-means moves it by 1.3 % on the bundled sample, by less on
  larger corpora; when it falls by more than 2 %, training has lost something real.

A fall within these limits may be the price of a gain elsewhere, so one of the last two signs may
fall if the other rises. If both fall, no witness speaks for leaving the start, and it is kept.

The limits were set on the bundled sample, where a thousand steps on a thousand messages lower the
agreement by 17 % and undo much of what k-means had found (``results/guard.jsonl``).
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie.metrics import nmi, size_entropy
from coterie.words import word_information, word_presence

log = logging.getLogger(__name__)

NEIGHBORS = 10
ANCHORS = 2000
FEWEST_CLUSTERS = 0.5  # of those the start uses
LOWEST_ENTROPY = 0.7  # of the start's
LOWEST_AGREEMENT = 0.85  # of the start's
LOWEST_INFORMATION = 0.98  # of the start's
TEXTS = 20_000  # texts whose words are looked at


@dataclass(frozen=True)
class Signs:
    """Label-free signs of one clustering."""

    clusters_used: int
    size_entropy: float
    neighbor_agreement: float
    word_information: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What the guard saw and did.

    Attributes
    ----------
    fired : bool
        Whether the start solution was returned instead of the trained one.
    reason : str
        In plain words; empty if all is well.
    start, final : Signs
    agreement : float
        NMI between the start labels and the trained ones.
    """

    fired: bool
    reason: str
    start: Signs
    final: Signs | None
    agreement: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for manifests and logs."""
        return asdict(self)


class Guard:
    """Judges clusterings of the same texts by their vectors before training, and by their words.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    start : ndarray of shape (n,)
    n_clusters, seed : int
    texts : list of str, optional
        The ``n`` texts; without them there is no word information.
    """

    def __init__(
        self,
        vectors: Floats,
        start: Ints,
        n_clusters: int,
        seed: int,
        texts: list[str] | None = None,
    ) -> None:
        self.seed, self.presence, self.read = seed, None, np.arange(len(vectors))
        if texts is not None:
            if len(texts) > TEXTS:
                rng = numpy_generator(seed, "guard texts")
                self.read = np.sort(rng.choice(len(texts), TEXTS, replace=False))
            self.presence = word_presence([texts[i] for i in self.read])
        self.neighbors, self.anchors = nearest_neighbors(vectors, seed)
        self.n_clusters = n_clusters
        self.start_labels = start
        self.start = self.signs(start)

    def signs(self, labels: Ints) -> Signs:
        """Measure one clustering."""
        return Signs(
            clusters_used=len(np.unique(labels)),
            size_entropy=round(size_entropy(labels, self.n_clusters), 4),
            neighbor_agreement=round(neighbor_agreement(labels, self.neighbors, self.anchors), 4),
            word_information=self._word_information(labels),
        )

    def _word_information(self, labels: Ints) -> float | None:
        if self.presence is None:
            return None
        return round(word_information(self.presence, labels[self.read], self.seed), 5)

    def judge(self, labels: Ints | None, trouble: str = "") -> Verdict:
        """Compare the trained labels with the start; ``trouble`` says why there are none."""
        if labels is None:
            return Verdict(True, trouble, self.start, None, None)
        final = self.signs(labels)
        reason = _reason(self.start, final)
        agreement = round(nmi(self.start_labels, labels), 4)
        return Verdict(bool(reason), reason, self.start, final, agreement)


def _reason(start: Signs, final: Signs) -> str:
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
    least = LOWEST_AGREEMENT * start.neighbor_agreement
    if start.neighbor_agreement > 0 and final.neighbor_agreement < least:
        return (
            "training tore similar texts apart: agreement of neighbours fell from "
            f"{start.neighbor_agreement:.2f} to {final.neighbor_agreement:.2f}"
        )
    before, after = start.word_information, final.word_information
    if before is not None and after is not None and after < LOWEST_INFORMATION * before:
        return (
            "after training the clusters say less about the words of their texts: information "
            f"fell from {before:.3f} to {after:.3f}"
        )
    apart = final.neighbor_agreement < start.neighbor_agreement
    if before is not None and after is not None and after < before and apart:
        return (
            "training gained nothing: agreement of neighbours fell from "
            f"{start.neighbor_agreement:.3f} to {final.neighbor_agreement:.3f}, and information "
            f"about words from {before:.3f} to {after:.3f}"
        )
    return ""


def nearest_neighbors(vectors: Floats, seed: int) -> tuple[Ints, Ints]:
    """The nearest texts by cosine of some texts (all, up to 2,000): neighbours and anchors."""
    n = len(vectors)
    anchors = np.arange(n)
    if n > ANCHORS:
        anchors = np.sort(numpy_generator(seed, "guard").choice(n, ANCHORS, replace=False))
    unit = torch.nn.functional.normalize(torch.as_tensor(vectors, dtype=torch.float32), dim=1)
    similarity = unit[anchors] @ unit.T  # (anchors, n)
    similarity[torch.arange(len(anchors)), torch.from_numpy(anchors)] = -torch.inf
    found = similarity.topk(min(NEIGHBORS, n - 1), dim=1).indices if n > 1 else None
    return (np.empty((n, 0), dtype=np.int64) if found is None else found.numpy()), anchors


def neighbor_agreement(labels: Ints, neighbors: Ints, anchors: Ints) -> float:
    """Share of neighbour pairs in one cluster, less chance, over its maximum (a kappa)."""
    if neighbors.size == 0:
        return 1.0
    same = float((labels[anchors][:, None] == labels[neighbors]).mean())
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    chance = float(np.square(share).sum())
    return (same - chance) / (1 - chance) if chance < 1 else 0.0
