"""How far a suite is, and how long the rest will take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coterie.bench.entries import Job
from coterie.bench.keys import Row, key_of
from coterie.bench.ledger import Ledger, read_results


class Outlook:
    """Counts runs, and expects of those to come what their like took.

    Parameters
    ----------
    jobs : sequence of Job
        All runs of the suite.
    keys : sequence of str
        Of the runs, in the same order.
    ledger : Ledger
    workers : int
        How many run at a time.
    """

    def __init__(
        self, jobs: Sequence[Job], keys: Sequence[str], ledger: Ledger, workers: int
    ) -> None:
        done, self.workers, self.total = ledger.done(), workers, len(keys)
        self.left = {k: j for k, j in zip(keys, jobs, strict=True) if k not in done}
        self.took: dict[tuple[str, str], list[float]] = {}
        for row in read_results(ledger.files()):
            if key_of(row) in set(keys):
                self._note(row)

    def line(self, row: Row) -> str:
        """What to say when a run has ended."""
        self.left.pop(key_of(row), None)
        self._note(row)
        scores, found = row["scores"], ", K found" if row["k"] == "found" else ""
        found += f", noise {row['noise']['draw']}" if row.get("noise") else ""
        said = (
            f"[{self.total - len(self.left)}/{self.total}] {row['label']} on {row['dataset']}, "
            f"seed {row['seed']}{found}: ACC {100 * scores['acc']:.1f}, "
            f"NMI {100 * scores['nmi']:.1f}, {seconds_of(row):.0f} s"
        )
        return said + (f"; about {duration(self.seconds_left())} left" if self.left else "")

    def seconds_left(self) -> float:
        """Of the clock: by runs of the same entry and data set, else of the entry, else of any."""
        everything = mean(t for times in self.took.values() for t in times)
        total = 0.0
        for job in self.left.values():
            same = self.took.get((job.entry.label, job.dataset), [])
            alike = [
                t for (label, _), ts in self.took.items() if label == job.entry.label for t in ts
            ]
            total += mean(same) if same else mean(alike) if alike else everything
        return total / min(self.workers, max(len(self.left), 1))

    def _note(self, row: Row) -> None:
        self.took.setdefault((row["label"], row["dataset"]), []).append(seconds_of(row))


def seconds_of(row: Row) -> float:
    """Of a run, all phases."""
    return float(sum(row["seconds"].values()))


def mean(values: Iterable[float]) -> float:
    """Zero of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def duration(seconds: float) -> str:
    """In words a person reads at a glance.

    Examples
    --------
    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2 h 30 min')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
