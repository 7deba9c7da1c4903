"""Cross entropy a few rows at a time, against the whole softmax."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from coterie.methods.losses import token_loss
from coterie.methods.losses.token_loss import IGNORED, token_cross_entropy


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
    monkeypatch.setattr(token_loss, "CHUNK", chunk)
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


@pytest.mark.full
def test_all_logits_never_exist_together(monkeypatch) -> None:
    monkeypatch.setattr(token_loss, "CHUNK", 8000)
    features, table, bias, labels = material(256, 1000, torch.float32)
    with Largest() as made:
        token_cross_entropy(features, table, bias, labels).backward()
    assert made.entries <= 8000 < 256 * 1000
    with Largest() as made:
        F.cross_entropy(features @ table.T + bias, labels, ignore_index=IGNORED)
    assert made.entries == 256 * 1000  # the yardstick measures what it should
