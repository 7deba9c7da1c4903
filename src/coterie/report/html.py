"""From a described clustering to one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from coterie._files import write_text
from coterie.description import Cluster

LONGEST = 300  # characters shown of an example


@dataclass(frozen=True)
class ReportData:
    """Everything the page shows.

    Attributes
    ----------
    title : str
    summary : list of str
        Plain sentences for the top of the page.
    clusters : sequence of Cluster
    notes : list of str
        What reading the data noticed.
    settings : dict
        Method, parameters, versions and the like, shown as they are.
    """

    title: str
    summary: list[str]
    clusters: Sequence[Cluster]
    notes: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


def render(data: ReportData) -> str:
    """The page as text; all texts are escaped."""
    from jinja2 import Environment, StrictUndefined

    folder = resources.files("coterie") / "report"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["short"] = shorten
    template = environment.from_string((folder / "template.html").read_text("utf-8"))
    style = (folder / "page.css").read_text("utf-8")
    largest = max((cluster.size for cluster in data.clusters), default=1)
    return template.render(data=data, style=style, largest=largest)


def write_report(path: str | Path, data: ReportData) -> None:
    """Write the page, whole or not at all."""
    write_text(Path(path), render(data))


def shorten(text: str, length: int = LONGEST) -> str:
    """Cut a text at a blank, with an ellipsis."""
    if len(text) <= length:
        return text
    return text[:length].rsplit(" ", 1)[0] + " …"
