"""How much a clustering says about the words of its texts: a sign of quality that needs no labels.

An encoder trains towards what it already believes, so its own vectors are a poor judge of what
training did. The words are independent evidence: if texts of one cluster share words that others
lack, the clustering has found something real, whatever the vectors say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie.words.vocabulary import Vocabulary

MAX_WORDS = 5_000
MIN_COUNT = 5  # texts that a word must be in; rarer ones tell clusters apart by chance
FEWEST_WORDS = 50  # below that nothing can be said


def word_presence(texts: Sequence[str]) -> Any | None:
    """Which text has which of the frequent words, sparse; None if too few words are frequent."""
    vocabulary = Vocabulary.build(texts, max_size=MAX_WORDS, min_count=MIN_COUNT)
    counts = vocabulary.counts(texts)
    frequent = np.asarray((counts > 0).sum(axis=0)).ravel() >= MIN_COUNT
    if frequent.sum() < FEWEST_WORDS:
        return None
    return (counts[:, np.flatnonzero(frequent)] > 0).astype(np.float32)


def word_information(presence: Any, labels: Ints, seed: int = 0) -> float:
    """Mutual information of clusters and words, less that of shuffled labels, in nats.

    It is not divided by the entropy of the clusters: that would reward a clustering for giving
    most texts to one cluster.

    Parameters
    ----------
    presence : sparse matrix of shape (n, words)
        Which text has which word.
    labels : ndarray of shape (n,)
    seed : int, default=0
        Of the shuffle, which takes off what any clustering of these sizes would get by chance.

    Returns
    -------
    float
        Near 0 for a random clustering; 0 for a single cluster.
    """
    shuffled = numpy_generator(seed, "word information").permutation(labels)
    return _information(presence, labels) - _information(presence, shuffled)


def _information(presence: Any, labels: Ints) -> float:
    """Mutual information between the cluster and the word of an occurrence."""
    from scipy.sparse import csr_matrix

    numbers = np.unique(labels, return_inverse=True)[1]
    ones = np.ones(len(labels), dtype=np.float32)
    members = csr_matrix((ones, (numbers, np.arange(len(labels)))))  # (k, n)
    joint: Floats = np.asarray((members @ presence).todense(), dtype=np.float64)
    joint /= max(joint.sum(), 1.0)
    of_cluster, of_word = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    some = joint > 0
    ratio = joint[some] / (of_cluster * of_word)[some]
    return float((joint[some] * np.log(ratio)).sum())
