"""Virtual augmentation: the hardest neighbour of a vector, found by one step of its gradient.

For each vector of a batch the nearest others are looked for. The vector is moved by a given length
in the direction in which it is told apart from them worst, and the loss asks that the moved vector
still be nearer to its own place than to any of them (Zhang et al., 2022, "Virtual augmentation
supported contrastive learning of sentence representations").
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

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
