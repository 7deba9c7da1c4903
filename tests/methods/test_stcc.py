"""STCC: its bits, its loss, its training."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from coterie import STCC
from coterie._errors import UsageError
from coterie.methods.stcc import STCCNet, bit_loss

SMALL = {"n_bits": 6, "word_dim": 16, "word_vectors": "ppmi", "random_state": 0, "lr": 5e-3}


def test_the_loss_equals_its_loop() -> None:
    class Flat(torch.nn.Module):
        dim = 3

    bits = torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    torch.manual_seed(0)
    net = STCCNet(Flat(), bits, 0.0)
    h = torch.randn(2, 3)

    class Two:
        index = torch.tensor([2, 0])

        @staticmethod
        def encode(encoder):
            return (h,)

    total = 0.0
    with torch.no_grad():
        for row, text in zip(h, (2, 0), strict=True):
            for j in range(2):
                logit = float(net.output.weight[j] @ row + net.output.bias[j])
                p = 1 / (1 + math.exp(-logit))
                total -= math.log(p if bits[text, j] else 1 - p)
        assert bit_loss(net, Two())["bits"].item() == pytest.approx(total / 4, rel=1e-5)
        net.output.weight.zero_()
        net.output.bias.zero_()
        assert bit_loss(net, Two())["bits"].item() == pytest.approx(math.log(2))  # by hand


@pytest.mark.parametrize("code", ["lpi", "le", "lsa", "mean"])
def test_every_kind_of_bits_is_learned(code: str, topics) -> None:
    texts, truth = topics
    model = STCC(3, code=code, steps=50, dropout=0.0, **SMALL).fit(texts)
    losses = model.history_.losses("bits")
    assert losses[-1] < 0.8 * losses[0]
    if code in ("lpi", "le"):
        assert adjusted_rand_score(truth, model.labels_) > 0.8


def test_every_parameter_moves(topics) -> None:
    before, after = (
        STCC(3, steps=steps, **SMALL).fit(topics[0]).encoder_.state_dict() for steps in (0, 5)
    )
    for name, tensor in after.items():
        assert not torch.equal(tensor, before[name]), f"{name} was never updated"
    assert (after["embedding.weight"][0] == 0).all()  # padding stays at zero


def test_bits_are_those_of_the_texts(topics) -> None:
    """Texts of one topic agree in more of their bits; the same text has the same bits."""
    texts = [*topics[0], topics[0][4]]
    kept = []
    original = STCC._build_pretraining_network

    class Kept(STCC):
        def _build_pretraining_network(self, encoder, facts):
            kept.append(original(self, encoder, facts))
            return kept[-1]

    Kept(3, steps=1, **SMALL).fit(texts)
    bits = kept[0].bits.numpy()
    assert bits.shape == (91, 6)
    np.testing.assert_array_equal(bits[90], bits[4])
    same = (bits[:90, None] == bits[None, :90]).mean(axis=2)
    topic = np.arange(90) % 3
    inside = topic[:, None] == topic[None, :]
    assert same[inside].mean() > same[~inside].mean() + 0.1


def test_word_vectors_come_from_a_file(topics, tmp_path: Path) -> None:
    words = sorted({word for text in topics[0] for word in text.split()})
    rng = np.random.default_rng(0)
    file = tmp_path / "vectors.txt"
    for width in (8, 6):
        lines = [" ".join([word, *map(str, rng.normal(size=width).round(3))]) for word in words]
        file.write_text("\n".join(lines) + "\n")
        model = STCC(3, **{**SMALL, "word_vectors": str(file)}, steps=1)
        if width == 6:
            with pytest.raises(UsageError, match="multiple of four, got 6"):
                model.fit(topics[0])
        else:
            assert model.fit(topics[0]).encoder_.dim == 8 // 4 * 8 * 5


@pytest.mark.parametrize(
    "wrong", [{"code": "ae"}, {"n_bits": 0}, {"dropout": 1.0}, {"word_dim": 10}, {"encoder": "bow"}]
)
def test_wrong_parameters_are_refused(wrong: dict) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        STCC(2, **wrong).fit(["a cat", "the dog"])
