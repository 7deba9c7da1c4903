"""RSTC: its terms against loops, its labels by transport, and its stages."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from coterie import RSTC
from coterie._errors import DataError, UsageError
from coterie.blocks.transport import adaptive_plan
from coterie.encoders import load_encoder
from coterie.methods.rstc import RSTCNet, contrast_term, label_term, transport_labels

SMALL = {"steps": 90, "batch_size": 30, "lr": 1e-3, "head_lr": 1e-2, "random_state": 0,
         "refresh_every": 10, "tol": 0.0, "encoder": "tfidf"}  # fmt: skip


@pytest.fixture
def net() -> RSTCNet:
    torch.manual_seed(0)
    encoder = load_encoder("precomputed")
    encoder.dim = 6
    return RSTCNet(encoder, 12, 3, 4).eval()


def loop_contrast(a: torch.Tensor, b: torch.Tensor, t: float) -> float:
    """Both directions of the instance loss, each a mean over the texts, added."""
    rows = [v / v.norm() for v in torch.cat([a, b])]
    n, total = len(a), 0.0
    for anchor in range(2 * n):
        near = [math.exp(float(rows[anchor] @ rows[j]) / t) for j in range(2 * n)]
        positive = near[(anchor + n) % (2 * n)]
        total -= math.log(positive / (sum(near) - near[anchor])) / n
    return total


def test_terms_equal_their_loops(net: RSTCNet) -> None:
    e1, e2 = torch.randn(5, 6), torch.randn(5, 6)
    labels = torch.tensor([0, 2, 1, 1, 0])
    with torch.no_grad():
        found = contrast_term(net, (e1, e2), None, 0.7).item()
        assert found == pytest.approx(
            loop_contrast(net.project(e1), net.project(e2), 0.7), abs=1e-5
        )
        wanted = 0.0
        for e in (e1, e2):
            p = net.head.layers(e).softmax(dim=1)
            wanted -= sum(math.log(p[i, labels[i]]) for i in range(5)) / 5
        assert label_term(net, (e1, e2), labels).item() == pytest.approx(wanted, abs=1e-5)


def test_labels_are_the_largest_parts_of_the_plan(net: RSTCNet) -> None:
    x = torch.randn(12, 6)
    net.train()
    transport_labels(net, x, 0.1, 0.05)
    plan, shares = adaptive_plan(net.eval().head(x).detach(), 0.1, 0.05)
    torch.testing.assert_close(net.labels, plan.argmax(dim=1))
    torch.testing.assert_close(net.shares.double(), shares, atol=1e-6, rtol=0)
    assert int(net.looks) == 1


@pytest.mark.parametrize("views", ["virtual", "pairs"])
def test_training_lowers_the_losses_and_moves_every_part(
    views: str, tiny_encoder: Path, topics
) -> None:
    texts, _ = topics
    settings = {**SMALL, "contrast_steps": 20, "label_steps": 40}
    if views == "virtual":
        settings["encoder"] = str(tiny_encoder)
    model = RSTC(3, guard=False, **settings)
    pairs = [[" ".join(t.split()[1:]) for t in texts], [" ".join(t.split()[:-1]) for t in texts]]
    given = pairs if views == "pairs" else None
    start = clone(model).set_params(lr=0.0, head_lr=0.0, steps=1).fit(texts, views=given)
    model.fit(texts, views=given)
    for stage in ("contrast", "labels", "transport"):
        losses = model.history_.losses(stage)
        assert losses[-1] < losses[0], stage
    untrained = start.net_.state_dict()
    for name, parameter in model.net_.named_parameters():
        if "pooler" not in name:
            assert not torch.equal(parameter, untrained[name]), f"{name} was never updated"
    assert int(model.net_.looks) > 1 and int(model.net_.step) == 30


def test_labels_of_the_head_are_returned_and_found_topics_are_right(topics) -> None:
    texts, truth = topics
    model = RSTC(3, guard=False, **SMALL).fit(texts)
    assert adjusted_rand_score(truth, model.labels_) > 0.9
    p = model.net_.head.steady(torch.from_numpy(model.vectors_)).exp().numpy()
    np.testing.assert_allclose(np.sort(model.probabilities_), np.sort(p), atol=1e-5)
    sizes = np.bincount(model.labels_) / 90  # shares_ follow the numbering of the clusters
    np.testing.assert_allclose(model.shares_, sizes, atol=0.1)
    other = RSTC(3, labels="kmeans", guard=False, **SMALL).fit(texts)
    assert other.assigner_.kind == "centers"


def test_refreshes_come_often_at_first(topics) -> None:
    few = RSTC(3, refreshes=3, label_steps=30, guard=False, **SMALL).fit(topics[0])
    # 60 steps: at 0 (the set-up), 15 and 60, that is at the looks of steps 20 and 60.
    assert int(few.net_.looks) == 3
    many = RSTC(3, refreshes=500, label_steps=30, guard=False, **SMALL).fit(topics[0])
    assert int(many.net_.looks) == 1 + 6  # at every look


def test_training_stops_when_labels_settle(topics) -> None:
    model = RSTC(3, **{**SMALL, "tol": 0.5, "steps": 200}).fit(topics[0])
    assert max(r["step"] for r in model.history_.rows if r["stage"] == "transport") < 100


@pytest.mark.parametrize(("k", "steps", "wanted"), [(3, 90, 40), (3, 3000, 40), (9, 900, 90)])
def test_the_head_has_time_for_its_first_labels(k: int, steps: int, wanted: int, topics) -> None:
    from coterie.base import TrainingContext

    model = RSTC(k, steps=steps)
    plan = {
        stage.name: stage.steps
        for stage in model._training_stages(TrainingContext(90, 1, 0, (45, 45)))
    }
    assert plan == {"labels": wanted, "transport": steps - wanted}
    assert model.balance_ == 0.1
    assert RSTC(k, steps=0)._training_stages(TrainingContext(90, 1, 0, (45, 45))) == []


def test_the_paper_preset() -> None:
    paper = RSTC.from_preset("paper")
    assert (paper.label_steps, paper.steps, paper.eta, paper.temperature) == (40, 3000, 10, 1.0)
    assert (paper.lr, paper.head_lr, paper.batch_size, paper.tol) == (5e-6, 5e-4, 200, 0.01)


def test_the_guard_returns_the_start(topics) -> None:
    model = RSTC(3, **{**SMALL, "lr": 30.0, "head_lr": 30.0}).fit(topics[0])
    assert model.guard_.fired and model.shares_ is None
    assert adjusted_rand_score(model.labels_, model.start_labels_) == 1


def test_checkpoints_continue_to_the_identical_model(topics, tmp_path: Path) -> None:
    texts = topics[0][:45]
    settings = {**SMALL, "batch_size": 15, "steps": 60, "label_steps": 20, "guard": False}
    whole = RSTC(3, **settings).fit(texts)
    seen = iter(range(1000))

    class Dies(RSTC):
        def _build_network(self, encoder, start, facts):
            net = super()._build_network(encoder, start, facts)

            def die(module, inputs) -> None:
                if module.training and next(seen) == 41:
                    raise SystemExit

            net.project.register_forward_pre_hook(die)
            return net

    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    with pytest.raises(SystemExit):
        Dies(3, **settings, **options).fit(texts)
    with pytest.raises(DataError, match="another run"):
        RSTC(3, **settings, **options).fit([t.replace("apple", "pear") for t in texts])
    resumed = RSTC(3, **settings, **options).fit(texts)
    np.testing.assert_array_equal(resumed.probabilities_, whole.probabilities_)
    for name, tensor in whole.net_.state_dict().items():
        assert torch.equal(resumed.net_.state_dict()[name], tensor), name


WRONG = {
    "labels": "x", "steps": -1, "temperature": 0, "smoothness": 0.0, "lr": "fast", "tol": -0.1,
    "eta": float("nan"), "refreshes": 0, "balance_weight": -1.0, "label_steps": 1.5,
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        RSTC(2, **{"encoder": "tfidf", name: WRONG[name]}).fit(["a cat", "the dog"])


@pytest.mark.gpu
def test_gpu_and_cpu_find_the_same_topics(topics) -> None:
    for device in ("cpu", "cuda"):
        model = RSTC(3, device=device, **SMALL).fit(topics[0])
        assert adjusted_rand_score(topics[1], model.labels_) > 0.9
