"""Autoencoder, DEC and IDEC: losses against loops, their training, their ends."""

import math

import numpy as np
import pytest
import torch

from coterie import DEC, IDEC, Autoencoder
from coterie.methods.dec import pair_error, reconstruction_error, sharpen
from coterie.methods.losses.layers import mlp
from coterie.methods.train import TrainingContext
from loops import loop_target


def leaky(x: float) -> float:
    return x if x > 0 else 0.2 * x


def test_a_half_has_no_activation_at_its_end() -> None:
    half = mlp(3, 5, 2, activation="leaky-relu")
    x = torch.randn(4, 3)
    hidden = torch.tensor([[leaky(float(v)) for v in row] for row in half[0](x).tolist()])
    torch.testing.assert_close(half(x), half[2](hidden))
    assert [part.out_features for part in mlp(7, 4)] == [4]


def test_error_by_hand() -> None:
    coder, decoder = mlp(2, 1), mlp(1, 2)
    with torch.no_grad():
        coder[0].weight.copy_(torch.tensor([[1.0, 1.0]]))
        decoder[0].weight.copy_(torch.tensor([[0.5], [0.5]]))
        for part in (coder[0], decoder[0]):
            part.bias.zero_()
    # (3, 1) has the code 4 and comes back as (2, 2): the error is (1 + 1) / 2.
    assert reconstruction_error(coder, decoder, torch.tensor([[3.0, 1.0]])).item() == 1.0


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_a_pair_equals_its_loop(layer: int) -> None:
    torch.manual_seed(layer)
    widths = [6, 5, 4, 3]
    coder, decoder = mlp(*widths), mlp(*widths[::-1])
    x = torch.randn(8, 6)
    linear = [part for part in coder if isinstance(part, torch.nn.Linear)]
    back = [part for part in decoder if isinstance(part, torch.nn.Linear)][::-1]
    total = 0.0
    for row in x:
        y = row
        for part in linear[:layer]:
            y = part(y).clamp(min=0)
        h = linear[layer](y)
        h = h.clamp(min=0) if layer < 2 else h
        r = back[layer](h)
        r = r.clamp(min=0) if layer > 0 else r
        total += float((r - y).square().mean())
    found = pair_error(coder, decoder, x, layer, 0.0)
    assert found.item() == pytest.approx(total / 8, rel=1e-5)
    found.backward()
    moved = [part.weight.grad is not None for part in (*linear, *back)]
    assert moved == [i == layer for i in range(3)] * 2


def test_damage_is_done_to_the_input_and_not_to_what_is_asked_for() -> None:
    torch.manual_seed(0)
    x = torch.ones(500, 4)
    same = torch.nn.Sequential(torch.nn.Identity())
    # Of the ones, half become 0 and half 2; both are 1 off.
    assert reconstruction_error(same, same, x, 0.5).item() == pytest.approx(1.0)
    assert reconstruction_error(same, same, x).item() == 0


SMALL = {"ae_layers": (40, 10), "ae_steps": 80, "random_state": 0, "encoder": "tfidf"}
SHORT = {**SMALL, "steps": 30, "refresh_every": 10, "tol": 0.0, "guard": False}


def features(model, texts) -> tuple:
    items, rows = model.encoder_.prepare(texts)
    return items.batch(rows)["vectors"] * model.encoder_.factor + model.encoder_.shift


@pytest.mark.parametrize("cls", [DEC, IDEC])
def test_losses_equal_their_loops(cls: type, topics) -> None:
    texts = topics[0][:24]
    model = cls(3, **{**SHORT, "steps": 1}).fit(texts)
    net, encoder = model.net_.eval(), model.encoder_
    x = features(model, texts)
    with torch.no_grad():
        z, mu = encoder.coder(x), net.assign.centers
        sharpen(net, z)
        q = np.array([[1 / (1 + float((a - b).square().sum())) for b in mu] for a in z])
        q /= q.sum(axis=1, keepdims=True)
        p = loop_target(q)
        np.testing.assert_allclose(net.log_p.exp().numpy(), p, atol=1e-5)
        rows = torch.tensor([3, 1, 7])

        class Three:
            index = rows
            features = {"vectors": (x[rows] - encoder.shift) / encoder.factor}  # noqa: RUF012

        terms = model._loss(net, Three())
        kl = sum(p[i, j] * math.log(p[i, j] / q[i, j]) for i in rows for j in range(3)) / 3
        weight = 0.1 if cls is IDEC else 1.0
        assert terms["cluster"].item() == pytest.approx(weight * kl, rel=1e-3, abs=1e-6)
        if cls is IDEC:
            back = encoder.decoder(z[rows])
            error = np.mean(
                [
                    (float(a) - float(b)) ** 2
                    for a, b in zip(back.ravel(), x[rows].ravel(), strict=True)
                ]
            )
            assert terms["reconstruction"].item() == pytest.approx(error, rel=1e-4)
        assert terms.keys() == ({"cluster", "reconstruction"} if cls is IDEC else {"cluster"})


@pytest.mark.parametrize("pretrain", ["joint", "layerwise"])
def test_the_autoencoder_learns_to_give_the_rows_back(pretrain: str, topics) -> None:
    errors = []
    for steps in (0, 80):
        settings = {**SMALL, "ae_steps": steps, "pretrain": pretrain, "ae_dropout": 0.1}
        model = Autoencoder(3, **settings).fit(topics[0])
        x = features(model, topics[0])
        with torch.no_grad():
            back = model.encoder_.decoder(model.encoder_.coder(x))
        errors.append(float((back - x).square().mean()))
        names = dict.fromkeys(row["stage"] for row in model.history_.rows)
        if steps:
            pairs = ["layer 1", "layer 2"] * (pretrain == "layerwise")
            assert list(names) == [*pairs, "autoencoder"]
            for name in names:
                losses = model.history_.losses(name)
                assert losses[-1] < losses[0], name
    assert errors[0] > 0.9 and errors[1] < 0.6 * errors[0]


def test_zero_steps_are_the_clustering_of_the_codes(topics) -> None:
    dec = DEC(3, **{**SHORT, "steps": 0}).fit(topics[0])
    plain = Autoencoder(3, **SMALL).fit(topics[0])
    assert dec.guard_ is None
    np.testing.assert_array_equal(dec.labels_, plain.labels_)
    ward = Autoencoder(3, cluster="ward", **SMALL).fit(topics[0])
    assert ward.assigner_.kind == "neighbors"
    np.testing.assert_array_equal(ward.vectors_, plain.vectors_)


def test_targets_are_taken_anew(topics) -> None:
    settings = {**SHORT, "lr": 1e-3}
    once = DEC(3, **{**settings, "refresh_every": 1000}).fit(topics[0])
    often = DEC(3, **settings).fit(topics[0])
    assert (often.net_.log_p - once.net_.log_p).abs().max() > 1e-3
    assert [row["step"] for row in often.history_.rows if "changed" in row] == [20, 30]


def test_pairs_of_layers_are_mirrored() -> None:
    model = DEC(3, ae_layers=(7, 5, 3), pretrain="layerwise", ae_steps=1)
    *pairs, whole = model._pretraining_stages(TrainingContext(9, 1, 0))
    assert [tuple(stage.lr) for stage in pairs] == [
        (f"encoder.coder.{2 * i}", f"encoder.decoder.{4 - 2 * i}") for i in range(3)
    ]
    assert tuple(whole.lr) == ("encoder.coder", "encoder.decoder")


def test_the_code_grows_with_the_number_of_clusters() -> None:
    assert DEC(4)._layers() == [500, 500, 2000, 10]
    assert DEC(89)._layers() == [500, 500, 2000, 90]
    assert DEC.from_preset("paper", n_clusters=89)._layers() == [500, 500, 2000, 10]


def test_training_stops_when_labels_settle(topics) -> None:
    model = DEC(3, **{**SHORT, "tol": 0.5, "steps": 100}).fit(topics[0])
    assert model.history_.rows[-1]["step"] == 20  # the second look
    assert len({row["stage"] for row in model.history_.rows}) > 1  # what came before is there
