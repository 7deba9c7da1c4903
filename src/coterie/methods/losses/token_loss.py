"""Cross entropy over a large vocabulary, a few rows at a time: for decoders and masked words."""

from __future__ import annotations

from typing import Any

from coterie._util.torch import Tensor, torch

IGNORED = -100  # label of positions that do not count
CHUNK = 1 << 24  # most logits held at a time


def token_cross_entropy(
    features: Tensor,
    table: Tensor,
    bias: Tensor,
    labels: Tensor,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Mean of ``-log softmax(features @ table.T + bias)[label]`` over the rows that count.

    The scores of all rows and words together would be the largest tensor of the training by far
    (64 texts of 64 tokens and 50,000 words: 0.8 GB). They are made a few rows at a time, and the
    gradient is taken from them at once, so none are kept.

    Parameters
    ----------
    features : Tensor of shape (m, d)
    table : Tensor of shape (vocabulary, d)
    bias : Tensor of shape (vocabulary,)
    labels : Tensor of shape (m,)
        ``IGNORED`` marks rows that do not count; if none does, the loss is 0.
    dtype : torch.dtype, optional
        Precision of the matrix products.
    """
    if features.device.type == "cpu":  # elsewhere, to count them would make the host wait
        counts = labels != IGNORED
        features, labels = features[counts], labels[counts]
    found: Tensor = _ChunkedLoss.apply(features, table, bias, labels, dtype or table.dtype)  # type: ignore[no-untyped-call]
    return found


class _ChunkedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, table: Tensor, bias: Tensor, labels: Tensor, dtype: torch.dtype
    ) -> Tensor:
        counts = (labels != IGNORED).to(bias.dtype)
        share = counts / counts.sum().clamp(min=1)
        target = labels.clamp(min=0)[:, None]
        words = table.to(dtype)
        to_features, to_bias = map(torch.zeros_like, (features, bias))
        to_table = torch.zeros_like(table) if ctx.needs_input_grad[1] else None
        loss = bias.new_zeros(())
        size = max(1, CHUNK // len(table))
        for start in range(0, len(features), size):
            rows = slice(start, start + size)
            part = features[rows].to(dtype)
            scores = torch.add(part @ words.T, bias)  # (size, vocabulary), as precise as the bias
            log_p = scores.log_softmax(dim=1)
            weight = share[rows, None]
            loss -= (log_p.gather(1, target[rows]) * weight).sum()
            # The gradient with respect to the scores: softmax - one-hot.
            grad = log_p.exp_().scatter_add_(1, target[rows], -torch.ones_like(weight))
            small = torch.mul(grad, weight, out=part.new_empty(scores.shape))
            to_bias += small.sum(dim=0, dtype=bias.dtype)
            to_features[rows] = small @ words
            if to_table is not None:
                to_table += small.T @ part
        ctx.save_for_backward(to_features, to_table, to_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        to_features, to_table, to_bias = ctx.saved_tensors
        to_words = None if to_table is None else grad * to_table  # none if the words are frozen
        return grad * to_features, to_words, grad * to_bias, None, None
