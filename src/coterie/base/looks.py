"""What a clustering of the corpus looked like at several moments of a training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from coterie._types import Bools, Floats, Ints
from coterie.metrics import dunn, silhouette


class Looks(nn.Module):
    """Labels, silhouette and Dunn index per look; buffers, so that a checkpoint holds them.

    Parameters
    ----------
    names : list of str
        Of the looks, in order; an empty list keeps nothing.
    n : int
        Texts.
    """

    labels: Tensor  # (looks, n), -1 until taken
    scores: Tensor  # (looks, 2)

    def __init__(self, names: list[str], n: int) -> None:
        super().__init__()
        self.names = names
        self.register_buffer("labels", torch.full((len(names), n), -1))
        self.register_buffer("scores", torch.full((len(names), 2), torch.nan))

    def take(self, name: str, vectors: Floats, labels: Ints) -> None:
        """Look at the corpus; a name that is not wanted costs nothing."""
        if name in self.names:
            number = self.names.index(name)
            scores = silhouette(vectors, labels), dunn(vectors, labels)
            self.labels[number].copy_(torch.from_numpy(labels))
            self.scores[number].copy_(torch.tensor(scores))

    def to_list(self, filled: Bools) -> list[dict[str, Any]]:
        """Plain values, one dict per look taken; texts that are not ``filled`` have label -1."""
        out = []
        for name, labels, scores in zip(
            self.names, self.labels.cpu().numpy(), self.scores.tolist(), strict=True
        ):
            if labels.min() >= 0:
                every = np.full(len(filled), -1)
                every[filled] = labels
                values = [value if math.isfinite(value) else None for value in scores]
                look = {"stage": name, "silhouette": values[0], "dunn": values[1]}
                out.append({**look, "labels": every.tolist()})
        return out
