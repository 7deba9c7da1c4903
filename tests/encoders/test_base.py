"""Prepared inputs: ragged tokens, padded to the batch, equal items once."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from coterie.encoders.base import RaggedTokens, Rows, batches_by_length

SEQUENCES = [[5, 6, 7], [8], [9, 10], []]


def test_a_batch_is_padded_to_its_own_longest_item() -> None:
    tokens = RaggedTokens.build(SEQUENCES, pad=1)
    batch = tokens.batch(np.array([1, 2]))
    assert batch["input_ids"].tolist() == [[8, 1], [9, 10]]
    assert batch["attention_mask"].tolist() == [[1, 0], [1, 1]]


def test_batches_may_repeat_and_reorder_items() -> None:
    tokens = RaggedTokens.build(SEQUENCES, pad=0)
    batch = tokens.batch(np.array([2, 0, 2]))
    assert batch["input_ids"].tolist() == [[9, 10, 0], [5, 6, 7], [9, 10, 0]]
    assert batch["input_ids"].dtype == torch.int64


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_rows_come_out_dense(kind) -> None:
    matrix = np.array([[1, 0], [0, 2], [3, 3]], dtype=np.float32)
    for rows in (Rows(kind(matrix)), Rows(kind(matrix)).to(torch.device("cpu"))):
        assert rows.batch(np.array([2, 0]))["vectors"].tolist() == [[3, 3], [1, 0]]


def test_content_tells_items_apart() -> None:
    matrix = np.array([[1, 0], [0, 2]], dtype=np.float32)
    cpu = torch.device("cpu")
    tokens = [RaggedTokens.build(one, 0) for one in ([[1, 2], [3]], [[1], [2, 3]])]
    words = [RaggedTokens.build([[1, 2], [3]], 0, [one, [0]]) for one in ([0, 0], [0, 1])]
    rows = [Rows(matrix), Rows(matrix + 1), Rows(csr_matrix(matrix + 1))]
    every = [*tokens, *words, *rows]
    assert len({items.content() for items in every}) == len(every)
    assert [items.to(cpu).content() for items in every] == [items.content() for items in every]


def test_batches_by_length_hold_every_position_once_and_fit_the_budget() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, size=500)
    parts = batches_by_length(lengths, 256)
    assert sorted(np.concatenate(parts).tolist()) == list(range(500))
    assert all(len(p) == 1 or lengths[p].max() * len(p) <= 256 for p in parts)
    padding = sum(lengths[p].max() * len(p) for p in parts) / lengths.sum()
    assert padding < 1.15
