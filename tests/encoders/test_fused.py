"""Kernels of our own against torch: on the CPU by Triton's interpreter, compiled where a GPU is."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from coterie.encoders import fused as fused_module
from coterie.encoders import load_encoder
from coterie.encoders import packing as packed_module
from coterie.encoders.fused import (
    Draws,
    Places,
    Settings,
    add_norm,
    add_norm_gradient,
    add_up,
    attend,
    attend_gradient,
    bias_gelu,
    bias_gelu_gradient,
    can_fuse,
    draw,
    fused_embedding,
    fused_layer,
    try_layer,
)
from coterie.encoders.packing import pack_forward

triton = pytest.importorskip("triton")

EPS = 1e-12
PLAIN = Settings(heads=2, attention=0.0, hidden=0.0, eps=EPS)
TEXTS = ["apple pear plum", "car", "song guitar drum chorus singer violin", "bus motor"]
INDEX = np.array([0, 1, 2, 3, 2] * 6)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> torch.device:
    if request.param == "cpu" and torch.cuda.is_available():
        pytest.skip("kernels are compiled here, not interpreted")
    torch.manual_seed(0)
    return torch.device(request.param)


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


def close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    """Within the digits of the precision, of what is large in the tensor."""
    bound = 2e-5 if dtype == torch.float32 else 2e-2
    assert found.shape == expected.shape
    difference = (found.float() - expected.float()).abs().max()
    assert difference <= bound * (1 + expected.abs().max()), float(difference)


def numbers(*shape: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.randn(*shape).to(device, dtype)


def sites(n: int, device: torch.device) -> Draws:
    return draw(n, PLAIN._replace(hidden=0.1), device)[0]


def plain_norm(h: Tensor, bias: Tensor, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Layer norm written out."""
    y = x + h + bias
    y = y - y.mean(dim=1, keepdim=True)
    return y / (y.square().mean(dim=1, keepdim=True) + EPS).sqrt() * gamma + beta


@pytest.mark.parametrize(("n", "d"), [(1, 33), (7, 96), (21, 384)])
def test_norm_and_its_gradient(n: int, d: int, dtype: torch.dtype, device: torch.device) -> None:
    h, x, g = (numbers(n, d, dtype=dtype, device=device) for _ in range(3))
    bias, gamma, beta = (numbers(d, dtype=torch.float32, device=device) for _ in range(3))
    out, mean, rate = add_norm(h, bias, x, (gamma, beta), PLAIN, sites(1, device))
    inputs = [t.float().requires_grad_() for t in (h, bias, x, gamma, beta)]
    expected = plain_norm(*inputs)
    close(out, expected.detach(), dtype)
    sums = torch.empty(3, 3 * d + 5, device=device)
    dh, dx = add_norm_gradient(g, (h, bias, x, gamma, mean, rate), PLAIN, sites(1, device), sums)
    dbias, dgamma, dbeta = sums.sum(dim=0)[: 3 * d].chunk(3)
    grads = torch.autograd.grad(expected, inputs, g.float())
    for found, right in zip((dh, dbias, dx, dgamma, dbeta), grads, strict=True):
        close(found, right, dtype)


def test_norm_of_two_numbers_by_hand(device: torch.device) -> None:
    """Of 1 + 2 + 0 and 4 + 1 + 2 the mean is 5 and the deviation 2: -1 and 1."""
    h, bias, x, gamma, beta = torch.tensor(
        [[2.0, 1.0], [0.0, 2.0], [1.0, 4.0], [3.0, 5.0], [10.0, 20.0]], device=device
    ).split(1)
    out, mean, rate = add_norm(h, bias[0], x, (gamma[0], beta[0]), PLAIN, sites(1, device))
    assert out.tolist() == [[7.0, 25.0]]
    assert (mean.tolist(), rate.tolist()) == ([5.0], [0.5])


def some_places(device: torch.device, rows: int = 3, width: int = 32, places: int = 32) -> Places:
    ids, positions = torch.randint(0, 50, (rows, width)), torch.randint(0, places, (rows, width))
    return Places(ids.to(device), positions.to(device), offset=2)


@pytest.mark.parametrize(("d", "table_size"), [(33, 40), (96, 20)])  # a short table, a wide row
def test_embedding_and_its_gradient(
    d: int, table_size: int, dtype: torch.dtype, device: torch.device
) -> None:
    places = some_places(device, places=min(32, table_size - 2))
    sizes = [(50, d), (table_size, d), (d,), (d,), (d,)]
    weights = [numbers(*size, dtype=torch.float32, device=device) for size in sizes]
    found, right = ([w.clone().requires_grad_() for w in weights] for _ in range(2))
    out = fused_embedding(places, 0.0, EPS, sites(1, device), dtype, found)
    word, table, kind, gamma, beta = right
    y = word[places.ids] + table[places.positions + 2]
    expected = plain_norm(y.view(-1, d), kind, torch.zeros(1, device=device), gamma, beta)
    close(out.detach().view(-1, d), expected.detach(), dtype)
    g = numbers(*out.shape, dtype=dtype, device=device)
    grads = torch.autograd.grad(out, found, g)
    rights = torch.autograd.grad(expected, right, g.float().view(-1, d))
    for one, other in zip(grads, rights, strict=True):
        close(one, other, dtype)
    assert (grads[1][[0, 1, *range(34, table_size)]] == 0).all(), "places that no token has"


def test_embedding_of_one_token_by_hand(device: torch.device) -> None:
    """Of 1 + 2 + 0 and 4 + 1 + 2 the mean is 5 and the deviation 2: -1 and 1."""
    word, table, kind, gamma, beta = torch.tensor(
        [[1.0, 4.0], [2.0, 1.0], [0.0, 2.0], [3.0, 5.0], [10.0, 20.0]], device=device
    ).split(1)
    at = torch.zeros(1, 1, dtype=torch.int64, device=device)
    weights = [word, table, kind[0], gamma[0], beta[0]]
    out = fused_embedding(Places(at, at, 0), 0.0, EPS, sites(1, device), torch.float32, weights)
    assert out.tolist() == [[[7.0, 25.0]]]


def test_embedding_goes_back_through_the_mask_it_went_forward(device: torch.device) -> None:
    d, p, draws = 96, 0.3, sites(1, device)
    places = some_places(device, rows=8)
    zero, one = torch.zeros(d, device=device), torch.ones(d, device=device, requires_grad=True)
    word = numbers(50, d, dtype=torch.float32, device=device)
    table, shift = torch.zeros(40, d, device=device), one.detach().clone().requires_grad_()
    weights = [word, table, zero, one, shift]
    out, whole = (fused_embedding(places, q, EPS, draws, torch.float32, weights) for q in (p, 0.0))
    factors = (out / whole).detach()
    kept = factors.abs() > 1e-6
    torch.testing.assert_close(factors[kept], torch.full_like(factors[kept], 1 / (1 - p)))
    assert abs(kept.double().mean().item() - (1 - p)) < 4 * math.sqrt(p * (1 - p) / kept.numel())
    g = numbers(*out.shape, dtype=torch.float32, device=device)
    found = torch.autograd.grad(out, [one, shift], g)
    expected = torch.autograd.grad(whole, [one, shift], g * factors)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("n", "d"), [(5, 33), (9, 1536)])
def test_gelu_and_its_gradient(n: int, d: int, dtype: torch.dtype, device: torch.device) -> None:
    u, g = (3 * numbers(n, d, dtype=dtype, device=device) for _ in range(2))
    bias = numbers(d, dtype=torch.float32, device=device)
    inputs = [t.float().requires_grad_() for t in (u, bias)]
    expected = F.gelu(inputs[0] + inputs[1])
    close(bias_gelu(u, bias), expected.detach(), dtype)
    sums = torch.empty(2, d, device=device)
    found = bias_gelu_gradient(g.clone(), u, bias, sums)
    right = torch.autograd.grad(expected, inputs, g.float())
    close(found, right[0], dtype)
    close(sums.sum(dim=0), right[1], dtype)


@pytest.mark.parametrize(("n", "d"), [(1, 5), (255, 33), (600, 70)])
def test_columns_are_added_up(n: int, d: int, device: torch.device) -> None:
    sums = numbers(n, d, dtype=torch.float32, device=device)
    torch.testing.assert_close(add_up(sums), sums.sum(dim=0), atol=1e-4, rtol=1e-4)
    assert add_up(torch.ones(n, d, device=device)).tolist() == [n] * d


def test_gelu_at_known_places(device: torch.device) -> None:
    places = torch.tensor([[-40.0, -1.0, 0.0, 1.0, 2.0, 40.0]], device=device)
    found = bias_gelu(places, torch.zeros(6, device=device))[0].tolist()
    below = [0.5 * (1 + math.erf(v / math.sqrt(2))) for v in places[0].tolist()]
    expected = [v * b for v, b in zip(places[0].tolist(), below, strict=True)]
    assert found == pytest.approx(expected, abs=4e-7)


def some_slots(rows: int, width: int, device: torch.device) -> Tensor:
    """Texts of different lengths in every row, the last one with places that are left."""
    slots = torch.randint(0, 6, (rows, width)).sort(dim=1).values
    slots[-1, width // 2 :] = -1
    return slots.to(device)


def plain_attention(
    qkv: Tensor, slots: Tensor, settings: Settings, factor: Tensor | None = None
) -> Tensor:
    """Softmax over the tokens of the same text, times ``factor`` (rows, heads, width, width)."""
    rows, width = slots.shape
    q, k, v = (t.view(rows, width, settings.heads, -1).transpose(1, 2) for t in qkv.chunk(3, dim=1))
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    apart = slots[:, None, :, None] != slots[:, None, None, :]
    if settings.causal:
        apart = apart | torch.ones(width, width, dtype=torch.bool, device=slots.device).triu(1)
    shares = scores.masked_fill(apart, float("-inf")).softmax(dim=3)
    shares = shares if factor is None else shares * factor
    return (shares @ v).transpose(1, 2).reshape(rows * width, -1)


@pytest.mark.parametrize(
    ("shape", "size", "settings"),
    [
        ((2, 128), 32, PLAIN),
        ((4, 32), 32, PLAIN),
        ((4, 32), 32, PLAIN._replace(causal=True)),
        ((3, 16), 11, PLAIN._replace(heads=3, causal=True)),
        ((1, 64), 64, PLAIN._replace(heads=1)),
    ],
)
def test_attention_and_its_gradient(
    shape: tuple[int, int],
    size: int,
    settings: Settings,
    dtype: torch.dtype,
    device: torch.device,
) -> None:
    if device.type == "cpu" and dtype == torch.bfloat16:
        dtype = torch.float16  # the interpreter does not multiply the other
    n, d = math.prod(shape), settings.heads * size
    slots = some_slots(*shape, device)
    qkv = numbers(n, 3 * d, dtype=dtype, device=device)
    bias = numbers(3 * d, dtype=torch.float32, device=device)
    g = numbers(n, d, dtype=dtype, device=device)
    inputs = [t.float().requires_grad_() for t in (qkv, bias)]
    expected = plain_attention(inputs[0] + inputs[1], slots, settings)
    # A GPU multiplies float32 matrices with the digits of TF32 in Triton.
    digits = torch.bfloat16 if device.type == "cuda" else dtype
    close(attend(qkv, bias, slots, settings, sites(1, device)), expected.detach(), digits)
    found = attend_gradient(g, (qkv, bias), slots, settings, sites(1, device))
    for one, right in zip(found, torch.autograd.grad(expected, inputs, g.float()), strict=True):
        close(one, right, digits)


def norm_factors(draws: Draws, n: int, d: int, p: float, device: torch.device) -> Tensor:
    """What dropout multiplies by: the gradient of ``h`` over that of ``x``."""
    settings = PLAIN._replace(hidden=p)
    torch.manual_seed(3)
    h, x, g = (numbers(n, d, dtype=torch.float32, device=device) for _ in range(3))
    zero, one = torch.zeros(d, device=device), torch.ones(d, device=device)
    out, mean, rate = add_norm(h, zero, x, (one, zero), settings, draws)
    sums = torch.empty(4, 3 * d, device=device)
    dh, dx = add_norm_gradient(g, (h, zero, x, one, mean, rate), settings, draws, sums)
    factors = dh / dx
    torch.testing.assert_close(out, plain_norm(h * factors, zero, x, one, zero))  # the same mask
    torch.testing.assert_close(sums.sum(dim=0)[:d], dh.sum(dim=0), atol=1e-4, rtol=1e-4)
    return factors


def attention_factors(draws: Draws, width: int, p: float, device: torch.device) -> Tensor:
    """What dropout multiplies shares by: equal scores, and values that are unit vectors."""
    qkv = torch.zeros(width, 3 * width, device=device)
    qkv[:, 2 * width :] = torch.eye(width, device=device)
    slots = torch.zeros(1, width, dtype=torch.int64, device=device)
    settings = Settings(heads=1, attention=p, hidden=0.0, eps=EPS)
    return width * attend(qkv, torch.zeros(3 * width, device=device), slots, settings, draws)


@pytest.mark.parametrize("p", [0.1, 0.5])
@pytest.mark.parametrize("kind", ["norm", "attention"])
def test_dropout_drops_its_share_and_scales_the_rest(
    kind: str, p: float, device: torch.device
) -> None:
    draws = sites(1, device)
    if kind == "norm":
        factors = norm_factors(draws, 40, 384, p, device)
    else:
        factors = attention_factors(draws, 64, p, device)
    kept = factors != 0
    torch.testing.assert_close(
        factors[kept], torch.full_like(factors[kept], 1 / (1 - p)), atol=2e-3, rtol=2e-3
    )
    error = math.sqrt(p * (1 - p) / kept.numel())
    assert abs(1 - kept.double().mean().item() - p) < 4 * error
    for one, two in (
        (kept[1:], kept[:-1]), (kept[:, 1:], kept[:, :-1]), (kept[::2, ::2], kept[1::2, 1::2]),
    ):  # fmt: skip
        pair = torch.stack([one.flatten(), two.flatten()]).double()
        assert abs(torch.corrcoef(pair)[0, 1].item()) < 4 / math.sqrt(one.numel())


def test_every_site_and_every_draw_has_a_mask_of_its_own(device: torch.device) -> None:
    torch.manual_seed(1)
    first, second = (draw(2, PLAIN._replace(hidden=0.1), device) for _ in range(2))
    masks = [
        attention_factors(Draws(words, site), 64, 0.5, device).flatten() > 0
        for words, site in [(first[0].words, s) for s in (0, 1, 3)] + [(second[0].words, 0)]
    ]
    related = torch.corrcoef(torch.stack(masks).double()) - torch.eye(4, device=device)
    assert related.abs().max() < 4 / 64
    assert [draws.site for draws in first] == [0, 3]
    again = attention_factors(Draws(first[0].words, 3), 64, 0.5, device).flatten() > 0
    assert torch.equal(again, masks[2])


def test_attention_goes_back_through_the_mask_it_went_forward(device: torch.device) -> None:
    width, p = 16, 0.3
    settings = Settings(heads=1, attention=p, hidden=0.0, eps=EPS)
    draws = sites(1, device)
    factor = attention_factors(draws, width, p, device).round(decimals=3)[None, None]
    factor = torch.where(factor > 0, 1 / (1 - p), 0.0)
    slots = some_slots(1, width, device)
    qkv = numbers(width, 3 * width, dtype=torch.float32, device=device).requires_grad_()
    g = numbers(width, width, dtype=torch.float32, device=device)
    expected = plain_attention(qkv, slots, settings, factor)
    zero = torch.zeros(3 * width, device=device)
    digits = torch.bfloat16 if device.type == "cuda" else torch.float32
    close(attend(qkv.detach(), zero, slots, settings, draws), expected.detach(), digits)
    found, _ = attend_gradient(g, (qkv.detach(), zero), slots, settings, draws)
    close(found, torch.autograd.grad(expected, qkv, g)[0], digits)


def test_without_dropout_nothing_is_drawn(device: torch.device) -> None:
    before = torch.get_rng_state(), device.type == "cuda" and torch.cuda.get_rng_state()
    draw(3, PLAIN, device)
    assert torch.equal(before[0], torch.get_rng_state())
    assert device.type == "cpu" or torch.equal(before[1], torch.cuda.get_rng_state())
    draw(3, PLAIN._replace(attention=0.1), device)
    after = torch.get_rng_state() if device.type == "cpu" else torch.cuda.get_rng_state()
    assert not torch.equal(before[device.type == "cuda"], after)


@pytest.mark.parametrize(
    "moves", ["", *(pytest.param(n, marks=pytest.mark.slow) for n in ("query", "word_embeddings"))]
)
def test_an_encoder_of_fused_layers_is_the_encoder(tiny_encoder: Path, moves: str) -> None:
    """Vectors and gradients of all that moves, in float32."""
    if torch.cuda.is_available():
        pytest.skip("kernels are compiled here, not interpreted")
    encoder = load_encoder(str(tiny_encoder)).eval()
    items, _ = encoder.prepare(TEXTS)
    moving = {}
    for name, parameter in encoder.named_parameters():
        parameter.requires_grad_(moves in name and "pooler" not in name)
        if parameter.requires_grad:
            moving[name] = parameter
    features = items.packed_batch(INDEX)
    found, expected = (
        pack_forward(encoder.model, features, torch.float32, fused) for fused in (True, False)
    )
    assert torch.equal(found, expected) is False, "the same kernels twice"
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    weights = torch.linspace(-1, 1, expected.shape[1])
    for name, a, b in zip(
        moving,
        torch.autograd.grad((found * weights).sum(), list(moving.values())),
        torch.autograd.grad((expected * weights).sum(), list(moving.values())),
        strict=True,
    ):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}")


def test_what_does_not_fit_takes_the_plain_way(tiny_encoder: Path, monkeypatch) -> None:
    here = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert can_fuse(here, 128, 384, 12)
    assert not can_fuse(here, 304, 384, 12), "a row for a long text"
    assert not can_fuse(here, 128, 1024, 4), "wide heads"
    called = []
    monkeypatch.setattr(packed_module, "can_fuse", lambda *a: called.append(a) and False)
    encoder = load_encoder(str(tiny_encoder)).eval()
    items, _ = encoder.prepare(TEXTS)
    features = items.packed_batch(INDEX)
    plain, same = (pack_forward(encoder.model, features, torch.float32, f) for f in (False, True))
    assert torch.equal(plain, same)
    assert called == [(torch.device("cpu"), 32, 32, 2)]


def test_a_machine_that_cannot_compile_goes_on_without(monkeypatch, caplog) -> None:
    cuda, seen = torch.device("cuda"), []
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    fused_module._works.cache_clear()
    assert not can_fuse(cuda, 128, 384, 12), "too old a GPU"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))

    def fail(*sizes: object) -> None:
        seen.append(sizes)
        raise RuntimeError("Failed to find C compiler.\nMore lines.")

    monkeypatch.setattr(fused_module, "try_layer", fail)
    fused_module._works.cache_clear()
    with caplog.at_level("WARNING"):
        assert not can_fuse(cuda, 128, 384, 12)
        assert not can_fuse(cuda, 128, 384, 12)
    fused_module._works.cache_clear()
    assert seen == [(cuda, 128, 384, 12)], "tried once"
    assert [r.getMessage() for r in caplog.records] == [
        "no kernels of our own, training is slower: Failed to find C compiler."
    ]


@pytest.mark.parametrize("part", ["attend", "attend_gradient", "add_norm_gradient", "bias_gelu"])
def test_the_trial_runs_every_kernel(part: str, device: torch.device, monkeypatch) -> None:
    if device.type == "cuda":
        try_layer(device, 128, 384, 12)
        return
    try_layer(device, 16, 32, 2, torch.float32)

    def fail(*tensors: object) -> None:
        raise RuntimeError("does not fit")

    monkeypatch.setattr(fused_module, part, fail)
    with pytest.raises(RuntimeError, match="does not fit"):
        try_layer(device, 16, 32, 2, torch.float32)


def test_triton_is_not_imported_before_it_is_needed() -> None:
    names = "coterie.encoders.sentence, coterie.methods.train"
    code = f"import sys, {names}; sys.exit('triton' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.gpu
def test_a_replayed_graph_drops_other_units() -> None:
    device, settings = torch.device("cuda"), Settings(2, 0.1, 0.1, EPS)
    d, inner = 32, 64
    shapes = [(3 * d, d), (d, d), (inner, d), (d, inner)]
    wqkv, wo, wi, wf = (torch.randn(s, device=device, dtype=torch.bfloat16) / 6 for s in shapes)
    zero, one = (torch.full((d,), v, device=device) for v in (0.0, 1.0))
    weights = [
        wqkv, zero.repeat(3), wo, zero, one, zero, wi, zero.repeat(2), wf, zero, one, zero,
    ]  # fmt: skip
    x = torch.randn(8, 128, d, device=device, dtype=torch.bfloat16, requires_grad=True)
    slots = some_slots(8, 128, device)

    def work() -> tuple[Tensor, Tensor]:
        out = fused_layer(x, slots, settings, draw(1, settings, device)[0], weights)
        return out, torch.autograd.grad(out.float().square().sum(), x)[0]

    for _ in range(2):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = work()
    seen = []
    for _ in range(2):
        graph.replay()
        seen.append([part.clone() for part in found])
    for first, second in zip(*seen, strict=True):
        assert (first != second).float().mean() > 0.5
        assert torch.isfinite(first).all()
