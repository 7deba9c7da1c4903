"""Whether the files of a run agree with each other."""

from collections import Counter
from pathlib import Path

import numpy as np

from coterie.runs.clustering import Clustering
from coterie.runs.store import read


def read_whole(folder: Path) -> Clustering:
    """The run, after its rows were compared with its clusters and with what its model predicts."""
    run = read(folder)
    sizes = Counter(run.labels.tolist())
    assert {c.id: c.size for c in run.clusters} == {c.id: sizes[c.id] for c in run.clusters}
    assert run.model.n_clusters_ == len(run.clusters)
    placed = ~run.outliers
    assert np.array_equal(run.model.predict(run.texts)[placed], run.nearest[placed])
    return run
