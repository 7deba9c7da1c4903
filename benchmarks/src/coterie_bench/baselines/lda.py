"""LDA: latent Dirichlet allocation (Blei et al., JMLR 2003), by scikit-learn.

A topic is a distribution over words, a text a mixture of topics; the shares of the topics are the
vector of a text (``encoders/lexical.py``). A text belongs where its largest share is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from coterie._util.types import Floats, Ints
from coterie._util.validation import PositiveFloat, PositiveInt
from coterie.arrays.assign import ArrayAssigner, Assigner
from coterie.encoders import Encoder
from coterie.models.clusterer import TextClusterer
from coterie.models.core import second_step
from coterie_bench.baselines.encoders import TopicShares

SMALLEST = 1e-30  # a share of zero has a logarithm, too


@dataclass(frozen=True)
class ShareAssigner(ArrayAssigner):
    """The shares themselves are the probabilities, each times the handicap of its topic."""

    kind: ClassVar[str] = "shares"
    by_cluster: ClassVar[tuple[str, ...]] = ("order",)
    handicap: Floats  # (k,), logarithms
    order: Ints  # topic of each cluster

    def logits(self, vectors: Floats) -> Floats:
        logits = np.log(np.maximum(vectors.astype(np.float64), SMALLEST)) + self.handicap
        return np.asarray(logits[:, self.order])


def fair_handicap(shares: Floats, rounds: int = 200) -> Floats:
    """Logarithms that make every topic the largest of at least one text, as small as can be.

    A topic that is nowhere the largest is raised until the text that lacks least, among those
    whose topic has others, is its own. All others are zero. Texts with the same shares cannot be
    told apart, so there is an end to the ``rounds``.
    """
    logits = np.log(np.maximum(shares.astype(np.float64), SMALLEST))
    k = logits.shape[1]
    handicap = np.zeros(k)
    for _ in range(rounds):
        current = logits + handicap
        labels = current.argmax(axis=1)
        sizes = np.bincount(labels, minlength=k)
        empty = np.flatnonzero(sizes == 0)
        if not len(empty):
            break
        lack = current.max(axis=1) - current[:, empty[0]]
        lack[sizes[labels] < 2] = np.inf
        if not np.isfinite(lack).any():
            break
        handicap[empty[0]] += lack.min() + 1e-6
    return handicap


@dataclass(eq=False, repr=False, kw_only=True)
class LDA(TextClusterer):
    """A topic for each cluster, or a classical clustering of topic shares.

    Parameters
    ----------
    cluster : {"topics", "ward"}, default="topics"
        The largest topic of a text is its cluster, or the shares of twice as many topics are
        clustered.
    encoder : "lda", default="lda"
        The method is its own encoder; ``encoder="lda"`` is for use in other methods.
    max_iter : int, default=20
        Rounds over all texts.
    topic_prior : float, default=0.1
        Of the topics of a text: small values give a text few topics, as short texts have.

    Notes
    -----
    English stop words are left out; the 20,000 most frequent words are counted. A topic
    that is no text's largest is given the text that lacks least, so that the number of clusters
    is exact; texts with the very same shares stay together, whatever that number is.
    Deviations: none from scikit-learn's batch variational inference; the papers that compare with
    LDA do not give a prior or a number of topics.

    References
    ----------
    .. [1] Blei, Ng, Jordan (2003). Latent Dirichlet Allocation. JMLR.

    Examples
    --------
    >>> texts = ["apple pie", "apple juice", "sweet apple pie"]
    >>> texts += ["car road", "fast car", "car on a road"]
    >>> model = LDA(2, random_state=0).fit(texts)
    >>> int(model.predict(["a road"])[0] == model.labels_[3])
    1
    """

    name: ClassVar[str] = "lda"
    _assigners: ClassVar[dict[str, type[Assigner]]] = {ShareAssigner.kind: ShareAssigner}

    cluster: Literal["topics", "ward"] = "topics"
    encoder: Literal["lda"] = "lda"
    max_iter: PositiveInt = 20
    topic_prior: PositiveFloat = 0.1

    def _make_encoder(self, seed: int) -> Encoder:
        topics = self._k * (1 if self.cluster == "topics" else 2)
        return TopicShares(topics, self.topic_prior, self.max_iter, seed)

    def _initial_assigner(self, vectors: Floats, weights: Floats, seed: int) -> Assigner:
        if self.cluster != "topics":
            return second_step(self, vectors, weights, seed, self.cluster)
        return ShareAssigner(fair_handicap(vectors), np.arange(self._k))
