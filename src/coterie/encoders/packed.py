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
    texts = features["texts"]
    apart = texts[:, None, :, None] != texts[:, None, None, :]  # (rows, 1, width, width)
    mask = torch.zeros(apart.shape, dtype=dtype, device=texts.device)
    mask = mask.masked_fill(apart, float("-inf"))
    x = _embed(net, features, dtype)  # (rows, width, d)
    for layer in net.encoder.layer:
        x = _layer(layer, x, mask)
    tokens = x.flatten(0, 1)[features["places"]].float()  # (total, d)
    ends = features["ends"]
    if _pooling(model[1]) == "cls":
        return tokens[ends[:-1]]
    return torch.segment_reduce(tokens, "mean", offsets=ends, axis=0, unsafe=True)


def _embed(net: Any, features: Features, dtype: torch.dtype) -> Tensor:
    parts = net.embeddings
    positions = features["positions"] + OFFSET[type(net).__name__]
    x = parts.word_embeddings(features["input_ids"]) + parts.position_embeddings(positions)
    x = x + parts.token_type_embeddings.weight[0]
    return F.dropout(_norm(parts.LayerNorm, x.to(dtype)), parts.dropout.p, net.training)


def _layer(layer: Any, x: Tensor, mask: Tensor) -> Tensor:
    attention = layer.attention.self
    p = attention.dropout.p if layer.training else 0.0
    maps = (attention.query, attention.key, attention.value)
    weight = torch.cat([m.weight for m in maps]).to(x.dtype)
    bias = torch.cat([m.bias for m in maps]).to(x.dtype)
    rows, width, d = x.shape
    heads = attention.num_attention_heads
    qkv = F.linear(x, weight, bias).view(rows, width, 3, heads, d // heads)
    q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (rows, heads, width, d / heads) each
    wide = mask.expand(rows, heads, width, width)
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=wide, dropout_p=p)
    x = _add(layer.attention.output, mixed.transpose(1, 2).reshape(rows, width, d), x)
    inner = F.gelu(_linear(layer.intermediate.dense, x))
    return _add(layer.output, inner, x)


def _add(part: Any, inner: Tensor, x: Tensor) -> Tensor:
    """Back to the residual stream: linear, dropout, sum, normalisation."""
    y = F.dropout(_linear(part.dense, inner), part.dropout.p, part.training)
    return _norm(part.LayerNorm, x + y)


def _linear(module: Any, x: Tensor) -> Tensor:
    return F.linear(x, module.weight.to(x.dtype), module.bias.to(x.dtype))


def _norm(module: Any, x: Tensor) -> Tensor:
    weight, bias = module.weight.to(x.dtype), module.bias.to(x.dtype)
    return F.layer_norm(x, module.normalized_shape, weight, bias, module.eps)


def _pooling(module: Any) -> str:
    mode = getattr(module, "pooling_mode", "")
    return mode if isinstance(mode, str) else ""
