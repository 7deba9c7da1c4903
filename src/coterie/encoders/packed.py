"""BERT-like encoders with little padding: short texts share rows, for training on a GPU.

A batch of short titles padded to its longest is half padding, and attention kernels work on
tiles far larger than a title. Here several texts lie in one row; a mask keeps their attention
apart. The modules are those of the transformers library, called one by one, so the weights are
the same objects and nothing has to be copied back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie._types import Features
from coterie.encoders.tuning import full_weight

OFFSET = {"BertModel": 0, "RobertaModel": 2, "XLMRobertaModel": 2}  # of the first position


def can_pack(model: Any, dtype: torch.dtype | None, device: torch.device) -> bool:
    """Whether :func:`pack_forward` knows the architecture and its pooling, and pays here.

    Parameters
    ----------
    model : SentenceTransformer
    dtype : torch.dtype or None
        Precision of training; None is float32, which stays with the library's own way.
    device : torch.device
    """
    names = [type(module).__name__ for module in model]
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return False
    if names[:2] != ["Transformer", "Pooling"] or set(names[2:]) - {"Normalize"}:
        return False
    transformer = model[0].auto_model
    config = transformer.config
    return (
        type(transformer).__name__ in OFFSET
        and config.hidden_act == "gelu"
        and getattr(config, "position_embedding_type", "absolute") in ("absolute", None)
        and _pooling(model[1]) in ("mean", "cls")
    )


def pack_forward(model: Any, features: Features, dtype: torch.dtype) -> Tensor:
    """Pooled vectors of packed texts.

    Parameters
    ----------
    model : SentenceTransformer
    features : dict
        As :meth:`RaggedTokens.packed_batch` gives them.
    dtype : torch.dtype

    Returns
    -------
    Tensor of shape (n, d)
        In float32.
    """
    net = model[0].auto_model
    slots = features["slots"]
    apart = slots[:, None, :, None] != slots[:, None, None, :]  # (rows, 1, width, width)
    mask = torch.zeros(apart.shape, dtype=dtype, device=slots.device)
    mask = mask.masked_fill(apart, float("-inf"))
    norm, *layers = _weights(net, dtype)
    x = _embed(net, features, norm, dtype)  # (rows, width, d)
    own, out = net.encoder.layer[0].attention.self, net.encoder.layer[0].output
    settings = _Settings(own.num_attention_heads, own.dropout.p, out.dropout.p, out.LayerNorm.eps)
    settings = settings if net.training else settings._replace(attention=0.0, hidden=0.0)
    for weights in layers:
        x = _layer(x, mask, settings, *weights)
    if _pooling(model[1]) == "cls":
        return x.flatten(0, 1).index_select(0, features["begins"]).float()
    return _means(x, slots).flatten(0, 1).index_select(0, features["picks"])


def _means(x: Tensor, slots: Tensor) -> Tensor:
    """Mean over the tokens of each slot of each row, shape (rows, slots, d), by one product."""
    numbers = torch.arange(slots.shape[1], device=slots.device)
    member = (slots[:, None, :] == numbers[:, None]).float()  # (rows, slots, width)
    return member @ x.float() / member.sum(dim=2, keepdim=True).clamp(min=1)


def _weights(net: Any, dtype: torch.dtype) -> list[list[Tensor]]:
    """Weights in ``dtype``: those of the first normalisation, then those of each layer."""
    groups = [list(net.embeddings.LayerNorm.parameters())]
    for layer in net.encoder.layer:
        own, out = layer.attention.self, layer.attention.output
        parts = (
            own.query, own.key, own.value, out.dense, out.LayerNorm, layer.intermediate.dense,
            layer.output.dense, layer.output.LayerNorm,
        )  # fmt: skip
        groups.append([weight for part in parts for weight in (full_weight(part), part.bias)])
    found = iter(_cast(dtype, [w for group in groups for w in group]))
    return [[next(found) for _ in group] for group in groups]


def _cast(dtype: torch.dtype, weights: list[Tensor]) -> list[Tensor]:
    """Weights in ``dtype``; those that are frozen stay out of the gradient's way."""
    out = list(weights)
    moving = [i for i, w in enumerate(weights) if w.requires_grad]
    frozen = [i for i, w in enumerate(weights) if not w.requires_grad]
    for part in (moving, frozen):
        if part:
            cast = _Cast.apply(dtype, *(weights[i] for i in part))  # type: ignore[no-untyped-call]
            for i, weight in zip(part, cast, strict=True):
                out[i] = weight
    return out


class _Cast(torch.autograd.Function):
    """Many weights to another precision, and their gradients back, by few kernels."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.dtypes = [w.dtype for w in weights]
        out = [torch.empty_like(w, dtype=dtype) for w in weights]
        torch._foreach_copy_(out, list(weights))
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        full = [torch.empty_like(g, dtype=d) for g, d in zip(grads, ctx.dtypes, strict=True)]
        torch._foreach_copy_(full, list(grads))
        return None, *full


def _embed(net: Any, features: Features, weights: list[Tensor], dtype: torch.dtype) -> Tensor:
    parts = net.embeddings
    positions = features["positions"] + OFFSET[type(net).__name__]
    x = parts.word_embeddings(features["input_ids"]) + parts.position_embeddings(positions)
    x = (x + parts.token_type_embeddings.weight[0]).to(dtype)
    x = _norm(parts.LayerNorm, weights, x)
    return F.dropout(x, parts.dropout.p, net.training)


class _Settings(NamedTuple):
    """What the layers of an encoder share: heads, both rates of dropout, the norms' epsilon."""

    heads: int
    attention: float
    hidden: float
    eps: float


def _layer(x: Tensor, mask: Tensor, settings: _Settings, *weights: Tensor) -> Tensor:
    """One transformer layer; weights as :func:`_weights` lists them."""
    rows, width, d = x.shape
    heads, p = settings.heads, settings.hidden
    # One product for all three would be a little faster; putting its gradient together is slower.
    q, k, v = (
        F.linear(x, *weights[i : i + 2]).view(rows, width, heads, d // heads).transpose(1, 2)
        for i in (0, 2, 4)
    )  # (rows, heads, width, d / heads) each
    wide = mask.expand(rows, heads, width, width)
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=wide, dropout_p=settings.attention)
    mixed = mixed.transpose(1, 2).reshape(rows, width, d)
    y = x + F.dropout(F.linear(mixed, *weights[6:8]), p, p > 0)
    x = F.layer_norm(y, (d,), weights[8], weights[9], settings.eps)
    inner = F.gelu(F.linear(x, *weights[10:12]))
    y = x + F.dropout(F.linear(inner, *weights[12:14]), p, p > 0)
    return F.layer_norm(y, (d,), weights[14], weights[15], settings.eps)


def _norm(module: Any, weights: list[Tensor], x: Tensor) -> Tensor:
    weight, bias = weights
    return F.layer_norm(x, module.normalized_shape, weight, bias, module.eps)


def _pooling(module: Any) -> str:
    mode = getattr(module, "pooling_mode", "")
    return mode if isinstance(mode, str) else ""
