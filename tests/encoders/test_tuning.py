"""What moves and what does not; low-rank parts that begin as nothing and end in the weights."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.encoders import SentenceEncoder, load_encoder
from coterie.encoders.bert import pack_forward
from coterie.encoders.tuning import (
    LowRank,
    begin_training,
    check_tune,
    ending,
    find_layers,
    full_weight,
    moving,
    put_tune,
    read_tune,
)
from coterie.errors import UsageError
from said import raises

TEXTS = ["apple pear plum", "car", "song guitar drum chorus singer violin", "bus motor"]
INDEX = np.array([0, 1, 2, 3, 2] * 12)  # some 300 tokens: packed, ten rows


def tuned(folder: Path, tune: str, pooling: str = "auto") -> SentenceEncoder:
    encoder = load_encoder(str(folder), pooling=pooling)
    begin_training(encoder, tune)
    torch.manual_seed(0)
    put_tune(encoder, tune)
    encoder.requires_grad_(False)
    for parameter in moving(encoder):
        parameter.requires_grad_(True)
    return encoder.eval()


def stir(encoder: nn.Module) -> None:
    """Give the low-rank parts values, as training would."""
    torch.manual_seed(1)
    for module in encoder.modules():
        if isinstance(module, LowRank):
            nn.init.normal_(module.up, std=0.3)


def vectors(encoder: SentenceEncoder) -> Tensor:
    items, _ = encoder.prepare(TEXTS)
    return encoder(items.batch(INDEX))


@pytest.mark.parametrize(
    "tune", ["last-0", "last", "last-", "half", "", None, 2, "last-2 ", "Full"]
)
def test_nonsense_is_refused(tune) -> None:
    with raises(UsageError, "tune should be full"):
        read_tune(tune)


def test_more_layers_than_there_are_and_encoders_without_layers_are_refused(tiny_encoder) -> None:
    with raises(UsageError, "layers; ask for at", "'last-3'", "2"):
        check_tune(load_encoder(str(tiny_encoder)), "last-3")
    check_tune(load_encoder(str(tiny_encoder)), "last-2")
    for tune in ("lora", "last-1"):
        with raises(UsageError, "encoder has no layers", "use tune='full' or tune='heads'"):
            check_tune(load_encoder("tfidf"), tune)
    check_tune(load_encoder("tfidf"), "heads")


def test_layers_of_an_unknown_build_are_not_guessed(tiny_encoder) -> None:
    encoder = load_encoder(str(tiny_encoder))
    encoder.model[0].auto_model.config.num_hidden_layers = 7  # as of an encoder that shares layers
    with raises(UsageError, "the layers of a", "BertModel"):
        check_tune(encoder, "last-1")


def test_without_familiar_names_all_linear_maps_are_adapted(tiny_encoder: Path) -> None:
    encoder = load_encoder(str(tiny_encoder))
    for layer in find_layers(encoder):
        del layer.attention
    put_tune(encoder, "lora")
    found = [name for name, m in encoder.named_modules() if isinstance(m, LowRank)]
    assert [n.split("layer.")[1] for n in found] == [
        "0.intermediate.dense", "0.output.dense", "1.intermediate.dense", "1.output.dense",
    ]  # fmt: skip


def test_untrained_low_rank_parts_change_nothing(tiny_encoder: Path) -> None:
    expected = vectors(load_encoder(str(tiny_encoder)).eval())
    assert torch.equal(vectors(tuned(tiny_encoder, "lora")), expected)


def test_the_low_rank_map_by_hand() -> None:
    linear = nn.Linear(2, 1)
    low = LowRank(linear, rank=1, alpha=3.0)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[1.0, 2.0]]))
        linear.bias.fill_(0.5)
        low.down.copy_(torch.tensor([[1.0, -1.0]]))
        low.up.fill_(2.0)
    # 1*4 + 2*5 + 0.5 = 14.5, and 3 * 2 * (4 - 5) = -6 on top.
    assert low(torch.tensor([[4.0, 5.0]])).item() == pytest.approx(8.5)
    assert full_weight(low).tolist() == [[7.0, -4.0]]
    assert low.merged()(torch.tensor([[4.0, 5.0]])).item() == pytest.approx(8.5)


def test_merged_equals_unmerged_and_leaves_an_ordinary_encoder(tiny_encoder: Path) -> None:
    plain = load_encoder(str(tiny_encoder))
    encoder = tuned(tiny_encoder, "lora")
    stir(encoder)
    with ending(encoder):
        expected = vectors(encoder)
    assert (expected - vectors(plain.eval())).abs().max() > 1e-2  # they do something
    torch.testing.assert_close(vectors(encoder), expected.detach(), atol=1e-5, rtol=0)
    assert encoder.state_dict().keys() == plain.state_dict().keys()
    assert [type(m) for m in encoder.modules()] == [type(m) for m in plain.modules()]


def test_an_error_in_training_still_leaves_an_ordinary_encoder(tiny_encoder: Path) -> None:
    encoder = tuned(tiny_encoder, "lora")
    with pytest.raises(RuntimeError, match="stop"), ending(encoder):
        raise RuntimeError("stop")
    assert not any(isinstance(m, LowRank) for m in encoder.modules())


@pytest.mark.parametrize(
    ("tune", "pooling"), [("full", "mean"), ("full", "cls"), ("last-1", "mean"), ("lora", "mean")]
)
def test_packed_texts_get_the_same_vectors_and_gradients(
    tiny_encoder: Path, tune: str, pooling: str
) -> None:
    encoder = tuned(tiny_encoder, tune, pooling)
    stir(encoder)
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
