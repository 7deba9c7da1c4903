"""Normalised temperature-scaled cross entropy (NT-Xent), the contrast of SimCLR and SCCL."""

from __future__ import annotations

from typing import Literal

from coterie._util.torch import F, Tensor, torch

Negatives = Literal["both", "cross"]


def nt_xent(
    z1: Tensor,
    z2: Tensor,
    temperature: float = 0.5,
    *,
    groups: Tensor | None = None,
    negatives: Negatives = "both",
    positive_in_denominator: bool = True,
) -> Tensor:
    """Contrast two views of a batch; rows of other texts are negatives.

    Eq. (1) of SCCL (Zhang et al. 2021), averaged over the ``2 * n`` anchors. With
    ``negatives="cross"`` and ``positive_in_denominator=False`` it is half of Eq. (2)-(4) of
    DECCRL as printed.

    Parameters
    ----------
    z1, z2 : Tensor of shape (n, d)
        Projections of the first and the second view; row ``i`` of both comes from text ``i``.
        They need not be normalised.
    temperature : float, default=0.5
        Divides the cosine similarities.
    groups : Tensor of shape (n,), optional
        Texts with the same number are the same text: they are not each other's negatives.
    negatives : {"both", "cross"}, default="both"
        Whether negatives come from both views or from the other view only.
    positive_in_denominator : bool, default=True
        Whether the denominator holds the positive besides the negatives.

    Returns
    -------
    Tensor of shape ()
        The mean loss. It equals ``log(2n - 1)`` when all rows are alike, and 0 for ``n = 1``.
    """
    n = len(z1)
    z = torch.cat([z1, z2])
    z = F.normalize(z if z.dtype == torch.double else z.float(), dim=1)  # (2n, d)
    logits = z @ z.T / temperature  # (2n, 2n)
    positive = torch.cat([logits.diagonal(n), logits.diagonal(-n)])  # (2n,)
    logits = logits.masked_fill(_not_negative(n, groups, negatives, z.device), float("-inf"))
    if positive_in_denominator:
        return (torch.cat([logits, positive[:, None]], dim=1).logsumexp(dim=1) - positive).mean()
    some = logits.isfinite().any(dim=1)  # (2n,), rows that have a negative at all
    # A row of -inf would give a gradient that is not a number, even where it is masked later.
    denominator = torch.where(some[:, None], logits, torch.zeros_like(logits)).logsumexp(dim=1)
    return torch.where(some, denominator - positive, 0.0).mean()


def _not_negative(
    n: int, groups: Tensor | None, negatives: Negatives, device: torch.device
) -> Tensor:
    """Mask of shape (2n, 2n): anchor, positive, duplicates of the text, and the unwanted view."""
    groups = torch.arange(n, device=device) if groups is None else groups
    same = groups[:, None] == groups[None, :]  # (n, n)
    mask = same.repeat(2, 2)  # (2n, 2n)
    if negatives == "cross":
        view = torch.arange(2 * n, device=device) >= n
        mask = mask | (view[:, None] == view[None, :])
    return mask
