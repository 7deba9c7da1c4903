"""VaSCL: Virtual Augmentation Supported Contrastive Learning (Zhang et al., Findings of ACL 2022).

Two passes of a text under dropout are contrasted. For each text a virtual augmentation is made: its
vector ``e`` moved by ``radius`` in the direction in which the projection ``f`` tells it apart worst
from its nearest texts of the batch. The projection learns to tell them apart all the same::

    L = NT-Xent(f(e), f(e')) + mean of l(m, f) and l(f, m),  m = f(e + step)
    l(a, b) = -log(exp(a.b / t) / (exp(a.b / t) + sum_j exp(a.f_j / t) + exp(a.m_j / t)))

over the neighbours j. As in the released code ``e`` and ``f`` are constants in the second term: it
trains the projection alone, the first one also the encoder. k-means clusters the trained vectors.
Reading order: virtual augmentation, network, estimator with its loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._util.types import Terms
from coterie._util.validation import (
    Length,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from coterie.encoders import Encoder
from coterie.errors import UsageError
from coterie.methods.losses.nt_xent import nt_xent
from coterie.methods.train import Batch, Stage, TrainingContext, TunedClusterer, steps_for
from coterie.methods.train.layers import STILL

Project = Callable[[Tensor], Tensor]


def neighborhood(e: Tensor, n_neighbors: int, groups: Tensor) -> tuple[Tensor, Tensor]:
    """Nearest other vectors of the batch (n, d) by inner product, of other texts only.

    Texts with the same number in ``groups`` are the same text. Returns numbers of rows (n, k), with
    ``k`` at most ``n - 1``, and which of them are of another text.
    """
    vectors = e.detach().float()
    products = (vectors @ vectors.T).masked_fill(groups[:, None] == groups[None, :], -torch.inf)
    near = products.topk(min(n_neighbors, len(e) - 1), dim=1)
    return near.indices, near.values.isfinite()


def told_apart(a: Tensor, b: Tensor, others: Tensor, real: Tensor, temperature: float) -> Tensor:
    """Cross-entropy of finding one's partner among others, by cosine.

    ``-log(o / (o + sum of exp(cos(a, c) / t)))`` with ``o = exp(cos(a, b) / t)`` for vectors ``a``
    and their partners ``b`` (n, d), the sum over those of the others ``c`` (n, k, d) that are
    ``real``; zero where nobody else counts.
    """
    unit = F.normalize(a, dim=1)
    own = (unit * F.normalize(b, dim=1)).sum(dim=1, keepdim=True)  # (n, 1)
    rest = (unit[:, None] * F.normalize(others, dim=2)).sum(dim=2).masked_fill(~real, -torch.inf)
    logits = torch.cat([own, rest], dim=1) / temperature
    return logits.logsumexp(dim=1) - logits[:, 0]


def hardest_step(
    project: Project,
    e: Tensor,
    near: Tensor,
    real: Tensor,
    radius: Tensor | float,
    temperature: float,
) -> Tensor:
    """Steps of length ``radius`` that make a vector hard to tell from its neighbours.

    Along the gradient of :func:`told_apart` after the projection, taken a random step of the same
    length away, as at the place itself the similarity to oneself has no gradient. The steps (n, d)
    carry no gradient.
    """
    with torch.enable_grad():
        step = radius * F.normalize(torch.rand_like(e) - 0.5, dim=1)
        step = step.requires_grad_(True)
        f = project(e).detach()
        loss = told_apart(project(e + step), f, f[near], real, temperature).sum()
        (gradient,) = torch.autograd.grad(loss, step)
    found: Tensor = radius * F.normalize(gradient, dim=1)
    return found


def virtual_term(
    project: Project, e: Tensor, step: Tensor, near: Tensor, real: Tensor, temperature: float
) -> Tensor:
    """Mean :func:`told_apart` of vectors and moved ones, both ways, after the projection.

    The others are the neighbours, in their place and moved. Only the moved vectors carry a
    gradient, to the projection.
    """
    e = e.detach()
    f, moved = project(e).detach(), project(e + step)
    others, count = torch.cat([f[near], moved[near]], dim=1), real.repeat(1, 2)
    there = told_apart(moved, f, others, count, temperature)
    back = told_apart(f, moved, others, count, temperature)
    return (there + back).mean() / 2


class VaSCLNet(nn.Module):
    """An encoder and a projection without biases."""

    def __init__(self, encoder: Encoder, projection: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.project = nn.Sequential(
            nn.Linear(encoder.dim, encoder.dim, bias=False),
            nn.ReLU(),
            nn.Linear(encoder.dim, projection, bias=False),
        )


@dataclass(eq=False, repr=False, kw_only=True)
class VaSCL(TunedClusterer):
    """Contrast of a text under two dropout masks, and with itself moved towards its neighbours.

    Parameters
    ----------
    batch_size : int, default=400
    head_lr : float, default=5e-4
        Learning rate of the projection.
    lr : float, default=5e-6
        Learning rate of the encoder.
    mask_duplicates : bool, default=True
        Identical texts are not each other's negatives, nor neighbours.
    max_length : int, default=32
    n_neighbors : int, default=16
        Nearest texts of the batch that a vector and its moved copy must be told apart from.
    normalize : bool, default=False
        Pooled vectors are taken as they are.
    projection_dim : int, default=128
    radius : float, default=1.0
        How far a vector is moved, in mean lengths of the vectors of the batch.
    steps : int, optional
        Default: 30 epochs, at most 1,000.
    temperature : float, default=0.05
    virtual_weight : float, default=1.0
        Weight of the virtual augmentation; 0 is the contrast alone.

    Notes
    -----
    From the authors' code: both terms, temperature, neighbours, projection, length, rate of the
    encoder. **Another use than the published one:** VaSCL trains RoBERTa once on a million
    sentences of Wikipedia, with 1,024 texts per batch and 5 epochs, and clusters other texts with
    the finished model; ClusterBERT's tables do so with the authors' large one. Here the encoder is
    trained on the texts that are clustered, as all methods do, so printed numbers are not those of
    this procedure. Where you have the authors' weights, k-means on them is the published procedure.
    Deviations: the radius is relative, since encoders differ in the length of their vectors (15 in
    the code is for those of RoBERTa); identical texts are masked; the rate of the projection is
    100 times that of the encoder, as in SCCL (100,000 times in the released script).

    References
    ----------
    .. [1] Zhang, Xiao, Zhu, Ma, Arnold (2022). Virtual Augmentation Supported Contrastive Learning
       of Sentence Representations. Findings of ACL.

    See Also
    --------
    SCCL : Contrast and clusters at once.

    Examples
    --------
    >>> texts = ["red apple", "green apple", "ripe apple", "fast car", "slow car"]
    >>> model = VaSCL(2, encoder="tfidf", steps=5, random_state=0).fit(texts)
    >>> model.predict(["a car", "an apple"])
    array([1, 0])
    """

    name: ClassVar[str] = "vascl"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"batch_size": 1024, "mask_duplicates": False}
    }

    batch_size: PositiveInt = 400
    head_lr: NonNegativeFloat = 5e-4
    lr: NonNegativeFloat = 5e-6
    mask_duplicates: bool = True
    max_length: Length = 32
    n_neighbors: PositiveInt = 16
    normalize: bool | None = False
    projection_dim: PositiveInt = 128
    radius: PositiveFloat = 1.0
    steps: NonNegativeInt | None = None
    temperature: PositiveFloat = 0.05
    virtual_weight: NonNegativeFloat = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.tune in STILL:
            raise UsageError("`tune` leaves the vectors as they are: use 'last-2' or 'full'.")

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> VaSCLNet:
        return VaSCLNet(encoder, self.projection_dim)

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        steps = self.steps
        if steps is None:
            steps = min(1000, steps_for(30, context.n, self.batch_size))
        rates = {"encoder": self.lr, "project": self.head_lr}
        return [Stage(name="contrast", steps=steps, loss=self._loss, lr=rates, views=(0, 0))]

    def _loss(self, net: VaSCLNet, batch: Batch) -> Terms:
        """The contrast of both passes, and the virtual term of the first."""
        e1, e2 = batch.encode(net.encoder)  # (n, d) each
        groups = batch.groups if self.mask_duplicates else None
        contrast = nt_xent(net.project(e1), net.project(e2), self.temperature, groups=groups)
        terms = {"contrast": contrast}
        if self.virtual_weight > 0 and len(e1) > 1:
            e, t = e1.detach(), self.temperature
            near, real = neighborhood(
                e, self.n_neighbors, batch.index if groups is None else groups
            )
            radius = self.radius * e.norm(dim=1).mean()
            step = hardest_step(net.project, e, near, real, radius, t)
            virtual = virtual_term(net.project, e, step, near, real, t)
            terms["virtual"] = self.virtual_weight * virtual
        return terms
