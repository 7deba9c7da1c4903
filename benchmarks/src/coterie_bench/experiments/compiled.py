"""Time a training step with our kernels, with compiled layers and with plain ones, on a GPU.

    coterie-bench compiled --out results            # SCCL and AECL, every variant
    coterie-bench compiled --pairs stackoverflow.contextual10.csv --seconds 150

A variant is a way to run the encoder in training; all else is that of the product, the CUDA graph
of the whole step included. A line is written per variant and method: milliseconds of a step,
median and quartiles of the readings. A further line per variant compares its vectors and gradients
with those of the libraries in float32, without dropout. A variant that fails is written down with
its error.
"""

from __future__ import annotations

import argparse
import csv
import logging
import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from coterie import AECL, SCCL
from coterie._types import Features, Ints
from coterie.encoders import DEFAULT, RaggedTokens, bert, load_encoder, sentence
from coterie.encoders.base import ROUND, to_device
from coterie.encoders.fused import Settings
from coterie.encoders.tuning import full_weight
from coterie.engine import OPTIMIZATIONS, loop
from coterie.engine.data import Batch
from coterie.engine.graphs import Recorder
from coterie_bench import ROOT
from coterie_bench.experiments import lines

log = logging.getLogger("coterie.compiled")

OUT = ROOT / "results"
FILE = "compiled.jsonl"
WARM = 4  # readings that do not count: compilation, recording, first batches
TEXTS = 8000  # that are trained on
LENGTH = 32  # tokens read of each text, as SCCL and AECL do by default
Forward = Callable[[Any, Features, torch.dtype], Tensor]


@dataclass(frozen=True)
class Variant:
    """A way to run the encoder in training.

    Attributes
    ----------
    optimizations : tuple of str
        Those of the product that stay on.
    forward : callable, optional
        In the place of ``pack_forward``.
    varlen : bool
        Whether texts lie end to end, without rows.
    """

    optimizations: tuple[str, ...]
    forward: Forward | None = None
    varlen: bool = False


def main() -> None:
    options = _options()
    device = torch.device(options.device)
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    texts, *views = made_up(TEXTS) if options.pairs is None else columns(options.pairs)
    torch._dynamo.config.recompile_limit = 64
    torch._dynamo.config.specialize_float = True  # rates of dropout are few
    begun = time.monotonic()
    for name, variant in variants().items():
        if options.only and options.only not in name:
            continue
        if time.monotonic() - begun > options.seconds:
            print(f"{name}: no time left", flush=True)
            continue
        checks = () if options.unchecked else (partial(agreement, device=device),)
        for work in (*checks, *trainings(texts, views, device)):
            started = time.monotonic()
            try:
                row = work(variant)
            except Exception as error:  # the next variant may work
                row = {"error": f"{type(error).__name__}: {str(error)[:2000]}"}
            seconds = round(time.monotonic() - started, 1)
            row = {"variant": name, "gpu": gpu, **row, "took": seconds}
            print(row, flush=True)
            lines.append(options.out / FILE, row)
            if "error" in row:
                break


def variants() -> dict[str, Variant]:
    """The most telling first."""
    rest = tuple(s for s in OPTIMIZATIONS if s != "fused")
    unrecorded = tuple(s for s in rest if s != "graphs")
    return {
        "kernels": Variant(OPTIMIZATIONS),
        "compiled layers, varlen": Variant(rest, varlen_forward, varlen=True),
        "compiled layers, rows, softmax": Variant(rest, partial(rows_forward, attend=by_softmax)),
        "compiled layers, rows, SDPA": Variant(rest, partial(rows_forward, attend=by_sdpa)),
        "eager, rows, SDPA": Variant(rest),
        "compiled encoder, varlen": Variant(rest, whole_forward, varlen=True),
        "compiled encoder, varlen, reduce-overhead": Variant(
            unrecorded, partial(whole_forward, mode="reduce-overhead"), varlen=True
        ),
        "plain": Variant(()),
        "kernels, again": Variant(OPTIMIZATIONS),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the result lines")
    parser.add_argument("--pairs", type=Path, help="table of texts, text1, text2; else made up")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--unchecked", action="store_true", help="do not compare gradients")
    parser.add_argument("--only", help="variants with this in their names")
    parser.add_argument("--seconds", type=float, default=600, help="no variant begins later")
    return parser.parse_args()


def columns(file: Path) -> list[list[str]]:
    """The first texts of a file of augmentations, and two augmentations of each."""
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(islice(csv.DictReader(stream), TEXTS))
    return [[row[name] for row in rows] for name in ("text", "text1", "text2")]


def made_up(n: int) -> list[list[str]]:
    """Random words, about 14 tokens a text, of 20 topics; a view has some other words."""
    rng = np.random.default_rng(0)
    common = VOCABULARY.split()
    lengths = np.clip(rng.normal(12, 4, n).round(), 3, 29).astype(int)
    texts = [rng.choice(np.roll(common, -8 * (i % 20))[:48], m) for i, m in enumerate(lengths)]
    found = [texts]
    for _ in range(2):
        other = [np.where(rng.random(len(t)) < 0.1, rng.choice(common, len(t)), t) for t in texts]
        found.append(other)
    return [[" ".join(words) for words in view] for view in found]


def trainings(
    texts: list[str], views: list[list[str]], device: torch.device
) -> Iterator[Callable[[Variant], lines.Row]]:
    """SCCL on three views and AECL on two, at their defaults, each with enough steps to tell."""
    common = {"n_clusters": 20, "random_state": 0, "guard": False, "n_init": 1}
    common["device"] = device.type
    sccl = partial(SCCL, steps=160, **common)
    aecl = partial(AECL, epochs=10, contrast_epochs=1, label_epochs=1, **common)
    yield partial(_train, "SCCL", sccl, texts, views)
    yield partial(_train, "AECL", aecl, texts, views[:1])


def _train(
    method: str,
    make: Callable[..., Any],
    texts: list[str],
    views: list[list[str]],
    variant: Variant,
) -> lines.Row:
    """Milliseconds of a step in the last stage, and of all stages."""
    Measured.device_ms = []
    with _in_place(variant), _warnings() as seen:
        model = make(optimizations=list(variant.optimizations)).fit(texts, views=views)
    found = readings(model.history_.rows)
    *_, last = found.values()
    low, middle, high = statistics.quantiles(last, n=4)
    return {
        "method": method,
        "step_ms": round(middle, 3),
        "quartiles": [round(low, 3), round(high, 3)],
        "mean": round(statistics.fmean(last), 3),
        "readings": len(last),
        "device_ms": Measured.device_ms,
        "stages": {name: round(statistics.median(ms), 3) for name, ms in found.items()},
        "recorded": bool(model.device == "cuda" and "graphs" in variant.optimizations)
        and not any("no graph" in said for said in seen),
        "warnings": seen,
        "loss": model.history_.rows[-1].get("terms"),
    }


def table(rows: Sequence[lines.Row]) -> str:
    """Milliseconds of a step, of the GPU at work in it, and how far gradients differ."""
    cosines = {row["variant"]: row["gradients"] for row in rows if "gradients" in row}
    newest = {(row["method"], row["variant"]): row for row in rows if "method" in row}
    body = []
    for (method, variant), row in sorted(newest.items(), key=lambda item: item[0][0]):
        busy = [f"{ms:.1f}" for ms in row.get("device_ms", [])[-1:]]
        graph = "yes" if row["recorded"] else "no"
        cells = [f"{row['step_ms']:.1f}", *(busy or [""]), f"{cosines[variant]:.4f}"]
        body.append([method, variant, graph, *cells])
    header = [
        "method",
        "layers",
        "graph",
        "ms a step",
        "ms of the GPU",
        "least cosine of gradients",
    ]
    return lines.table(header, body)


def readings(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Milliseconds of a step between each two readings of a stage, after the first ones.

    Examples
    --------
    >>> steps = range(0, 80, 10)
    >>> readings([{"stage": "a", "step": s, "seconds": s / 100, "terms": {}} for s in steps])
    {'a': [10.0, 10.0, 10.0]}
    """
    stages: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if "terms" in row:
            stages.setdefault(row["stage"], []).append(row)
    found = {}
    for name, read in stages.items():
        pairs = list(pairwise(read))[WARM:]
        spans = [(b["seconds"] - a["seconds"], b["step"] - a["step"]) for a, b in pairs]
        if spans:
            found[name] = [round(1000 * seconds / steps, 3) for seconds, steps in spans]
    return found


@contextmanager
def _in_place(variant: Variant) -> Iterator[None]:
    """Put the forward pass of a variant in the place of the product's."""

    def forward(model: Any, features: Features, dtype: torch.dtype, fused: bool) -> Tensor:
        if variant.forward is None:
            return bert.pack_forward(model, features, dtype, fused)
        return variant.forward(model, features, dtype)

    make = varlen_batch if variant.varlen else RaggedTokens.packed_batch

    def batch(self: RaggedTokens, index: Ints) -> Features:
        # Copies begin at their own first number, as those of a recording do. A function that has
        # seen the second part of an array is compiled anew for a first one.
        return {name: tensor.clone() for name, tensor in make(self, index).items()}

    with (
        patch.object(sentence, "pack_forward", forward),
        patch.object(RaggedTokens, "packed_batch", batch),
        patch.object(loop, "Recorder", partial(Measured, variant.forward is not None)),
    ):
        yield


class Measured(Recorder):
    """Recorded steps that also tell how long the device was at work in one of them.

    Plain steps run on the stream of the recordings, which is one for the whole process. Compiling
    during a recording is an error, whose reason is told.
    """

    common: ClassVar[torch.cuda.Stream | None] = None
    device_ms: ClassVar[list[float]] = []

    def __init__(self, aside: bool, work: Callable[[Batch], Tensor], device: torch.device) -> None:
        super().__init__(work, device)
        self.calls = 0
        if aside:
            self.work = partial(self._aside, work)
            Measured.common = self.stream = Measured.common or self.stream

    def _aside(self, work: Callable[[Batch], Tensor], batch: Batch) -> Tensor:
        current = torch.cuda.current_stream()
        if current == self.stream:  # a recording
            try:
                with torch.compiler.set_stance("fail_on_recompile"):
                    return work(batch)
            except Exception:
                log.warning("a recording failed: %s", traceback.format_exc()[-1500:])
                raise
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            found = work(batch)
        current.wait_stream(self.stream)
        return found

    def __call__(self, batch: Batch) -> Tensor:
        self.calls += 1
        if self.calls != 100:
            return super().__call__(batch)
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            found = super().__call__(batch)
            torch.cuda.synchronize()
        kernels = (event for event in seen.events() if event.device_type == DeviceType.CUDA)
        spans = [e.time_range.elapsed_us() for e in kernels if not e.is_user_annotation]
        self.device_ms.append(round(sum(spans) / 1000, 3))
        return found


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """What the product has to say meanwhile, such as that no graph could be made."""
    seen: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: seen.append(record.getMessage()[:2000])  # type: ignore[method-assign]
    log = logging.getLogger("coterie")
    log.addHandler(handler)
    try:
        yield seen
    finally:
        log.removeHandler(handler)


def agreement(
    variant: Variant,
    device: torch.device,
    spec: Any = DEFAULT,
    dtype: torch.dtype = torch.bfloat16,
    n: int = 400,
) -> lines.Row:
    """Vectors and gradients beside those of the libraries in float32, without dropout."""
    encoder = load_encoder(spec, max_length=LENGTH)
    encoder.complete()
    encoder.to(device).eval()
    items, rows = encoder.prepare(made_up(n)[0])
    items = items.to(device)
    expected, right = _gradients(encoder, encoder(items.batch(rows)))
    with _in_place(variant):
        packed = items.packed_batch(rows)
        fused = "fused" in variant.optimizations
        vectors = sentence.pack_forward(encoder.model, packed, dtype, fused)
        vectors = F.normalize(vectors, dim=1) if encoder.normalize else vectors
    found, gradients = _gradients(encoder, vectors)
    alike = {
        name: float(torch.cosine_similarity(right[name].flatten(), g.flatten(), dim=0))
        for name, g in gradients.items()
        if right[name].norm() > 1e-3 * max(float(r.norm()) for r in right.values())
    }
    worst = min(alike, key=alike.__getitem__)
    return {
        "vectors": round(float(torch.cosine_similarity(expected, found).min()), 5),
        "gradients": round(alike[worst], 5),
        "worst": worst,
        "compared": len(alike),
    }


def _gradients(encoder: Any, vectors: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    named = {n: p for n, p in encoder.named_parameters() if "pooler" not in n}
    weights = torch.linspace(-1, 1, vectors.numel(), device=vectors.device).view_as(vectors)
    grads = torch.autograd.grad((vectors * weights.sin()).sum(), list(named.values()))
    return vectors.detach(), dict(zip(named, grads, strict=True))


# Texts end to end, attention by the flash kernel for variable lengths.


def varlen_batch(self: RaggedTokens, index: Ints) -> Features:
    """Features of texts that lie end to end, filled up to a multiple of ``ROUND`` tokens.

    Returns
    -------
    dict of str to Tensor
        ``input_ids``, ``positions`` and ``slots`` (which text) of all tokens; ``bounds``, where
        each text begins and the last one ends. Padding is a fixed number of texts behind the
        others, some of them empty.
    """
    lengths = self.lengths[index]
    total = int(lengths.sum())
    size = -(-total // ROUND) * ROUND
    ends = np.minimum(total + LENGTH * np.arange(1, ROUND // LENGTH + 1), size)
    bounds = np.concatenate([[0], np.cumsum(lengths), ends]).astype(np.int32)
    whole = np.diff(bounds)
    inside = np.arange(size) - np.repeat(bounds[:-1], whole)
    starts = np.concatenate([self.starts[index], np.zeros(len(ends), dtype=np.int64)])
    at = np.minimum(np.repeat(starts, whole) + inside, len(self.flat) - 1)
    grids = np.stack([at, inside, np.repeat(np.arange(len(whole)), whole)])
    device = self.flat.device
    where, positions, slots = to_device(grids, device)
    texts = to_device(np.arange(len(index)), device)
    return {
        "input_ids": self.flat[where].long(),
        "positions": positions,
        "slots": slots,
        "bounds": to_device(bounds, device),
        "texts": texts,
    }


def attend_varlen(q: Tensor, k: Tensor, v: Tensor, bounds: Tensor, p: float) -> Tensor:
    """Attention within texts; ``q``, ``k``, ``v`` of shape (tokens, heads, size).

    The operation behind ``varlen_attn`` and nested tensors; only here it has dropout.
    """
    if q.device.type == "cpu":  # for a look at the rest of the code
        slots = torch.searchsorted(bounds, torch.arange(len(q), dtype=torch.int32), right=True)
        mask = slots[:, None] == slots[None, :]
        mixed = F.scaled_dot_product_attention(
            *(t.transpose(0, 1) for t in (q, k, v)), attn_mask=mask, dropout_p=p
        )
        return mixed.transpose(0, 1)
    out: Tensor = torch.ops.aten._flash_attention_forward(
        q, k, v, bounds, bounds, LENGTH, LENGTH, p, False, False
    )[0]
    return out


def varlen_layer(x: Tensor, bounds: Tensor, weights: list[Tensor], settings: Settings) -> Tensor:
    """One transformer layer over (tokens, d)."""
    q, k, v = F.linear(x, *weights[:2]).view(len(x), 3, settings.heads, -1).unbind(1)
    mixed = attend_varlen(q, k, v, bounds, settings.attention).reshape(x.shape)
    return _behind_attention(x, mixed, weights, settings)


def _behind_attention(
    x: Tensor, mixed: Tensor, weights: list[Tensor], settings: Settings
) -> Tensor:
    p = settings.hidden
    x = bert._norm(x + F.dropout(F.linear(mixed, *weights[2:4]), p, p > 0), weights[4:6], settings)
    inner = F.linear(F.gelu(F.linear(x, *weights[6:8])), *weights[8:10])
    return bert._norm(x + F.dropout(inner, p, p > 0), weights[10:12], settings)


def varlen_forward(model: Any, features: Features, dtype: torch.dtype) -> Tensor:
    """Pooled vectors; embedding, layer and pooling are compiled each."""
    net = model[0].auto_model
    norm, *layers = joined_weights(net, dtype)
    settings = settings_of(net)
    x = _embedded(net, features, norm, settings)
    step = compiled(varlen_layer)
    for name in ("slots", "bounds", "texts"):
        torch._dynamo.maybe_mark_dynamic(features[name], 0)
    for weights in layers:
        torch._dynamo.maybe_mark_dynamic(x, 0)
        x = step(x, features["bounds"], weights, settings)
    return compiled(varlen_means)(x, features["slots"], features["bounds"], features["texts"])


def varlen_means(x: Tensor, slots: Tensor, bounds: Tensor, texts: Tensor) -> Tensor:
    """Mean vector of each text."""
    sums = torch.zeros(len(bounds) - 1, x.shape[1], device=x.device)
    sums = sums.index_add(0, slots, x.float())[: len(texts)]
    return sums / bounds.diff()[: len(texts), None]


def _embedded(net: Any, features: Features, norm: list[Tensor], settings: Settings) -> Tensor:
    tables = [net.embeddings.get_submodule(name).weight for name in bert.FIRST]
    ids, positions = features["input_ids"], features["positions"]
    positions = positions + bert.OFFSET[type(net).__name__]
    for tensor in (ids, positions):
        torch._dynamo.maybe_mark_dynamic(tensor, 0)
    return compiled(bert.embed)(ids, positions, tables, norm, settings)


def settings_of(net: Any) -> Settings:
    own, out = net.encoder.layer[0].attention.self, net.encoder.layer[0].output
    p, q = (own.dropout.p, out.dropout.p) if net.training else (0.0, 0.0)
    return Settings(own.num_attention_heads, p, q, out.LayerNorm.eps)


def joined_weights(net: Any, dtype: torch.dtype) -> list[list[Tensor]]:
    """Weights in ``dtype``, by few kernels; those of queries, keys and values are one."""
    groups = [[[w] for w in net.embeddings.LayerNorm.parameters()]]
    for one in net.encoder.layer:
        parts = [one.get_submodule(name) for name in bert.PARTS]
        pairs = [(full_weight(part), part.bias) for part in parts]
        first = [list(kind) for kind in zip(*pairs[:3], strict=True)]
        groups.append(first + [[w] for pair in pairs[3:] for w in pair])
    found = iter(bert._cast(dtype, [group for some in groups for group in some]))
    return [[next(found) for _ in some] for some in groups]


@cache
def compiled(function: Callable[..., Any], mode: str | None = None) -> Callable[..., Any]:
    """A function compiled once for all layers and shapes."""
    return torch.compile(function, mode=mode)


# The whole encoder as one function.


def whole_forward(
    model: Any, features: Features, dtype: torch.dtype, mode: str | None = None
) -> Tensor:
    """Pooled vectors; casts of the weights are compiled, too."""
    for tensor in features.values():
        torch._dynamo.maybe_mark_dynamic(tensor, 0)
    found: Tensor = compiled(_whole, mode)(model[0].auto_model, features, dtype)
    return found.clone() if mode else found  # a graph will write there again


def _whole(net: Any, features: Features, dtype: torch.dtype) -> Tensor:
    settings, parts, bounds = settings_of(net), net.embeddings, features["bounds"]
    tables = [parts.get_submodule(name).weight for name in bert.FIRST]
    norm = [parts.LayerNorm.weight.to(dtype), parts.LayerNorm.bias.to(dtype)]
    positions = features["positions"] + bert.OFFSET[type(net).__name__]
    x = bert.embed(features["input_ids"], positions, tables, norm, settings)
    for one in net.encoder.layer:
        pairs = [one.get_submodule(name) for name in bert.PARTS]
        first = [torch.cat([p.weight for p in pairs[:3]]), torch.cat([p.bias for p in pairs[:3]])]
        weights = first + [w for part in pairs[3:] for w in (part.weight, part.bias)]
        x = varlen_layer(x, bounds, [w.to(dtype) for w in weights], settings)
    return varlen_means(x, features["slots"], bounds, features["texts"])


# Several texts in a row, as the product packs them.


def by_softmax(q: Tensor, k: Tensor, v: Tensor, slots: Tensor, p: float) -> Tensor:
    """Attention written out: two products, and between them what a compiler makes one kernel."""
    scores = (q @ k.transpose(2, 3)) * q.shape[3] ** -0.5
    apart = slots[:, None, :, None] != slots[:, None, None, :]
    shares = scores.float().masked_fill(apart, float("-inf")).softmax(dim=3)
    return F.dropout(shares, p, p > 0).to(v.dtype) @ v


def by_sdpa(q: Tensor, k: Tensor, v: Tensor, slots: Tensor, p: float) -> Tensor:
    """Attention by torch's own kernel for masks."""
    apart = slots[:, None, :, None] != slots[:, None, None, :]
    mask = torch.zeros(apart.shape, dtype=q.dtype, device=q.device)
    mask = mask.masked_fill(apart, float("-inf")).expand(-1, q.shape[1], -1, -1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)


def rows_layer(
    x: Tensor, slots: Tensor, weights: list[Tensor], settings: Settings, attend: Callable[..., Any]
) -> Tensor:
    """One transformer layer over (rows, width, d)."""
    rows, width, d = x.shape
    joined = F.linear(x, *weights[:2]).view(rows, width, 3, settings.heads, -1)
    q, k, v = joined.permute(2, 0, 3, 1, 4)
    mixed = attend(q, k, v, slots, settings.attention).transpose(1, 2).reshape(rows, width, d)
    return _behind_attention(x, mixed, weights, settings)


def rows_forward(
    model: Any, features: Features, dtype: torch.dtype, attend: Callable[..., Any]
) -> Tensor:
    """Pooled vectors of packed rows; embedding, layer and pooling are compiled each."""
    net, slots = model[0].auto_model, features["slots"]
    norm, *layers = joined_weights(net, dtype)
    settings = settings_of(net)
    x = _embedded(net, features, norm, settings)
    step = compiled(rows_layer)
    torch._dynamo.maybe_mark_dynamic(slots, 0)
    for weights in layers:
        torch._dynamo.maybe_mark_dynamic(x, 0)
        x = step(x, slots, weights, settings, attend)
    return compiled(bert._means)(x, slots).flatten(0, 1).index_select(0, features["picks"])


VOCABULARY = """
time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point
home water room mother area money story fact month lot right study book eye job word business issue
side kind head house service friend father power hour game line end member law car city community
name president team minute idea kid body information back parent face others level office door
health person art war history party result change morning reason research girl guy moment air
teacher force education foot boy age policy music market sense nation plan college interest death
experience effect use class control care field development role effort rate heart drug show leader
light voice wife police mind price report decision son view relation town road arm difference value
building action season society tax director position player record paper space ground form event
official matter center couple site project activity star table need court oil situation cost
industry figure street image phone data picture practice piece land product doctor wall worker news
"""

if __name__ == "__main__":
    main()
