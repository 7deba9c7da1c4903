"""What a figure shows, as plain numbers: they lie beside it, and it can be drawn from them again.

A :class:`Picture` has panels: :class:`Lines`, :class:`Bars`, :class:`Histogram`, :class:`Points`,
or one :class:`Table`, which becomes text.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from coterie._errors import DataError
from coterie._files import plain

DIGITS = 5  # that count, of every number in a file


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Curves over a number, or over named places.

    Attributes
    ----------
    x, y : str
        Labels of the axes.
    series : dict of str to list
        Of [x, y], or of [x, y, deviation].
    title : str
    ticks : list of str, optional
        Names of the places 0, 1, 2 on the x axis.
    log : bool
        Whether the x axis is logarithmic.
    """

    kind: ClassVar[str] = "lines"
    x: str
    y: str
    series: dict[str, list[list[float]]]
    title: str = ""
    ticks: list[str] | None = None
    log: bool = False


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Bars side by side; ``groups`` is group, then bar, then [mean, deviation]."""

    kind: ClassVar[str] = "bars"
    y: str
    groups: dict[str, dict[str, list[float]]]
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Outlines of histograms over the same ``edges``; ``series`` has one value for each bin."""

    kind: ClassVar[str] = "histogram"
    x: str
    y: str
    edges: list[float]
    series: dict[str, list[float]]
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Points:
    """A map; ``classes`` has a number for each point, 0 for the largest class."""

    kind: ClassVar[str] = "points"
    x: list[float]
    y: list[float]
    classes: list[int]
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Words, not drawn."""

    kind: ClassVar[str] = "table"
    header: list[str]
    rows: list[list[str]]
    title: str = ""


Panel = Lines | Bars | Histogram | Points | Table
KINDS: dict[str, type[Panel]] = {c.kind: c for c in (Lines, Bars, Histogram, Points, Table)}


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One figure.

    Attributes
    ----------
    title, subtitle : str
        Method and data set; what else one has to know to read it.
    panels : list of Panel
    about : str
        Where the numbers are from: for a caption, not drawn.
    columns : int
        At most so many panels in a row.
    """

    title: str
    panels: list[Panel]
    subtitle: str = ""
    about: str = ""
    columns: int = 3

    def to_json(self) -> str:
        """A JSON text with one panel a line."""
        head = {k: getattr(self, k) for k in ("title", "subtitle", "about", "columns")}
        lines = [f"  {_dump(key)}: {_dump(value)}" for key, value in head.items()]
        panels = [f"    {_dump(_to_dict(panel))}" for panel in self.panels]
        lines.append('  "panels": [\n' + ",\n".join(panels) + "\n  ]")
        return "{\n" + ",\n".join(lines) + "\n}\n"


def read_picture(file: Path) -> Picture:
    """The picture whose numbers are in a file."""
    try:
        found = json.loads(file.read_text("utf-8"))
        panels = [_to_panel(dict(panel)) for panel in found.pop("panels")]
        return Picture(panels=panels, **found)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError("bench.bad_figure_file", file=file, error=error) from error


def _to_dict(panel: Panel) -> dict[str, Any]:
    shown = {f.name: getattr(panel, f.name) for f in dataclasses.fields(panel)}
    return {"kind": panel.kind, **shown}


def _to_panel(found: dict[str, Any]) -> Panel:
    return KINDS[found.pop("kind")](**found)


def _dump(value: Any) -> str:
    return json.dumps(_short(value), ensure_ascii=False, default=plain)


def _short(value: Any) -> Any:
    """Numbers cut to the digits that can be seen in a picture; NaN is no JSON and becomes null."""
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(inner) for inner in value]
    if isinstance(value, float):
        return None if value != value else float(f"{value:.{DIGITS}g}")
    return value
