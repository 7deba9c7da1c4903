"""Training on a GPU without padding: several texts share a row, and a mask keeps them apart.

A batch of short titles padded to its longest is half padding. So the layers of BERT and its like
are called here with the weights of the libraries' modules (:func:`pack_forward`). Where Triton
works, layers are those of :mod:`coterie.encoders.fused`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from coterie._util.torch import F, Tensor, torch
from coterie._util.types import Features
from coterie.encoders.fused import Places, Settings, can_fuse, draw, fused_embedding, fused_layer

FIRST = ("word_embeddings", "position_embeddings", "token_type_embeddings")
PARTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)
OFFSET = {"BertModel": 0, "RobertaModel": 2, "XLMRobertaModel": 2}  # of the first position


def embed(
    ids: Tensor, positions: Tensor, tables: list[Tensor], norm: list[Tensor], settings: Settings
) -> Tensor:
    """Vectors of tokens before the first layer, in the precision of ``norm``.

    Parameters
    ----------
    ids, positions : Tensor of shape (n, length), the second perhaps (length,)
    tables : list of Tensor
        Of words, positions and kinds of tokens, of which the first is taken.
    norm : list of Tensor
        Scale and shift.
    settings : Settings
    """
    words, places, kinds = tables
    x = F.embedding(ids, words) + kinds[0] + F.embedding(positions, places)
    x = _norm(x.to(norm[0].dtype), norm, settings)
    return F.dropout(x, settings.hidden, settings.hidden > 0)


def layer(x: Tensor, mask: Tensor | None, weights: list[Tensor], settings: Settings) -> Tensor:
    """One transformer layer.

    Parameters
    ----------
    x : Tensor of shape (n, length, d)
    mask : Tensor that fits (n, heads, length, length), optional
        Who sees whom: truth values, or numbers to add.
    weights : list of Tensor
        Weight and bias of each of ``PARTS``.
    settings : Settings
    """
    n, length, d = x.shape
    p = settings.hidden
    # One product for all three would be a little faster; putting its gradient together is slower.
    q, k, v = (
        F.linear(x, *weights[i : i + 2]).view(n, length, settings.heads, -1).transpose(1, 2)
        for i in (0, 2, 4)
    )  # (n, heads, length, d / heads) each
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=settings.attention)
    mixed = F.linear(mixed.transpose(1, 2).reshape(n, length, d), *weights[6:8])
    x = _norm(x + F.dropout(mixed, p, p > 0), weights[8:10], settings)
    inner = F.linear(F.gelu(F.linear(x, *weights[10:12])), *weights[12:14])
    return _norm(x + F.dropout(inner, p, p > 0), weights[14:16], settings)


def _norm(x: Tensor, weights: list[Tensor], settings: Settings) -> Tensor:
    scale, shift = weights
    return F.layer_norm(x, list(scale.shape), scale, shift, settings.eps)


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
    slots, settings = features["slots"], layer_settings(net)
    if fused and can_fuse(slots.device, slots.shape[1], net.config.hidden_size, settings.heads):
        x = through_fused(net, features, settings, dtype)
    else:
        x = _through(net, features, settings, dtype)
    if _pooling(model[1]) == "cls":
        return x.flatten(0, 1).index_select(0, features["begins"]).float()
    return _means(x, slots).flatten(0, 1).index_select(0, features["picks"])


def layer_settings(net: Any) -> Settings:
    """Of a transformer as it is: without dropout unless it is being trained."""
    own, out = net.encoder.layer[0].attention.self, net.encoder.layer[0].output
    settings = Settings(own.num_attention_heads, own.dropout.p, out.dropout.p, out.LayerNorm.eps)
    return settings if net.training else settings._replace(attention=0.0, hidden=0.0)


def _through(net: Any, features: Features, settings: Settings, dtype: torch.dtype) -> Tensor:
    """Vectors of all tokens, shape (rows, width, d)."""
    slots = features["slots"]
    apart = slots[:, None, :, None] != slots[:, None, None, :]  # (rows, 1, width, width)
    mask = torch.zeros(apart.shape, dtype=dtype, device=slots.device)
    mask = mask.masked_fill(apart, float("-inf"))
    mask = mask.expand(-1, settings.heads, -1, -1)
    parts = net.embeddings
    tables = [parts.get_submodule(name).weight for name in FIRST]
    positions = features["positions"] + OFFSET[type(net).__name__]
    norm, *layers = _weights(net, dtype)
    x = embed(features["input_ids"], positions, tables, norm, settings)
    for weights in layers:
        x = layer(x, mask, weights, settings)
    return x


def through_fused(
    net: Any,
    features: Features,
    settings: Settings,
    dtype: torch.dtype,
    between: Sequence[Callable[[Tensor], Tensor]] | None = None,
) -> Tensor:
    """The same by :func:`fused_layer`; ``between`` has one callable for each layer."""
    slots, layers, parts = features["slots"], _fused_weights(net, dtype), net.embeddings
    first, *rest = draw(len(layers) + 1, settings, slots.device)
    places = Places(features["input_ids"], features["positions"], OFFSET[type(net).__name__])
    tables = [parts.word_embeddings.weight, parts.position_embeddings.weight]
    norm = parts.LayerNorm
    weights = [*tables, parts.token_type_embeddings.weight[0], norm.weight, norm.bias]
    x = fused_embedding(places, settings.hidden, norm.eps, first, dtype, weights)
    for i, (draws, own) in enumerate(zip(rest, layers, strict=True)):
        more = () if between is None else (between[i],)
        x = fused_layer(x, slots, settings, draws, own, *more)
    return x


def _means(x: Tensor, slots: Tensor) -> Tensor:
    """Mean over the tokens of each slot of each row, shape (rows, slots, d), by one product."""
    numbers = torch.arange(slots.shape[1], device=slots.device)
    member = (slots[:, None, :] == numbers[:, None]).float()  # (rows, slots, width)
    return member @ x.float() / member.sum(dim=2, keepdim=True).clamp(min=1)


def _weights(net: Any, dtype: torch.dtype) -> list[list[Tensor]]:
    """Weights in ``dtype``: those of the first normalisation, then those of each layer."""
    groups = [list(net.embeddings.LayerNorm.parameters())]
    for one in net.encoder.layer:
        parts = [one.get_submodule(name) for name in PARTS]
        groups.append([weight for part in parts for weight in (part.weight, part.bias)])
    found = iter(_cast(dtype, [[w] for group in groups for w in group]))
    return [[next(found) for _ in group] for group in groups]


def _fused_weights(net: Any, dtype: torch.dtype) -> list[list[Tensor]]:
    """Weights as :func:`fused_layer` takes them: matrices in ``dtype``, vectors as they are."""
    matrices, biases = [], []
    for one in net.encoder.layer:
        own = one.attention.self
        first = (own.query, own.key, own.value)
        others = (one.attention.output.dense, one.intermediate.dense, one.output.dense)
        matrices += [[part.weight for part in first], *([part.weight] for part in others)]
        biases.append([part.bias for part in first])
    cast, joined = iter(_cast(dtype, matrices)), iter(_cast(torch.float32, biases))
    found = []
    for one in net.encoder.layer:
        behind, inner, last = one.attention.output, one.intermediate, one.output
        norms = [[norm.weight, norm.bias] for norm in (behind.LayerNorm, last.LayerNorm)]
        found.append(
            [
                next(cast),
                next(joined),
                next(cast),
                behind.dense.bias,
                *norms[0],
                next(cast),
                inner.dense.bias,
                next(cast),
                last.dense.bias,
                *norms[1],
            ]
        )
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


def _pooling(module: Any) -> str:
    mode = getattr(module, "pooling_mode", "")
    return mode if isinstance(mode, str) else ""
