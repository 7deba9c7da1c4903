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
from coterie.encoders.fused import can_fuse, draw, fused_layer
from coterie.encoders.fused_embedding import Places, fused_embedding
from coterie.encoders.fused_parts import Settings
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


def pack_forward(model: Any, features: Features, dtype: torch.dtype, fused: bool = False) -> Tensor:
    """Pooled vectors of packed texts.

    Parameters
    ----------
    model : SentenceTransformer
    features : dict
        As :meth:`RaggedTokens.packed_batch` gives them.
    dtype : torch.dtype
    fused : bool, default=False
        Layers in few kernels, where that is possible.

    Returns
    -------
    Tensor of shape (n, d)
        In float32.
    """
    net = model[0].auto_model
    slots = features["slots"]
    own, out = net.encoder.layer[0].attention.self, net.encoder.layer[0].output
    settings = Settings(own.num_attention_heads, own.dropout.p, out.dropout.p, out.LayerNorm.eps)
    settings = settings if net.training else settings._replace(attention=0.0, hidden=0.0)
    d = net.config.hidden_size
    if fused and can_fuse(slots.device, slots.shape[1], d, settings.heads):
        x = _through_fused(net, features, settings, dtype)
    else:
        x = _through(net, features, settings, dtype)
    if _pooling(model[1]) == "cls":
        return x.flatten(0, 1).index_select(0, features["begins"]).float()
    return _means(x, slots).flatten(0, 1).index_select(0, features["picks"])


def _through(net: Any, features: Features, settings: Settings, dtype: torch.dtype) -> Tensor:
    """Vectors of all tokens, shape (rows, width, d)."""
    slots = features["slots"]
    apart = slots[:, None, :, None] != slots[:, None, None, :]  # (rows, 1, width, width)
    mask = torch.zeros(apart.shape, dtype=dtype, device=slots.device)
    mask = mask.masked_fill(apart, float("-inf"))
    norm, *layers = _weights(net, dtype)
    x = _embed(net, features, norm, dtype)
    for weights in layers:
        x = _layer(x, mask, settings, *weights)
    return x


def _through_fused(net: Any, features: Features, settings: Settings, dtype: torch.dtype) -> Tensor:
    """The same by :func:`fused_layer`."""
    slots, layers, parts = features["slots"], _fused_weights(net, dtype), net.embeddings
    first, *rest = draw(len(layers) + 1, settings, slots.device)
    places = Places(features["input_ids"], features["positions"], OFFSET[type(net).__name__])
    tables = [parts.word_embeddings.weight, parts.position_embeddings.weight]
    norm = parts.LayerNorm
    weights = [*tables, parts.token_type_embeddings.weight[0], norm.weight, norm.bias]
    x = fused_embedding(places, settings.hidden, norm.eps, first, dtype, weights)
    for draws, own in zip(rest, layers, strict=True):
        x = fused_layer(x, slots, settings, draws, own)
    return x


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
    found = iter(_cast(dtype, [[w] for group in groups for w in group]))
    return [[next(found) for _ in group] for group in groups]


def _fused_weights(net: Any, dtype: torch.dtype) -> list[list[Tensor]]:
    """Weights as :func:`fused_layer` takes them: matrices in ``dtype``, vectors as they are."""
    matrices, biases = [], []
    for layer in net.encoder.layer:
        own = layer.attention.self
        first = (own.query, own.key, own.value)
        others = (layer.attention.output.dense, layer.intermediate.dense, layer.output.dense)
        matrices += [[full_weight(part) for part in first], *([full_weight(p)] for p in others)]
        biases.append([part.bias for part in first])
    cast, joined = iter(_cast(dtype, matrices)), iter(_cast(torch.float32, biases))
    found = []
    for layer in net.encoder.layer:
        behind, one, two = layer.attention.output, layer.intermediate, layer.output
        norms = [[norm.weight, norm.bias] for norm in (behind.LayerNorm, two.LayerNorm)]
        found.append([
            next(cast), next(joined), next(cast), behind.dense.bias, *norms[0],
            next(cast), one.dense.bias, next(cast), two.dense.bias, *norms[1],
        ])  # fmt: skip
    return found


def _cast(dtype: torch.dtype, groups: list[list[Tensor]]) -> list[Tensor]:
    """The weights of each group as one, in ``dtype``; frozen ones stay out of gradients' way."""
    moves = [any(w.requires_grad for w in group) for group in groups]
    out: list[Tensor] = [torch.empty(0)] * len(groups)
    for kind in (True, False):
        part = [i for i, moving in enumerate(moves) if moving is kind]
        if part:
            lengths = [[len(w) for w in groups[i]] for i in part]
            weights = [w for i in part for w in groups[i]]
            cast = _Cast.apply(dtype, lengths, *weights)  # type: ignore[no-untyped-call]
            for i, weight in zip(part, cast, strict=True):
                out[i] = weight
    return out


class _Cast(torch.autograd.Function):
    """Many weights to another precision, and their gradients back, by few kernels.

    Those of a group lie one behind the other, so that one product serves for all of them.
    """

    @staticmethod
    def forward(
        ctx: Any, dtype: torch.dtype, lengths: list[list[int]], *weights: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.dtypes, ctx.lengths = [w.dtype for w in weights], lengths
        out: list[Tensor] = []
        parts: list[Tensor] = []
        for group in lengths:
            like = weights[len(parts)]
            out.append(like.new_empty((sum(group), *like.shape[1:]), dtype=dtype))
            parts += out[-1].split(group)
        torch._foreach_copy_(parts, list(weights))
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        pairs = zip(grads, ctx.lengths, strict=True)
        parts = [part for grad, group in pairs for part in grad.split(group)]
        full = [torch.empty_like(g, dtype=d) for g, d in zip(parts, ctx.dtypes, strict=True)]
        torch._foreach_copy_(full, parts)
        return None, None, *full


def _embed(net: Any, features: Features, weights: list[Tensor], dtype: torch.dtype) -> Tensor:
    parts = net.embeddings
    positions = features["positions"] + OFFSET[type(net).__name__]
    x = parts.word_embeddings(features["input_ids"]) + parts.position_embeddings(positions)
    x = (x + parts.token_type_embeddings.weight[0]).to(dtype)
    x = _norm(parts.LayerNorm, weights, x)
    return F.dropout(x, parts.dropout.p, net.training)


def _layer(x: Tensor, mask: Tensor, settings: Settings, *weights: Tensor) -> Tensor:
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
