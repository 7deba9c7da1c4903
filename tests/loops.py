"""Equations of papers written with loops, slow and obvious."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


def loop_target(q: np.ndarray) -> np.ndarray:
    """Eq. (3) of DEC, number by number."""
    n, k = q.shape
    f = [sum(q[i, j] for i in range(n)) for j in range(k)]
    p = np.zeros_like(q)
    for i in range(n):
        total = sum(q[i, m] ** 2 / f[m] for m in range(k))
        for j in range(k):
            p[i, j] = (q[i, j] ** 2 / f[j]) / total
    return p


def loop_nt_xent(
    z1: Tensor,
    z2: Tensor,
    temperature: float,
    groups: list[int] | None = None,
    cross: bool = False,
    decoupled: bool = False,
) -> float:
    """Eq. (1)-(2) of SCCL written with loops, slow and obvious."""
    n = len(z1)
    z = [v / v.norm() for v in torch.cat([z1, z2])]
    groups = groups or list(range(n))
    total = 0.0
    for a in range(2 * n):
        positive = math.exp(float(z[a] @ z[(a + n) % (2 * n)]) / temperature)
        negatives = [
            math.exp(float(z[a] @ z[j]) / temperature)
            for j in range(2 * n)
            if groups[j % n] != groups[a % n] and not (cross and (a < n) == (j < n))
        ]
        if decoupled:
            total += math.log(sum(negatives) / positive) if negatives else 0.0
        else:
            total -= math.log(positive / (positive + sum(negatives)))
    return total / (2 * n)
