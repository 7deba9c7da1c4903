"""Figures 3 and 4 of DECCRL, and its table of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from coterie._errors import TrainingError
from coterie.bench.figures.draw import draw_lines, new_figure
from coterie.bench.figures.lines import curves_of
from coterie.bench.figures.short import Short, columns
from coterie.bench.keys import Row
from coterie.bench.papers import DECCRL_ABLATIONS
from coterie.bench.tables import markdown
from coterie.metrics import silhouette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = {"DECCRL": "topics", "without CRL": "none", "without CRL, with LSR": "latent"}
TOPICS = {
    entry.label: float(entry.parameters.get("n_topics", 5))
    for entry in DECCRL_ABLATIONS.entries
    if "reconstruction" not in entry.parameters
}
WORDS = 4  # of each topic, as the paper shows


def silhouettes(short: Short) -> Figure:
    """Figure 3: silhouette over training, with and without reconstruction."""
    figure, (panel,) = new_figure()
    series = {label: columns(trace_silhouette(short, form), "silhouette")
              for label, form in FORMS.items()}  # fmt: skip
    draw_lines(panel, series, f"DECCRL on {short.data.name}", "step", "silhouette")
    return figure


def trace_silhouette(short: Short, reconstruction: str) -> list[dict[str, Any]]:
    """Silhouette of the reduced vectors under the predicted clusters over training."""

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        h = net.reduce(vectors)
        labels = net.assign(h).argmax(dim=1).cpu().numpy()
        return {"silhouette": silhouette(h.cpu().numpy(), labels)}

    return short.trace(short.make("deccrl", reconstruction=reconstruction), look)


def topics(rows: Sequence[Row]) -> Figure | None:
    """Figure 4: the number of topics."""
    return curves_of(rows, "deccrl", {"topics": TOPICS}, "DECCRL")


def topic_table(short: Short) -> str:
    """Table 4: words of the topics of each cluster, as Markdown."""
    model: Any = short.make("deccrl").fit(short.data.texts)
    if model.topics_ is None:
        raise TrainingError("the run has no topics: its texts have no words in common.")
    most = max(len(cluster) for cluster in model.topics_)
    header = ["cluster", *(f"topic {t + 1}" for t in range(most))]
    body = [
        [str(k), *(", ".join(words[:WORDS]) for words in cluster)]
        for k, cluster in enumerate(model.topics_)
    ]
    return markdown(header, body)
