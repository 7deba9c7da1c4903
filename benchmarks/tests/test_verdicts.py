"""The one rule of verdicts: intervals, three replicates, Holm's correction."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from coterie_bench.verdicts import (
    FAILS,
    HOLDS,
    OPEN,
    UNTESTED,
    Effect,
    Side,
    corrected,
    effect,
    holm,
    on_sets,
    weakest,
)

A, B = [60.0, 63.0, 64.0, 65.5], [59.0, 60.0, 60.5]


def made(low: float, high: float, *, margin: float = 0.0, n: int = 3, on: str = "tweet") -> Effect:
    return Effect(on, "a", "b", (low + high) / 2, low, high, 0.01, (n, n), margin=margin)


def test_two_sides_are_compared_as_scipy_does_by_welch() -> None:
    theirs = ttest_ind(A, B, equal_var=False)
    ours = effect("tweet", "a", "b", (Side.of(A), Side.of(B)))
    bounds = theirs.confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((bounds.low, bounds.high))
    assert ours.p == pytest.approx(theirs.pvalue) and ours.n == (4, 3)


def test_differences_of_the_same_runs_are_compared_by_the_paired_test() -> None:
    theirs = ttest_1samp(A, 60.0)
    ours = effect("tweet", "a", "start", (Side.of([x - 60 for x in A]),))
    assert ours.p == pytest.approx(theirs.pvalue)
    bounds = theirs.confidence_interval(0.95)
    assert (ours.low + 60, ours.high + 60) == pytest.approx((bounds.low, bounds.high))


def test_welch_by_hand() -> None:
    """Deviations 1 and 1, three each: error sqrt(2/3), 4 degrees of freedom, t 2.776."""
    ours = effect("tweet", "a", "b", (Side(12.0, 1.0, 3), Side(10.0, 1.0, 3)))
    half = 2.7764451 * math.sqrt(2 / 3)
    assert (ours.value, ours.low, ours.high) == pytest.approx((2, 2 - half, 2 + half))


@pytest.mark.parametrize(
    ("low", "high", "margin", "said"),
    [
        (0.1, 3.0, 0, HOLDS), (-0.1, 3.0, 0, OPEN), (-3.0, -0.1, 0, FAILS),
        (-1.9, 1.9, 2, HOLDS), (-1.0, 2.1, 2, OPEN), (2.1, 4.0, 2, FAILS), (-4.0, -2.1, 2, FAILS),
    ],
)  # fmt: skip
def test_the_interval_decides(low: float, high: float, margin: float, said: str) -> None:
    assert made(low, high, margin=margin).verdict == said
    assert made(low, high, margin=margin, n=2).verdict == UNTESTED  # whatever the interval


@pytest.mark.parametrize("margin", [0.0, 2.0])
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, 1.5, 3.0])
def test_p_is_below_five_per_cent_where_the_interval_decides(margin: float, value: float) -> None:
    for spread in (0.1, 0.3, 1.0):
        sides = (Side(value, spread, 3), Side(0.0, spread, 5))
        ours = effect("tweet", "a", "b", sides, margin=margin)
        assert (ours.p < 0.05) == (ours.verdict == HOLDS)


def test_holm_is_what_rejecting_one_by_one_gives() -> None:
    """A p-value is corrected to the lowest level at which the step-down procedure rejects it."""
    given = [0.01, 0.04, 0.03, 0.005, 0.5, 0.012]
    assert holm(given[:3]) == pytest.approx([0.03, 0.06, 0.06])
    for level in np.linspace(0.001, 0.999, 499):
        rejected, left = set(), sorted(range(len(given)), key=given.__getitem__)
        while left and given[left[0]] <= level / len(left):
            rejected.add(left.pop(0))
        assert {i for i, p in enumerate(holm(given)) if p <= level} == rejected


def test_the_correction_counts_what_is_tested_alone() -> None:
    groups = [[made(1, 2), made(1, 2, n=1)], [made(-1, 2)]]
    first, second = corrected(groups)
    assert [e.holm for e in (first[0], second[0])] == pytest.approx([0.02, 0.02])
    assert math.isnan(first[1].holm) and first[0].after_holm and not second[0].after_holm


def test_a_claim_holds_on_a_set_over_every_other_entry() -> None:
    mixed = [made(1, 2), made(-1, 2), made(1, 2, n=1), made(1, 2, on="agnews")]
    assert on_sets(mixed) == {"tweet": OPEN, "agnews": HOLDS}
    assert on_sets([*mixed, made(-3, -2)])["tweet"] == FAILS
    assert on_sets([made(1, 2), made(1, 2, n=1)]) == {"tweet": UNTESTED}


def test_the_weakest_comparison_is_shown() -> None:
    sure, less, least = (replace(made(1, 2), p=p) for p in (0.001, 0.02, 0.01))
    assert weakest([sure, less, least]) is less
    against = [replace(made(-2, -1), p=p) for p in (0.04, 0.003)]
    assert weakest([sure, replace(made(-1, 2), p=0.3), *against]) is against[1]
    few = made(5, 6, n=1)
    assert weakest([few, sure]) is few and weakest([few, against[0]]) is against[0]
