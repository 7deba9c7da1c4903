"""VaSCL: Virtual Augmentation Supported Contrastive Learning (Zhang et al., Findings of ACL 2022).

Two views of a text are contrasted, and so is the text with a copy of it that is moved to where its
nearest neighbours are hardest to tell apart. The encoder is trained; k-means makes the clusters.
Reading order: virtual augmentation, network, estimator with its loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._types import Terms
from coterie._validation import (
    Length,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from coterie.base import TrainingContext, TunedClusterer
from coterie.blocks.nt_xent import nt_xent
from coterie.encoders import Encoder
from coterie.encoders.tuning import STILL
from coterie.engine import Batch, Stage, steps_for
from coterie.errors import UsageError

FIRST = 1e-2  # length of the random step at which the gradient is taken, in lengths of a vector


def neighborhood(e: Tensor, n_neighbors: int, groups: Tensor) -> tuple[Tensor, Tensor]:
    """Nearest other vectors of the batch by cosine, of other texts only.

    Parameters
    ----------
    e : Tensor of shape (n, d)
    n_neighbors : int
    groups : Tensor of shape (n,)
        Texts with the same number are the same text.

    Returns
    -------
    neighbors : Tensor of shape (n, k)
        Numbers of the rows; ``k`` is at most ``n - 1``.
    real : Tensor of shape (n, k), bool
        Which of them are of another text.
    """
    unit = F.normalize(e.detach().float(), dim=1)
    cosines = (unit @ unit.T).masked_fill(groups[:, None] == groups[None, :], -torch.inf)
    near = cosines.topk(min(n_neighbors, len(e) - 1), dim=1)
    return near.indices, near.values.isfinite()


def told_apart(moved: Tensor, e: Tensor, near: Tensor, real: Tensor, temperature: float) -> Tensor:
    """Cross-entropy of finding one's own place among the neighbours.

    ``-log(o / (o + sum of exp(cos(m, c) / t)))`` with ``o = exp(cos(m, e) / t)``, the sum over the
    neighbours ``c``.

    Parameters
    ----------
    moved, e : Tensor of shape (n, d)
        Moved vectors ``m`` and their places.
    near : Tensor of shape (n, k, d)
        The neighbours of each.
    real : Tensor of shape (n, k), bool
        Neighbours that count.
    temperature : float

    Returns
    -------
    Tensor of shape (n,)
        Zero where no neighbour counts.
    """
    m = F.normalize(moved, dim=1)
    own = (m * F.normalize(e, dim=1)).sum(dim=1, keepdim=True)  # (n, 1)
    others = (m[:, None] * F.normalize(near, dim=2)).sum(dim=2).masked_fill(~real, -torch.inf)
    logits = torch.cat([own, others], dim=1) / temperature
    return logits.logsumexp(dim=1) - logits[:, 0]


def hardest_step(
    e: Tensor, near: Tensor, real: Tensor, radius: float, temperature: float
) -> Tensor:
    """Steps of length ``radius`` along the gradient of :func:`told_apart`; they carry no gradient.

    At the place itself the gradient of its own similarity vanishes, so it is taken a small random
    step away.

    Parameters
    ----------
    e, near, real, temperature
        As for :func:`told_apart`.
    radius : float
        In mean lengths of the vectors.

    Returns
    -------
    Tensor of shape (n, d)
    """
    with torch.enable_grad():
        place, others = e.detach(), near.detach()
        length = place.norm(dim=1).mean()
        step = FIRST * length * F.normalize(torch.randn_like(place), dim=1)
        step = step.requires_grad_(True)
        loss = told_apart(place + step, place, others, real, temperature).sum()
        (gradient,) = torch.autograd.grad(loss, step)
    found: Tensor = radius * length * F.normalize(gradient.detach(), dim=1)
    return found


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
        Nearest texts of the batch that a moved vector must be told apart from.
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
    From the paper and its code: both terms, temperature, neighbours, projection, both rates,
    length. The paper trains once on a million sentences of Wikipedia, with 1,024 texts per batch
    and 5 epochs, and clusters other texts; here the encoder is trained on the texts that are
    clustered, as all methods do. Deviations: the radius is relative, since encoders differ in the
    length of their vectors (15 in the code is for those of RoBERTa); identical texts are masked.

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
            raise UsageError(
                f"`tune={self.tune!r}` leaves the vectors as they are, and k-means clusters "
                "nothing else: use `tune='lora'`, 'last-2' or 'full'."
            )

    def _build_network(self, encoder: Any, start: Any, context: TrainingContext) -> VaSCLNet:
        return VaSCLNet(encoder, self.projection_dim)

    def _training_stages(self, context: TrainingContext) -> list[Stage]:
        steps = self.steps
        if steps is None:
            steps = min(1000, steps_for(30, context.n, self.batch_size))
        rates = {"encoder": self.lr, "project": self.head_lr}
        return [Stage(name="contrast", steps=steps, loss=self._loss, lr=rates, views=(0, 0))]

    def _loss(self, net: VaSCLNet, batch: Batch) -> Terms:
        """The contrast of both passes, and the mean virtual term of the two."""
        e1, e2 = batch.encode(net.encoder)  # (n, d) each
        groups = batch.groups if self.mask_duplicates else None
        contrast = nt_xent(net.project(e1), net.project(e2), self.temperature, groups=groups)
        terms = {"contrast": contrast}
        if self.virtual_weight > 0 and len(e1) > 1:
            numbers = batch.index if groups is None else groups
            virtual = (self._virtual(e1, numbers) + self._virtual(e2, numbers)) / 2
            terms["virtual"] = self.virtual_weight * virtual
        return terms

    def _virtual(self, e: Tensor, groups: Tensor) -> Tensor:
        neighbors, real = neighborhood(e, self.n_neighbors, groups)
        near = e[neighbors]  # (n, k, d)
        step = hardest_step(e, near, real, self.radius, self.temperature)
        return told_apart(e + step, e, near, real, self.temperature).mean()
