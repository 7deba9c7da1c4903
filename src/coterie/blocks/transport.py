"""Optimal transport from texts to clusters, in logs, with cluster sizes given or found (RSTC).

Symbols follow Zheng et al. (2023), "Robust Representation Learning with Reliable Pseudo-labels
Generation via Self-Adaptive Optimal Transport for Short Text Clustering": plan ``pi`` of shape
(n, k) with rows that sum to ``1 / n``, column sums ``b``, probabilities ``p``. The plan minimises
``<pi, -log p> + eps1 <pi, log pi - 1> + eps2 sum_j (-log b_j - log(1 - b_j))``, where the last
term keeps clusters from running empty without making them even.

For given scalings of the rows the best ``b`` solves one equation per cluster and one for their
sum. With ``b = sigmoid(t)`` the barrier's slope is ``2 eps2 sinh(t)``: nothing is divided by a
difference that may be zero, and no power is taken of what may be large.
"""

from __future__ import annotations

import torch
from torch import Tensor

NEWTON = 60  # most steps for the column sums; from the solution before a handful is enough
LONGEST = 1.0  # step of t


def log_sinkhorn(log_k: Tensor, log_a: Tensor, log_b: Tensor, rounds: int = 100) -> Tensor:
    """Log of the plan with given row and column sums, by scaling in turn (Sinkhorn).

    Parameters
    ----------
    log_k : Tensor of shape (n, k)
        Log of the kernel: minus the cost over the regularisation.
    log_a : Tensor of shape (n,)
        Log of the row sums.
    log_b : Tensor of shape (k,)
        Log of the column sums.
    rounds : int, default=100
        How often columns and rows are scaled.

    Returns
    -------
    Tensor of shape (n, k)
        Rows have their sums exactly, columns after enough rounds. Gradients flow through it.
    """
    log_u = torch.zeros_like(log_a)
    log_v = torch.zeros_like(log_b)
    for _ in range(rounds):
        log_v = log_b - (log_k + log_u[:, None]).logsumexp(dim=0)
        log_u = log_a - (log_k + log_v[None, :]).logsumexp(dim=1)
    return log_u[:, None] + log_k + log_v[None, :]


def barrier_share(delta: Tensor, eps2: float) -> Tensor:
    """Column sums for given prices: the root of ``eps2 (1 / (1 - b) - 1 / b) + delta = 0``.

    The paper's ``((delta + 2 eps2) - sqrt(delta^2 + 4 eps2^2)) / (2 delta)``, which is 0 / 0 at
    ``delta = 0``, in a form without differences: ``sigmoid(-asinh(delta / (2 eps2)))``.

    Parameters
    ----------
    delta : Tensor
        Price of a unit of mass in each column, any shape.
    eps2 : float
        Weight of the barrier.

    Returns
    -------
    Tensor of the same shape
        Between 0 and 1; a half where the price is zero.
    """
    return torch.sigmoid(-torch.asinh(delta / (2 * eps2)))


def column_sums(log_c: Tensor, ratio: float, t: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Column sums of the plan for given scalings of its rows.

    They minimise ``sum_j b_j (log b_j - log c_j) + ratio (-log b_j - log(1 - b_j))`` over the
    ``b`` that sum to one: with ``b = sigmoid(t)``, by Newton's method on
    ``log sigmoid(t_j) + 2 ratio sinh(t_j) - log c_j = h`` for all ``j`` at once.

    Parameters
    ----------
    log_c : Tensor of shape (k,)
        Log of the column sums before columns are scaled.
    ratio : float
        ``eps2 / eps1``; 0 leaves the columns free, a large one makes them even.
    t : Tensor of shape (k,), optional
        Where to begin.

    Returns
    -------
    b, t : Tensor of shape (k,)
        ``b`` sums to one.
    """
    k = len(log_c)
    if k == 1 or ratio == 0:
        return log_c.softmax(dim=0), torch.zeros_like(log_c)
    if t is None:
        t = torch.full_like(log_c, -torch.log(torch.tensor(k - 1.0)).item())
    log_c = log_c - log_c.logsumexp(dim=0)
    h = (_slope(t, ratio) - log_c).mean()
    for _ in range(NEWTON):
        b = torch.sigmoid(t)
        rest = _slope(t, ratio) - log_c - h
        steep = (1 - b) + 2 * ratio * torch.cosh(t)
        weight = b * (1 - b) / steep
        lift = (1 - b.sum() + (weight * rest).sum()) / weight.sum()
        step = (lift - rest) / steep
        longest = step.abs().max()
        t, h = t + step * (LONGEST / longest.clamp(min=LONGEST)), h + lift
        if longest < 1e-10:
            break
    b = torch.sigmoid(t)
    return b / b.sum(), t


def _slope(t: Tensor, ratio: float) -> Tensor:
    return torch.nn.functional.logsigmoid(t) + 2 * ratio * torch.sinh(t)


def adaptive_plan(
    log_p: Tensor, eps1: float, eps2: float, *, rounds: int = 1000, tol: float = 1e-6
) -> tuple[Tensor, Tensor]:
    """Log of the plan whose column sums are found along with it.

    Columns and rows are scaled in turn, each to the optimum for the other, so every round comes
    nearer to the one solution.

    Parameters
    ----------
    log_p : Tensor of shape (n, k)
        Log probabilities of the clusters; their negatives are the cost.
    eps1 : float
        Smoothness of the plan: small is near to hard labels.
    eps2 : float
        Weight of the barrier against empty clusters.
    rounds : int, default=1000
        Most rounds.
    tol : float, default=1e-6
        Stop when the column sums have settled to this, in sum.

    Returns
    -------
    log_plan : Tensor of shape (n, k)
        In float64. The exponentials of each row sum to ``1 / n``.
    b : Tensor of shape (k,)
        Column sums.
    """
    log_k = log_p.double() / eps1
    # A probability that has come down to zero costs much, not infinitely much.
    log_k = log_k.clamp(min=-1e6)
    n, k = log_k.shape
    log_a = -torch.log(torch.tensor(float(n), dtype=torch.float64)).item()
    log_u = torch.full_like(log_k[:, 0], log_a) - log_k.logsumexp(dim=1)
    t = None
    b = torch.full_like(log_k[0], 1 / k)
    log_v = torch.zeros_like(b)
    for number in range(rounds):
        log_c = (log_k + log_u[:, None]).logsumexp(dim=0)
        before = b
        b, t = column_sums(log_c, eps2 / eps1, t)
        log_v = b.log() - log_c
        log_u = log_a - (log_k + log_v[None, :]).logsumexp(dim=1)
        if number % 10 == 9 and float((b - before).abs().sum()) < 0.1 * tol:
            plan = log_u[:, None] + log_k + log_v[None, :]
            if float((plan.logsumexp(dim=0).exp() - b).abs().sum()) < tol:
                break
    return log_u[:, None] + log_k + log_v[None, :], b
