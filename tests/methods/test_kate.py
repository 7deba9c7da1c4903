"""KATE: its loss against a loop, its training, its codes."""

import math

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from coterie import KATE
from coterie._errors import UsageError
from coterie.blocks.competition import compete
from coterie.methods.kate import KATENet, word_loss

SMALL = {"epochs": 40, "lr": 1e-2, "code_dim": 24, "winners": 8, "random_state": 0}


class Kept(KATE):
    """Keeps the network of the training."""

    def _build_pretraining_network(self, encoder, facts) -> KATENet:
        self.net = super()._build_pretraining_network(encoder, facts)
        return self.net


def test_the_loss_equals_its_loop(topics) -> None:
    texts = topics[0][:9]
    model = Kept(3, **SMALL).fit(texts)
    net = model.net
    items, rows = model.encoder_.prepare(texts)

    class Everything:
        features = items.batch(rows)

    x = Everything.features["vectors"]
    weight = net.encoder.coder[0].weight
    total = 0.0
    with torch.no_grad():
        for row in x:
            z = torch.tanh(weight @ row + net.encoder.coder[0].bias)
            z = compete(z[None], 8, 6.26)[0]
            back = 1 / (1 + torch.exp(-(weight.T @ z + net.output.bias)))  # the same weights
            for wanted, found in zip(row.tolist(), back.tolist(), strict=True):
                found = min(max(found, 1e-12), 1 - 1e-7)
                total -= wanted * math.log(found) + (1 - wanted) * math.log(1 - found)
        loss = word_loss(net, Everything(), winners=8, boost=6.26)["words"]
    assert loss.item() == pytest.approx(total / 9, rel=1e-3)


def test_training_lowers_the_loss_and_moves_every_part(topics) -> None:
    model = Kept(3, **SMALL).fit(topics[0])
    losses = model.history_.losses()
    assert losses[-1] < 0.5 * losses[0]
    untrained = clone(model).set_params(epochs=0).fit(topics[0]).net.state_dict()
    for name, parameter in model.net.named_parameters():
        assert not torch.equal(parameter, untrained[name]), f"{name} was never updated"
    assert adjusted_rand_score(topics[1], model.labels_) > 0.8


def test_codes_are_without_competition(topics) -> None:
    model = KATE(3, **SMALL).fit(topics[0])
    items, rows = model.encoder_.prepare(topics[0])
    x = items.batch(rows)["vectors"]
    with torch.no_grad():
        wanted = torch.tanh(model.encoder_.coder[0](x)).numpy()
    np.testing.assert_allclose(model.vectors_, wanted, atol=1e-6)
    assert ((wanted != 0).sum(axis=1) > 8).all()


def test_ward_and_wrong_parameters(topics) -> None:
    assert KATE(3, cluster="ward", **SMALL).fit(topics[0]).assigner_.kind == "neighbors"
    wrong = {"winners": 0, "code_dim": 0, "boost": -1.0, "cluster": "average", "encoder": "tfidf"}
    for name, value in wrong.items():
        with pytest.raises(UsageError, match=name):
            KATE(3, **{**SMALL, name: value}).fit(topics[0])
