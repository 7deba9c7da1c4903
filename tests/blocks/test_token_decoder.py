"""The decoder: whose layers it uses, what it may see, and its loss against the whole softmax."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel

from coterie._errors import UsageError
from coterie.blocks import token_decoder
from coterie.blocks.token_decoder import (
    IGNORED,
    TokenDecoder,
    shared_parts,
    token_cross_entropy,
)

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


@pytest.fixture
def backbone() -> BertModel:
    torch.manual_seed(0)
    config = BertConfig(vocab_size=23, intermediate_size=24, max_position_embeddings=20, **SIZES)
    return BertModel(config).eval()


@pytest.fixture
def decoder(backbone: BertModel) -> TokenDecoder:
    return TokenDecoder(shared_parts(backbone)).eval()


IDS = torch.tensor([[2, 7, 8, 9, 3], [2, 11, 3, 0, 0]])
MASK = (IDS != 0).long()


def test_the_layers_are_the_encoders_own_and_not_registered_twice(backbone, decoder) -> None:
    parts = shared_parts(backbone)
    assert parts.embeddings is backbone.embeddings
    assert all(a is b for a, b in zip(parts.layers, backbone.encoder.layer, strict=True))
    assert parts.table is backbone.embeddings.word_embeddings.weight
    mine = {id(p) for p in decoder.parameters()}
    assert not mine & {id(p) for p in backbone.parameters()}
    assert not any("query" in name or "key" in name for name, _ in decoder.named_parameters())


def test_gradients_reach_shared_and_own_weights(backbone, decoder) -> None:
    z = torch.randn(2, 16, requires_grad=True)
    decoder.loss(shared_parts(backbone), IDS, MASK, z).backward()
    assert z.grad.abs().sum() > 0
    for name, parameter in [*decoder.named_parameters(), *backbone.named_parameters()]:
        if "pooler" not in name:
            assert parameter.grad is not None, name
            # A bias of the keys moves all scores of a query alike: no softmax sees it.
            assert parameter.grad.abs().sum() > 0 or "key.bias" in name, name


def test_later_tokens_do_not_change_earlier_logits(backbone, decoder) -> None:
    parts, z = shared_parts(backbone), torch.randn(2, 16)
    logits = decoder.logits(parts, decoder(parts, IDS, z))
    for position in range(1, IDS.shape[1]):
        other = IDS.clone()
        other[:, position] = 15
        changed = decoder.logits(parts, decoder(parts, other, z))
        torch.testing.assert_close(changed[:, :position], logits[:, :position])
        assert not torch.allclose(changed[:, position], logits[:, position])


def test_every_position_sees_the_vector(backbone, decoder) -> None:
    parts, z = shared_parts(backbone), torch.randn(2, 16)
    first, second = decoder(parts, IDS, z), decoder(parts, IDS, -z)
    assert ((first - second).abs().sum(dim=2) > 1e-4).all()


def test_cross_attention_is_attention_over_one_key(decoder) -> None:
    """With any queries and keys, softmax over the one key is 1: the projected value is left."""
    cross = decoder.cross[0]
    x, z = torch.randn(3, 5, 16), torch.randn(3, 16)
    query, key = nn.Linear(16, 16), nn.Linear(16, 16)
    q, k, v = query(x), key(z)[:, None], cross.value(z)[:, None]
    weights = (q @ k.transpose(1, 2)).softmax(dim=2)  # (3, 5, 1)
    expected = cross.norm(x + cross.output(weights @ v))
    torch.testing.assert_close(cross(x, z), expected)


def test_the_layers_without_mask_or_vector_are_the_encoders(backbone, decoder) -> None:
    """On one token a causal mask hides nothing; without cross-attention the encoder is left."""
    for cross in decoder.cross:
        cross.forward = lambda x, vector: x
    parts, ids = shared_parts(backbone), torch.tensor([[7]])
    expected = decoder.transform(backbone(input_ids=ids).last_hidden_state)
    torch.testing.assert_close(decoder(parts, ids, torch.zeros(1, 16)), expected)


def test_the_loss_is_teacher_forcing_over_all_label_tokens(backbone, decoder) -> None:
    parts, z = shared_parts(backbone), torch.randn(2, 16)
    total, count = 0.0, 0
    for row in range(2):
        length = int(MASK[row].sum())
        for t in range(1, length):  # predict token t from those before it; the text alone, no pad
            alone = decoder(parts, IDS[row : row + 1, :t], z[row : row + 1])
            log_p = decoder.logits(parts, alone)[0, -1].log_softmax(dim=0)
            total, count = total - log_p[IDS[row, t]].item(), count + 1
    assert count == 6
    assert decoder.loss(parts, IDS, MASK, z).item() == pytest.approx(total / count, rel=1e-5)


def material(rows: int, words: int, dtype=torch.float64):
    torch.manual_seed(1)
    features = torch.randn(rows, 5, dtype=dtype, requires_grad=True)
    table = torch.randn(words, 5, dtype=dtype, requires_grad=True)
    bias = torch.randn(words, dtype=dtype, requires_grad=True)
    labels = torch.randint(words, (rows,))
    labels[::3] = IGNORED
    return features, table, bias, labels


@pytest.mark.parametrize("chunk", [1, 40, 1 << 20])
def test_chunks_give_the_loss_and_gradient_of_the_whole(chunk: int, monkeypatch) -> None:
    monkeypatch.setattr(token_decoder, "CHUNK", chunk)
    features, table, bias, labels = material(11, 13)
    found = token_cross_entropy(features, table, bias, labels)
    whole = F.cross_entropy(features @ table.T + bias, labels, ignore_index=IGNORED)
    torch.testing.assert_close(found, whole)
    inputs = features, table, bias
    for mine, theirs in zip(
        torch.autograd.grad(3 * found, inputs), torch.autograd.grad(3 * whole, inputs), strict=True
    ):
        torch.testing.assert_close(mine, theirs)
    assert torch.autograd.gradcheck(lambda *x: token_cross_entropy(*x, labels), inputs)


def test_hand_value_and_no_labels() -> None:
    table, bias = torch.eye(2), torch.zeros(2)
    features = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    # Uniform over two words: log 2; scores 2 and 0 with label 0: log(1 + e^-2).
    expected = (torch.log(torch.tensor(2.0)) + torch.log1p(torch.exp(torch.tensor(-2.0)))) / 2
    torch.testing.assert_close(
        token_cross_entropy(features, table, bias, torch.tensor([1, 0])), expected
    )
    none = token_cross_entropy(features, table, bias, torch.tensor([IGNORED, IGNORED]))
    assert none.item() == 0


class Largest(TorchDispatchMode):
    """Remembers the largest tensor that any operation made."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(tensor, torch.Tensor):
                self.entries = max(self.entries, tensor.numel())
        return out


def test_all_logits_never_exist_together(monkeypatch) -> None:
    monkeypatch.setattr(token_decoder, "CHUNK", 8000)
    features, table, bias, labels = material(256, 1000, torch.float32)
    with Largest() as made:
        token_cross_entropy(features, table, bias, labels).backward()
    assert made.entries <= 8000 < 256 * 1000
    with Largest() as made:
        F.cross_entropy(features @ table.T + bias, labels, ignore_index=IGNORED)
    assert made.entries == 256 * 1000  # the yardstick measures what it should


def test_half_precision_products_stay_near(backbone, decoder) -> None:
    parts, z = shared_parts(backbone), torch.randn(2, 16)
    exact = decoder.loss(parts, IDS, MASK, z)
    half = decoder.loss(parts, IDS, MASK, z, torch.bfloat16)
    assert half.dtype == torch.float32 and half.item() == pytest.approx(exact.item(), rel=0.05)


def test_copies_keep_working_on_their_own_encoder(backbone, decoder) -> None:
    both = nn.ModuleDict({"encoder": backbone, "decoder": decoder})
    other = copy.deepcopy(both)
    z = torch.randn(2, 16)
    before = decoder.loss(shared_parts(backbone), IDS, MASK, z)
    backbone.embeddings.word_embeddings.weight.data += 1
    after = other["decoder"].loss(shared_parts(other["encoder"]), IDS, MASK, z)
    torch.testing.assert_close(before, after)


def test_other_architectures_are_refused_by_name() -> None:
    config = DistilBertConfig(vocab_size=23, dim=16, n_layers=1, n_heads=2, hidden_dim=24)
    with pytest.raises(UsageError, match=r"DistilBertModel.*BERT and RoBERTa"):
        shared_parts(DistilBertModel(config))
    with pytest.raises(UsageError, match="Linear"):
        shared_parts(nn.Linear(2, 2))
