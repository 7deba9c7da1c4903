"""The papers' figures, from result lines and from short runs; matplotlib comes with an extra.

Each is first a :class:`Picture`, plain numbers, which are written as NAME.json beside NAME.svg:
claims about figures are judged by them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coterie._util.validation import check_choice, need
from coterie_bench.figures import papers, short
from coterie_bench.figures.picture import Picture, save
from coterie_bench.figures.short import Short, cut
from coterie_bench.suites import own_data
from coterie_bench.tables import read_folder

__all__ = ["FIGURES", "Drawing", "Picture", "Short", "cut", "draw_all"]


@dataclass(frozen=True)
class Drawing:
    """One figure of a paper, as ``figures.toml`` has it.

    Attributes
    ----------
    about : str
        Which it is.
    make : callable
        Takes result lines, or a :class:`Short`, and returns a :class:`Picture`, or None where the
        lines are not there.
    lines : str, optional
        What brings the lines it needs; None if it needs a run.
    other : bool
        Whether its run needs a second data set.
    """

    about: str
    make: Callable[[Any], Picture | None]
    lines: str | None = None
    other: bool = False

    def lacks(self, short: Short | None) -> str:
        """What is missing for a run, and the option that names it; empty if nothing is."""
        if self.lines is not None:
            return ""
        if short is None:
            return "a run: name a data set with --dataset"
        lost = self.other and short.other is None
        return "another data set: name it with --other" if lost else ""


def _drawing(given: dict[str, Any]) -> Drawing:
    named, arguments = given.pop("make"), given.pop("arguments", {})
    make = getattr(papers, named, None) or getattr(short, named)
    return Drawing(**given, make=partial(make, **arguments))


FIGURES = {name: _drawing(given) for name, given in own_data("figures/figures.toml").items()}


def draw_all(
    folder: Path,
    results: Path,
    run: Short | None = None,
    *,
    only: Iterable[str] | None = None,
    tell: Callable[[str], None] = lambda message: None,
) -> list[Path]:
    """Draw what can be drawn and say what is missing for the rest.

    Parameters
    ----------
    folder : Path
        For NAME.json and NAME.svg.
    results : Path
        Folder with result lines.
    run : Short, optional
        For figures that need a run; without it they are left out.
    only : iterable of str, optional
        Names in ``FIGURES``.
    tell : callable
        Gets a line for each figure.

    Returns
    -------
    list of Path
        The files.
    """
    need("matplotlib", "plots")
    names = [check_choice("figure", name, FIGURES) for name in only or FIGURES]
    rows = read_folder(results) if results.is_dir() else []
    out: list[Path] = []
    for name in names:
        drawing, begun = FIGURES[name], time.monotonic()
        if lacks := drawing.lacks(run):
            tell(f"{name} ({drawing.about}) needs {lacks}")
            continue
        made = drawing.make(run if drawing.lines is None else rows)
        if made is None:
            tell(f"{name} ({drawing.about}) has no lines: {drawing.lines}")
            continue
        out += save(made, folder, name)
        tell(f"{name} ({drawing.about}), {time.monotonic() - begun:.0f} s")
    return out
