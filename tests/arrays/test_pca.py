"""Principal directions: scikit-learn's, with weights, and cut to what there is."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from coterie.arrays.pca import principal_map


@pytest.mark.parametrize(("n", "d", "dim"), [(50, 7, 3), (50, 7, 7), (6, 20, 4), (8, 8, 2)])
def test_projection_is_that_of_scikit_learn(n: int, d: int, dim: int) -> None:
    x = np.random.default_rng(0).normal(size=(n, d)) * np.arange(1, d + 1) + 5
    weight, bias = principal_map(x.astype(np.float32), np.ones(n), dim)
    expected = PCA(dim, svd_solver="full").fit_transform(x)
    found = x @ weight.T + bias
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-3)


def test_a_row_that_counts_twice_is_two_rows() -> None:
    x = np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32)
    counts = np.array([1, 1, 3, 1, 2, 1, 1, 1, 1])
    weighted = principal_map(x, counts, 2)
    repeated = principal_map(np.repeat(x, counts, axis=0), np.ones(counts.sum()), 2)
    for a, b in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_directions_are_orthonormal_with_a_fixed_sign() -> None:
    x = np.random.default_rng(2).normal(size=(30, 6)).astype(np.float32)
    weight, bias = principal_map(x, np.ones(30), 6)
    np.testing.assert_allclose(weight @ weight.T, np.eye(6), atol=1e-5)
    assert weight.flags.c_contiguous
    assert (weight[np.arange(6), np.abs(weight).argmax(axis=1)] > 0).all()
    np.testing.assert_allclose((x @ weight.T + bias).mean(axis=0), 0, atol=1e-5)


@pytest.mark.parametrize(("n", "d", "expected"), [(1, 5, 1), (2, 5, 1), (4, 5, 3), (9, 2, 2)])
def test_there_are_no_more_directions_than_the_rows_span(n: int, d: int, expected: int) -> None:
    x = np.random.default_rng(3).normal(size=(n, d)).astype(np.float32)
    weight, bias = principal_map(x, np.ones(n), 100)
    assert weight.shape == (expected, d) and bias.shape == (expected,)
    assert np.isfinite(weight).all() and weight.dtype == np.float32
