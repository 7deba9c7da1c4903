"""SCCL: its terms against loops, its objectives, its training on a real (tiny) transformer."""

import numpy as np
import pytest
import torch

from coterie import SCCL
from coterie.encoders import VectorEncoder
from coterie.errors import TrainingError
from coterie.methods.losses.nt_xent import nt_xent
from coterie.methods.sccl import SCCLNet, cluster_term, contrast_term, count_clusters
from coterie.methods.train import TrainingContext, TrainingData
from said import raises


@pytest.fixture
def net() -> SCCLNet:
    torch.manual_seed(0)
    encoder = VectorEncoder()
    encoder.prepare(np.zeros((2, 4)))
    return SCCLNet(encoder, torch.randn(3, 4), 1.0, 5)


def parts(n: int = 6) -> list[torch.Tensor]:
    torch.manual_seed(1)
    return list(torch.randn(3, n, 4).unbind())


def loop_kl(p: torch.Tensor, q: torch.Tensor) -> float:
    total = 0.0
    for row_p, row_q in zip(p.tolist(), q.tolist(), strict=True):
        total += sum(a * np.log(a / b) for a, b in zip(row_p, row_q, strict=True))
    return total / len(p)


def q_and_p(net: SCCLNet, e: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Eq. (3) and (4) directly."""
    distances = ((e[:, None] - net.assign.centers[None]) ** 2).sum(dim=2)
    kernel = 1 / (1 + distances)
    q = (kernel / kernel.sum(dim=1, keepdim=True)).detach()
    weight = q**2 / q.sum(dim=0)
    return q, weight / weight.sum(dim=1, keepdim=True)


# Of each divergence: the number of the view that gives the target, and of the one assigned.
CLUSTER_LOSSES = {
    "original": [(0, 0)],
    "crossed": [(1, 2), (2, 1)],  # Eq. (8)
    "to-views": [(0, 1), (0, 2)],  # Eq. (9)
}


@pytest.mark.parametrize("kind", CLUSTER_LOSSES)
def test_cluster_losses_equal_the_equations(kind: str, net: SCCLNet) -> None:
    views = parts()
    both = [q_and_p(net, e) for e in views]
    expected = sum(loop_kl(both[a][1], both[b][0]) for a, b in CLUSTER_LOSSES[kind])
    found = cluster_term(net, tuple(views), kind, "batch")
    assert found.item() == pytest.approx(expected, rel=1e-4)


def test_contrast_is_on_the_projections(net: SCCLNet) -> None:
    _, e1, e2 = parts()
    expected = nt_xent(net.project(e1), net.project(e2), 0.3)
    torch.testing.assert_close(contrast_term(net, e1, e2, None, 0.3), expected)


@pytest.mark.parametrize("eta", [1.0, 10.0])
def test_the_total_is_the_cluster_term_and_eta_times_the_contrast(eta: float) -> None:
    encoder = VectorEncoder(dropout=0)
    x = np.random.default_rng(0).normal(size=(8, 4))
    items, rows = encoder.prepare(x)
    net = SCCLNet(encoder, torch.randn(3, 4), 1.0, 5)
    model = SCCL(3, eta=eta, steps=1, encoder="precomputed")
    (stage,) = model._training_stages(TrainingContext(8, 1, 0))
    batch = TrainingData(items, rows[None]).batch(np.arange(8), stage.views, torch.device("cpu"))
    terms = stage.loss(net, batch)
    e = torch.from_numpy(x.astype(np.float32))
    torch.testing.assert_close(terms["cluster"], cluster_term(net, (e,), "original", "batch"))
    torch.testing.assert_close(terms["contrast"], eta * contrast_term(net, e, e, None, 0.5))


def test_running_frequency_follows_the_batches_and_sums_to_one(net: SCCLNet) -> None:
    (e0, _, _) = parts()
    count_clusters(net, e0)
    torch.testing.assert_close(net.log_f.exp().sum(), torch.tensor(1.0))
    share = net.assign(e0).exp().mean(dim=0).detach()
    torch.testing.assert_close(net.log_f.exp(), share)
    net.log_f.copy_(torch.tensor([0.8, 0.1, 0.1]).log())
    cluster_term(net, (e0,), "original", "running")
    expected = 0.95 * torch.tensor([0.8, 0.1, 0.1]) + 0.05 * share
    torch.testing.assert_close(net.log_f.exp(), expected)


def test_corpus_frequency_is_used_in_the_target(net: SCCLNet) -> None:
    e0, _, _ = parts()
    net.log_f.copy_(torch.tensor([0.9, 0.05, 0.05]).log())
    q, _ = q_and_p(net, e0)
    weight = q**2 / torch.tensor([0.9, 0.05, 0.05])
    p = weight / weight.sum(dim=1, keepdim=True)
    found = cluster_term(net, (e0,), "original", "corpus")
    assert found.item() == pytest.approx(loop_kl(p, q), rel=1e-4)


@pytest.mark.parametrize(
    ("objective", "n_views", "expected"),
    [
        ("joint", 1, [("joint", (0, 0), {"encoder", "project", "assign"})]),
        ("joint", 2, [("joint", (0, 1), {"encoder", "project", "assign"})]),
        ("joint", 3, [("joint", (0, 1, 2), {"encoder", "project", "assign"})]),
        ("instance", 3, [("instance", (1, 2), {"encoder", "project"})]),
        ("clustering", 3, [("clustering", (0,), {"encoder", "assign"})]),
        (
            "sequential",
            3,
            [
                ("instance", (1, 2), {"encoder", "project"}),
                ("clustering", (0,), {"encoder", "assign"}),
            ],
        ),
    ],
)
def test_objectives_train_the_right_parts_on_the_right_views(objective, n_views, expected) -> None:
    stages = SCCL(3, objective=objective, steps=11)._training_stages(
        TrainingContext(100, n_views, 0)
    )
    assert [(s.name, s.views, set(s.lr)) for s in stages] == expected
    assert sum(s.steps for s in stages) == 11


@pytest.mark.parametrize(
    ("n", "steps"), [(100, 100), (990, 300), (8000, 1000), (20_000, 1500), (10**6, 3000)]
)
def test_default_number_of_steps(n: int, steps: int) -> None:
    (stage,) = SCCL(3)._training_stages(TrainingContext(n, 1, 0))
    assert stage.steps == steps


SETTINGS = {"steps": 40, "batch_size": 30, "lr": 1e-3, "head_lr": 1e-2, "random_state": 0}


def test_training_stops_when_labels_settle(topics) -> None:
    model = SCCL(3, encoder="tfidf", tol=0.5, refresh_every=5, **SETTINGS).fit(topics[0])
    assert max(row["step"] for row in model.history_.rows) < 40


def test_a_loss_that_is_not_a_number_stops_the_fit(topics, monkeypatch) -> None:
    monkeypatch.setattr(
        "coterie.methods.sccl.contrast_term", lambda net, e1, e2, g, t: e1.sum() * float("nan")
    )
    with raises(TrainingError, "not a finite number"):
        SCCL(3, encoder="tfidf", **SETTINGS).fit(topics[0])
