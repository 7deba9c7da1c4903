"""Clusters followed over time: their share in each period, words that enter and leave, centres.

Texts are sorted into periods by a column of dates: days, weeks, months, quarters or years, the
finest of which at most 40 are needed. A cluster's words in a period are compared with those of the
last period before in which it has texts; differences that chance explains are left out. The centre
of a cluster is the mean of its vectors; its shift is one minus the cosine with the centre of that
period before.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from coterie._files import write_json
from coterie._folders import held
from coterie._validation import checked
from coterie.clustering import Clustering, read, save
from coterie.corpus import write_rows
from coterie.description import find_periods
from coterie.description.describe import differences
from coterie.description.terms import Terms
from coterie.description.words import ClusterTerms
from coterie.measured import TIMELINE_FILE, Step, Timeline, to_file
from coterie.metrics import cluster_means
from coterie.neighbors import unit_rows

LEAST_TEXTS = 5  # of a cluster in a period, for words and centres to be compared
BY_CHANCE = 0.01  # probability up to which a difference of a word is reported


@checked
def timeline(run: str | Path, *, date_column: str | None = None, write: bool = True) -> Timeline:
    """Follow the clusters of a run over a column of dates.

    Parameters
    ----------
    run : str or Path
        Folder of a finished run.
    date_column : str, optional
        Default: the column of the table that holds dates.
    write : bool, default=True
        Write ``timeline.csv``, ``timeline.json`` and the page of the run anew.

    Returns
    -------
    Timeline
    """
    before = read(Path(run))
    found = _follow(before, date_column)
    if write:
        saved = to_file(found, before.labels)

        def add(fresh: Path) -> None:
            write_json(fresh / TIMELINE_FILE, saved)
            write_rows(fresh / "timeline.csv", found.table, {})

        with held(before.folder):
            save(before, before, beside=add)
    return found


def _follow(run: Clustering, date_column: str | None) -> Timeline:
    column, periods = find_periods(run.input, run.text_column, run.id_column, date_column)
    width = len(periods.names)
    ids, labels = [c.id for c in run.clusters], run.labels
    place = {cluster: i for i, cluster in enumerate(ids)}
    codes = np.full(len(labels), -1, dtype=np.int64)
    dated = (labels >= 0) & (periods.of_row >= 0)
    of_cluster = np.array([place.get(int(label), -1) for label in labels], dtype=np.int64)
    codes[dated] = of_cluster[dated] * width + periods.of_row[dated]
    n = len(ids) * width
    counts = np.bincount(codes[dated], minlength=n).reshape(len(ids), width)
    totals = counts.sum(axis=0)
    words = ClusterTerms(Terms(run.texts), codes, n)
    dated = codes >= 0
    centers = unit_rows(cluster_means(run.vectors[dated], codes[dated], n)[0])
    steps = []
    for i, cluster in enumerate(run.clusters):
        last: int | None = None
        for t, period in enumerate(periods.names):
            here, entered, left, shift = i * width + t, list[str](), list[str](), None
            if counts[i, t] >= LEAST_TEXTS:
                if last is not None:
                    entered, left = differences(words[here], words[last], BY_CHANCE)
                    shift = round(float(1 - centers[here] @ centers[last]), 4)
                last = here
            share = round(float(counts[i, t] / max(totals[t], 1)), 4)
            size = int(counts[i, t])
            steps.append(Step(cluster.id, cluster.name, period, size, share, entered, left, shift))
    undated = int(((labels >= 0) & (periods.of_row < 0)).sum())
    return Timeline(column, periods.unit, periods.names, undated, steps)
