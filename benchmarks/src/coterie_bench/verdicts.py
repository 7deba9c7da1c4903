"""Verdicts on claims: one rule for all of them.

A comparison on one data set has an effect, a 95% interval by Student's t (Welch's of two sides,
the paired one of two states of the same runs), and a number of replicates on each side. Replicates
are seeds unless ``unit`` says otherwise; runs that share a seed are averaged first. With fewer than
three on a side nothing is tested. Else a claim that the effect is positive holds where the
interval is above zero, does not hold where it is below, and is undecided where it has zero
inside. A claim that the effect is small, at most ``margin``, holds where the interval is within
the margin, does not hold where it is outside, and is undecided where it is across.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scipy.stats import t as student

SEEDS = 3  # fewer replicates on a side test nothing
ALPHA = 0.05
LITTLE = 2.0  # points that count as no difference, where that is the claim
HOLDS, FAILS, OPEN, UNTESTED = "holds", "does not hold", "undecided", "not tested"
WEAKEST_FIRST = (FAILS, OPEN, UNTESTED, HOLDS)


@dataclass(frozen=True)
class Side:
    """Mean, sample deviation and number of the replicates of one side."""

    mean: float
    deviation: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Side:
        """The side of these replicates."""
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(statistics.fmean(values), spread, len(values))


@dataclass(frozen=True)
class Effect:
    """A difference on one data set; ``holm`` is ``p`` corrected for all tests of the paper."""

    dataset: str
    first: str
    second: str
    value: float
    low: float
    high: float
    p: float
    n: tuple[int, ...]
    measure: str = "nmi"
    unit: str = "seed"
    margin: float = 0.0
    holm: float = math.nan

    @property
    def verdict(self) -> str:
        """What the interval says about the claim."""
        if min(self.n) < SEEDS:
            return UNTESTED
        inside = -self.margin <= self.low and self.high <= self.margin
        if inside if self.margin else self.low > 0:
            return HOLDS
        outside = self.high < -self.margin or (self.margin and self.low > self.margin)
        return FAILS if outside else OPEN

    @property
    def after_holm(self) -> bool:
        """Whether the claim holds with the corrected p, too."""
        return self.verdict == HOLDS and self.holm <= ALPHA


def between(one: Side, other: Side) -> tuple[float, float, float]:
    """Difference of two means, its standard error, and Welch's degrees of freedom."""
    parts = [(s.deviation**2 / s.n, s.n - 1) for s in (one, other)]
    total = sum(v for v, _ in parts)
    below = sum(v**2 / df for v, df in parts if df)
    return one.mean - other.mean, math.sqrt(total), total**2 / below if below else 1.0


def paired(differences: Side) -> tuple[float, float, float]:
    """Mean of differences, its standard error, and its degrees of freedom."""
    n = differences.n
    return differences.mean, differences.deviation / math.sqrt(n), max(1.0, n - 1)


def effect(
    dataset: str,
    first: str,
    second: str,
    sides: tuple[Side, ...],
    **more: Any,
) -> Effect:
    """Effect of two sides, or of one: differences of the same runs; ``more`` are further fields.

    ``p`` is two-sided against no effect. With a margin it is twice the larger p of the two
    one-sided tests against the margin, so that it is below 5% where the interval is within.
    """
    value, error, df = between(*sides) if len(sides) == 2 else paired(sides[0])
    n, margin = tuple(side.n for side in sides), more.get("margin", 0.0)
    half = error * float(student.ppf(1 - ALPHA / 2, df)) if min(n) > 1 else math.nan
    distance = margin - abs(value) if margin else abs(value)
    if error < 1e-12:  # all replicates are equal
        p = 0.0 if distance > 0 else 1.0
    else:
        p = min(1.0, 2 * float(student.sf(distance / error, df)))
    return Effect(dataset, first, second, value, value - half, value + half, p, n, **more)


def holm(values: Sequence[float]) -> list[float]:
    """Holm's correction of p-values, in the given order.

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    corrected, highest = [0.0] * len(values), 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[i]))
        corrected[i] = highest
    return corrected


def corrected(groups: Sequence[Sequence[Effect]]) -> list[list[Effect]]:
    """The same effects with Holm's p over all of them that test something."""
    tested = [e for group in groups for e in group if e.verdict != UNTESTED]
    found = iter(holm([e.p for e in tested]))
    return [
        [e if e.verdict == UNTESTED else replace(e, holm=next(found)) for e in group]
        for group in groups
    ]


def on_sets(effects: Sequence[Effect]) -> dict[str, str]:
    """One verdict for each data set: a claim holds there if it holds over every other entry."""
    kinds: dict[str, list[str]] = {}
    for e in effects:
        kinds.setdefault(e.dataset, []).append(e.verdict)
    return {name: min(found, key=WEAKEST_FIRST.index) for name, found in kinds.items()}


def in_words(kinds: Mapping[str, str], why: str, kept: int | None = None) -> str:
    """The verdict on a claim from those on its data sets; on ``kept`` it holds after Holm, too.

    Sets on which it holds are counted, the others named.

    Examples
    --------
    >>> kinds = {"a": "holds", "b": "holds", "c": "undecided", "d": "not tested"}
    >>> in_words(kinds, "1 seed", 1)
    'holds on 2 of 3 sets (1 after Holm); undecided on c; not tested on d'
    """
    sets = {kind: [name for name in kinds if kinds[name] == kind] for kind in WEAKEST_FIRST}
    good, tested = sets.pop(HOLDS), len(kinds) - len(sets[UNTESTED])
    if not tested:
        return f"{UNTESTED} ({why})"
    parts = [f"{kind} on {', '.join(names)}" for kind, names in sets.items() if names]
    if good:
        where = good[0] if tested == 1 else f"{len(good)} of {tested} sets"
        after = "" if kept is None or kept == len(good) else f" ({kept} after Holm)"
        parts.insert(0, f"{HOLDS} on {where}{after}")
    return "; ".join(parts)


def weakest(effects: Sequence[Effect]) -> Effect:
    """The comparison that a verdict rests on.

    It speaks against the claim most clearly, or if none does, for it least clearly.
    """
    rank = WEAKEST_FIRST.index
    return min(effects, key=lambda e: (rank(e.verdict), e.p if e.verdict == FAILS else -e.p))
