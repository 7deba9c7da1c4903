"""Similarity-guided contrast of AECL, Eq. (6)-(9): attention says which other texts are positives.

Two kinds of ratios are added inside one logarithm: that of a text's two views, and that of a text
and its companions, the texts of its predicted cluster, weighted by attention. Everything is in
logs, so nothing overflows; the positive is not in the denominators.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

Positives = Literal["shared", "all", "none"]
Form = Literal["row", "text", "broadcast"]
LEAST = 1e-5  # added to the attention weights, as in the authors' code


class Views(NamedTuple):
    """Both views of a batch, worked at once: the originals and their augmentations.

    Attributes
    ----------
    z : Tensor of shape (2, n, d)
        Projections.
    h : Tensor of shape (2, n, d)
        Shared representations.
    s : Tensor of shape (2, n, n)
        Similarities.
    """

    z: Tensor
    h: Tensor
    s: Tensor


def guided_contrast(
    views: Views,
    companions: Tensor,
    temperature: float = 0.5,
    *,
    positives: Positives = "shared",
    form: Form = "row",
) -> Tensor:
    """Mean loss over texts and views.

    Parameters
    ----------
    views : Views
    companions : Tensor of shape (n, n) of bool
        Which texts are in one predicted cluster; the diagonal is true.
    temperature : float, default=0.5
    positives : {"shared", "all", "none"}, default="shared"
        Pairs of a projection and a shared representation, Eq. (7); pairs of projections and of
        shared representations as well, as released; or the pair of views alone.
    form : {"row", "text", "broadcast"}, default="row"
        A logarithm for each of the ``2 n`` rows; for each text, both directions added, Eq. (9);
        or the released form, which adds every row's ratio to that of every other row.

    Returns
    -------
    Tensor of shape ()
        Zero for a single text.
    """
    n = views.z.shape[1]
    if n == 1:
        return 0.0 * views.z[0].sum()
    logits = _logits(views.z.flatten(0, 1), temperature)
    pair = torch.cat([logits.diagonal(n), logits.diagonal(-n)])  # (2n,)
    below = _log_denominator(logits)
    if positives == "none":
        return -_by_text(pair - below, n).mean() if form == "text" else -(pair - below).mean()
    guided = _guided(views, companions, temperature, positives)
    return -_joined(pair, below, guided, form)


def _joined(pair: Tensor, below: Tensor, guided: Tensor, form: Form) -> Tensor:
    """Mean log of the two ratios added; logs of shape (2n,), and (2, 2n) for both views."""
    if form == "broadcast":  # every pair over every denominator
        return torch.logaddexp(pair[:, None] - below[None, :], guided[:, None, :]).mean()
    if form == "text":
        n = len(pair) // 2
        return torch.logaddexp(_by_text(pair - below, n), _by_text(guided, n)).mean()
    return torch.logaddexp(pair - below, guided).mean()


def _guided(views: Views, companions: Tensor, temperature: float, positives: Positives) -> Tensor:
    """Log ratio of each row of ``[z; h]`` and its companions, shape (2, 2n)."""
    z, h, s = views
    n = z.shape[1]
    logits = _logits(torch.cat([z, h], dim=1), temperature)  # (2, 2n, 2n)
    weights, allowed = s.repeat(1, 2, 2), companions.repeat(2, 2)
    if positives == "all":
        weights = weights * (1 - torch.eye(2 * n, device=s.device, dtype=s.dtype))
    else:
        side = torch.arange(2 * n, device=s.device) < n
        allowed = allowed & (side[:, None] != side[None, :])
    above = (logits + (weights + LEAST).log()).masked_fill(~allowed, float("-inf"))
    return above.logsumexp(dim=-1) - _log_denominator(logits)


def _logits(rows: Tensor, temperature: float) -> Tensor:
    unit = F.normalize(rows if rows.dtype == torch.double else rows.float(), dim=-1)
    return unit @ unit.mT / temperature


def _log_denominator(logits: Tensor) -> Tensor:
    """Log sum over all other texts, both sides; the text itself is left out on both."""
    n = logits.shape[-1] // 2
    itself = torch.eye(n, dtype=torch.bool, device=logits.device).repeat(2, 2)
    return logits.masked_fill(itself, float("-inf")).logsumexp(dim=-1)


def _by_text(rows: Tensor, n: int) -> Tensor:
    return torch.logaddexp(rows[..., :n], rows[..., n:])
