"""UMAP for clustering: shapes, seeds, few rows."""

import numpy as np
import pytest

from coterie.blocks.reduction import reduce_by_umap

pytest.importorskip("umap")


def test_neighbours_stay_together_and_a_seed_repeats() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 30)
    x = (np.eye(3)[labels] + 0.05 * rng.normal(size=(90, 3))).astype(np.float32)
    y = reduce_by_umap(x, dim=2, seed=1)
    assert y.shape == (90, 2) and y.dtype == np.float32
    np.testing.assert_array_equal(y, reduce_by_umap(x, dim=2, seed=1))
    centers = np.stack([y[labels == k].mean(axis=0) for k in range(3)])
    nearest = ((y[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.98


def test_torch_keeps_its_threads() -> None:
    import torch

    before = torch.get_num_threads()
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    reduce_by_umap(x, dim=2)
    assert torch.get_num_threads() == before


def test_few_rows_get_fewer_dimensions() -> None:
    x = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    assert reduce_by_umap(x, dim=5).shape == (6, 4)
