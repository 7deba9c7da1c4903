"""Several texts in a row: none across two rows, and the vectors and gradients of padded texts."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from coterie.encoders import RaggedTokens, SentenceEncoder, load_encoder
from coterie.encoders.base import pack_rows
from coterie.encoders.packing import can_pack, pack_forward
from coterie.methods.train.layers import begin_training, moving

TEXTS = ["apple pear plum", "car", "song guitar drum chorus singer violin", "bus motor"]
INDEX = np.array([0, 1, 2, 3, 2] * 12)  # some 300 tokens: ten rows


def tuned(folder: Path, tune: str, pooling: str = "auto") -> SentenceEncoder:
    encoder = load_encoder(str(folder), pooling=pooling)
    begin_training(encoder, tune)
    encoder.requires_grad_(False)
    for parameter in moving(encoder):
        parameter.requires_grad_(True)
    return encoder.eval()


def vectors(encoder: SentenceEncoder) -> Tensor:
    items, _ = encoder.prepare(TEXTS)
    return encoder(items.batch(INDEX))


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


@pytest.mark.parametrize(
    ("tune", "pooling"), [("full", "mean"), ("full", "cls"), ("last-1", "mean")]
)
def test_packed_texts_get_the_same_vectors_and_gradients(
    tiny_encoder: Path, tune: str, pooling: str
) -> None:
    encoder = tuned(tiny_encoder, tune, pooling)
    items, _ = encoder.prepare(TEXTS)
    found = pack_forward(encoder.model, items.packed_batch(INDEX), torch.float32)
    expected = vectors(encoder)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    weights = torch.linspace(-1, 1, expected.shape[1])
    parameters = [p for n, p in encoder.named_parameters() if p.requires_grad and "pool" not in n]
    for a, b in zip(
        torch.autograd.grad((found * weights).sum(), parameters),
        torch.autograd.grad((expected * weights).sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)


def reached(start: Tensor) -> int:
    """How many operations a backward pass from this tensor goes through."""
    seen, todo = set(), [start.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [below for below, _ in node.next_functions]
    return len(seen)


@pytest.mark.parametrize("packed", [False, True])
def test_no_gradient_is_computed_below_what_moves(tiny_encoder: Path, packed: bool) -> None:
    sizes = {}
    for tune in ("full", "last-2", "last-1", "heads"):
        encoder = tuned(tiny_encoder, tune)
        items, _ = encoder.prepare(TEXTS)
        if packed:
            out = pack_forward(encoder.model, items.packed_batch(INDEX), torch.float32)
        else:
            out = encoder(items.batch(INDEX))
        sizes[tune] = reached(out) if out.requires_grad else 0
    assert sizes["full"] > sizes["last-2"] > 1.7 * sizes["last-1"] > sizes["heads"] == 0
