"""A decoder that writes a text again from its one vector, with the encoder's own layers (TSDAE).

Embeddings, self-attention and feed-forward are the encoder's very modules, handed over at every
call and never registered here: they have one owner, one optimiser and one place in a checkpoint.
The decoder owns what an encoder lacks: a way to see the vector, and the word predictor.

Attention over a single key is a softmax over one number, which is 1 whatever the query. So there
are no queries and keys: every position receives the same projection of the vector.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coterie._errors import UsageError, param

IGNORED = -100  # label of positions that do not count
CHUNK = 1 << 24  # most logits held at a time
LAYOUT = (  # what a layer must have
    "attention.self.query", "attention.self.key", "attention.self.value",
    "attention.self.num_attention_heads", "attention.output.LayerNorm", "intermediate",
    "output.LayerNorm", "output.dropout",
)  # fmt: skip


class Shared(NamedTuple):
    """Modules of an encoder that the decoder works with."""

    embeddings: Any
    layers: Any

    @property
    def table(self) -> Tensor:
        """Word embeddings, shape (vocabulary, d)."""
        table: Tensor = self.embeddings.word_embeddings.weight
        return table


def shared_parts(backbone: Any) -> Shared:
    """Modules of a transformer with BERT's layout (BERT, MiniLM, RoBERTa, XLM-R, ...)."""
    parts = None
    try:
        parts = Shared(backbone.embeddings, backbone.encoder.layer)
        first = parts.layers[0]
        attrgetter(*LAYOUT)(first)
        fits = parts.table.shape[1] == first.attention.self.query.in_features
    except (AttributeError, IndexError, TypeError):
        fits = False
    if parts is None or not fits:
        raise UsageError(
            f"encoder: a decoder cannot share the layers of {type(backbone).__name__}; it works "
            "with BERT and RoBERTa and what is built like them (MiniLM, XLM-RoBERTa, CamemBERT), "
            f"and with {param('encoder', 'tfidf')}, 'tfidf-svd', 'bow' or 'precomputed'."
        )
    return parts


class OneVectorAttention(nn.Module):
    """Cross-attention to one vector: its value and output projections, added and normalised."""

    def __init__(self, width: int, dropout: float, eps: float, std: float) -> None:
        super().__init__()
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(width, eps=eps)
        for linear in (self.value, self.output):
            nn.init.normal_(linear.weight, std=std)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, vector: Tensor) -> Tensor:
        seen = self.dropout(self.output(self.value(vector)))  # (n, d)
        mixed: Tensor = self.norm(x + seen[:, None])
        return mixed


class TokenDecoder(nn.Module):
    """Predicts each token from the tokens before it and the vector of the text.

    Parameters
    ----------
    parts : Shared
        Of the encoder; only sizes are read here.
    std : float, default=0.02
        Spread of the new weights, as BERT draws its own.
    """

    def __init__(self, parts: Shared, std: float = 0.02) -> None:
        super().__init__()
        vocabulary, width = parts.table.shape
        norm = parts.layers[0].output.LayerNorm
        dropout = parts.layers[0].output.dropout.p
        self.cross = nn.ModuleList(
            OneVectorAttention(width, dropout, norm.eps, std) for _ in parts.layers
        )
        dense = nn.Linear(width, width)
        nn.init.normal_(dense.weight, std=std)
        nn.init.zeros_(dense.bias)
        self.transform = nn.Sequential(dense, nn.GELU(), nn.LayerNorm(width, eps=norm.eps))
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, parts: Shared, ids: Tensor, vector: Tensor) -> Tensor:
        """Features of shape (n, width, d) from which the token after each position is read."""
        x = parts.embeddings(input_ids=ids)
        for layer, cross in zip(parts.layers, self.cross, strict=True):
            x = cross(_look_back(layer.attention, x), vector)
            x = layer.output(layer.intermediate(x), x)
        features: Tensor = self.transform(x)
        return features

    def logits(self, parts: Shared, features: Tensor) -> Tensor:
        """Score of every word, by the encoder's word embeddings: small inputs only."""
        return F.linear(features, parts.table, self.bias)

    def loss(
        self,
        parts: Shared,
        ids: Tensor,
        mask: Tensor,
        vector: Tensor,
        dtype: torch.dtype | None = None,
    ) -> Tensor:
        """Mean over all tokens but the first of minus its log probability, Eq. (1).

        Teacher forcing: position ``t`` sees the true tokens up to ``t`` and predicts the next one.
        Padding lies on the right, where no position looks, and is never a label.

        Parameters
        ----------
        parts : Shared
        ids, mask : Tensor of shape (n, width)
            The text as it should be.
        vector : Tensor of shape (n, d)
        dtype : torch.dtype, optional
            Precision of the products; losses and softmax keep that of the weights.
        """
        with torch.autocast(ids.device.type, dtype=dtype, enabled=dtype is not None):
            features = self(parts, ids[:, :-1], vector).to(self.bias.dtype)
        labels = ids[:, 1:].masked_fill(mask[:, 1:] == 0, IGNORED)
        return token_cross_entropy(
            features.flatten(0, 1), parts.table, self.bias, labels.flatten(), dtype
        )


def _look_back(attention: Any, x: Tensor) -> Tensor:
    """The encoder's self-attention, each position seeing itself and those before it."""
    own = attention.self
    n, width, _ = x.shape
    query, key, value = (
        part(x).view(n, width, own.num_attention_heads, -1).transpose(1, 2)
        for part in (own.query, own.key, own.value)
    )
    dropout = own.dropout.p if own.training else 0.0
    mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=dropout)
    looked: Tensor = attention.output(mixed.transpose(1, 2).reshape(n, width, -1), x)
    return looked


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
            scores = (part @ words.T).to(bias.dtype).add_(bias)  # (size, vocabulary)
            total = scores.logsumexp(dim=1, keepdim=True)
            weight = share[rows, None]
            loss += ((total - scores.gather(1, target[rows])) * weight).sum()
            # From here on the scores are the gradient with respect to them: softmax - one-hot.
            scores.sub_(total).exp_()
            scores.scatter_add_(1, target[rows], -torch.ones_like(total)).mul_(weight)
            to_bias += scores.sum(dim=0)
            small = scores.to(dtype)
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
