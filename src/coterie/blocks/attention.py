"""Attention between texts: every text looks at the others of its batch (AECL, Eq. 1-3).

The attention weights are a similarity matrix of the batch, the outputs are representations that
similar texts share. For prediction a text looks at a fixed set of reference texts and at itself
instead, so that its result does not depend on its company.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from coterie._random import numpy_generator
from coterie._types import Floats, Ints

Form = Literal["layer", "matrices"]
HeadKind = Literal["mlp", "linear"]
WIDTH = 128  # of the projections


class SampleAttention(nn.Module):
    """Attention over the rows of a batch.

    Parameters
    ----------
    dim : int
    form : {"layer", "matrices"}, default="layer"
        A transformer layer with one head, normalisation after each part and a feed-forward part,
        as the authors released it; or three matrices as printed, Eq. (1)-(3).
    dropout : float, default=0.1
        Of the layer; the matrices have none.
    """

    def __init__(self, dim: int, form: Form = "layer", dropout: float = 0.1) -> None:
        super().__init__()
        layer = form == "layer"
        self.form, self.dim = form, dim
        self.query = nn.Linear(dim, dim, bias=layer)
        self.key = nn.Linear(dim, dim, bias=layer)
        self.value = nn.Linear(dim, dim, bias=layer)
        self.dropout = nn.Dropout(dropout if layer else 0.0)
        if layer:
            self.out = nn.Linear(dim, dim)
            self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
            self.feed = nn.Sequential(
                nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(2 * dim, dim)
            )
            bound = math.sqrt(6 / (4 * dim))  # Xavier for the three input maps as one matrix
            for part in (self.query, self.key, self.value):
                nn.init.uniform_(part.weight, -bound, bound)
                nn.init.zeros_(part.bias)
            nn.init.zeros_(self.out.bias)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Shared representations, similarities, and similarities after dropout.

        Parameters
        ----------
        z : Tensor of shape (..., n, d)
            Batches in front do not see each other.

        Returns
        -------
        h : Tensor of shape (..., n, d)
        s : Tensor of shape (..., n, n)
            Rows sum to one.
        dropped : Tensor of shape (..., n, n)
            What the outputs were mixed with; equal to ``s`` in evaluation.
        """
        scores = self.query(z) @ self.key(z).mT / math.sqrt(self.dim)  # (..., n, n)
        s = scores.softmax(dim=-1)
        dropped = self.dropout(s)
        return self._finish(z, dropped @ self.value(z)), s, dropped

    def beside(self, z: Tensor, references: Tensor) -> Tensor:
        """Representations of rows that look at ``references`` and at themselves, not at each other.

        Parameters
        ----------
        z : Tensor of shape (n, d)
        references : Tensor of shape (m, d)

        Returns
        -------
        Tensor of shape (n, d)
        """
        query, key = self.query(z), self.key(z)
        own = (query * key).sum(dim=1, keepdim=True)  # (n, 1)
        scores = torch.cat([own, query @ self.key(references).T], dim=1) / math.sqrt(self.dim)
        weights = scores.softmax(dim=1)  # (n, 1 + m)
        mixed = weights[:, :1] * self.value(z) + weights[:, 1:] @ self.value(references)
        return self._finish(z, mixed)

    def _finish(self, z: Tensor, mixed: Tensor) -> Tensor:
        if self.form == "matrices":
            return mixed
        x = self.norm1(z + self.dropout(self.out(mixed)))
        return self.norm2(x + self.dropout(self.feed(x)))  # type: ignore[no-any-return]


def stray_similarity(s: Tensor, labels: Tensor) -> Tensor:
    """Mean attention that a text pays to texts with another label: NS of AECL, Eq. (18).

    PS, Eq. (19), is one less this.

    Parameters
    ----------
    s : Tensor of shape (n, n)
        Rows sum to one.
    labels : Tensor of shape (n,)

    Returns
    -------
    Tensor of shape ()
        Between 0 and 1.
    """
    other = labels[:, None] != labels[None, :]
    return (s * other).sum(dim=1).mean()


def same_cluster(log_p: Tensor) -> Tensor:
    """Which texts have the same most probable cluster, shape (n, n); carries no gradient."""
    best = log_p.detach().argmax(dim=1)
    return best[:, None] == best[None, :]


class AttentionHeads(nn.Module):
    """Projector, attention between texts, and clustering head."""

    def __init__(self, dim: int, n_clusters: int, attention: Form, head: HeadKind) -> None:
        super().__init__()
        self.sizes = {"dim": dim, "n_clusters": n_clusters, "attention": attention, "head": head}
        large = head == "mlp"
        self.project = nn.Sequential(
            *([nn.Linear(dim, dim), nn.ReLU()] if large else []), nn.Linear(dim, WIDTH)
        )
        self.attend = SampleAttention(WIDTH, attention)
        self.classify = nn.Sequential(
            nn.Dropout(0.5), nn.Linear(WIDTH, dim), nn.ReLU(),
            nn.Dropout(0.5), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, n_clusters),
        ) if large else nn.Linear(WIDTH, n_clusters)  # fmt: skip

    def log_p(self, h: Tensor) -> Tensor:
        """Log probabilities of the clusters, shape (..., n, k)."""
        return self.classify(h).log_softmax(dim=-1)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class AttentionAssigner:
    """The heads beside fixed reference texts: a text's label does not depend on its company."""

    kind: ClassVar[str] = "attention"
    heads: AttentionHeads
    references: Floats  # (sets, m, d), projections
    order: Ints  # cluster of each column

    @classmethod
    @torch.inference_mode()
    def make(
        cls, heads: AttentionHeads, vectors: Floats, size: int, sets: int, seed: int
    ) -> AttentionAssigner:
        """The assigner of trained heads, with random texts among ``vectors`` as references."""
        heads = copy.deepcopy(heads).cpu().eval().requires_grad_(False)
        rng, n = numpy_generator(seed, "references"), len(vectors)
        size = max(1, min(size, n))
        chosen = np.stack([rng.choice(n, size, replace=False) for _ in range(sets)])
        z = heads.project(torch.from_numpy(vectors[chosen]))  # (sets, size, d)
        return cls(heads, z.numpy(), np.arange(heads.sizes["n_clusters"]))

    @torch.inference_mode()
    def logits(self, vectors: Floats) -> Floats:
        z = self.heads.project(torch.from_numpy(vectors))
        sets = torch.from_numpy(self.references)
        parts = torch.stack([self.heads.log_p(self.heads.attend.beside(z, r)) for r in sets])
        return np.asarray(parts.logsumexp(dim=0).numpy()[:, self.order])

    @torch.inference_mode()
    def in_batches(self, vectors: Floats, batch_size: int, rounds: int, seed: int) -> Floats:
        """Mean probabilities over random orders, cut into batches that attend to themselves."""
        z = self.heads.project(torch.from_numpy(vectors))
        p = torch.zeros(len(z), len(self.order))
        for round_ in range(rounds):
            order = torch.from_numpy(numpy_generator(seed, "round", round_).permutation(len(z)))
            for rows in order.split(batch_size):
                p[rows] += self.heads.log_p(self.heads.attend(z[rows])[0]).exp() / rounds
        return np.asarray(p.numpy()[:, self.order])

    def reordered(self, order: Ints) -> AttentionAssigner:
        return AttentionAssigner(self.heads, self.references, self.order[order])

    def arrays(self) -> dict[str, Any]:
        weights = {f"heads.{k}": v.numpy() for k, v in self.heads.state_dict().items()}
        return {"references": self.references, "order": self.order, **weights}

    def numbers(self) -> dict[str, Any]:
        return dict(self.heads.sizes)

    @classmethod
    def restore(cls, arrays: dict[str, Any], numbers: dict[str, Any]) -> AttentionAssigner:
        """Make the assigner again from what :meth:`arrays` and :meth:`numbers` gave."""
        heads = AttentionHeads(**numbers)
        weights = {k.removeprefix("heads."): v for k, v in arrays.items() if k.startswith("heads.")}
        heads.load_state_dict({k: torch.from_numpy(v) for k, v in weights.items()})
        return cls(heads.eval(), arrays["references"], arrays["order"])
