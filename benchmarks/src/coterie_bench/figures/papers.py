"""Figures of the papers, made from result lines and from short runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from coterie._util.random import derive_seed
from coterie._util.types import Floats
from coterie.arrays.kmeans import KMeans
from coterie.arrays.metrics import accuracy, nmi, silhouette
from coterie.arrays.neighbors import unit_rows
from coterie.errors import DataError, UsageError
from coterie.methods.aecl import stray_similarity
from coterie_bench.analysis import (
    average_precision,
    cluster_distances,
    reciprocal_rank,
)
from coterie_bench.figures.picture import Bars, Lines, Panel, Picture
from coterie_bench.figures.short import Measure, Short, columns_of, first_and_last
from coterie_bench.ledger import Row
from coterie_bench.suites import SUITES, SWEEPS
from coterie_bench.tables import METRICS, Measured, about, entries_of

LEFT = "as training left it"


def bars_of(rows: Sequence[Row], method: str, labels: Sequence[str], title: str) -> Picture | None:
    """ACC and NMI of entries by data set; None if at most one of them has lines."""
    found = entries_of(rows, [method], labels)
    if len({m.label for m in found}) < 2:
        return None
    datasets = list(dict.fromkeys(m.dataset for m in found))
    panels = [
        Bars(
            y=f"{metric.upper()} in %",
            groups={
                d: {m.label: _cell(m, metric) for m in found if m.dataset == d} for d in datasets
            },
        )
        for metric in METRICS
    ]
    return Picture(title=title, subtitle=_seeds(found), about=_about(found), panels=list(panels))


def curves_of(
    rows: Sequence[Row],
    method: str,
    sweeps: Mapping[str, Mapping[str, float]],
    title: str,
    parameter: str = "",
) -> Picture | None:
    """ACC over the values of parameters, a panel each; ``sweeps`` is name, label, value.

    A ``parameter`` that lines hold goes before the value: its default may differ by data set.
    """
    panels, used = [], []
    for name, values in sweeps.items():
        series: dict[str, list[list[float]]] = {}
        found = entries_of(rows, [method], list(values))
        for m in found:
            own = m.rows[0]["parameters"].get(parameter, values[m.label])
            point = [float(own), *_cell(m, "acc")]
            series.setdefault(m.dataset, []).append(point)
        series = {d: sorted(points) for d, points in series.items() if len(points) > 1}
        if series:
            xs = {point[0] for points in series.values() for point in points}
            log = min(xs) > 0 and max(xs) / min(xs) >= 20
            panels.append(Lines(x=name, y="ACC in %", series=series, log=log))
            used += [m for m in found if m.dataset in series]
    if not panels:
        return None
    title = f"{title} on {', '.join(dict.fromkeys(m.dataset for m in used))}"
    return Picture(title=title, subtitle=_seeds(used), about=_about(used), panels=list(panels))


def _cell(m: Measured, metric: str) -> list[float]:
    found = m.trained(metric)
    return [found.mean, found.deviation]


def _seeds(found: Sequence[Measured]) -> str:
    counts = sorted({len(m.rows) for m in found})
    many = f"{counts[0]} to {counts[-1]} seeds" if len(counts) > 1 else f"{counts[0]} seeds"
    subtitle = "one seed" if many == "1 seeds" else f"mean and deviation of {many}"
    return f"{subtitle}, all texts, {LEFT}"


def _about(found: Sequence[Measured]) -> str:
    rows = {id(row): row for m in found for row in m.rows}
    return about(list(rows.values()))


def follow(
    short: Short, models: Mapping[str, Any], measure: Measure, names: Mapping[str, str]
) -> list[Panel]:
    """A panel for each measured value over training, with a line for each model."""
    seen = {label: short.trace(model, measure) for label, model in models.items()}
    return [
        Lines(
            x="training step",
            y=name,
            series={label: columns_of(rows, key) for label, rows in seen.items()},
        )
        for key, name in names.items()
    ]


# SCCL

OBJECTIVES = [entry.label for entry in SUITES["sccl-ablations"].entries]
OBJECTIVE_FORMS = {"SCCL": "joint", "instances only": "instance", "clusters only": "clustering"}


def sccl_objectives(rows: Sequence[Row]) -> Picture | None:
    """Figure 3: one term, one after the other, or both."""
    return bars_of(rows, "sccl", OBJECTIVES, "SCCL: terms of the loss")


def sccl_temperature(rows: Sequence[Row]) -> Picture | None:
    """The temperature of the contrast."""
    return curves_of(rows, "sccl", SWEEPS["sccl"], "SCCL")


def sccl_distances(short: Short) -> Picture:
    """Figure 4: distances inside and between clusters over training, predicted and true.

    Predicted clusters are those of k-means, as the paper scores them.
    """
    cluster = KMeans(
        n_clusters=short.data.n_clusters, seed=derive_seed(short.seed, "look"), n_init=3
    )

    def measure(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        labels = {"predicted": cluster(vectors.float()).labels, "true": short.truth}
        found = {who: cluster_distances(vectors.cpu().numpy(), of) for who, of in labels.items()}
        return {f"{kind} {who}": v for who, both in found.items() for kind, v in both.items()}

    models = {name: short.make("sccl", objective=form) for name, form in OBJECTIVE_FORMS.items()}
    names = {
        f"{kind} {who}": f"mean distance, {what}, {who} clusters"
        for who in ("predicted", "true")
        for kind, what in (("intra", "text to own centroid"), ("inter", "to nearest centroid"))
    }
    return short.picture("SCCL: distances", follow(short, models, measure, names), columns=2)


# AECL

POSITIVES = {"AECL": "shared", "without guided positives": "none"}


def aecl_similarity(short: Short) -> Picture:
    """Figure 5: mean cosine of texts of one class over training, with and without guidance."""

    def measure(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        return {"cosine": cosine_inside(vectors.cpu(), torch.from_numpy(short.truth))}

    models = {name: short.make("aecl", positives=form) for name, form in POSITIVES.items()}
    names = {"cosine": "mean cosine inside true classes"}
    return short.picture("AECL: similarity", follow(short, models, measure, names))


def cosine_inside(vectors: torch.Tensor, labels: torch.Tensor) -> float:
    """Mean cosine over pairs of rows with the same label, a row with itself left out.

    By sums: the square of the length of a class's sum of unit vectors is the sum of its cosines.
    """
    units = F.normalize(vectors.double(), dim=1)
    k = int(labels.max()) + 1
    sums = torch.zeros(k, units.shape[1], dtype=torch.float64).index_add_(0, labels, units)
    own = torch.zeros(k, dtype=torch.float64).index_add_(0, labels, units.square().sum(dim=1))
    sizes = torch.bincount(labels, minlength=k).double()
    pairs = (sizes * (sizes - 1)).sum()
    return float((sums.square().sum(dim=1) - own).sum() / pairs) if pairs > 0 else float("nan")


def aecl_stray(short: Short) -> Picture:
    """Figure 6: attention to texts of other classes (NS), Eq. (18); PS is one less this."""
    truth = torch.from_numpy(short.truth)
    epochs = int(short.parameters.get("epochs", 10))
    model: Any = short.make("aecl", epochs=epochs, contrast_epochs=epochs, label_epochs=0)
    order = torch.randperm(len(truth), generator=torch.Generator().manual_seed(short.seed))

    def measure(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        total = 0.0
        for rows in order.split(model.batch_size):  # attention is between the texts of a batch
            s = net.heads.attend(net.heads.project(vectors[rows.to(vectors.device)]))[1]
            total += float(stray_similarity(s.cpu(), truth[rows])) * len(rows)
        return {"NS": total / len(order)}

    panels = follow(short, {"to other classes (NS)": model}, measure, {"NS": "share of attention"})
    head, subtitle = "AECL: attention to other classes", "trained by the contrast alone"
    return short.picture(head, panels, subtitle)


def aecl_sensitivity(rows: Sequence[Row]) -> Picture | None:
    """Figures 7 to 9: four weights, and the lengths of the first two stages."""
    return curves_of(rows, "aecl", SWEEPS["aecl"], "AECL")


# DECCRL

RECONSTRUCTIONS = {"DECCRL": "topics", "without CRL": "none", "without CRL, with LSR": "latent"}
NUMBERS = (1, 5, 10, 15, 20, 25, 30)  # of topics
TOPICS = {"DECCRL": 5.0, **{f"{t} topics": float(t) for t in NUMBERS}}
FELT = {"topic_weight=0.1": 5.0, **{f"{t} topics, weight 0.1": float(t) for t in NUMBERS}}


def deccrl_silhouettes(short: Short) -> Picture:
    """Figure 3: silhouette over training, with and without reconstruction."""

    def measure(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        h = net.reduce(vectors)
        labels = net.assign(h).argmax(dim=1).cpu().numpy()
        return {"silhouette": silhouette(h.cpu().numpy(), labels)}

    forms = RECONSTRUCTIONS.items()
    models = {name: short.make("deccrl", reconstruction=form) for name, form in forms}
    names = {"silhouette": "silhouette of predicted clusters"}
    return short.picture("DECCRL: silhouette", follow(short, models, measure, names))


def deccrl_topics(rows: Sequence[Row]) -> Picture | None:
    """Figure 4: the number of topics."""
    sweeps = {"topics of a cluster": TOPICS, "topics of a cluster, weight 0.1": FELT}
    return curves_of(rows, "deccrl", sweeps, "DECCRL", "n_topics")


# ClusterBERT

INDICES = {"nmi": "NMI in %", "acc": "ACC in %", "silhouette": "silhouette", "dunn": "Dunn index"}
VARIANTS = {"ClusterBERT": True, "without reconstruction": False}
CANDIDATES, QUERIES = 20, 300  # of a query, as in AskUbuntu; at most so many queries


def cluster_bert_stages_by_set(rows: Sequence[Row]) -> Picture | None:
    """Figure 3 on whole data sets, from lines that hold the indices after each stage."""
    seen = [row for row in rows if row.get("stages")]
    chosen = entries_of(seen, ["cluster-bert"], ["ClusterBERT"])
    if not chosen:
        return None
    stages = [found["stage"] for found in _stages(chosen[0])[0]]
    panels = []
    for key, label in INDICES.items():
        unit = 100 if key in ("nmi", "acc") else 1
        series = {
            m.dataset: [
                [i, unit * value, unit * spread]
                for i, name in enumerate(stages)
                for value, spread in _over_seeds(m, name, key)
            ]
            for m in chosen
        }
        panels.append(Lines(x="after stage", y=label, series=series, ticks=stages))
    title = "ClusterBERT: indices after each stage"
    return Picture(
        title=title, subtitle=_seeds(chosen), about=_about(chosen), panels=list(panels), columns=2
    )


def _stages(m: Measured) -> list[list[dict[str, Any]]]:
    return [row["stages"] for row in m.rows if row.get("stages")]


def _over_seeds(m: Measured, stage: str, key: str) -> list[tuple[float, float]]:
    """Mean and sample deviation of an index after a stage; none where no run has it."""
    values = [s[key] for seen in _stages(m) for s in seen if s["stage"] == stage]
    values = [v for v in values if v is not None]
    if not values:
        return []
    return [(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)]


PAIRS_DRAWN = 200_000  # of texts, for Table 5
NEAR = 0.5  # cosine from which two texts count as together


def cluster_bert_pairs(short: Short) -> Picture:
    """Table 5: cosines of pairs of texts before and after training, in numbers.

    The paper prints the pairs with the largest changes. Here random pairs are counted: how alike
    texts of one class and of two classes are, and how many have a cosine of 0.5 or more.
    """
    pair = [unit_rows(v) for v in first_and_last(short, "cluster-bert", "fast")]
    rng = np.random.default_rng(derive_seed(short.seed, "pairs"))
    left, right = rng.integers(0, len(short.truth), (2, PAIRS_DRAWN))
    left, right = left[left != right], right[left != right]
    cosines = [(units[left] * units[right]).sum(axis=1) for units in pair]
    same = short.truth[left] == short.truth[right]
    kinds = {"one class": same, "two classes": ~same}
    measures: dict[str, Callable[[Floats], float]] = {
        "mean cosine": lambda c: float(c.mean()),
        f"share with a cosine of {NEAR} or more": lambda c: float((c >= NEAR).mean()),
    }
    panels = [
        Lines(
            x="",
            y=name,
            series={
                kind: [[i, measure(c[own])] for i, c in enumerate(cosines)]
                for kind, own in kinds.items()
            },
            ticks=["before training", "after"],
        )
        for name, measure in measures.items()
    ]
    return short.picture("ClusterBERT: pairs of texts", list(panels), columns=2)


def cluster_bert_reconstruction(rows: Sequence[Row]) -> Picture | None:
    """Figure 4, its left half: with and without reconstruction in the later stages."""
    labels = [entry.label for entry in SUITES["cluster-bert-ablations"].entries]
    return bars_of(rows, "cluster-bert", labels, "ClusterBERT: reconstruction in stages 2 and 3")


def cluster_bert_retrieval(short: Short) -> Picture:
    """Figure 4: scores of clusters, and of ranking texts of another set, over training."""
    if short.other is None:
        raise UsageError("other: retrieval ranks texts of another data set, but none was given.")
    questions = ask(short.other.texts, short.other.labels, short.seed)
    cluster = KMeans(
        n_clusters=short.data.n_clusters, seed=derive_seed(short.seed, "look"), n_init=3
    )

    def measure(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        items, rows = net.encoder.prepare(questions.texts)
        units = unit_rows(net.encoder.encode(items)[rows])
        labels = cluster(vectors.float()).labels
        scores = {"NMI": nmi(short.truth, labels), "ACC": accuracy(short.truth, labels)}
        return {**{name: 100 * score for name, score in scores.items()}, **rank(units, questions)}

    models = {
        name: short.make("cluster-bert", "fast", reconstruction=on) for name, on in VARIANTS.items()
    }
    names = {score: f"{score} in %" for score in ("NMI", "ACC", "MAP", "MRR")}
    subtitle = f"retrieval: {len(questions.right)} queries of {short.other.name}, not trained on"
    panels = follow(short, models, measure, names)
    return short.picture("ClusterBERT: reconstruction", panels, subtitle, columns=2)


@dataclass(frozen=True)
class Questions:
    """Texts of which some are queries, the rows of their candidates, and which are right."""

    texts: list[str]
    queries: list[int]
    candidates: list[list[int]]
    right: list[list[int]]


def ask(texts: Sequence[str], labels: Sequence[Any], seed: int = 0) -> Questions:
    """Queries and the 20 texts that share most words with each; right are those of its class.

    In AskUbuntu, too, candidates were found by their words, so that words alone do not rank them.
    Queries whose candidates are all right or all wrong say nothing and are left out.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if len(texts) < CANDIDATES + 2:
        raise DataError(f"retrieval needs at least {CANDIDATES + 2} texts, got {len(texts)}.")
    words: Any = TfidfVectorizer(sublinear_tf=True).fit_transform(list(texts))
    order = np.random.default_rng(derive_seed(seed, "queries")).permutation(len(texts))
    found = Questions(list(texts), [], [], [])
    for query in order[: 4 * QUERIES].tolist():
        shared = np.asarray((words @ words[query].T).todense()).ravel()
        shared[query] = -1.0
        best = np.argsort(-shared, kind="stable")[:CANDIDATES].tolist()
        right = [int(labels[i] == labels[query]) for i in best]
        if 0 < sum(right) < CANDIDATES and len(found.queries) < QUERIES:
            found.queries.append(query)
            found.candidates.append(best)
            found.right.append(right)
    if not found.queries:
        raise DataError("no text has candidates both of its class and of others: nothing to rank.")
    return found


def rank(units: Floats, questions: Questions) -> dict[str, float]:
    """``MAP`` and ``MRR`` of candidates ranked by cosine, in per cent."""
    scores = []
    rows = zip(questions.queries, questions.candidates, questions.right, strict=True)
    for query, candidates, right in rows:
        cosines = units[candidates] @ units[query]
        scores.append((average_precision(cosines, right), reciprocal_rank(cosines, right)))
    values = 100 * np.mean(scores, axis=0)
    return {"MAP": float(values[0]), "MRR": float(values[1])}


# ADSL


def adsl_sharpness(rows: Sequence[Row]) -> Picture | None:
    """Figure 4a: the power of the inverse distance in the soft labels."""
    return curves_of(rows, "adsl", SWEEPS["adsl"], "ADSL")


def adsl_labels(short: Short) -> Picture:
    """Figure 4b: how right the strongest soft labels are, at the start and after each refresh."""
    truth = short.truth

    def measure(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        found = net.target.argmax(dim=1).cpu().numpy()
        return {"ACC": 100 * accuracy(truth, found), "NMI": 100 * nmi(truth, found)}

    seen = short.trace(short.make("adsl"), measure)
    series = {label: columns_of(seen, label) for label in ("ACC", "NMI")}
    panel = Lines(x="training step", y="score of the soft labels in %", series=series)
    return short.picture("ADSL: soft labels", [panel])
