"""The exact search: against loops and sorts, in blocks, by every metric."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from coterie.arrays import neighbors
from coterie.arrays.neighbors import (
    largest,
    nearest_by_distance,
    nearest_rows,
    similarity_blocks,
    top_k,
)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_nearest_are_those_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    found = nearest_rows(x, 4)
    for i in range(30):
        cosines = [x[i] @ x[j] / np.linalg.norm(x[i]) / np.linalg.norm(x[j]) for j in range(30)]
        assert list(found[i]) == list(np.argsort(cosines)[::-1][:4])
    monkeypatch.setattr(neighbors, "BLOCK", 70)  # two rows at a time
    np.testing.assert_array_equal(nearest_rows(torch.from_numpy(x), 4), found)


def test_a_row_is_its_own_first_neighbour_also_among_equals() -> None:
    x = np.ones((5, 3), dtype=np.float32)
    np.testing.assert_array_equal(nearest_rows(x, 3)[:, 0], np.arange(5))
    assert nearest_rows(x, 9).shape == (5, 5)


@pytest.mark.parametrize("columns", [5, 320, 333, 640])
def test_the_largest_are_those_of_a_sort(columns: int) -> None:
    x = torch.randn(40, columns, generator=torch.Generator().manual_seed(3))
    for k in (1, 2, 5):
        expected = x.sort(dim=1, descending=True).indices[:, :k]
        assert torch.equal(largest(x, k), expected)


def test_equal_values_are_all_found() -> None:
    x = torch.zeros(1, 640)
    x[0, [3, 23, 43, 63]] = 1.0  # all in one group: columns that differ by a multiple of 20
    assert sorted(largest(x, 4)[0].tolist()) == [3, 23, 43, 63]


def test_neighbours_among_many_rows_are_the_exact_ones() -> None:
    x = np.random.default_rng(0).normal(size=(1500, 12)).astype(np.float32)
    unit_rows = unit(x.astype(np.float64))
    near = unit_rows @ unit_rows.T
    np.fill_diagonal(near, 2)
    np.testing.assert_array_equal(nearest_rows(x, 8), np.argsort(-near, axis=1)[:, :8])


@pytest.mark.parametrize("block", [9, 1 << 22])
def test_the_nearest_row_is_that_of_a_loop(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "BLOCK", block)
    rng = np.random.default_rng(1)
    x, rows = rng.normal(size=(7, 3)) + 50, rng.normal(size=(9, 3)) + 50
    apart = [[np.square(a - b).sum() for b in rows] for a in x]
    assert nearest_by_distance(x, rows).tolist() == np.argmin(apart, axis=1).tolist()


def test_a_row_can_be_left_out_and_a_bias_added() -> None:
    x = torch.randn(12, 5, generator=torch.Generator().manual_seed(0))
    index, values = top_k(x[[3, 7]], 11, x, itself=np.array([3, 7]))
    assert 3 not in index[0] and 7 not in index[1]
    torch.testing.assert_close(values[0], (x @ x[3])[index[0]])
    bias = torch.zeros(12)
    bias[4] = 100
    assert top_k(x, 1, bias=bias)[0].flatten().tolist() == [4] * 12
    assert top_k(x, 3, bias=bias)[0][:, 0].tolist() == [4] * 12


def test_sparse_rows_give_what_dense_ones_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "BLOCK", 30)
    dense = np.random.default_rng(2).poisson(0.5, size=(10, 8)).astype(np.float64)
    found = torch.cat([part.clone() for _, part in similarity_blocks(csr_matrix(dense))])
    np.testing.assert_array_equal(found, dense @ dense.T)


def test_arrays_that_must_not_be_written_are_read(recwarn: pytest.WarningsRecorder) -> None:
    x = np.eye(4, dtype=np.float32)
    x.flags.writeable = False
    assert nearest_rows(x, 1).tolist() == [[0], [1], [2], [3]]
    assert top_k(x, 2, x)[0][:, 0].tolist() == [0, 1, 2, 3]
    assert not recwarn.list


def test_no_rows_have_no_neighbours() -> None:
    assert nearest_rows(np.empty((0, 3), dtype=np.float32), 5).shape == (0, 0)
    assert top_k(np.empty((0, 3), dtype=np.float32), 2, np.eye(3, dtype=np.float32))[0].shape == (
        0,
        2,
    )
