"""BERT-like encoders with little padding: short texts share rows, for training on a GPU.

A batch of short titles padded to its longest is half padding, and attention kernels work on
tiles far larger than a title. Here several texts lie in one row; a mask keeps their attention
apart. The modules are those of the transformers library, called one by one, so the weights are
the same objects and nothing has to be copied back.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from coterie._types import Features

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
    for layer, weights in zip(net.encoder.layer, layers, strict=True):
        x = _layer(layer, weights, x, mask)
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
    groups = [[[p] for p in net.embeddings.LayerNorm.parameters()]]
    for layer in net.encoder.layer:
        own, out = layer.attention.self, layer.attention.output
        maps = (own.query, own.key, own.value)
        parts = [[m.weight for m in maps], [m.bias for m in maps]]
        for module in (
            out.dense, out.LayerNorm, layer.intermediate.dense, layer.output.dense,
            layer.output.LayerNorm,
        ):  # fmt: skip
            parts += [[module.weight], [module.bias]]
        groups.append(parts)
    sizes = [len(part) for parts in groups for part in parts]
    flat = [p for parts in groups for part in parts for p in part]
    found = iter(_Cast.apply(dtype, sizes, *flat))  # type: ignore[no-untyped-call]
    return [[next(found) for _ in parts] for parts in groups]


class _Cast(torch.autograd.Function):
    """Many weights to another precision by few kernels; those of one group become one matrix."""

    @staticmethod
    def forward(
        ctx: Any, dtype: torch.dtype, sizes: list[int], *weights: Tensor
    ) -> tuple[Tensor, ...]:
        out, places, at = [], [], 0
        for size in sizes:
            group = weights[at : at + size]
            rows = [len(w) for w in group]
            whole = group[0].new_empty(sum(rows), *group[0].shape[1:], dtype=dtype)
            places += whole.split(rows)
            out.append(whole)
            at += size
        torch._foreach_copy_(places, list(weights))
        ctx.shapes, ctx.sizes = [w.shape for w in weights], sizes
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        places, at = [], 0
        for size, grad in zip(ctx.sizes, grads, strict=True):
            places += grad.split([shape[0] for shape in ctx.shapes[at : at + size]])
            at += size
        full = [torch.empty(shape, device=grads[0].device) for shape in ctx.shapes]
        torch._foreach_copy_(full, places)
        return None, None, *full


def _embed(net: Any, features: Features, weights: list[Tensor], dtype: torch.dtype) -> Tensor:
    parts = net.embeddings
    positions = features["positions"] + OFFSET[type(net).__name__]
    x = parts.word_embeddings(features["input_ids"]) + parts.position_embeddings(positions)
    x = (x + parts.token_type_embeddings.weight[0]).to(dtype)
    x = _norm(parts.LayerNorm, weights, x)
    return F.dropout(x, parts.dropout.p, net.training)


def _layer(layer: Any, weights: list[Tensor], x: Tensor, mask: Tensor) -> Tensor:
    attention = layer.attention.self
    p = attention.dropout.p if layer.training else 0.0
    rows, width, d = x.shape
    heads = attention.num_attention_heads
    qkv = F.linear(x, *weights[:2]).view(rows, width, 3, heads, d // heads)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (rows, heads, width, d / heads) each
    wide = mask.expand(rows, heads, width, width)
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=wide, dropout_p=p)
    mixed = mixed.transpose(1, 2).reshape(rows, width, d)
    x = _add(layer.attention.output, weights[2:6], mixed, x)
    return _add(layer.output, weights[8:], F.gelu(F.linear(x, *weights[6:8])), x)


def _add(part: Any, weights: list[Tensor], inner: Tensor, x: Tensor) -> Tensor:
    """Back to the residual stream: linear, dropout, sum, normalisation."""
    y = F.dropout(F.linear(inner, *weights[:2]), part.dropout.p, part.training)
    return _norm(part.LayerNorm, weights[2:], x + y)


def _norm(module: Any, weights: list[Tensor], x: Tensor) -> Tensor:
    weight, bias = weights
    return F.layer_norm(x, module.normalized_shape, weight, bias, module.eps)


def _pooling(module: Any) -> str:
    mode = getattr(module, "pooling_mode", "")
    return mode if isinstance(mode, str) else ""
