"""The dense convolution network: its wiring, and that padding and company change nothing."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from coterie.blocks import dense_cnn as module
from coterie.blocks.dense_cnn import DenseCNN, MaskedBatchNorm, in_a_row


def make(dense_input: bool = False, width: int = 5, maps: int = 4) -> DenseCNN:
    torch.manual_seed(0)
    net = DenseCNN(width, maps, dense_input=dense_input).double()
    for norm in net.norms:  # as after some training
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        nn.init.uniform_(norm.weight, 0.5, 2)
        nn.init.normal_(norm.bias)
    return net.eval()


def text(length: int, seed: int = 1, width: int = 5) -> torch.Tensor:
    return torch.randn(length, width, generator=torch.Generator().manual_seed(seed)).double()


def by_loop(net: DenseCNN, x: torch.Tensor) -> torch.Tensor:
    """Eq. (6) for one text without padding, word by word."""
    seen, given = ([x] if net.dense_input else []), x
    for convolution, norm in zip(net.convolutions, net.norms, strict=True):
        rows = []
        for m in range(len(x)):
            total = torch.zeros(convolution.out_channels).double()
            for offset in (-1, 0, 1):
                if 0 <= m + offset < len(x):
                    total += convolution.weight[:, :, offset + 1] @ given[m + offset]
            scaled = (total - norm.running_mean) / (norm.running_var + 1e-5).sqrt()
            rows.append((norm.weight * scaled + norm.bias).clamp(min=0))
        out = torch.stack(rows)
        seen.append(out)
        given = torch.cat(seen, dim=1)
    return out.max(dim=0).values


@pytest.mark.parametrize("dense_input", [False, True])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_equals_a_loop_over_words(dense_input: bool, length: int) -> None:
    net, x = make(dense_input), text(length)
    found = net(x[None], torch.ones(1, length))[0]
    torch.testing.assert_close(found, by_loop(net, x))


def test_layers_see_all_layers_before_them() -> None:
    def seen(dense_input: bool) -> list[int]:
        return [c.in_channels for c in DenseCNN(300, dense_input=dense_input).convolutions]

    assert seen(False) == [300, 128, 256]
    assert seen(True) == [300, 128 + 300, 256 + 300]
    net = DenseCNN(300)
    assert {(c.out_channels, c.kernel_size, c.padding) for c in net.convolutions} == {
        (128, (3,), (1,))
    }


@pytest.mark.parametrize("dense_input", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_padding_changes_nothing(dense_input: bool, training: bool) -> None:
    net = make(dense_input).train(training)
    words = torch.stack([text(6), text(6, seed=2)])
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
    found = net(words, mask)
    statistics = net.state_dict()
    padded, wide = torch.cat([words, 9 * torch.ones(2, 3, 5)], dim=1), F.pad(mask, (0, 3))
    net = make(dense_input).train(training)  # the same network, its statistics untouched
    torch.testing.assert_close(net(padded, wide), found)
    for name, tensor in net.state_dict().items():
        torch.testing.assert_close(tensor, statistics[name])
    if not training:
        torch.testing.assert_close(net(words[:1, :4], mask[:1, :4])[0], found[0])


@pytest.mark.parametrize("training", [False, True])
def test_skipping_the_padding_changes_nothing(training: bool, monkeypatch) -> None:
    words = torch.stack([text(6), text(6, seed=2), text(6, seed=3)])
    mask = torch.tensor([[1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]])
    skipped = in_a_row(words, mask, 1, skip=True)
    assert skipped[0].shape == (1, 5, 8 + 3) and skipped[2].tolist() == [0] * 3 + [1] * 7 + [2]
    assert skipped[1].flatten().tolist() == [1, 1, 0] + [1] * 6 + [0, 0]
    found = make().train(training)(words, mask)

    def keep_all(words, mask, gap, *, skip):
        return in_a_row(words, mask, gap, skip=False)

    monkeypatch.setattr(module, "in_a_row", keep_all)
    torch.testing.assert_close(make().train(training)(words, mask), found)


def test_a_text_of_padding_alone_is_zero() -> None:
    net = make().train()
    found = net(text(3)[None], torch.zeros(1, 3))
    assert not found.any()
    for tensor in net.state_dict().values():
        assert torch.isfinite(tensor).all()


def test_batch_norm_equals_torch_without_padding() -> None:
    ours, theirs = MaskedBatchNorm(4).double(), nn.BatchNorm1d(4).double()
    for step in range(1, 15):
        theirs.momentum = max(0.1, 1 / step)
        x = torch.randn(6, 4, 5, generator=torch.Generator().manual_seed(step)).double()
        torch.testing.assert_close(ours(x, torch.ones(6, 1, 5)), theirs(x))
        torch.testing.assert_close(ours.running_mean, theirs.running_mean)
        torch.testing.assert_close(ours.running_var, theirs.running_var)
    x = torch.randn(2, 4, 5).double()
    torch.testing.assert_close(ours.eval()(x, torch.ones(2, 1, 5)), theirs.eval()(x))


def test_a_batch_of_one_word_is_fine_and_leaves_no_trace() -> None:
    net = make().train()
    before = [norm.running_var.clone() for norm in net.norms]
    out = net(text(1)[None], torch.ones(1, 1))
    assert torch.isfinite(out).all()
    for norm, variance in zip(net.norms, before, strict=True):
        torch.testing.assert_close(norm.running_var, variance)


def test_gradients_pass_gradcheck() -> None:
    net = make().train()
    mask = torch.tensor([[1.0, 1, 1, 0], [1, 1, 0, 0]])
    words = torch.stack([text(4), text(4, seed=3)]).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: net(x, mask), (words,))
