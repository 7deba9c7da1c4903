"""Our numbers beside those that the papers print.

The printed numbers are ``reported.csv`` beside this file. A line is one line of one table, with
a column for each data set and score, in per cent. ``method`` is our name of what the paper calls
``printed``, ``variant`` the label of our entry where it is an ablation. ``source`` is "own" for
numbers of the paper itself, else the paper that they were taken from.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from coterie_bench.datasets import CARDS
from coterie_bench.ledger import Row
from coterie_bench.suites import SUITES
from coterie_bench.tables import (
    GUARDED,
    METRICS,
    RETURNED,
    SAME,
    Cell,
    Measured,
    Table,
    about,
    measured,
    order_of,
    ranks,
)

PAPERS = ("SCCL", "AECL", "DECCRL", "ClusterBERT", "ADSL")
ELSEWHERE = ("reuters10k", "fisher")  # sets of ADSL that are not public as the paper has them
DOUBTS = {
    "suspect": "looks like a slip of the table, or another score under that name",
    "other data": "another sample of the same source",
    "chosen with labels": "the best of several settings, chosen by the score itself",
}


@dataclass(frozen=True)
class Reported:
    """One printed number.

    Attributes
    ----------
    paper, table : str
        Where it is printed.
    printed : str
        What the paper calls the method.
    method, variant : str
        Ours, by registry name and, of an ablation, by label; empty where there is none.
    dataset, metric : str
        By our names; the metric is "acc" or "nmi".
    value : float
        In per cent.
    text : str
        As printed.
    source : str
        Who measured it.
    doubts : tuple of str
        Keys of ``DOUBTS``.
    note : str
    """

    paper: str
    table: str
    printed: str
    method: str
    variant: str
    dataset: str
    metric: str
    value: float
    text: str
    source: str
    doubts: tuple[str, ...]
    note: str


@cache
def load_reported() -> tuple[Reported, ...]:
    """All numbers, in the order of the tables.

    Examples
    --------
    >>> [r.text for r in load_reported() if r.paper == "AECL" and r.table == "Table 2"
    ...  and r.printed == "AECL" and r.dataset == "tweet"]
    ['80.46', '87.60']
    """
    source = resources.files("coterie_bench") / "reported.csv"
    rows = csv.DictReader(io.StringIO(source.read_text("utf-8"), newline=""))
    return tuple(
        Reported(
            **{key: value for key, value in row.items() if " " not in key and key != "doubt"},
            dataset=place.split()[0],
            metric=place.split()[1],
            value=float(text),
            text=text,
            doubts=tuple(d for d in row["doubt"].split("; ") if d),
        )
        for row in rows
        for place, text in row.items()
        if " " in place and text
    )


BETTER, WORSE = "▲", "▼"
FULL = {"SCCL", "AECL", "DECCRL", "ClusterBERT", "NN+ADSL"}  # the whole systems among ablations
PARTS = ("ablations", "sensitivity", "aecl-sweeps", "sccl-losses", "cluster-bert-grid")
PARTIAL = {e.label for name in PARTS for e in SUITES[name].entries} - FULL
PARTIAL |= {e.label for e in SUITES["aecl-printed"].entries[1:-1]}  # between the two presets
PARTIAL |= {e.label for e in SUITES["aecl-released"].entries[1:]}
PARTIAL |= {
    f"{encoder} + {step}"
    for encoder in ("ClusterBERT", "SCCL", "TSDAE")  # of `coterie-bench trained-encoders`
    for step in ("k-means", "IDEC", "UMAP + k-means", "UMAP + IDEC")
}
VARIANTS = {r.variant for r in load_reported()} - {""}
HOW = (
    f"ACC and NMI in %, ours as mean ± sample deviation over seeds. {GUARDED} "
    "Difference: ours less the first "
    f"printed number; {BETTER} and {WORSE}: by more than one deviation. Most papers use another "
    "encoder. ? marks a printed number that is in doubt, * one from another sample of the source, "
    "† one chosen with labels."
)
MARKS = {"suspect": "?", "other data": "*", "chosen with labels": "†"}


@dataclass(frozen=True)
class Pair:
    """One score of ours, or none, beside one printed number, or none."""

    dataset: str
    metric: str
    label: str
    ours: Measured | None
    theirs: Reported | None
    rank: int | None = None

    @property
    def difference(self) -> float | None:
        """Ours less theirs, in points."""
        if self.ours is None or self.theirs is None:
            return None
        return self.ours.trained(self.metric).mean - self.theirs.value

    @property
    def mark(self) -> str:
        """Better or worse by more than one deviation; nothing for a single seed."""
        if self.ours is None or self.difference is None:
            return ""
        return mark(self.difference, self.ours.trained(self.metric))


def mark(difference: float, ours: Cell) -> str:
    """Sign of a difference that is larger than one deviation.

    Examples
    --------
    >>> mark(2.0, Cell(80.0, 1.0, 5)), mark(-2.0, Cell(80.0, 1.0, 5)), mark(2.0, Cell(80.0, 0.0, 1))
    ('▲', '▼', '')
    """
    if ours.seeds < 2 or abs(difference) <= ours.deviation:
        return ""
    return BETTER if difference > 0 else WORSE


def counterpart(ours: Measured, metric: str) -> list[Reported]:
    """What the papers print for the same thing; numbers of its own paper come first."""
    if ours.label in VARIANTS:
        fits = [r for r in load_reported() if r.variant == ours.label]
    elif ours.label in PARTIAL:
        return []
    else:
        fits = [r for r in load_reported() if r.method == ours.method and not r.variant]
    here = [r for r in fits if (r.dataset, r.metric) == (ours.dataset, metric)]
    return sorted(here, key=lambda r: (not _of_itself(r), r.source != "own"))


def _of_itself(r: Reported) -> bool:
    """Whether a paper speaks of its own system."""
    return r.paper.replace("-", "").lower() in r.printed.replace("-", "").lower()


def pairs(rows: Iterable[Row]) -> list[Pair]:
    """Every number of ours and every printed one, those of the same thing together."""
    found = measured(rows)
    names = dict.fromkeys([m.dataset for m in found] + [r.dataset for r in load_reported()])
    out = []
    for name in sorted(names, key=order_of):
        here = [m for m in found if m.dataset == name]
        for metric in METRICS:
            out += _pairs(name, metric, here)
    return out


def whole(ours: Measured) -> bool:
    """Whether it is a system, and no part or setting of one."""
    return ours.label not in PARTIAL and ours.label not in SAME


def _pairs(name: str, metric: str, here: Sequence[Measured]) -> list[Pair]:
    places = ranks([m for m in here if whole(m)], metric)
    best = sorted(here, key=lambda m: (places.get(m.shown, len(here) + 1), m.shown))
    out: list[Pair] = []
    met: set[Reported | None] = set()
    for ours in best:
        theirs: list[Reported | None] = [*counterpart(ours, metric)]
        met |= set(theirs)
        for one in theirs or [None]:
            out.append(Pair(name, metric, ours.shown, ours, one, places.get(ours.shown)))
    rest = [r for r in load_reported() if (r.dataset, r.metric) == (name, metric) and r not in met]
    return out + [Pair(name, metric, r.printed, None, r) for r in rest]


def overview(rows: Sequence[Row], metric: str) -> Table:
    """All methods of ours on all benchmarks, with places, and the best printed numbers."""
    found = [m for m in measured(rows) if m.usual and m.dataset in CARDS]
    found = [m for m in found if CARDS[m.dataset].group == "benchmark"]
    found = [m for m in found if whole(m)]
    names = list(dict.fromkeys(m.dataset for m in found))
    labels = list(dict.fromkeys(m.label for m in found))
    places = {n: ranks([m for m in found if m.dataset == n], metric) for n in names}
    by = {(m.label, m.dataset): m for m in found}
    body, means = [], {}
    for label in labels:
        got = [places[n][label] for n in names if (label, n) in by]
        means[label] = sum(got) / len(got)
        cells = [
            _ranked(by[label, n], metric, places[n][label]) if (label, n) in by else ""
            for n in names
        ]
        body.append([label, *cells, f"{means[label]:.1f} ({len(got)} sets)"])
    body.sort(key=lambda line: (line.count(""), means[line[0]]))
    body.append(["best printed", *(_best(n, metric) for n in names), ""])
    title = f"{metric.upper()} on the benchmarks"
    used = [row for m in found for row in m.rows]
    how = (
        f"{metric.upper()} in % at the end of training, place among ours in brackets; the last "
        f"column is the mean place. {RETURNED}: in some runs the guard returned the clusters from "
        "before training instead."
    )
    return Table(title, f"{how} {about(used)}", ["", *names, "mean place"], body)


def _ranked(ours: Measured, metric: str, place: int) -> str:
    return f"{ours.trained(metric)}{RETURNED * bool(ours.returned)} ({place})"


def best_printed(dataset: str, metric: str) -> Reported:
    """The best printed number that is not in doubt."""
    here = [r for r in load_reported() if (r.dataset, r.metric) == (dataset, metric)]
    sound = [r for r in here if "suspect" not in r.doubts and "other data" not in r.doubts]
    return max(sound, key=lambda r: r.value)


def _best(dataset: str, metric: str) -> str:
    best = best_printed(dataset, metric)
    return f"{with_marks(best)} ({best.printed})"


def with_marks(r: Reported) -> str:
    """A printed number with the marks of its doubts."""
    return r.text + "".join(MARKS[doubt] for doubt in r.doubts)


def details(rows: Sequence[Row]) -> list[Table]:
    """A table for each data set: ours in the order of NMI, then what only the papers have.

    Parts and settings of a system are there only beside a printed number.
    """
    everything = [p for p in pairs(rows) if p.ours is None or p.theirs or whole(p.ours)]
    out = []
    for name in dict.fromkeys(p.dataset for p in everything if p.ours is not None):
        here = [p for p in everything if p.dataset == name]
        used = {id(r): r for p in here if p.ours is not None for r in p.ours.rows}
        header = ["place", "method", "seeds"]
        for metric in METRICS:
            header += [metric.upper(), f"{metric.upper()} in papers", "difference"]
        lines = [_line(label, ours, here) for label, ours in _methods(here)]
        out.append(Table(name, f"{HOW} {about(list(used.values()))}", header, lines))
    return out


def _methods(here: Sequence[Pair]) -> list[tuple[str, bool]]:
    """Rows of a table: label, and whether it is ours; ours by their place in NMI."""
    ours = [p for p in here if p.ours is not None and not p.ours.found]
    ours.sort(key=lambda p: (p.metric != "nmi", p.rank or len(here)))
    theirs = [p.label for p in here if p.ours is None]
    return [(label, True) for label in dict.fromkeys(p.label for p in ours)] + [
        (label, False) for label in dict.fromkeys(theirs)
    ]


def _line(label: str, ours: bool, here: Sequence[Pair]) -> list[str]:
    chosen = [p for p in here if p.label == label and (p.ours is not None) == ours]
    own = chosen[0].ours
    places = [next((p.rank for p in chosen if p.metric == m), None) for m in METRICS]
    ranked = " / ".join(map(str, places)) if all(places) else ""
    line = [ranked, label, "" if own is None else own.seeds]
    for metric in METRICS:
        some = [p for p in chosen if p.metric == metric]
        printed = _printed([p.theirs for p in some if p.theirs])
        first = some[0] if some else None
        gap = "" if first is None or first.difference is None else f"{first.difference:+.1f}"
        value = "" if own is None else str(own.trained(metric))
        line += [value, printed, f"{gap} {first.mark}".strip() if first and gap else ""]
    return line


def _printed(numbers: Sequence[Reported]) -> str:
    """Numbers with their papers; one that others repeat is there once."""
    papers: dict[str, list[str]] = {}
    first: dict[str, Reported] = {}
    for r in numbers:
        first.setdefault(r.text, r)
        if r.paper not in papers.setdefault(r.text, []):
            papers[r.text].append(r.paper)
    return "; ".join(f"{with_marks(r)} ({', '.join(papers[text])})" for text, r in first.items())
