"""How the default does on texts that it was not made for: tables from result lines.

The lines are those of the suites ``dev``, ``lang``, ``dev-systems`` and ``stability``, and for the
benchmarks those of ``encoder`` and ``auto``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coterie_bench.datasets import BENCHMARKS, CARDS, DEV, LEVELS, TAILS
from coterie_bench.ledger import Row
from coterie_bench.noise import summarize_stability
from coterie_bench.tables import Cell, Measured, about, cell, markdown, measured

MARGIN = 0.5  # points of NMI below k-means that count as a loss
GUARDED = 1.0  # points of NMI that a trained system may be below its start
ALL_DEV = (*DEV, *TAILS, *LEVELS)
APART = {  # mean lines of the development sets
    "{} earlier sets": DEV,
    "{} sets with long tails": TAILS,
    "{} sets with two levels": LEVELS,
    "{} later sets": (*TAILS, *LEVELS),
    "all {} sets": ALL_DEV,
}
NONE = "There are no result lines yet: `{}` makes them.\n"
HEADER = [
    "",
    "classes",
    "k-means, NMI",
    "auto, ACC / NMI",
    "difference",
    "number found",
    "ECE",
    "AUC",
]


@dataclass(frozen=True)
class Compared:
    """The default on one data set, beside k-means on the same vectors."""

    dataset: str
    kmeans: Measured | None
    auto: Measured | None
    found: Measured | None

    @property
    def classes(self) -> int:
        """Of the labels."""
        return CARDS[self.dataset].classes

    @property
    def difference(self) -> float | None:
        """NMI of the default less that of k-means, in points."""
        if self.kmeans is None or self.auto is None:
            return None
        return self.auto.score("nmi").mean - self.kmeans.score("nmi").mean

    @property
    def factor(self) -> float | None:
        """By what factor the number found is off, at least 1; geometric mean over the seeds."""
        off = [abs(np.log(_number(row) / self.classes)) for row in self._told()]
        return float(np.exp(np.mean(off))) if off else None

    @property
    def held(self) -> float | None:
        """Share of the runs whose range holds the number of classes."""
        told = self._told()
        holds = [row["found"]["low"] <= self.classes <= row["found"]["high"] for row in told]
        return float(np.mean(holds)) if holds else None

    def confidence(self, key: str) -> Cell | None:
        """Mean of ``ece`` or ``auc`` over the seeds, in per cent."""
        rows = [] if self.auto is None else self.auto.rows
        known = [row for row in rows if (row.get("confidence") or {}).get(key) is not None]
        return cell(known, key, "confidence") if known else None

    def line(self) -> list[str]:
        """Cells of the table."""
        auto = self.auto and f"{self.auto.score('acc')} / {self.auto.score('nmi')}"
        numbers = dict.fromkeys(
            f"{_number(row)} ({row['found']['low']} to {row['found']['high']})"
            for row in self._told()
        )
        ece, auc = (self.confidence(key) for key in ("ece", "auc"))
        return [
            self.dataset,
            str(self.classes),
            "" if self.kmeans is None else str(self.kmeans.score("nmi")),
            auto or "",
            "" if self.difference is None else f"{self.difference:+.1f}",
            "; ".join(numbers),
            "" if ece is None else f"{ece.mean / 100:.2f}",
            "" if auc is None else f"{auc.mean / 100:.2f}",
        ]

    def _told(self) -> list[Row]:
        return [] if self.found is None else list(self.found.rows)


def _number(row: Row) -> int:
    return int(row["parameters"]["n_clusters"])


def compare(rows: Sequence[Row], names: Sequence[str]) -> list[Compared]:
    """Data sets that have a line of the default or of k-means, in the order of ``names``."""
    known = [m for m in measured(rows) if m.dataset in names]
    by = {(m.dataset, m.shown): m for m in known}
    return [
        Compared(
            name,
            by.get((name, "encoder + k-means")),
            by.get((name, "auto")),
            by.get((name, "auto, K found")),
        )
        for name in names
        if any(m.dataset == name for m in known)
    ]


def development_part(rows: Sequence[Row]) -> str:
    """The default on the development sets, with means of the earlier and of the further ones."""
    return table_part(rows, ALL_DEV, "coterie-bench dev --find-k --data DIR", APART)


def both_part(rows: Sequence[Row]) -> str:
    """A sentence on the number of clusters over all sets."""
    found = compare(rows, (*BENCHMARKS, *ALL_DEV))
    return _numbers(found) or "There are no result lines yet."


def table_part(
    rows: Sequence[Row],
    names: Sequence[str],
    command: str,
    apart: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The default on these sets; ``apart`` are their mean lines, ``command`` makes more lines."""
    found = compare(rows, names)
    if not found:
        return NONE.format(command)
    used = [row for c in found for m in (c.kmeans, c.auto, c.found) if m for row in m.rows]
    body = [c.line() for c in found]
    for of, members in (apart or {"": names}).items():
        if some := [c for c in found if c.dataset in members]:
            body.append(_means(f"mean of {of.format(len(some))}" if of else "mean", some))
    how = (
        "ACC and NMI in %, K given, mean ± sample deviation over seeds; difference: NMI of auto "
        "less that of k-means; number found with the range that is printed; off by: factor "
        "between it and the number of classes, geometric mean; ECE: expected calibration error of "
        "confidence; AUC: area under the ROC curve of confidence against being right. "
    )
    said = [_losses(found), _numbers(found)]
    return f"{markdown(HEADER, body)}\n{' '.join(s for s in said if s)}\n\n{how}{about(used)}\n"


def _means(label: str, found: Sequence[Compared]) -> list[str]:
    """A line of means over the sets that have a value."""

    def mean(values: Sequence[float | None], form: str) -> str:
        known = [v for v in values if v is not None]
        return form.format(np.mean(known)) if known else ""

    plain = [c.kmeans.score("nmi").mean if c.kmeans else None for c in found]
    ours = [
        mean([c.auto.score(metric).mean if c.auto else None for c in found], "{:.1f}")
        for metric in ("acc", "nmi")
    ]
    ece, auc = (
        [None if (s := c.confidence(key)) is None else s.mean / 100 for c in found]
        for key in ("ece", "auc")
    )
    return [
        label,
        "",
        mean(plain, "{:.1f}"),
        " / ".join(ours) if all(ours) else "",
        mean([c.difference for c in found], "{:+.1f}"),
        f"off by {off}" if (off := _off(found)) else "",
        mean(ece, "{:.2f}"),
        mean(auc, "{:.2f}"),
    ]


def _losses(found: Sequence[Compared]) -> str:
    known = [(c.difference, c.dataset) for c in found if c.difference is not None]
    if not known:
        return ""
    worse = sum(difference < -MARGIN for difference, _ in known)
    said = f"More than {MARGIN} NMI below k-means: {worse} of {len(known)} sets"
    lowest, where = min(known)
    return said + (f"; the largest loss is {-lowest:.1f}, on {where}." if lowest < 0 else ".")


def _off(found: Sequence[Compared]) -> str:
    """Geometric mean of the factors by which the numbers found are off."""
    known = [c.factor for c in found if c.factor is not None]
    return f"{np.exp(np.mean(np.log(known))):.1f}" if known else ""


def _numbers(found: Sequence[Compared]) -> str:
    known = [(c.factor, c.dataset) for c in found if c.factor is not None]
    if not known:
        return ""
    worst, where = max(known)
    held = float(np.mean([c.held for c in found if c.held is not None]))
    return (
        f"The number found is off by a factor of {_off(found)} (geometric mean of {len(known)} "
        f"sets), at most {worst:.1f} ({where}). The range holds the number of classes in "
        f"{100 * held:.0f}% of the runs."
    )


def stability_part(rows: Sequence[Row]) -> str:
    """Spread of NMI over seeds and over noise on the vectors."""
    if not rows:
        return NONE.format("coterie-bench stability --data DIR")
    header, body = summarize_stability(rows)
    how = (
        "Standard deviation of NMI in points: over seeds / over draws of noise of a thousandth of "
        "the length of the vectors. "
    )
    return f"{markdown(header, body)}\n{how}{about(rows)}\n"


def guard_sentence(rows: Sequence[Row]) -> str:
    """How often the guard let a loss pass, and how often it discarded a gain."""
    found = [m for m in measured(rows) if m.usual and m.dataset in DEV]
    runs = [row for m in found for row in m.rows if row["start_scores"] is not None]
    below = sum(_gain(row, "scores") < -GUARDED for row in runs)
    lost = sum(
        bool(row["guard"] and row["guard"]["fired"]) and _gain(row, "trained_scores") > GUARDED
        for row in runs
    )
    return (
        f"Of {len(runs)} runs on the development sets the guard returned {below} more than "
        f"{GUARDED:.0f} NMI below their start, and discarded {lost} gains of more than "
        f"{GUARDED:.0f} NMI."
    )


def gain(rows: Sequence[Row]) -> str:
    """Points of NMI that the default has more than k-means, number of clusters given."""
    known = [c.difference for c in compare(rows, DEV) if c.difference is not None]
    return f"{np.mean(known):.1f}"


def _gain(row: Row, part: str) -> float:
    """NMI above the start, in points."""
    scores = row.get(part) or row["start_scores"]
    return float(100 * (scores["nmi"] - row["start_scores"]["nmi"]))
