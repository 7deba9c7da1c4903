"""The linear head: its start from centers, and the direction of its loss."""

import numpy as np
import pytest
import torch
from torch import nn

from coterie.blocks.linear_head import put_centers, soft_cross_entropy


def test_the_head_has_the_softmax_of_the_printed_weights() -> None:
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(5, 7)).astype(np.float32)
    z = torch.from_numpy(rng.normal(size=(20, 7)).astype(np.float32))
    head, s = nn.Linear(7, 5), 2 / 0.8
    put_centers(head, centers, 0.8)
    c = torch.from_numpy(centers)
    printed = z @ (s * c).T - s * (c * c).sum(dim=1) / 2  # W_j = s c_j, b_j = -s c_j.c_j / 2
    torch.testing.assert_close(head(z).softmax(dim=1), printed.softmax(dim=1))
    nearest = torch.cdist(z, c).argmin(dim=1)
    assert torch.equal(head(z).argmax(dim=1), nearest)


def test_vectors_with_much_in_common_keep_their_nearest_center() -> None:
    rng = np.random.default_rng(0)
    common = 1000 * np.ones(16)
    centers = (common + rng.normal(size=(8, 16))).astype(np.float32)
    points = (common + rng.normal(size=(200, 16))).astype(np.float32)
    head = nn.Linear(16, 8)
    put_centers(head, centers, 1.0)
    exact = np.square(points[:, None].astype(np.float64) - centers[None]).sum(axis=2)
    two = np.sort(exact, axis=1)[:, :2]
    clear = two[:, 1] - two[:, 0] > 0.1
    found = head(torch.from_numpy(points)).argmax(dim=1).numpy()
    np.testing.assert_array_equal(found[clear], exact.argmin(axis=1)[clear])


def test_cross_entropy_has_the_target_first() -> None:
    q, p = torch.tensor([[0.9, 0.1]]), torch.tensor([[0.5, 0.5]])
    # -(0.9 log 0.5 + 0.1 log 0.5) = log 2; the other way round it would be 0.5 * 2.41 = 1.20
    assert soft_cross_entropy(q.log(), p.log()).item() == pytest.approx(np.log(2))
    other = -0.5 * np.log(0.9) - 0.5 * np.log(0.1)
    assert soft_cross_entropy(p.log(), q.log()).item() == pytest.approx(other)


def test_cross_entropy_equals_a_loop_and_is_least_at_the_target() -> None:
    torch.manual_seed(0)
    log_q, log_p = torch.randn(2, 6, 4, dtype=torch.float64).log_softmax(dim=2)
    total = 0.0
    for i in range(6):
        for j in range(4):
            total -= float(log_q[i, j].exp() * log_p[i, j])
    assert soft_cross_entropy(log_q, log_p).item() == pytest.approx(total / 6)
    entropy = -(log_q.exp() * log_q).sum(dim=1).mean()
    torch.testing.assert_close(soft_cross_entropy(log_q, log_q), entropy)
    assert soft_cross_entropy(log_q, log_p) > entropy
    logits = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    loss = lambda x: soft_cross_entropy(log_q, x.log_softmax(dim=1))  # noqa: E731
    assert torch.autograd.gradcheck(loss, (logits,))


def test_a_hard_target_is_the_negative_log_likelihood() -> None:
    log_p = torch.randn(3, 4).log_softmax(dim=1)
    hard = torch.full((3, 4), -torch.inf)
    hard[[0, 1, 2], [1, 3, 0]] = 0.0
    found = -(hard.exp() * log_p).sum(dim=1).mean()
    torch.testing.assert_close(found, torch.nn.functional.nll_loss(log_p, torch.tensor([1, 3, 0])))
