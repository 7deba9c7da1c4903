"""The network that guesses hidden words, its loss, and how well it guesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._errors import UsageError
from coterie._types import Terms
from coterie.augmentation.draws import bits, text_keys
from coterie.blocks.token_loss import token_cross_entropy
from coterie.encoders import SentenceEncoder
from coterie.engine import Batch

KEEP, REPLACE = 0.1, 0.1  # of the chosen tokens, as BERT has it; the others become the mask
TOP = 5


class MaskedHead(nn.Module):
    """From the vector of a token to a vector beside the word embeddings, and a bias per word.

    Parameters
    ----------
    width : int
    counts : Tensor of shape (vocabulary,)
        How often each token occurs; the biases begin as logarithms of shares.
    eps : float
        Of the normalisation.
    """

    def __init__(self, width: int, counts: Tensor, eps: float) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)
        nn.init.eye_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        self.norm = nn.LayerNorm(width, eps=eps)
        self.bias = nn.Parameter(((counts + 0.1) / (counts.sum() + 0.1 * len(counts))).log())

    def forward(self, hidden: Tensor) -> Tensor:
        features: Tensor = self.norm(F.gelu(self.dense(hidden)))
        return features


class MaskedNet(nn.Module):
    """An encoder and a head for hidden words."""

    def __init__(self, encoder: SentenceEncoder, counts: Tensor, rate: float) -> None:
        super().__init__()
        tokenizer = encoder.tokenizer
        if tokenizer.mask_token_id is None:
            raise UsageError("encoder: its tokenizer has no mask, so no masked head can be fitted.")
        self.encoder, self.rate = encoder, rate
        config = encoder.model[0].auto_model.config
        self.head = MaskedHead(config.hidden_size, counts, getattr(config, "layer_norm_eps", 1e-12))
        self.mask_id = int(tokenizer.mask_token_id)
        special = torch.zeros(len(counts), dtype=torch.bool)
        special[list(tokenizer.all_special_ids)] = True
        self.register_buffer("special", special)
        self.special: Tensor

    @property
    def table(self) -> Tensor:
        """Word embeddings, shape (vocabulary, width)."""
        weight: Tensor = self.encoder.model[0].auto_model.get_input_embeddings().weight
        return weight

    def features(self, ids: Tensor, mask: Tensor, at: Tensor) -> Tensor:
        """What the head makes of the tokens at the places ``at``, shape (places, width)."""
        dtype = self.encoder.compute_dtype
        with torch.autocast(ids.device.type, dtype=dtype, enabled=dtype is not None):
            backbone: Any = self.encoder.model[0].auto_model
            hidden = backbone(input_ids=ids, attention_mask=mask).last_hidden_state
        made: Tensor = self.head(hidden[at].float())
        return made


def hide(ids: Tensor, may: Tensor, rate: float, mask_id: int, size: int) -> tuple[Tensor, Tensor]:
    """Choose tokens to guess and hide most of them: 80% masked, 10% replaced, 10% as they are.

    Parameters
    ----------
    ids : Tensor of shape (n, width)
    may : Tensor of bool of the same shape
        Which tokens may be chosen.
    rate : float
    mask_id, size : int
        Of the vocabulary.

    Returns
    -------
    tuple of Tensors
        The changed tokens, and which were chosen.
    """
    picked = may & (torch.rand(ids.shape, device=ids.device) < rate)
    fate = torch.rand(ids.shape, device=ids.device)
    other = torch.randint(size, ids.shape, device=ids.device)
    hidden = torch.where(picked & (fate >= KEEP + REPLACE), mask_id, ids)
    return torch.where(picked & (fate < REPLACE), other, hidden), picked


def masked_loss(net: MaskedNet, batch: Batch) -> Terms:
    """Mean over the chosen tokens of minus the log probability of the true one."""
    ids, mask = batch.features["input_ids"], batch.features["attention_mask"]
    may = (mask == 1) & ~net.special[ids]
    shown, picked = hide(ids, may, net.rate, net.mask_id, len(net.table))
    features = net.features(shown, mask, picked)
    loss = token_cross_entropy(
        features, net.table, net.head.bias, ids[picked], net.encoder.compute_dtype
    )
    return {"masked": loss}


def score(net: MaskedNet, texts: Sequence[str], rate: float, counts: Tensor) -> dict[str, Any]:
    """How often hidden tokens of unseen texts are among the first guesses.

    The tokens of a text are chosen by the text alone, at least one, and all of them are masked.

    Parameters
    ----------
    net : MaskedNet
    texts : sequence of str
    rate : float
        Share of tokens to hide.
    counts : Tensor of shape (vocabulary,)
        Of the tokens of the training texts; guessing the most frequent ones is what to beat.
    """
    items, rows = net.encoder.prepare(list(texts))
    frequent = counts.topk(TOP).indices
    hits = torch.zeros(4, dtype=torch.long)
    total = 0
    for start in range(0, len(texts), 64):
        part = slice(start, start + 64)
        features = items.batch(rows[part])
        device = net.table.device
        ids, mask = (features[k].to(device) for k in ("input_ids", "attention_mask"))
        at = hidden_places(texts[part], (mask == 1) & ~net.special[ids], rate)
        if not at.any():
            continue
        with torch.inference_mode():
            made = net.features(ids.masked_fill(at, net.mask_id), mask, at)
            best = F.linear(made, net.table, net.head.bias).topk(TOP, dim=1).indices
        truth = ids[at][:, None]
        found, usual = best == truth, frequent == truth
        pairs = [found[:, 0].sum(), found.sum(), usual[:, 0].sum(), usual.sum()]
        hits += torch.stack(pairs).cpu()
        total += len(truth)
    names = ("top1", "top5", "frequent_top1", "frequent_top5")
    shares = {n: round(int(h) / max(total, 1), 4) for n, h in zip(names, hits, strict=True)}
    return {**shares, "hidden_tokens": total}


def hidden_places(texts: Sequence[str], may: Tensor, rate: float) -> Tensor:
    """Which tokens to hide, from the texts alone: a share of those that may be, at least one."""
    keys = text_keys(texts, {"use": "held-out masks"})[:, None]
    scores = bits(keys, 0, np.arange(may.shape[1])[None]).astype(np.float64) / 2.0**64
    drawn = torch.from_numpy(scores).to(may.device).masked_fill(~may, 2.0)
    first = drawn == drawn.min(dim=1, keepdim=True).values
    places: Tensor = may & ((drawn < rate) | first)
    return places
