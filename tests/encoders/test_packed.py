"""Texts that share rows get the vectors and gradients they get in rows of their own."""

from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.encoders import RaggedTokens, load_encoder
from coterie.encoders.items import ROUND, pack_rows, row_width
from coterie.encoders.packed import can_pack, pack_forward

TEXTS = ["apple pear plum", "car", "song guitar drum chorus singer violin", "bus motor"]
INDEX = np.array([0, 1, 2, 3, 2] * 12)  # some 300 tokens: ten rows


def test_packed_batches_hold_the_tokens_of_padded_ones() -> None:
    items = RaggedTokens.build([[5, 6, 7], [8], [9, 4]], pad=0)
    index = np.array([2, 0, 0, 1])
    packed = items.packed_batch(index)
    assert packed["input_ids"].shape == (ROUND // 32, 32)
    # The longest lie first: both of three tokens, then the one of two, then the single one.
    assert packed["input_ids"][0, :9].tolist() == [5, 6, 7, 5, 6, 7, 9, 4, 8]
    assert packed["positions"][0, :9].tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 0]
    assert packed["slots"][0, :9].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3]
    assert packed["begins"].tolist() == [6, 0, 3, 8]
    assert packed["picks"].tolist() == [2, 0, 1, 3]
    assert (packed["slots"] >= 0).sum() == 9


def test_slots_count_anew_in_every_row() -> None:
    items = RaggedTokens.build([[7] * 60, [8] * 50, [9] * 100], pad=0)
    packed = items.packed_batch(np.array([0, 1, 0, 1, 1]))
    assert packed["input_ids"].shape == (ROUND // 128, 128)  # rows without a text fill up
    assert packed["begins"].tolist() == [0, 128, 60, 178, 256]
    assert packed["picks"].tolist() == [0, 128, 1, 129, 256]
    assert (packed["slots"][3:] == -1).all()


def test_all_batches_have_rows_of_one_width() -> None:
    """Else a step would be recorded for every width that comes up."""
    items = RaggedTokens.build([[7] * 60, [8] * 5], pad=0)
    assert items.packed_batch(np.array([1]))["input_ids"].shape[1] == 64


def test_widths_are_multiples_where_asked_for() -> None:
    items = RaggedTokens.build([[5, 6, 7], [8] * 9], pad=0)
    narrow, wide = items.batch(np.array([0, 1])), items.batch(np.array([0, 1]), 8)
    assert narrow["input_ids"].shape == (2, 9)
    assert wide["input_ids"].shape == (2, 16)
    assert wide["attention_mask"].sum(dim=1).tolist() == [3, 9]
    assert (wide["input_ids"][:, :9] == narrow["input_ids"]).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("width", [32, 61])
def test_no_text_lies_across_two_rows_and_none_on_another(seed: int, width: int) -> None:
    lengths = np.random.default_rng(seed).integers(1, 20, 100)
    begins, slots = pack_rows(lengths, width)
    assert (begins // width == (begins + lengths - 1) // width).all()
    taken = np.concatenate([np.arange(b, b + n) for b, n in zip(begins, lengths, strict=True)])
    assert len(np.unique(taken)) == lengths.sum()
    for row in np.unique(begins // width):
        here = begins // width == row
        order = np.argsort(begins[here])
        assert slots[here][order].tolist() == list(range(here.sum()))  # in the order of the tokens
        ends = (begins + lengths)[here][order]
        assert begins[here][order].tolist() == [row * width, *ends[:-1].tolist()]  # without a gap


def test_rows_are_as_full_as_can_be() -> None:
    lengths = np.random.default_rng(0).integers(3, 30, 1200)
    begins, _ = pack_rows(lengths, 32)
    assert begins.max() // 32 + 1 <= 1.06 * lengths.sum() / 32
    assert pack_rows(np.array([20, 20, 12, 12]), 32)[0].max() < 64  # in the order given: 3 rows


def test_the_narrowest_row_that_holds_the_longest_text() -> None:
    assert [row_width(n) for n in (1, 32, 33, 65, 128, 129)] == [32, 32, 64, 128, 128, 136]


def test_a_text_longer_than_a_row_gets_a_wider_row() -> None:
    items = RaggedTokens.build([[1] * 300, [2] * 9], pad=0)
    packed = items.packed_batch(np.array([1, 0]))
    assert packed["input_ids"].shape == (3, 304)
    assert (packed["slots"] >= 0).sum(dim=1).tolist() == [300, 9, 0]


def test_only_known_parts_on_a_gpu_are_packed(tiny_encoder: Path) -> None:
    model = load_encoder(str(tiny_encoder)).model
    cuda, cpu = torch.device("cuda"), torch.device("cpu")
    assert can_pack(model, torch.bfloat16, cuda)
    assert not can_pack(model, torch.bfloat16, cpu)
    assert not can_pack(model, None, cuda)
    model[0].auto_model.config.hidden_act = "relu"
    assert not can_pack(model, torch.bfloat16, cuda)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_in_float32_vectors_and_gradients_are_the_same(tiny_encoder: Path, pooling: str) -> None:
    encoder = load_encoder(str(tiny_encoder), pooling=pooling).eval()
    items, _ = encoder.prepare(TEXTS)
    found = pack_forward(encoder.model, items.packed_batch(INDEX), torch.float32)
    expected = encoder(items.batch(INDEX))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    weights = torch.linspace(-1, 1, expected.shape[1])
    parameters = [p for n, p in encoder.named_parameters() if "pooler" not in n]
    for a, b in zip(
        torch.autograd.grad((found * weights).sum(), parameters),
        torch.autograd.grad((expected * weights).sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_in_half_precision_they_are_nearly_the_same(
    tiny_encoder: Path, pooling: str, fused: bool
) -> None:
    encoder = load_encoder(str(tiny_encoder), pooling=pooling).to("cuda").eval()
    encoder.fused = fused
    items, _ = encoder.prepare(TEXTS)
    items = items.to(torch.device("cuda"))
    gradients, outputs = [], []
    for dtype, batch in ((None, items.batch), (torch.bfloat16, items.packed_batch)):
        encoder.compute_dtype = dtype
        encoder.zero_grad()
        vectors = encoder(batch(INDEX))
        (vectors * torch.linspace(-1, 1, vectors.shape[1], device="cuda")).sum().backward()
        outputs.append(vectors.detach())
        named = encoder.named_parameters()
        gradients.append({k: p.grad.clone() for k, p in named if p.grad is not None})
    torch.testing.assert_close(outputs[0], outputs[1], atol=0.05, rtol=0.05)
    assert gradients[0].keys() == gradients[1].keys()
    for name, expected in gradients[0].items():
        cosine = torch.cosine_similarity(expected.flatten(), gradients[1][name].flatten(), dim=0)
        assert cosine > 0.98 or expected.norm() < 1e-2, (name, float(cosine))
