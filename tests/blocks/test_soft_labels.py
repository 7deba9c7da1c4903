"""Soft labels and attention over documents: against loops written from the equations of ADSL."""

import numpy as np
import pytest
import torch

from coterie.blocks.soft_labels import (
    attention,
    attention_gradient,
    attention_step,
    center_distances,
    cluster_sums,
    refresh_share,
    refreshed,
    soft_cross_entropy,
    soft_labels,
)


def distances(n: int = 7, k: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).uniform(0.5, 9, size=(n, k)))


def labels_by_loop(s: list[list[float]], a: float) -> list[list[float]]:
    """Eq. (2)-(3) as printed."""
    out = []
    for row in s:
        q = [min(row) / value for value in row]
        total = sum(value**a for value in q)
        out.append([value**a / total for value in q])
    return out


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 10.0])
def test_soft_labels_equal_equations_2_and_3(sharpness: float) -> None:
    s = distances()
    expected = torch.tensor(labels_by_loop(s.tolist(), sharpness), dtype=torch.float64)
    torch.testing.assert_close(soft_labels(s, sharpness), expected)


def test_soft_labels_by_hand() -> None:
    # q = (1, 1/2), squared (1, 1/4), over their sum 5/4
    found = soft_labels(torch.tensor([[3.0, 6.0]]), 2.0)
    torch.testing.assert_close(found, torch.tensor([[0.8, 0.2]]))


def test_the_tenth_power_stays_in_range_in_float32() -> None:
    s = torch.tensor([[1e-6, 1e6], [1e5, 2e5], [1e-7, 2e-7]])
    found = soft_labels(s, 10.0)
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found[1:, 1], torch.full((2,), 1 / (1 + 2.0**10)), rtol=1e-3, atol=0)


def test_a_document_on_its_center_gets_a_one() -> None:
    found = soft_labels(torch.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]), 10.0)
    torch.testing.assert_close(found, torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))


def test_uniform_without_sharpness_and_one_hot_with_much() -> None:
    torch.testing.assert_close(soft_labels(distances(), 0.0), torch.full((7, 4), 0.25).double())
    sharp = soft_labels(distances(), 1e4)
    torch.testing.assert_close(sharp.max(dim=1).values, torch.ones(7).double())


def test_distances_are_to_the_weighted_means() -> None:
    rng = np.random.default_rng(1)
    x, labels = rng.normal(size=(9, 3)), np.array([0, 1, 2, 0, 1, 2, 0, 0, 1])
    weights = rng.integers(1, 4, size=9)
    found = center_distances(*map(torch.from_numpy, (x, labels, weights.astype(float))), 3)
    for i in range(9):
        for j in range(3):
            repeated = [x[r] for r in range(9) if labels[r] == j for _ in range(weights[r])]
            center = sum(repeated) / len(repeated)
            assert float(found[i, j]) == pytest.approx(((x[i] - center) ** 2).sum())


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_refreshed_labels_equal_equations_4_and_5(share: float) -> None:
    y, p = soft_labels(distances(), 2.0), soft_labels(distances(seed=1), 1.0)
    softmax, by_sum = (refreshed(y, p, share, norm) for norm in ("softmax", "sum"))
    for i, (row_y, row_p) in enumerate(zip(y.tolist(), p.tolist(), strict=True)):
        mixed = [a + share * b for a, b in zip(row_y, row_p, strict=True)]
        powers = [np.exp(value) for value in mixed]
        assert softmax[i].tolist() == pytest.approx([value / sum(powers) for value in powers])
        assert by_sum[i].tolist() == pytest.approx([value / sum(mixed) for value in mixed])


def test_equation_5_is_as_flat_as_the_notes_say() -> None:
    agreed = torch.eye(20)[:1]
    top = refreshed(agreed, agreed, 0.85, "softmax").max()
    assert float(top) == pytest.approx(np.exp(1.85) / (np.exp(1.85) + 19))
    assert float(top) < 0.26
    assert float(refreshed(agreed, agreed, 0.85, "sum").max()) == pytest.approx(1)


@pytest.mark.parametrize(("epoch", "power"), [(0, 5), (6, 4), (24, 1), (30, 0)])
def test_the_share_of_the_posterior_grows(epoch: int, power: int) -> None:
    share = refresh_share(torch.tensor(float(epoch)), 30, 6, 0.85)
    assert float(share) == pytest.approx(0.85**power)


def problem() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(2)
    v = torch.from_numpy(rng.uniform(0.2, 1.5, size=12))
    loss = torch.from_numpy(rng.uniform(0, 3, size=12))
    return v, loss, torch.tensor([0, 1, 2, 4] * 3)  # cluster 3 is empty


def test_attention_equals_equation_10_and_sums_to_one_per_cluster() -> None:
    v, _, groups = problem()
    found = attention(v, groups, 5)
    for i in range(12):
        total = sum(float(v[j]) ** 2 for j in range(12) if groups[j] == groups[i])
        assert float(found[i]) == pytest.approx(float(v[i]) ** 2 / total)
    sums = cluster_sums(found, groups, 5)
    torch.testing.assert_close(sums, torch.tensor([1.0, 1, 1, 0, 1]).double())


def test_equal_v_give_equal_weights() -> None:
    _, _, groups = problem()
    torch.testing.assert_close(
        attention(torch.full((12,), 0.3), groups, 5), torch.full((12,), 1 / 3)
    )


def test_the_closed_form_is_the_gradient_over_the_whole_corpus() -> None:
    v, loss, groups = problem()
    leaf = v.clone().requires_grad_()
    (expected,) = torch.autograd.grad((attention(leaf, groups, 5) * loss).sum(), leaf)
    torch.testing.assert_close(attention_gradient(v, loss, groups, 5), expected)


def test_attention_passes_gradcheck() -> None:
    v, _, groups = problem()
    leaf = v.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: attention(x, groups, 5), (leaf,))


def test_only_documents_worse_than_their_cluster_lose_weight() -> None:
    v, loss, groups = torch.ones(12), problem()[1].float(), problem()[2]
    gradient = attention_gradient(v, loss, groups, 5)
    for i in range(12):
        mean = np.mean([float(loss[j]) for j in range(12) if groups[j] == groups[i]])
        assert (float(gradient[i]) > 0) == (float(loss[i]) > mean)


def test_with_equal_v_a_step_is_the_distance_to_the_mean_loss_by_hand() -> None:
    loss, groups = torch.tensor([1.0, 2.0, 5.0, 9.0]), torch.tensor([0, 0, 1, 1])
    step = attention_step(torch.ones(4), loss, groups, 2, 0.5)
    torch.testing.assert_close(step, torch.tensor([-0.25, 0.25, -1.0, 1.0]))


def test_cross_entropy_equals_equation_8() -> None:
    y, p = soft_labels(distances(), 2.0), soft_labels(distances(seed=1), 1.0)
    found = soft_cross_entropy(p.log(), y)
    for i in range(7):
        expected = -sum(a * np.log(b) for a, b in zip(y[i].tolist(), p[i].tolist(), strict=True))
        assert float(found[i]) == pytest.approx(expected)
