"""What labels and names of classes bring, on the development sets.

    coterie-bench steering --data DIR                        # adds what is missing
    coterie-bench steering --sets insurance --methods sccl
    coterie-bench steering --table

For each data set and seed:

- With 1, 5 and 20 labels a class, at most half of each class: scores of all other texts, beside the
  same method without labels, and logistic regression and label spreading on the same vectors.
- With 5 labels for each of one half of the classes, drawn at random: are the known ones found
  again, and the others found as clusters?
- With the names of the classes alone, beside the nearest name by cosine.
"""

from __future__ import annotations

import re
import time
import warnings
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from coterie._util.random import numpy_generator
from coterie._util.types import Floats, Ints
from coterie._util.validation import check_device
from coterie.arrays.metrics import accuracy, ami, nmi
from coterie.arrays.neighbors import unit_rows
from coterie.encoders import DEFAULT, Encoder
from coterie.encoders.lexical import MixedItems
from coterie.models.clusterer import TextClusterer
from coterie.models.fitting import Fitting
from coterie.models.guidance import Guidance
from coterie.models.registry import make_method
from coterie_bench.data import load_data
from coterie_bench.datasets import CARDS
from coterie_bench.experiments import lines
from coterie_bench.ledger import Row, facts
from coterie_bench.suites import group_members
from coterie_bench.tables import markdown

COUNTS = 1, 5, 20  # labels a class
HALF = 5  # labels for each of the known classes, where half are known
CLEAR = 0.5  # F1 of a class and a cluster, from which on the class is found
UNTRAINED = "auto", "kmeans", "spherical-kmeans"  # methods whose vectors depend on the texts alone


def cases(options: Namespace) -> list[Row]:
    return [
        {"dataset": name, "seed": seed, "method": method}
        for method in options.methods
        for name in group_members(options.sets, CARDS, "--sets")
        for seed in options.seeds
    ]


def measure(key: Row, options: Namespace) -> list[Row]:
    """All lines of a data set, a seed and a method."""
    from coterie.encoders import load_encoder

    data = load_data(key["dataset"], options.data)
    encoder = load_encoder(options.encoder)
    encoder.learn(data.texts)
    kept = different_texts(data.texts, encoder)
    texts = [data.texts[i] for i in kept]
    names, truth = np.unique([data.labels[i] for i in kept], return_inverse=True)
    bench = Bench(key, options, texts, truth, [readable(name) for name in names], encoder)
    where = facts(str(check_device(options.device)))
    return [{**case, "scores": scores, **where} for case, scores in bench.cases()]


def different_texts(texts: Sequence[str], encoder: Encoder) -> list[int]:
    """The first row of each text that the encoder tells from others: so a text has one class."""
    filled = [row for row, text in enumerate(texts) if text]
    _, items = encoder.prepare([texts[row] for row in filled])
    first = np.unique(items, return_index=True)[1]
    return [filled[i] for i in np.sort(first)]


def readable(name: str) -> str:
    """The name of a class as a person would write it.

    Examples
    --------
    >>> readable("CancelPlan"), readable("sci.space"), readable("dev8_4 Austerity costs jobs")
    ('Cancel Plan', 'sci space', 'Austerity costs jobs')
    """
    name = re.sub(r"^[a-z]+\d+_\d+ ", "", name)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(re.sub(r"[._/-]+", " ", name).split())


def draw_labels(truth: Ints, count: int, seed: int) -> Ints:
    """Class of ``count`` texts of each class, at most half of it; -1 of the others."""
    rng = numpy_generator(seed, "labels", count)
    labels = np.full(len(truth), -1, dtype=np.int64)
    for label in range(truth.max() + 1):
        rows = rng.permutation(np.flatnonzero(truth == label))
        rows = rows[: min(count, max(1, len(rows) // 2))]
        labels[rows] = label
    return labels


class Bench:
    """The measurements on one data set with one seed and one method."""

    def __init__(
        self,
        key: Row,
        options: Namespace,
        texts: list[str],
        truth: Ints,
        names: list[str],
        encoder: Any,
    ) -> None:
        self.method, self.seed, self.options = key["method"], key["seed"], options
        self.texts, self.truth, self.names, self.k = texts, truth, names, len(names)
        self.encoder = encoder
        self._encoded: tuple[Encoder, Floats] | None = None  # what all fits share

    def cases(self) -> Iterator[tuple[Row, Row]]:
        """What was given, and the scores."""
        plain_model = self._fit()
        self.plain, vectors = plain_model.labels_, plain_model.vectors_
        for count in COUNTS:
            yield {"case": "labels", "count": count}, self._labels(count, vectors)
        yield {"case": "half", "count": HALF}, self._half()
        yield {"case": "names"}, self._names()

    def _fit(self, y: Any = None, guidance: Guidance | None = None) -> TextClusterer:
        model: TextClusterer = make_method(
            self.method,
            self.k,
            encoder=self.options.encoder,
            random_state=self.seed,
            device=self.options.device,
        )
        if guidance is None:
            guidance = Guidance.make(y)
        fitting = model._fitting(model, self.texts, guidance=guidance)
        if self._encoded is None:
            self._encoded = fitting.encoder, fitting.vectors()
            self.embeddings = _embeddings(fitting)
        elif self.method in UNTRAINED:
            fitting.encoder, fitting._vectors = self._encoded
        fitting.run()
        return model

    def _labels(self, count: int, vectors: Floats) -> Row:
        labels = draw_labels(self.truth, count, self.seed)
        given, others = labels >= 0, labels < 0
        begun = time.perf_counter()
        model = self._fit(labels)
        steered = model.labels_
        seconds = round(time.perf_counter() - begun, 2)
        found = {
            "steered": steered,
            "plain": self.plain,
            "logistic": logistic(vectors, labels),
            "spreading": spreading(vectors, labels),
        }
        out: Row = {name: self._scores(values, others) for name, values in found.items()}
        out["steered"]["right"] = _share(steered[others] == self.truth[others])
        chosen = getattr(model, "choice_", {}).get("guided")
        return {**out, "labelled": int(given.sum()), "seconds": seconds, "chosen": chosen}

    def _half(self) -> Row:
        rng = numpy_generator(self.seed, "half")
        place = rng.permutation(self.k)
        truth, known = place[self.truth], max(1, self.k // 2)
        labels = draw_labels(truth, HALF, self.seed)
        labels[labels >= known] = -1
        others = labels < 0
        found = self._fit(labels).labels_
        old, new, taken = others & (truth < known), truth >= known, others & (found < known)
        clear, clear_plain = (
            found_classes(truth[others], labels[others], self.k) for labels in (found, self.plain)
        )
        return {
            "steered": self._scores(found, others),
            "plain": self._scores(self.plain, others),
            "recall": _share(found[old] == truth[old]),
            "precision": _share(found[taken] == truth[taken]),
            "new": {
                "steered": _nmi(truth[new], found[new]),
                "plain": _nmi(truth[new], self.plain[new]),
            },
            "classes": {
                kind: {
                    "all": len(classes),
                    "steered": int(clear[classes].sum()),
                    "plain": int(clear_plain[classes].sum()),
                }
                for kind, classes in (
                    ("known", np.arange(known)),
                    ("new", np.arange(known, self.k)),
                )
            },
        }

    def _names(self) -> Row:
        themes = tuple((name,) for name in self.names)
        known = Guidance(tuple(self.names), themes=themes)
        model = self._fit(guidance=known)
        place = np.array([self.names.index(name) for name in model.classes_], dtype=np.int64)
        place = np.append(place, np.full(model.n_clusters_ - len(place), -1, dtype=np.int64))
        steered = place[model.labels_]  # found beside the names: no class
        names, rows = self.encoder.prepare(self.names)
        centers = self.encoder.encode(names)[rows]
        nearest = (unit_rows(self.embeddings) @ unit_rows(centers).T).argmax(axis=1)
        every = np.ones(len(self.texts), dtype=bool)
        out: Row = {
            "steered": self._scores(model.labels_, every),
            "nearest": self._scores(nearest, every),
            "plain": self._scores(self.plain, every),
            "empty": len(model.empty_classes_),
        }
        out["steered"]["right"] = _share(steered == self.truth)
        out["nearest"]["right"] = _share(nearest == self.truth)
        return out

    def _scores(self, labels: Ints, rows: Any) -> Row:
        truth, found = self.truth[rows], labels[rows]
        return {
            "acc": round(accuracy(truth, found), 5),
            "nmi": _nmi(truth, found),
            "ami": round(ami(truth, found), 5),
        }


def found_classes(truth: Ints, labels: Ints, k: int) -> Any:
    """Whether each class has a cluster with an F1 of a half or more.

    Examples
    --------
    >>> truth, labels = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])
    >>> found_classes(truth, labels, 4)  # 2 * 2 / (3 + 2), 2 * 2 / (2 + 4), 2 * 1 / (1 + 4)
    array([ True,  True, False, False])
    """
    both = np.zeros((k, labels.max() + 1))
    np.add.at(both, (truth, labels), 1)
    sizes = both.sum(axis=1)[:, None] + both.sum(axis=0)[None]
    return (2 * both / np.maximum(sizes, 1)).max(axis=1) >= CLEAR


def _embeddings(fitting: Fitting) -> Floats:
    """The encoder's own vectors of the texts, where those of the fit hold more than them."""
    inputs, vectors = fitting.inputs, fitting.vectors()
    if fitting._embeddings is not None:
        assert isinstance(inputs.items, MixedItems)
        vectors = fitting._embeddings[inputs.items.pairs[: inputs.n_distinct, 0]]
    return np.asarray(inputs.spread(vectors, 0.0))


def logistic(x: Floats, labels: Ints) -> Ints:
    """Classes by logistic regression on the vectors of the labelled texts."""
    from sklearn.linear_model import LogisticRegression

    given = labels >= 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(max_iter=300).fit(x[given], labels[given])
    return np.asarray(model.predict(x), dtype=np.int64)


def spreading(x: Floats, labels: Ints) -> Ints:
    """Classes by scikit-learn's label spreading over the graph of nearest neighbours."""
    from sklearn.semi_supervised import LabelSpreading

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LabelSpreading(kernel="knn", n_neighbors=7, max_iter=100).fit(x, labels)
    return np.asarray(model.transduction_, dtype=np.int64)


def _nmi(truth: Ints, labels: Ints) -> float:
    return round(nmi(truth, labels), 5)


def _share(right: Any) -> float:
    return round(float(np.mean(right)), 5)


SIDES = ("steered", "plain", "logistic", "spreading", "nearest")


def _frame(rows: Iterable[Row]) -> pd.DataFrame:
    """A line each, scores as columns such as ``steered.nmi``; ``given`` is the case in words."""
    listed = [{**row, **row["scores"]} for row in rows]
    frame = pd.json_normalize([{k: v for k, v in row.items() if k != "scores"} for row in listed])
    frame["given"] = [f"{r['case']} {r.get('count', '')}".strip() for r in listed]
    return frame


def _by_dataset(frame: pd.DataFrame, column: str) -> Any:
    """Means over seeds, by data set, in per cent; empty where no line has the column."""
    if column not in frame:
        return pd.Series(dtype=float)
    return 100 * frame.groupby("dataset", sort=False)[column].mean().dropna()


def _cell(frame: pd.DataFrame, side: str) -> str:
    """ACC and NMI, as means over data sets of the means over seeds."""
    both = [_by_dataset(frame, f"{side}.{metric}") for metric in ("acc", "nmi")]
    return " / ".join(f"{found.mean():.1f}" for found in both) if len(both[0]) else ""


def _worst(frame: pd.DataFrame) -> str:
    """The smallest gain of a data set against no labels, and which it is."""
    gains = [
        _by_dataset(frame, f"steered.{m}") - _by_dataset(frame, f"plain.{m}")
        for m in ("acc", "nmi")
    ]
    least = pd.concat(gains, axis=1).min(axis=1)
    return f"{least.min():+.1f} ({least.idxmin()})"


def summarize_steering(rows: Iterable[Row]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table: ACC / NMI in %, means over data sets of means over seeds.

    The last column is the largest loss against the same method without labels, of the means over
    seeds of one data set.
    """
    body = [
        [method, given, *(_cell(found, side) for side in SIDES), _worst(found)]
        for (method, given), found in _frame(rows).groupby(["method", "given"], sort=False)
    ]
    return ["method", "given", *SIDES, "worst set"], body


def steering_page(rows: Sequence[Row]) -> str:
    """The tables of the documentation, in Markdown."""
    rows = [row for row in rows if row["case"] != "pairs"]  # constraints, which went
    if not rows:
        return "Not measured yet: `coterie-bench steering`."
    return "\n\n".join(
        [
            "ACC / NMI in %, means over data sets. The last column is the smallest gain of a set "
            "against no labels, by ACC or NMI.",
            markdown(*summarize_steering(rows)).strip(),
            "Of each set, with 1, 5 and 20 labels a class, means over seeds:",
            markdown(*_by_set(_frame(rows))).strip(),
        ]
    )


def _by_set(frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table: a set in each line, steered beside plain and logistic."""
    sides = SIDES[:3]
    labels = frame[frame["case"] == "labels"]
    body = [
        [method, name, *(_cell(found[found["count"] == c], s) for c in COUNTS for s in sides)]
        for (method, name), found in labels.groupby(["method", "dataset"])
    ]
    return ["method", "set", *(f"{s}, {count}" for count in COUNTS for s in sides)], body


OPTIONS = {
    "--sets": ("dev",),
    "--seeds": (0, 1, 2),
    "--methods": ("auto", "kmeans"),
    "--encoder": DEFAULT,
    "--device": "auto",
}
main = lines.Experiment("steering", __doc__, cases, measure, steering_page, OPTIONS)
