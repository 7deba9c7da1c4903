"""Figures 5 to 9 of AECL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from coterie.bench.figures.lines import curves_of
from coterie.bench.figures.picture import Lines, Picture
from coterie.bench.figures.short import Short, columns_of
from coterie.bench.keys import Row
from coterie.bench.sensitivity import AECL_SWEEPS, label_of
from coterie.methods.aecl import stray_similarity

FORMS = {"AECL": "shared", "without guided positives": "none"}


def similarity(short: Short) -> Picture:
    """Figure 5: mean cosine of texts of one class over training, with and without guidance."""
    series = {label: columns_of(trace_similarity(short, form), "cosine")
              for label, form in FORMS.items()}  # fmt: skip
    panel = Lines(x="training step", y="mean cosine inside true classes", series=series)
    return short.picture("AECL: similarity", [panel])


def trace_similarity(short: Short, positives: str) -> list[dict[str, Any]]:
    """Mean ``cosine`` of all pairs of different texts of one true class over training."""
    truth = torch.from_numpy(short.truth)

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        return {"cosine": cosine_inside(vectors.cpu(), truth)}

    return short.trace(short.make("aecl", positives=positives), look)


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


def stray(short: Short) -> Picture:
    """Figure 6: attention to texts of the same class (PS) and of others (NS) over training."""
    seen = trace_stray(short)
    kinds = {"PS": "to the own class (PS)", "NS": "to other classes (NS)"}
    series = {said: columns_of(seen, name) for name, said in kinds.items()}
    panel = Lines(x="training step", y="share of attention", series=series)
    return short.picture("AECL: attention", [panel], "trained by the contrast alone")


def trace_stray(short: Short) -> list[dict[str, Any]]:
    """``NS`` and ``PS``, Eq. (18)-(19), under true labels; trained by the contrast alone."""
    truth = torch.from_numpy(short.truth)
    epochs = int(short.parameters.get("epochs", 10))
    model = short.make("aecl", epochs=epochs, contrast_epochs=epochs, label_epochs=0)
    order = torch.randperm(len(truth), generator=torch.Generator().manual_seed(short.seed))

    def look(net: Any, vectors: torch.Tensor) -> dict[str, float]:
        total = 0.0
        for rows in order.split(model.batch_size):  # attention is between the texts of a batch
            s = net.heads.attend(net.heads.project(vectors[rows.to(vectors.device)]))[1]
            total += float(stray_similarity(s.cpu(), truth[rows])) * len(rows)
        return {"NS": total / len(order), "PS": 1 - total / len(order)}

    return short.trace(model, look)


def sensitivity(rows: Sequence[Row]) -> Picture | None:
    """Figures 7 to 9: four weights, and the lengths of the first two stages."""
    sweeps = {n: {label_of(n, v): float(v) for v in values} for n, values in AECL_SWEEPS.items()}
    return curves_of(rows, "aecl", sweeps, "AECL")
