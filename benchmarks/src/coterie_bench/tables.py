"""Tables from result lines: mean and deviation over seeds, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from coterie_bench.datasets import BENCHMARKS
from coterie_bench.ledger import Row, key_of, read_results


@dataclass(frozen=True)
class Cell:
    """Mean and sample deviation of one score over seeds, in per cent."""

    mean: float
    deviation: float
    seeds: int

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + (f" ± {self.deviation:.1f}" if self.seeds > 1 else "")


def cell(rows: Sequence[dict[str, Any]], score: str, part: str = "scores") -> Cell:
    """One score over the given rows."""
    values = 100 * np.array([row[part][score] for row in rows])
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Cell(float(values.mean()), spread, len(values))


def shown(row: dict[str, Any]) -> str:
    """The label of a line, with what sets the run apart from the usual ones."""
    split = ", fitted on a part" if row.get("protocol", "all") == "split" else ""
    found = ", K found" if row.get("k", "given") == "found" else ""
    return f"{row['label']}{split}{found}{', with noise' if row.get('noise') else ''}"


def summarize(
    rows: Sequence[dict[str, Any]], scores: Sequence[str] = ("acc", "nmi")
) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table of methods and data sets; the fewer of the two are columns."""
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    labels = list(dict.fromkeys(shown(row) for row in rows))

    def entry(label: str, dataset: str) -> str:
        chosen = [r for r in rows if shown(r) == label and r["dataset"] == dataset]
        return " / ".join(str(cell(chosen, s)) for s in scores) if chosen else ""

    if len(labels) < len(datasets):
        return ["", *labels], [[d, *(entry(m, d) for m in labels)] for d in datasets]
    return ["", *datasets], [[m, *(entry(m, d) for d in datasets)] for m in labels]


def summarize_speed(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a table: milliseconds of a step in the longest stage, whole run, NMI."""
    body = []
    for row in rows:
        stages = row.get("step_ms") or {}
        step = f"{list(stages.values())[-1]:.1f}" if stages else ""
        whole = f"{sum(row['seconds'].values()):.0f}"
        body.append(
            [row["label"], row["dataset"], step, whole, f"{100 * row['scores']['nmi']:.1f}"]
        )
    return ["", "data set", "ms per step", "seconds in all", "NMI"], body


def markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


@dataclass(frozen=True)
class Table:
    """Cells as texts, with a title and a caption."""

    title: str
    caption: str
    header: list[str]
    body: list[list[str]]

    def to_markdown(self, level: int = 2) -> str:
        """Heading, caption, table."""
        table = markdown(_cells(self.header), [_cells(line) for line in self.body])
        return f"{'#' * level} {self.title}\n\n{self.caption}\n\n{table}"


def _cells(line: Sequence[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in line]


# Files whose runs are too short, or of rules that a method no longer has, or about something else;
# those of the development sets have a page of their own.
LEFT_OUT = (
    "speed",
    "same-labels",
    "smoke",
    "guard",
    "former",
    "sccl-views",
    "pass",
    "dev",
    "dev-systems",
    "lang",
    "stability",
    "steering",
)
METRICS = ("acc", "nmi")
RETURNED = "‡"
GUARDED = (
    f"Scores are those at the end of training; 5, 2{RETURNED}: in two of the five runs the guard "
    "returned the clusters from before training instead."
)
# Whole systems among ablations, and the entries of the same settings in their own suites.
SAME = {
    "SCCL": "SCCL, default",
    "AECL": "AECL, default",
    "DECCRL": "DECCRL, default",
    "ClusterBERT": "ClusterBERT, fast preset",
}


@dataclass(frozen=True)
class Measured:
    """All seeds of one configuration on one data set."""

    label: str
    method: str
    dataset: str
    rows: tuple[Row, ...]

    @property
    def shown(self) -> str:
        """The label, with the protocol where it is another."""
        return shown(self.rows[0])

    @property
    def usual(self) -> bool:
        """Whether all texts were fitted and scored, with the number of clusters given."""
        return self.shown == self.label

    @property
    def found(self) -> bool:
        """Whether the number of clusters was found, not given."""
        return bool(self.rows[0].get("k", "given") == "found")

    def score(self, metric: str) -> Cell:
        """Mean and deviation of one score, in per cent."""
        return cell(self.rows, metric)

    def trained(self, metric: str) -> Cell:
        """The same before the start guard, where training came to an end."""
        rows = [{"scores": row.get("trained_scores") or row["scores"]} for row in self.rows]
        return cell(rows, metric)

    @property
    def returned(self) -> int:
        """In how many runs the guard returned the clusters from before training.

        Where it is off, it judges the result and returns nothing.
        """
        return sum(
            bool((row.get("guard") or {}).get("fired")) and row["parameters"].get("guard", True)
            for row in self.rows
        )

    @property
    def seeds(self) -> str:
        """How many seeds, and in how many of them the guard returned the start: "5, 2‡"."""
        count = f"{len(self.rows)}"
        return f"{count}, {self.returned}{RETURNED}" if self.returned else count


def read_folder(folder: Path) -> list[Row]:
    """Lines of all suites in a folder; of equal runs the one read last."""
    files = [file for file in sorted(folder.glob("*.jsonl")) if file.stem not in LEFT_OUT]
    rows = [row for row in read_results(files) if {"label", "parameters", "scores"} <= row.keys()]
    return list({key_of(row): row for row in rows}.values())


def measured(rows: Iterable[Row]) -> list[Measured]:
    """One for each method and data set; benchmarks first.

    Where lines of a label differ in more than the seed, the settings of the newest line count.
    """
    found: dict[tuple[str, str, str], dict[str, list[Row]]] = {}
    for row in rows:
        place = found.setdefault((row["dataset"], shown(row), row["method"]), {})
        settings = key_of({**row, "seed": None})
        place[settings] = [*place.pop(settings, []), row]
    out = []
    for (dataset, _, method), by_settings in found.items():
        chosen = max(by_settings.values(), key=lambda lines: max(r["date"] for r in lines))
        chosen = sorted(chosen, key=lambda row: int(row["seed"]))
        out.append(Measured(chosen[0]["label"], method, dataset, tuple(chosen)))
    return sorted(out, key=lambda m: order_of(m.dataset))


def entries_of(
    rows: Iterable[Row], methods: Iterable[str], labels: Sequence[str]
) -> list[Measured]:
    """What was measured of the entries of an ablation, in their order.

    Lines of the whole system from its own suite stand in, on the data sets that the others have
    lines on: see :func:`fuller`.
    """
    chosen, found = set(methods), measured(rows)
    found = [m for m in found if m.method in chosen and m.usual]
    own = {(m.label, m.dataset): m for m in found if m.label in labels}
    datasets = {dataset for _, dataset in own}
    for label in labels:
        for m in found:
            if m.label == SAME.get(label) and m.dataset in datasets:
                kept = fuller(own.get((label, m.dataset)), m)
                own[label, m.dataset] = replace(kept, label=label)
    return sorted(own.values(), key=lambda m: labels.index(m.label))


def fuller(own: Measured | None, other: Measured) -> Measured:
    """Lines of a whole system under the label of an ablation, or those of its own suite.

    The former were made with the same code as the other entries, so they count from three seeds
    on; below that, the lines with more seeds.
    """
    if own is None or len(own.rows) < min(3, len(other.rows)):
        return other
    return own


def order_of(dataset: str) -> tuple[int, str]:
    """Benchmarks in their order, then the others by name."""
    place = BENCHMARKS.index(dataset) if dataset in BENCHMARKS else len(BENCHMARKS)
    return place, dataset


def ranks(of: Sequence[Measured], metric: str) -> dict[str, int]:
    """Place of each label on one data set by the mean at the end of training, 1 for the best.

    Equal means share a place.
    """
    means = {m.shown: m.trained(metric).mean for m in of if m.usual}
    return {name: 1 + sum(other > mean for other in means.values()) for name, mean in means.items()}


def about(rows: Sequence[Row]) -> str:
    """When, where and from which code the lines are, for a caption."""
    if not rows:
        return "There are no lines."
    dates = sorted({row["date"] for row in rows})
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    machines = sorted({_machine(row) for row in rows})
    commits = sorted({row["commit"] or "unknown" for row in rows})
    return (
        f"{len(rows):,} runs of {days}; {' and '.join(machines)}; "
        f"commit{'s' * (len(commits) > 1)} {', '.join(commits)}."
    )


def _machine(row: Row) -> str:
    facts = row["hardware"]
    return str(facts.get("gpu") or f"{facts['cores']} CPU cores")
