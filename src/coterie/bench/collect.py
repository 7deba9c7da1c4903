"""Result lines put together: seeds of one configuration, and ranks on a data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coterie.bench.keys import Row, key_of
from coterie.bench.ledger import read_results
from coterie.bench.tables import Cell, cell, shown
from coterie.bench.whole import BENCHMARKS

# Files whose runs are too short or too old to tell how good a method is, or about something else;
# those of the development sets have a page of their own.
LEFT_OUT = ("speed", "same-labels", "smoke", "guard", "sccl-views", "pass",
            "dev", "dev-systems", "lang", "stability")  # fmt: skip
METRICS = ("acc", "nmi")
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
        """The same before the guard had its say, where training came to an end."""
        rows = [{"scores": row.get("trained_scores") or row["scores"]} for row in self.rows]
        return cell(rows, metric)


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

    Where the whole system has no lines under its label there, those of its own suite stand in, on
    the data sets that the others have lines on.
    """
    chosen, found = set(methods), measured(rows)
    found = [m for m in found if m.method in chosen and m.usual]
    own = {(m.label, m.dataset): m for m in found if m.label in labels}
    datasets = {dataset for _, dataset in own}
    for label in labels:
        for m in found:
            if m.label == SAME.get(label) and m.dataset in datasets:
                own.setdefault((label, m.dataset), replace(m, label=label))
    return sorted(own.values(), key=lambda m: labels.index(m.label))


def order_of(dataset: str) -> tuple[int, str]:
    """Benchmarks in their order, then the others by name."""
    place = BENCHMARKS.index(dataset) if dataset in BENCHMARKS else len(BENCHMARKS)
    return place, dataset


def ranks(of: Sequence[Measured], metric: str) -> dict[str, int]:
    """Place of each label on one data set, 1 for the best mean; equal means share a place."""
    means = {m.shown: m.score(metric).mean for m in of if m.usual}
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
