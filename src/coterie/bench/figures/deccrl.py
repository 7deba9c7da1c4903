"""Figures 3 and 4 of DECCRL, and its table of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from coterie._errors import TrainingError
from coterie.bench.figures.lines import curves_of
from coterie.bench.figures.picture import Lines, Picture, Table
from coterie.bench.figures.short import Short, columns_of
from coterie.bench.keys import Row
from coterie.bench.papers import DECCRL_ABLATIONS
from coterie.metrics import silhouette

FORMS = {"DECCRL": "topics", "without CRL": "none", "without CRL, with LSR": "latent"}
TOPICS = {
    entry.label: float(entry.parameters.get("n_topics", 5))
    for entry in DECCRL_ABLATIONS.entries
    if "reconstruction" not in entry.parameters
}
WORDS = 4  # of each topic, as the paper shows


def silhouettes(short: Short) -> Picture:
    """Figure 3: silhouette over training, with and without reconstruction."""
    series = {label: columns_of(trace_silhouette(short, form), "silhouette")
              for label, form in FORMS.items()}  # fmt: skip
    panel = Lines(x="training step", y="silhouette of predicted clusters", series=series)
    return short.picture("DECCRL: silhouette", [panel])


def trace_silhouette(short: Short, reconstruction: str) -> list[dict[str, Any]]:
    """Silhouette of the reduced vectors under the predicted clusters over training."""

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        h = net.reduce(vectors)
        labels = net.assign(h).argmax(dim=1).cpu().numpy()
        return {"silhouette": silhouette(h.cpu().numpy(), labels)}

    return short.trace(short.make("deccrl", reconstruction=reconstruction), look)


def topics(rows: Sequence[Row]) -> Picture | None:
    """Figure 4: the number of topics."""
    return curves_of(rows, "deccrl", {"topics of a cluster": TOPICS}, "DECCRL")


def topic_table(short: Short) -> Picture:
    """Table 4: words of the topics of each cluster."""
    model: Any = short.make("deccrl").fit(short.data.texts)
    if model.topics_ is None:
        raise TrainingError("bench.no_topics")
    most = max(len(cluster) for cluster in model.topics_)
    header = ["cluster", *(f"topic {t + 1}" for t in range(most))]
    body = [
        [str(k), *(", ".join(words[:WORDS]) for words in cluster)]
        for k, cluster in enumerate(model.topics_)
    ]
    return short.picture("DECCRL: words of the topics", [Table(header=header, rows=body)])
