"""AECL's contrast against loops over its equations, in all its forms."""

import math
from typing import Any, NamedTuple

import pytest
import torch

from coterie.blocks.guided_contrast import Views, guided_contrast

TAU = 0.5


class View(NamedTuple):
    z: torch.Tensor
    h: torch.Tensor
    s: torch.Tensor


def contrast(first: View, second: View, *more: Any, **options: Any) -> torch.Tensor:
    return guided_contrast(
        Views(*map(torch.stack, zip(first, second, strict=True))), *more, **options
    )


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


def e(a: torch.Tensor, b: torch.Tensor) -> float:
    return math.exp(cosine(a, b) / TAU)


def views(n: int = 5, dtype: torch.dtype = torch.double) -> tuple[View, View, torch.Tensor]:
    torch.manual_seed(0)
    made = [
        View(*torch.randn(2, n, 4, dtype=dtype), torch.randn(n, n, dtype=dtype).softmax(dim=1))
        for _ in range(2)
    ]
    labels = torch.tensor([0, 1, 0, 1, 1, 2, 0])[:n]
    return made[0], made[1], labels[:, None] == labels[None, :]


def below(row: torch.Tensor, i: int, *sides: torch.Tensor) -> float:
    """D(.): over all texts but i, on both sides."""
    return sum(e(row, side[k]) for side in sides for k in range(len(side)) if k != i)


def pair_ratios(first: View, second: View) -> list[list[float]]:
    """Eq. (6), the two directions of each text apart."""
    z0, z1 = first.z, second.z
    return [
        [e(z0[i], z1[i]) / below(z0[i], i, z0, z1), e(z1[i], z0[i]) / below(z1[i], i, z0, z1)]
        for i in range(len(z0))
    ]


def guided_ratios(view: View, companions: torch.Tensor, *, every: bool) -> list[list[float]]:
    """Eq. (7), both directions apart; ``every`` has the four blocks of the released code."""
    z, h, s = view
    out = []
    for i in range(len(z)):
        row = []
        for mine, sides in ((z, (h, z)), (h, (z, h))):
            total = 0.0
            for block, other in enumerate(sides):
                if block == 1 and not every:
                    continue
                for j in range(len(z)):
                    weight = float(s[i, j])
                    if every and block == 1 and j == i:
                        weight = 0.0  # the main diagonal of the tiled matrix
                    if companions[i, j]:
                        total += (weight + 1e-5) * e(mine[i], other[j])
            row.append(total / below(mine[i], i, z, h))
        out.append(row)
    return out


@pytest.mark.parametrize("positives", ["shared", "all"])
@pytest.mark.parametrize("form", ["row", "text", "broadcast"])
def test_equals_a_loop_over_the_equations(positives: str, form: str) -> None:
    first, second, companions = views()
    pairs = pair_ratios(first, second)
    n, total = len(first.z), 0.0
    flat = [pairs[i][side] for side in (0, 1) for i in range(n)]
    z0, z1 = first.z, second.z
    above = [e(z0[i], z1[i]) for i in range(n)] * 2
    under = [a / r for a, r in zip(above, flat, strict=True)]
    for view in (first, second):
        guided = guided_ratios(view, companions, every=positives == "all")
        rows = [guided[i][side] for side in (0, 1) for i in range(n)]
        if form == "row":
            logs = [math.log(a + b) for a, b in zip(flat, rows, strict=True)]
        elif form == "text":
            logs = [math.log(sum(pairs[i]) + sum(guided[i])) for i in range(n)]
        else:
            logs = [math.log(a / d + r) for a in above for d, r in zip(under, rows, strict=True)]
        total -= sum(logs) / len(logs) / 2
    found = contrast(first, second, companions, TAU, positives=positives, form=form)
    assert found.item() == pytest.approx(total, rel=1e-9)


def test_without_guidance_it_is_the_ratio_of_the_pair_alone() -> None:
    first, second, companions = views()
    pairs = pair_ratios(first, second)
    rows = -sum(math.log(r) for pair in pairs for r in pair) / (2 * len(pairs))
    found = contrast(first, second, companions, TAU, positives="none")
    assert found.item() == pytest.approx(rows, rel=1e-9)
    texts = -sum(math.log(sum(pair)) for pair in pairs) / len(pairs)
    found = contrast(first, second, companions, TAU, positives="none", form="text")
    assert found.item() == pytest.approx(texts, rel=1e-9)


def test_a_value_worked_by_hand() -> None:
    # Two texts, all rows alike: every cosine is 1, e = e^2, a denominator has two terms, so the
    # pair's ratio is 1/2; alone in its cluster with S_ii = 1/2 a text has the ratio 1/4.
    z = torch.ones(2, 3, dtype=torch.double)
    view = View(z, z, torch.full((2, 2), 0.5, dtype=torch.double))
    found = contrast(view, view, torch.eye(2, dtype=torch.bool), TAU)
    assert found.item() == pytest.approx(-math.log(0.5 + 0.25), abs=1e-4)


@pytest.mark.parametrize("form", ["row", "text", "broadcast"])
def test_gradients(form: str) -> None:
    first, second, companions = views(4)
    tensors = [t.requires_grad_() for t in (*first, *second)]

    def loss(*t: torch.Tensor) -> torch.Tensor:
        return contrast(View(*t[:3]), View(*t[3:]), companions, TAU, form=form)

    assert torch.autograd.gradcheck(loss, tensors)


def test_attention_to_companions_lowers_the_loss_and_to_others_changes_nothing() -> None:
    first, second, companions = views()
    s = first.s.clone().requires_grad_()
    contrast(first._replace(s=s), second, companions, TAU).backward()
    assert (s.grad[companions] < 0).all() and (s.grad[~companions] == 0).all()


def test_a_single_text_costs_nothing_and_scale_does_not_matter() -> None:
    first, second, companions = views(1)
    z = first.z.clone().requires_grad_()
    found = contrast(first._replace(z=z), second, companions, TAU)
    found.backward()
    assert found.item() == 0 and torch.equal(z.grad, torch.zeros_like(z))
    first, second, companions = views()
    bigger = first._replace(z=7 * first.z)
    torch.testing.assert_close(
        contrast(bigger, second, companions, TAU),
        contrast(first, second, companions, TAU),
    )


def test_extreme_similarities_stay_finite() -> None:
    first, second, companions = views(5, torch.float32)
    s = torch.eye(5).requires_grad_()  # zeros off the diagonal
    z = first.z.clone().requires_grad_()
    loss = contrast(View(z, first.h, s), second, companions, 0.01)
    loss.backward()
    assert loss.isfinite() and s.grad.isfinite().all() and z.grad.isfinite().all()
