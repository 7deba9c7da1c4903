"""The numbers that the papers print, as data: ``reported.csv`` beside this file.

A line is one number of one table, in per cent. ``method`` is our name of what the paper calls
``printed``, and ``variant`` the label of our entry where it is an ablation. ``source`` is "own"
for numbers of the paper itself, else the paper that they were taken from.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from functools import cache
from importlib import resources

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
    source = resources.files("coterie") / "bench" / "reported.csv"
    rows = csv.DictReader(io.StringIO(source.read_text("utf-8"), newline=""))
    return tuple(_read(row) for row in rows)


def _read(row: dict[str, str]) -> Reported:
    text, doubts = row.pop("value"), row.pop("doubt")
    listed = tuple(d for d in doubts.split("; ") if d)
    return Reported(**row, value=float(text), text=text, doubts=listed)
