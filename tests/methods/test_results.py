"""What a fit returns: the labels of a head, or the start where the guard steps in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score
from torch import Tensor

from coterie import METHODS
from coterie.encoders import load_encoder

SETTINGS = {"batch_size": 30, "lr": 1e-3, "head_lr": 1e-2, "random_state": 0}
HEADS: dict[str, Callable[[Any, Tensor], Tensor]] = {  # probabilities of a network at vectors
    "cluster-bert": lambda net, x: net.head(x).softmax(dim=1),
    "deccrl": lambda net, x: net.assign(net.reduce(x)).exp(),
    "rstc": lambda net, x: net.head.steady(x).exp(),
    "sccl": lambda net, x: net.assign(x).exp(),
}


@pytest.mark.parametrize("method", HEADS)
def test_labels_by_the_head_are_its_probabilities(method: str, topics) -> None:
    settings = {**SETTINGS, "encoder": "tfidf", "labels_from": "head", "guard": False}
    short = {} if method == "cluster-bert" else {"steps": 60}
    model = METHODS[method].make(3, **settings, **short).fit(topics[0])
    found = HEADS[method](model.net_, torch.from_numpy(model.vectors_)).detach().numpy()
    np.testing.assert_allclose(np.sort(model.probabilities_), np.sort(found), atol=1e-5)


DAMAGED: list[tuple[str, dict[str, Any]]] = [
    ("deccrl", {"steps": 25, "word_dim": 20}),
    ("rstc", {"steps": 60}),
    ("sccl", {"steps": 25}),
    ("sccl", {"steps": 8, "tune": "last-1"}),
]


@pytest.mark.full
@pytest.mark.parametrize(("method", "more"), DAMAGED, ids=str)
def test_the_guard_returns_the_start_and_its_encoder(
    method: str, more: dict, tiny_encoder: Path, topics
) -> None:
    wild = {**SETTINGS, "encoder": str(tiny_encoder), "lr": 10.0, "head_lr": 10.0, **more}
    model = METHODS[method].make(3, **wild).fit(topics[0])
    assert model.kept_start and model.guard_.fired and model.guard_.reason
    assert adjusted_rand_score(model.labels_, model.start_labels_) == 1
    np.testing.assert_array_equal(model.predict(topics[0]), model.labels_)
    assert [getattr(model, name, None) for name in ("shares_", "topics_")] == [None, None]
    untouched = load_encoder(str(tiny_encoder))
    for encoder in (untouched, model.encoder_):
        encoder.complete()
    before = untouched.state_dict()
    for name, tensor in model.encoder_.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    unguarded = METHODS[method].make(3, guard=False, **wild).fit(topics[0])
    assert unguarded.guard_.fired and not unguarded.kept_start
