"""Word deletion, the noise of a denoising autoencoder (TSDAE, Wang et al., 2021).

Every word goes with the same probability and independently of the others; at least one stays.
Nothing here makes the host wait for the device.
"""

from __future__ import annotations

import torch
from torch import Tensor


def survivors(present: Tensor, ratio: float) -> Tensor:
    """Which of the present things stay when each goes with probability ``ratio``.

    Parameters
    ----------
    present : Tensor of shape (n, m), bool
    ratio : float

    Returns
    -------
    Tensor of shape (n, m), bool
        At least one stays per row, a random one, where there is any.
    """
    draw = torch.rand(present.shape, device=present.device).masked_fill(~present, -1.0)
    luckiest = draw == draw.max(dim=1, keepdim=True).values
    return present & ((draw >= ratio) | luckiest)


def delete_words(
    ids: Tensor, mask: Tensor, words: Tensor, ratio: float, pad: int
) -> tuple[Tensor, Tensor]:
    """Delete whole words; what is left moves up, and the width stays.

    Parameters
    ----------
    ids, mask : Tensor of shape (n, width)
        Tokens, and 1 where there is one.
    words : Tensor of shape (n, width)
        Number of each token's word, from 0 without gaps; -1 for special tokens, which always stay.
    ratio : float
        Probability that a word is deleted.
    pad : int
        Token to fill up with.

    Returns
    -------
    ids, mask : Tensor of shape (n, width)
    """
    position = torch.arange(ids.shape[1], device=ids.device)
    counts = words.max(dim=1, keepdim=True).values + 1
    stays = survivors(position < counts, ratio)  # (n, words), no row has more words than tokens
    kept = mask.bool() & (stays.gather(1, words.clamp(min=0)) | (words < 0))
    order = torch.argsort(kept.logical_not().byte(), dim=1, stable=True)
    left = position < kept.sum(dim=1, keepdim=True)
    return torch.where(left, ids.gather(1, order), pad), left.to(mask.dtype)


def delete_entries(rows: Tensor, ratio: float) -> Tensor:
    """The same for bags of words: entries of each row become zero, at least one stays."""
    return rows * survivors(rows != 0, ratio)
