"""VaSCL: its terms put together, and its training."""

from pathlib import Path

import numpy as np
import pytest
import torch

from coterie import VaSCL, load
from coterie._errors import UsageError
from coterie.blocks.nt_xent import nt_xent
from coterie.blocks.virtual import hardest_step, neighborhood, told_apart
from coterie.methods.vascl import VaSCLNet

SMALL = {"random_state": 0, "batch_size": 30, "guard": False}


class Two:
    """Two passes of six texts, of which two are the same."""

    index = torch.arange(6)
    groups = torch.tensor([0, 1, 2, 3, 4, 4])

    def encode(self, encoder):
        generator = torch.Generator().manual_seed(0)
        return tuple(torch.randn(6, 5, generator=generator) for _ in range(2))


class Five(torch.nn.Module):
    dim = 5


@pytest.mark.parametrize("masked", [True, False])
def test_the_loss_is_the_sum_of_its_terms(masked: bool) -> None:
    torch.manual_seed(0)
    net, batch = VaSCLNet(Five(), 3), Two()
    model = VaSCL(2, n_neighbors=2, virtual_weight=0.5, mask_duplicates=masked)
    torch.manual_seed(7)
    terms = model._loss(net, batch)
    groups = batch.groups if masked else None
    e = batch.encode(None)
    contrast = nt_xent(net.project(e[0]), net.project(e[1]), 0.05, groups=groups)
    assert terms["contrast"].item() == pytest.approx(contrast.item())
    torch.manual_seed(7)
    total = 0.0
    for x in e:
        near, real = neighborhood(x, 2, batch.groups if masked else batch.index)
        step = hardest_step(x, x[near], real, 1.0, 0.05)
        total += told_apart(x + step, x, x[near], real, 0.05).mean().item() / 2
    assert terms["virtual"].item() == pytest.approx(0.5 * total, rel=1e-5)
    assert VaSCL(2, virtual_weight=0.0)._loss(net, batch).keys() == {"contrast"}


def test_training_lowers_both_terms_and_moves_everything(tiny_encoder: Path, topics) -> None:
    settings = {**SMALL, "encoder": str(tiny_encoder), "lr": 1e-3, "head_lr": 1e-3}
    model = VaSCL(3, steps=30, **settings).fit(topics[0])
    start = VaSCL(3, steps=1, **{**settings, "lr": 0.0, "head_lr": 0.0}).fit(topics[0])
    rows = [row["terms"] for row in model.history_.rows if "terms" in row]
    assert rows[0].keys() == {"contrast", "virtual"}
    for name in rows[0]:
        assert rows[-1][name] < rows[0][name], name
    before = start.net_.state_dict()
    for name, tensor in model.net_.named_parameters():
        if "pooler" not in name:  # mean pooling does not look at it
            assert not torch.equal(tensor, before[name]), f"{name} was never updated"


def test_a_saved_model_predicts_the_same(topics, tmp_path: Path) -> None:
    model = VaSCL(3, steps=5, lr=1e-3, encoder="tfidf", **SMALL).fit(topics[0])
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(topics[0]), model.labels_)


@pytest.mark.parametrize(
    "wrong", [{"radius": 0.0}, {"temperature": 0}, {"n_neighbors": 0}, {"tune": "heads"}]
)
def test_wrong_parameters_are_refused(wrong: dict) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        VaSCL(2, encoder="tfidf", **wrong).fit(["a cat", "the dog"])
