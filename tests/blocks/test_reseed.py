"""Empty clusters move to the texts that fit worst, and only they do."""

import pytest
import torch

from coterie.blocks.reseed import EmptyClusters


def log_q(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor(rows).log()


def test_an_empty_cluster_moves_to_the_least_sure_text_of_the_epoch() -> None:
    watcher, centers = EmptyClusters(3, 2), torch.zeros(3, 2)
    watcher.watch(torch.tensor([[1.0, 1], [2, 2]]), log_q([[0.9, 0.1, 0], [0.5, 0.4, 0.1]]))
    watcher.watch(torch.tensor([[3.0, 3]]), log_q([[0.2, 0.7, 0.1]]))
    watcher.reseed(centers)
    assert centers.tolist() == [[0, 0], [0, 0], [2, 2]]
    assert int(watcher.moved) == 1


def test_several_empty_clusters_move_to_different_texts() -> None:
    watcher, centers = EmptyClusters(3, 1), torch.zeros(3, 1)
    rows = log_q([[0.8, 0.1, 0.1], [0.5, 0.3, 0.2], [0.6, 0.2, 0.2]])
    watcher.watch(torch.tensor([[8.0], [5.0], [6.0]]), rows)
    watcher.reseed(centers)
    assert centers.flatten().tolist() == [0, 5, 6]


def test_an_epoch_is_forgotten_when_it_is_over() -> None:
    watcher, centers = EmptyClusters(2, 1), torch.zeros(2, 1)
    watcher.watch(torch.tensor([[1.0], [2.0]]), log_q([[0.9, 0.1], [0.1, 0.9]]))
    watcher.reseed(centers)
    assert int(watcher.moved) == 0
    watcher.watch(torch.tensor([[7.0]]), log_q([[0.9, 0.1]]))
    watcher.reseed(centers)
    assert centers.flatten().tolist() == [0, 7]


def test_fewer_texts_than_empty_clusters_move_as_many() -> None:
    watcher, centers = EmptyClusters(4, 1), torch.full((4, 1), -1.0)
    watcher.watch(torch.tensor([[3.0]]), log_q([[0.4, 0.3, 0.2, 0.1]]))
    watcher.reseed(centers)
    assert centers.flatten().tolist() == [-1, 3, -1, -1]


def test_no_gradient_is_kept() -> None:
    watcher = EmptyClusters(2, 1)
    z = torch.ones(3, 1, requires_grad=True)
    watcher.watch(z, (z * torch.ones(3, 2)).log_softmax(dim=1))
    assert not watcher.vectors.requires_grad
    assert set(watcher.state_dict()) == {"used", "doubt", "vectors", "moved"}
    with pytest.raises(RuntimeError, match="grad"):
        watcher.vectors.sum().backward()
