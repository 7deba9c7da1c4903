"""coterie and BERTopic on the same texts with the same embeddings; number of clusters found, given.

    pip install bertopic
    coterie-bench bertopic --data DIR      # runs what is missing
    coterie-bench bertopic --table         # prints the tables

Sets are the eight benchmarks and the development sets. Each set and seed is encoded once, on a GPU
where there is one; BERTopic gets these embeddings, ``auto`` the same and what it takes from the
encoder besides. All else runs on the CPU. Start the command several times at once to use more
cores. UMAP gets BERTopic's own
settings and a seed, since BERTopic has none by default, and runs once for all forms of BERTopic:

- ``BERTopic``: its defaults. Outliers count as a cluster of their own;
- ``outliers reduced``: each of them in the nearest topic (``reduce_outliers`` by embeddings);
- ``nr_topics``: topics merged until there are as many as classes, outliers beside them;
- ``k-means``: k-means in the place of HDBSCAN, which has no outliers.

Seconds are those of clustering and of the words of the clusters, without encoding. Labels score.
"""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from itertools import product
from typing import Any

import numpy as np

from coterie._util.types import Floats
from coterie.arrays.metrics import external_scores
from coterie.encoders import DEFAULT
from coterie_bench.data import load_data
from coterie_bench.datasets import BENCHMARKS, CARDS
from coterie_bench.experiments import lines
from coterie_bench.suites import group_members
from coterie_bench.tables import about, order_of

OURS = "coterie"
WAYS = {
    "found": (OURS, "BERTopic", "BERTopic, outliers reduced"),
    "given": (
        OURS,
        "BERTopic, nr_topics",
        "BERTopic, nr_topics, outliers reduced",
        "BERTopic, k-means",
    ),
}
METRICS = ("acc", "nmi", "ami", "ari")
LIBRARIES = ("bertopic", "hdbscan", "umap-learn", "pynndescent", "numba")
THREADS = 2  # of each process
CLEAR = 1.0  # points of AMI from which one is called better


def cases(options: Namespace) -> list[lines.Row]:
    names = group_members(options.sets, CARDS, "--sets")
    return [{"dataset": name, "seed": seed} for name in names for seed in options.seeds]


@cache
def warm(encoder: str) -> None:
    """Import and compile before the clock runs; from 4,096 vectors on UMAP searches otherwise."""
    from coterie.texts import sample

    texts = [text for text in sample().texts if text][:200] * 25
    vectors = np.random.default_rng(0).normal(size=(len(texts), 384)).astype(np.float32)
    _bertopic(texts, vectors, 5, 0)
    _coterie(texts[:200], _encode(texts[:200], encoder, "cpu")[0], 5, 0)


def measure(key: lines.Row, options: Namespace) -> list[lines.Row]:
    """All forms of both programs on one set with one seed."""
    import torch

    torch.set_num_threads(THREADS)
    warm(options.encoder)
    data, seed = load_data(key["dataset"], options.data), key["seed"]
    kept = np.array([bool(text.strip()) for text in data.texts])
    texts = [text for text in data.texts if text.strip()]
    scored = data.scored[kept]
    truth = np.asarray(data.labels)[kept][scored]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder, vectors = _encode(texts, options.encoder, device)
    k = data.n_clusters
    made = [*_coterie(texts, encoder, k, seed), *_bertopic(texts, vectors, k, seed)]
    rows = []
    for way, label, labels, seconds in made:
        ours = np.asarray(labels)[scored]
        found = external_scores(truth, ours)
        rows.append({
            "label": label,
            "k": way,
            "group": "benchmark" if data.name in BENCHMARKS else "dev",
            "dataset_sha256": data.sha256,
            "n_texts": len(texts),
            "n_clusters_true": k,
            "n_clusters": len(np.unique(ours[ours >= 0])),
            "outliers": round(float((ours < 0).mean()), 4),
            "scores": {metric: round(found[metric], 5) for metric in METRICS},
            "seconds": {name: round(value, 2) for name, value in seconds.items()},
            "threads": THREADS,
            "encoded_on": device,
            "tool_versions": {name: metadata.version(name) for name in LIBRARIES},
        })  # fmt: skip
    return rows


Made = tuple[str, str, Sequence[int], dict[str, float]]  # k, label, clusters, seconds


def _encode(texts: list[str], name: str, device: str) -> tuple[Any, Floats]:
    """The encoder and the embeddings; ``auto`` finds its views of these texts made."""
    from coterie.encoders import SentenceEncoder, load_encoder, no_cache

    encoder = load_encoder(name)
    items, rows = encoder.prepare(texts)
    with no_cache():
        vectors = encoder.to(device).encode(items.to(device))[rows]
    views: dict[bytes, list[Floats]] = {}

    class Once(SentenceEncoder):
        """Encodes on the device, and each corpus once."""

        def encode_views(self, items: Any, weights: Any, *rest: Any, **more: Any) -> Any:
            key = items.content() + weights.tobytes()
            if key not in views:
                self.to(device)
                views[key] = super().encode_views(items.to(device), weights, *rest, **more)
                self.to("cpu")
            return [view.copy() for view in views[key]]

    encoder.__class__ = Once
    return encoder.to("cpu"), vectors


def _coterie(texts: list[str], encoder: Any, k: int, seed: int) -> list[Made]:
    from coterie import Auto, describe_clusters

    made: list[Made] = []
    for way, number in (("found", "auto"), ("given", k)):
        model, fit = _timed(
            lambda number=number: Auto(
                number, encoder=encoder, random_state=seed, device="cpu"
            ).fit(texts)
        )  # fmt: skip
        _, words = _timed(
            lambda model=model: describe_clusters(texts, model.labels_, model.vectors_)
        )
        seconds = {"fit": fit - model.seconds_["encode"], "words": words}
        made.append((way, OURS, model.labels_, seconds))
    return made


def _bertopic(texts: list[str], vectors: Floats, k: int, seed: int) -> list[Made]:
    from bertopic import BERTopic
    from sklearn.cluster import KMeans
    from umap import UMAP

    settings = {"n_neighbors": 15, "n_components": 5, "min_dist": 0.0, "metric": "cosine"}
    umap = UMAP(**settings, low_memory=False, random_state=seed)
    reduced, first = _timed(lambda: umap.fit_transform(vectors))

    def fitted(**options: Any) -> tuple[Any, dict[str, float]]:
        model = BERTopic(umap_model=Reduced(reduced), **options)
        _, took = _timed(lambda: model.fit_transform(texts, vectors))
        return model, {"umap": first, "fit": took}

    model, seconds = fitted()
    found, near = _timed(lambda: _without_outliers(model, texts, vectors))
    made: list[Made] = [
        ("found", "BERTopic", list(model.topics_), seconds),
        ("found", "BERTopic, outliers reduced", found, seconds | {"outliers": near}),
    ]
    has = int(-1 in model.topics_)  # the outliers count among the topics
    _, merge = _timed(lambda: model.reduce_topics(texts, nr_topics=k + has))
    seconds = seconds | {"merge": merge}
    found, near = _timed(lambda: _without_outliers(model, texts, vectors))
    way, label = "given", "BERTopic, nr_topics"
    made.append((way, label, list(model.topics_), seconds))
    made.append((way, f"{label}, outliers reduced", found, seconds | {"outliers": near}))
    model, seconds = fitted(hdbscan_model=KMeans(k, n_init=10, random_state=seed))
    made.append((way, "BERTopic, k-means", list(model.topics_), seconds))
    return made


class Reduced:
    """Vectors that UMAP has reduced already."""

    def __init__(self, vectors: Floats) -> None:
        self.vectors = vectors

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        return self.vectors


def _without_outliers(model: Any, texts: list[str], vectors: Floats) -> list[int]:
    """Each outlier in the nearest topic, where there are outliers and topics."""
    topics = list(model.topics_)
    if len(set(topics) - {-1}) == 0 or -1 not in topics:
        return topics
    found = model.reduce_outliers(texts, topics, strategy="embeddings", embeddings=vectors)
    return [int(topic) for topic in found]


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    return work(), time.perf_counter() - begun


NONE = "There are no result lines yet: `coterie-bench bertopic --data DIR` makes them."


def summary(rows: Sequence[lines.Row]) -> str:
    """Means over the benchmarks and over the development sets, a line for each form."""
    if not rows:
        return NONE
    header = ["sets", "K", "", *(m.upper() for m in METRICS), "K off by", "outliers", "seconds",
              "AMI against coterie"]  # fmt: skip
    body = []
    for group, (k, labels) in product(("benchmark", "dev"), WAYS.items()):
        some = [row for row in rows if (row["group"], row["k"]) == (group, k)]
        ours = _by_set(some, OURS)
        for label in labels:
            theirs = _by_set(some, label)
            if not theirs:
                continue
            means = [100 * _mean(theirs, lambda r, m=m: r["scores"][m]) for m in METRICS]
            off = _mean(
                theirs, lambda r: abs(np.log(max(r["n_clusters"], 1) / r["n_clusters_true"]))
            )
            body.append([
                f"{len(theirs)} {'benchmarks' if group == 'benchmark' else 'development sets'}",
                k,
                label,
                *(f"{mean:.1f}" for mean in means),
                f"{np.exp(off):.1f}",
                f"{100 * _mean(theirs, lambda r: r['outliers']):.0f}%",
                f"{_mean(theirs, lambda r: sum(r['seconds'].values())):.0f}",
                "" if label == OURS else _beside(ours, theirs),
            ])  # fmt: skip
    how = (
        "Means over sets, of the means over seeds, in %. K off by: factor between the number of "
        "clusters and of classes, geometric mean. AMI against coterie: sets on which the line is "
        f"above coterie by more than {CLEAR:.0f} point, within it, and below. "
    )
    return f"{lines.table(header, body)}\n\n{how}{about(list(rows))}"


def sets(rows: Sequence[lines.Row]) -> str:
    """NMI / AMI of each set, with the number of clusters where it is found."""
    if not rows:
        return NONE
    columns = [(k, label) for k, labels in WAYS.items() for label in labels]
    header = ["", "texts", "classes", *(f"{label}, K {k}" for k, label in columns)]
    body = []
    for name in dict.fromkeys(sorted((r["dataset"] for r in rows), key=order_of)):
        here = [row for row in rows if row["dataset"] == name]
        line = [name, f"{here[0]['n_texts']:,}", str(here[0]["n_clusters_true"])]
        for k, label in columns:
            some = [row for row in here if (row["k"], row["label"]) == (k, label)]
            line.append(_cell(some, number=k == "found") if some else "")
        body.append(line)
    how = "NMI / AMI in %, means over seeds; with K found, the number of clusters in brackets."
    return f"{lines.table(header, body)}\n\n{how}"


def _cell(rows: Sequence[lines.Row], *, number: bool) -> str:
    nmi, ami = (100 * np.mean([row["scores"][m] for row in rows]) for m in ("nmi", "ami"))
    counts = sorted({row["n_clusters"] for row in rows})
    said = " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]])))
    return f"{nmi:.1f} / {ami:.1f}" + (f" ({said})" if number else "")


def _by_set(rows: Sequence[lines.Row], label: str) -> dict[str, list[lines.Row]]:
    found: dict[str, list[lines.Row]] = {}
    for row in rows:
        if row["label"] == label:
            found.setdefault(row["dataset"], []).append(row)
    return found


def _mean(by_set: dict[str, list[lines.Row]], value: Callable[[lines.Row], Any]) -> float:
    return float(np.mean([np.mean([value(row) for row in rows]) for rows in by_set.values()]))


def _beside(ours: dict[str, list[lines.Row]], theirs: dict[str, list[lines.Row]]) -> str:
    """On how many sets the second is above the first by AMI, level with it, and below it."""
    both = [name for name in theirs if name in ours]
    ami = [[100 * np.mean([r["scores"]["ami"] for r in side[n]]) for side in (theirs, ours)]
           for n in both]  # fmt: skip
    gains = [their - our for their, our in ami]
    above, below = sum(g > CLEAR for g in gains), sum(g < -CLEAR for g in gains)
    return f"{above} above, {len(gains) - above - below} level, {below} below"


def both(rows: list[lines.Row]) -> str:
    """Both tables."""
    return f"{summary(rows)}\n\n{sets(rows)}"


OPTIONS = {
    "--sets": ("benchmark", "dev", "tails", "levels"),
    "--seeds": (0, 1, 2),
    "--encoder": DEFAULT,
}
experiment = lines.Experiment("bertopic", __doc__, cases, measure, both, OPTIONS)


def main() -> None:
    """The experiment, with as many threads as its lines say."""
    for name in ("OMP", "NUMBA", "OPENBLAS", "MKL"):
        os.environ[f"{name}_NUM_THREADS"] = str(THREADS)
    experiment()
