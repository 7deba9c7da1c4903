"""How good clusters are, without labels, so that settings can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie.base.guard import nearest_neighbors, neighbor_agreement
from coterie.choose import SAMPLE, text_vectors
from coterie.consensus import reference
from coterie.encoders.base import distinct
from coterie.errors import DataError, counted
from coterie.metrics import ami

SEED = 0  # of the reference: the same for all settings that are compared


def score_texts(texts: Sequence[str], labels: Ints, n_clusters: int, encoder: object) -> float:
    """Agreement of the clusters with a consensus clustering of the texts, adjusted for chance.

    The consensus is the reference of the start guard: runs of k-means on smoothed vectors and
    character n-grams. Of more than 3,000 different texts a sample is looked at.
    """
    filled = [i for i, text in enumerate(texts) if text]
    first, rows = distinct([texts[i] for i in filled])
    if n_clusters < 2:
        return 0.0
    if len(first) < 2 * n_clusters:
        raise DataError(
            f"score: {counted(len(first), 'different text')} cannot tell how good {n_clusters:,} "
            "clusters are; give at least twice as many, e.g. by fewer folds."
        )
    chosen = numpy_generator(SEED, "score").permutation(len(first))[:SAMPLE]
    some = [filled[first[i]] for i in chosen]
    x = text_vectors([texts[i] for i in some], encoder, SEED)[0]
    counts = np.bincount(rows, minlength=len(first)).astype(np.float32)[chosen]
    return ami(reference(x, n_clusters, counts, SEED), labels[some])


def score_vectors(vectors: Floats, labels: Ints) -> float:
    """How much more often than by chance a row and its nearest ones are in one cluster."""
    return neighbor_agreement(labels, *nearest_neighbors(vectors, SEED))
