"""Iterative classification: clusters that a classifier, taught by their typical texts, corrects.

In each round the odd texts of every cluster are set aside, a part of the others teaches a
classifier, and all texts it was not taught with go where it says (Rakib et al., 2020, "Enhancement
of short text clustering by iterative classification").
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np

from coterie._random import derive_seed, numpy_generator
from coterie._types import Floats, Ints

log = logging.getLogger(__name__)

LEAST, MOST, APART = 70, 85, 5  # per cent of an equal cluster that may teach; step between rounds
ODD = 0.1  # share of each cluster that is set aside
TREES = 100
FEW = 10  # texts below which a tenth of a cluster is none


def iterative_classification(
    x: Any, labels: Ints, n_clusters: int, weights: Floats, rounds: int, seed: int
) -> Ints:
    """Labels after ``rounds`` of teaching and asking.

    Parameters
    ----------
    x : ndarray or sparse matrix of shape (n, d)
    labels : ndarray of shape (n,)
        All of 0 to ``n_clusters - 1`` occur, and will.
    n_clusters : int
    weights : ndarray of shape (n,)
        How often each row counts.
    rounds, seed : int

    Returns
    -------
    ndarray of shape (n,)
    """
    if n_clusters == 1 or rounds == 0:
        return labels
    shares = limits(rounds, seed)
    for number, share in enumerate(shares):
        most = share / 100 * float(weights.sum()) / n_clusters
        teachers = choose_teachers(x, labels, weights, most, derive_seed(seed, "teach", number))
        asked = np.ones(len(labels), dtype=bool)
        asked[teachers] = False
        if not asked.any():
            break
        found = labels.copy()
        found[asked] = _answers(x, labels, weights, teachers, asked)
        log.info("round %d: %.2f %% moved", number + 1, 100 * float((found != labels).mean()))
        labels = found
    return labels


def limits(rounds: int, seed: int) -> list[int]:
    """Per cent of an equal cluster that may teach in each round: 70 to 85, or a step beyond.

    A draw closer than 5 to the one before is moved by 5 away from it.
    """
    out: list[int] = []
    for draw in numpy_generator(seed, "limits").integers(LEAST, MOST + 1, rounds).tolist():
        if out and abs(draw - out[-1]) < APART:
            draw += APART if draw >= out[-1] else -APART
        out.append(draw)
    return out


def choose_teachers(x: Any, labels: Ints, weights: Floats, most: float, seed: int) -> Ints:
    """Rows that teach: of each cluster those that are not odd, drawn until they count ``most``."""
    from sklearn.ensemble import IsolationForest

    generator = numpy_generator(seed, "teachers")
    chosen = []
    for j in np.unique(labels):
        rows = np.flatnonzero(labels == j)
        if len(rows) >= FEW:
            forest = IsolationForest(
                n_estimators=TREES,
                contamination=ODD,
                bootstrap=True,
                random_state=derive_seed(seed, "forest", int(j)),
            )
            rows = rows[forest.fit_predict(x[rows]) > 0]
        rows = generator.permutation(rows)
        number = int(np.searchsorted(np.cumsum(weights[rows]), most, side="right"))
        chosen.append(rows[: max(number, 1)])
    return np.sort(np.concatenate(chosen))


def _answers(x: Any, labels: Ints, weights: Floats, teachers: Ints, asked: Any) -> Ints:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=300)  # multinomial, by L-BFGS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 300 rounds are the authors' limit
        model.fit(x[teachers], labels[teachers], sample_weight=weights[teachers])
    return np.asarray(model.predict(x[asked]), dtype=np.int64)
