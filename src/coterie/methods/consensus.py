"""Consensus: several clusterings of the same vectors, and the one that agrees with most of them.

K-means-based consensus clustering (Wu et al., 2015): ``blocks/consensus.py`` lays the clusters of
all members side by side, and k-means on these rows finds the partition that disagrees least.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from coterie._random import derive_seed
from coterie._types import Floats, Ints
from coterie._validation import check_device, check_fields
from coterie.base import TextClusterer
from coterie.base.exact import exactly
from coterie.blocks.assign import Assigner, NeighborAssigner
from coterie.blocks.consensus import memberships
from coterie.blocks.kmeans import KMeans
from coterie.blocks.linkage import agglomerate
from coterie.metrics import accuracy

log = logging.getLogger(__name__)

LINKED = 12_000  # different texts up to which linkage is a member; it takes time by their square


@dataclass(eq=False, repr=False, kw_only=True)
class Consensus(TextClusterer):
    """Cluster in several ways and keep what most of them agree on.

    Parameters
    ----------
    n_members : int, default=12
        Clusterings that are asked: k-means and spherical k-means from different starts in turn,
        and, where there are more than three, Ward's and average linkage as the last two.

    Attributes
    ----------
    agreement_ : list of float
        Of each member, the share of texts on which it agrees with the consensus.

    Notes
    -----
    Each member of k-means has a single start, so that members differ. Linkage is left out above
    12,000 different texts. New texts go to the cluster of the nearest training text. Deviations:
    the system of that name in ADSL's tables goes on to train a network on the texts that all
    members agree on, and is published in no more detail than that; this is the consensus alone.

    References
    ----------
    .. [1] Wu, Liu, Xiong, Cao, Chen (2015). K-Means-Based Consensus Clustering: A Unified View.
       IEEE Transactions on Knowledge and Data Engineering.

    See Also
    --------
    Auto : A consensus of k-means runs on smoothed vectors.

    Examples
    --------
    >>> model = Consensus(2, encoder="tfidf", random_state=0)
    >>> model.fit_predict(["red apple", "green apple", "fast car", "slow car", "old car"])
    array([1, 1, 0, 0, 0])
    """

    name: ClassVar[str] = "consensus"
    citation: ClassVar[str] = (
        "Wu, Liu, Xiong, Cao, Chen (2015). K-Means-Based Consensus Clustering: A Unified View. "
        "IEEE Transactions on Knowledge and Data Engineering."
    )
    _saved_attributes: ClassVar[tuple[str, ...]] = ("agreement_",)

    n_members: int = 12

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fields(self, integers={"n_members": 1})

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        members = self.members(vectors, weights, seed)
        rows = memberships(members)  # (n, clusters of all members)
        x = torch.from_numpy(rows).to(check_device(self.device))
        kmeans = KMeans(
            n_clusters=self.n_clusters, seed=derive_seed(seed, "consensus"), n_init=self.n_init
        )
        labels = exactly(rows, kmeans(x, weights).labels, self.n_clusters, weights, seed)
        self.agreement_ = [round(accuracy(labels, member), 4) for member in members]
        log.info("members agree with the consensus on %s", self.agreement_)
        return NeighborAssigner(vectors, labels)

    def members(self, vectors: Floats, weights: Floats, seed: int) -> list[Ints]:
        """Labels by each member."""
        linked = len(vectors) <= LINKED and self.n_members > 3
        x = torch.from_numpy(vectors).to(check_device(self.device))
        found: list[Ints] = []
        for number in range(self.n_members - 2 * linked):
            kmeans = KMeans(
                n_clusters=self.n_clusters,
                seed=derive_seed(seed, "member", number),
                n_init=1,
                spherical=number % 2 == 1,
            )
            found.append(np.asarray(kmeans(x, weights).labels, dtype=np.int64))
        if linked:
            found.append(agglomerate(vectors, self.n_clusters, "ward", weights))
            found.append(agglomerate(vectors, self.n_clusters, "average", weights))
        return found

    def remarks(self) -> list[str]:
        told: Any = self.agreement_
        return [
            f"{len(told)} clusterings were asked; they agree with the result on "
            f"{100 * min(told):.0f} to {100 * max(told):.0f}% of the texts."
        ]
