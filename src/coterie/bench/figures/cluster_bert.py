"""Figures 3 and 4 of ClusterBERT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from coterie._errors import DataError, UsageError
from coterie._random import derive_seed
from coterie._types import Floats
from coterie.analysis import average_precision, reciprocal_rank, stage_indices
from coterie.bench.figures.lines import bars_of
from coterie.bench.figures.picture import Lines, Picture
from coterie.bench.figures.short import Short, columns_of
from coterie.bench.keys import Row
from coterie.bench.papers import CLUSTER_BERT_ABLATIONS
from coterie.blocks.kmeans import KMeans
from coterie.metrics import accuracy, nmi

INDICES = {"nmi": "NMI in %", "acc": "ACC in %", "silhouette": "silhouette", "dunn": "Dunn index"}
FORMS = {"ClusterBERT": True, "without reconstruction": False}
CANDIDATES, QUERIES = 20, 300  # of a query, as in AskUbuntu; at most so many queries


def stages(short: Short) -> Picture:
    """Figure 3: NMI, ACC, silhouette and Dunn index after each stage."""
    seen = trace_stages(short)
    names = [str(row["stage"]) for row in seen]
    panels = []
    for key, said in INDICES.items():
        unit = 100 if key in ("nmi", "acc") else 1
        points = [[i, unit * row[key]] for i, row in enumerate(seen) if row[key] is not None]
        panels.append(Lines(x="after stage", y=said, series={said: points}, ticks=names))
    return short.picture("ClusterBERT: indices after each stage", list(panels), columns=2)


def trace_stages(short: Short) -> list[dict[str, Any]]:
    """Indices of the clusters at the start and after each stage."""
    model = short.make("cluster-bert", "fast", record_stages=True).fit(short.data.texts)
    return stage_indices(model, short.data.labels)


def reconstruction(rows: Sequence[Row]) -> Picture | None:
    """Figure 4, its left half: with and without reconstruction in the later stages."""
    labels = [entry.label for entry in CLUSTER_BERT_ABLATIONS.entries]
    return bars_of(rows, "cluster-bert", labels, "ClusterBERT: reconstruction in stages 2 and 3")


def retrieval(short: Short) -> Picture:
    """Figure 4: scores of clusters, and of ranking texts of another set, over training."""
    if short.other is None:
        raise UsageError("bench.retrieval_needs_texts")
    questions = ask(short.other.texts, short.other.labels, short.seed)
    seen = {form: trace_retrieval(short, questions, on) for form, on in FORMS.items()}
    panels = [
        Lines(x="training step", y=f"{score} in %", title=f"{what}: {score}",
              series={form: columns_of(rows, score) for form, rows in seen.items()})
        for score, what in (("NMI", "clusters"), ("ACC", "clusters"),
                            ("MAP", "retrieval"), ("MRR", "retrieval"))
    ]  # fmt: skip
    told = f"retrieval: {len(questions.right)} queries of {short.other.name}, not trained on"
    return short.picture("ClusterBERT: reconstruction", list(panels), told, columns=2)


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
        raise DataError("bench.too_few_texts_to_rank", least=CANDIDATES + 2, given=len(texts))
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
        raise DataError("bench.nothing_to_rank")
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


def trace_retrieval(short: Short, questions: Questions, on: bool) -> list[dict[str, Any]]:
    """``NMI`` and ``ACC`` of k-means, ``MAP`` and ``MRR`` over training."""
    score = score_clusters(short)

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        items, rows = net.encoder.prepare(questions.texts)
        found = net.encoder.encode(items)[rows]
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        units = found / np.where(lengths > 0, lengths, 1)
        return {**score(vectors), **rank(units, questions)}

    return short.trace(short.make("cluster-bert", "fast", reconstruction=on), look)


def score_clusters(short: Short) -> Callable[[torch.Tensor], dict[str, float]]:
    """A function that gives ``NMI`` and ``ACC`` of k-means on vectors, in per cent."""
    truth, k, seed = short.truth, short.data.n_clusters, derive_seed(short.seed, "look")

    def score(vectors: torch.Tensor) -> dict[str, float]:
        labels = KMeans(n_clusters=k, seed=seed, n_init=3)(vectors.float()).labels
        return {"NMI": 100 * nmi(truth, labels), "ACC": 100 * accuracy(truth, labels)}

    return score
