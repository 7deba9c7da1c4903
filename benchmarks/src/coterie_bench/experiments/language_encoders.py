"""Encoders on the sets in other languages: NMI and texts a second, in one run.

    coterie-bench language-encoders --data DIR           # all encoders in turns; adds lines
    coterie-bench language-encoders --table              # prints the table

As in ``static_encoders``, at most ``--texts`` random texts of each set, true number of clusters,
means of three seeds; k-means on the vectors alone, and ``auto``. The last column is ``auto`` with
what it takes by itself, the extra "multilingual" installed.
"""

from __future__ import annotations

from argparse import Namespace

import numpy as np

from coterie.encoders import AUTO, DEFAULT, load_encoder
from coterie_bench.datasets import LANGUAGES, load_dataset
from coterie_bench.experiments import lines
from coterie_bench.experiments.static_encoders import by_auto, by_kmeans

ENCODERS = ("lexical", DEFAULT, "use-multilingual")


def cases(options: Namespace) -> list[lines.Row]:
    return [{"dataset": d, "encoder": name} for d in LANGUAGES for name in (*ENCODERS, AUTO)]


def measure(key: lines.Row, options: Namespace) -> lines.Row:
    """NMI on some texts of a set by both methods, and the speed of the encoder."""
    data = load_dataset(key["dataset"], options.data)
    rows = np.random.default_rng(0).permutation(len(data.texts))[: options.texts]
    texts, truth = [data.texts[i] for i in rows], np.asarray(data.labels)[rows]
    found = {} if key["encoder"] == AUTO else by_kmeans(load_encoder(key["encoder"]), texts, truth)
    auto = by_auto(key["encoder"], texts, truth)
    return {"texts": len(texts), **found, "auto": auto["nmi"]}


def table(rows: list[lines.Row]) -> str:
    """One line per set: NMI by k-means and by ``auto``; means, and speed."""
    names, sets = (*ENCODERS, AUTO), sorted({row["dataset"] for row in rows})
    own = {name: [row for row in rows if row["encoder"] == name] for name in names}
    body = [
        [one, *(_pair([row for row in own[name] if row["dataset"] == one]) for name in names)]
        for one in sets
    ]
    body.append(["mean", *(_pair(own[name]) for name in names)])
    speeds = [[row["texts_per_cpu_second"] for row in own[name]] for name in ENCODERS if own[name]]
    told = [f"{float(f'{np.median(speed):.2g}'):,.0f}" for speed in speeds]
    body.append(["texts a second of processor time", *told, ""])
    return lines.table(["data set", *names], body)


def _pair(rows: list[lines.Row]) -> str:
    """Means over the lines, by both methods."""
    kinds = [[row[key] for row in rows if key in row] for key in ("nmi", "auto")]
    return " / ".join(lines.percent(float(np.mean(found))) for found in kinds if found)


main = lines.Experiment("language-encoders", __doc__, cases, measure, table, {"--texts": 300})
