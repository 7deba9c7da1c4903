"""Means of neighbours: a loop, parts, and that clusters draw together."""

import numpy as np
import pytest
import torch

from coterie import neighbors
from coterie.blocks.smooth import neighbor_mean


def test_equals_a_loop() -> None:
    torch.manual_seed(0)
    x = torch.randn(20, 3)
    unit = x / x.norm(dim=1, keepdim=True)
    for i, row in enumerate(neighbor_mean(x, 3, rounds=1)):
        order = sorted(range(20), key=lambda j: -float(unit[i] @ unit[j]))[:3]
        torch.testing.assert_close(row, torch.stack([unit[j] for j in order]).mean(dim=0))


def test_parts_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    x = torch.randn(50, 4)
    whole = neighbor_mean(x, 5)
    monkeypatch.setattr(neighbors, "BLOCK", 50 * 7)
    torch.testing.assert_close(neighbor_mean(x, 5), whole)


def test_clusters_draw_together_and_stay_apart() -> None:
    torch.manual_seed(0)
    centers = torch.eye(3).repeat_interleave(40, dim=0)
    x = centers + 0.3 * torch.randn(120, 3)
    y = neighbor_mean(x, 10)
    inside = lambda v: torch.nn.functional.normalize(v, dim=1).view(3, 40, 3).var(dim=1).sum()  # noqa: E731
    assert inside(y) < 0.5 * inside(x)


def test_fewer_rows_than_neighbors() -> None:
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    torch.testing.assert_close(neighbor_mean(x, 20, 1), torch.full((2, 2), 0.5))
    assert torch.equal(neighbor_mean(x, 20, 0), x)


def test_few_rows_are_not_all_replaced_by_one_mean() -> None:
    rng = np.random.default_rng(0)
    sides = np.repeat(np.eye(2, 5), 6, axis=0) + rng.normal(0, 0.1, (12, 5))
    found = neighbor_mean(torch.tensor(sides), 20, 2)
    assert torch.equal(found.argmax(dim=1), torch.arange(12) // 6)
    assert neighbor_mean(torch.ones(1, 3)).shape == (1, 3)
