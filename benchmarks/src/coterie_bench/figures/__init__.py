"""The papers' figures, from result lines and from short runs; matplotlib comes with an extra.

Each is first a :class:`Picture`, plain numbers, which are written as NAME.json beside NAME.svg and
NAME.png: :func:`redraw` draws it again without lines or runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coterie._util.files import write_text
from coterie._util.validation import check_choice, need
from coterie.errors import UsageError
from coterie_bench.figures import papers, short
from coterie_bench.figures.picture import Picture, Table, read_picture, save
from coterie_bench.figures.short import Short, cut
from coterie_bench.ledger import Row, read_results
from coterie_bench.suites import own_data
from coterie_bench.tables import markdown, read_folder

__all__ = ["FIGURES", "Drawing", "Picture", "Short", "cut", "draw_all", "read_picture", "redraw"]

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Drawing:
    """One figure of a paper, as ``figures.toml`` has it.

    Attributes
    ----------
    about, heading, claim : str
        Which it is, what it shows, and what the paper says.
    make : callable
        Takes result lines, or a :class:`Short`, and returns a :class:`Picture`, or None where the
        lines are not there.
    lines : str, optional
        What brings the lines it needs; None if it needs a run.
    files : tuple of str
        Result files outside the suites, whose lines it takes instead of theirs.
    other : bool
        Whether its run needs a second data set.
    runs : tuple of dict
        The runs of the documentation: ``dataset``, ``limit``, ``settings`` and ``seeds``.
    """

    about: str
    heading: str
    claim: str
    make: Callable[[Any], Picture | None]
    lines: str | None = None
    files: tuple[str, ...] = ()
    other: bool = False
    runs: tuple[dict[str, Any], ...] = ()

    def from_lines(self, results: Path) -> Picture | None:
        """The picture of the lines in a folder."""
        return self.make(self._read(results))

    def lacks(self, short: Short | None) -> str:
        """What is missing for a run, and the option that names it; empty if nothing is."""
        if self.lines is not None:
            return ""
        if short is None:
            return "a run: name a data set with --dataset"
        lost = self.other and short.other is None
        return "another data set: name it with --other" if lost else ""

    def _read(self, results: Path) -> list[Row]:
        if self.files:
            found = [results / f"{name}.jsonl" for name in self.files]
            return read_results([file for file in found if file.exists()])
        return read_folder(results) if results.is_dir() else []


def _drawing(given: dict[str, Any]) -> Drawing:
    named = given.pop("make")
    make = partial(getattr(papers, named, None) or getattr(short, named))
    make.keywords.update(given.pop("arguments", {}))
    lists: dict[str, Any] = {key: tuple(given.pop(key, ())) for key in ("files", "runs")}
    return Drawing(**given, **lists, make=make)


FIGURES = {name: _drawing(given) for name, given in own_data("figures/figures.toml").items()}


def draw_all(
    folder: Path,
    results: Path,
    run: Short | None = None,
    *,
    only: Iterable[str] | None = None,
    tell: Tell = lambda message: None,
) -> list[Path]:
    """Draw what can be drawn and say what is missing for the rest.

    Parameters
    ----------
    folder : Path
        For NAME.json, NAME.svg and NAME.png; a table becomes NAME.md.
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
    out: list[Path] = []
    for name in _chosen(only):
        drawing, begun = FIGURES[name], time.monotonic()
        lacks = drawing.lacks(run)
        if lacks:
            tell(f"{name} ({drawing.about}) needs {lacks}")
            continue
        made = drawing.from_lines(results) if drawing.lines is not None else drawing.make(run)
        if made is None:
            tell(f"{name} ({drawing.about}) has no lines: {drawing.lines}")
            continue
        write_text(folder / f"{name}.json", made.to_json())
        out += [folder / f"{name}.json", *_write(made, folder, name)]
        tell(f"{name} ({drawing.about}), {time.monotonic() - begun:.0f} s")
    return out


def redraw(
    folder: Path, only: Iterable[str] | None = None, tell: Tell = lambda _: None
) -> list[Path]:
    """Draw the figures of a folder again, from the numbers that lie there as NAME.json."""
    need("matplotlib", "plots")
    names = _chosen(only)
    there = [name for name in names if (folder / f"{name}.json").exists()]
    if not there or (only is not None and there != names):
        lost = ", ".join(f"{name}.json" for name in names if name not in there)
        raise UsageError(f"{folder} does not contain {lost}; draw without --redraw first.")
    out: list[Path] = []
    for name in there:
        out += _write(read_picture(folder / f"{name}.json"), folder, name)
        tell(f"{name} ({FIGURES[name].about})")
    return out


def _chosen(only: Iterable[str] | None) -> list[str]:
    names = list(FIGURES) if only is None else list(only)
    for name in names:
        check_choice("figure", name, FIGURES)
    return names


def _write(made: Picture, folder: Path, name: str) -> list[Path]:
    if isinstance(made.panels[0], Table):
        table = made.panels[0]
        write_text(folder / f"{name}.md", markdown(table.header, table.rows))
        return [folder / f"{name}.md"]
    return save(made, folder, name)
