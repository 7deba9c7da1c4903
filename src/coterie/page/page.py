"""What all pages share: one base template, one style sheet, and texts that cannot act."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from coterie.page.points import shorten, visible

if TYPE_CHECKING:
    from jinja2 import Environment

# Outlines within a box from -6 to 6. Seven colours times six shapes tell 42 clusters apart, and
# clusters that follow each other differ in both, so colour never carries the meaning alone.
SHAPES = (
    "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z",
    "M-4.4 -4.4H4.4V4.4H-4.4Z",
    "M0 -5.4L5.2 4.2H-5.2Z",
    "M0 -6L5 0L0 6L-5 0Z",
    "M0 5.4L5.2 -4.2H-5.2Z",
    "M-1.8 -5.4H1.8V-1.8H5.4V1.8H1.8V5.4H-1.8V1.8H-5.4V-1.8H-1.8Z",
)
COLORS = 7  # custom properties --c0 to --c6 of the style sheet
SHADES = 3  # of each: as it is, nearer to the ink, nearer to the paper; for cuts of a tree
NAME = 80  # characters of a name in a table


def render_page(
    template: str, styles: tuple[str, ...] = (), script: str = "", **values: Any
) -> str:
    """One self-contained page as text; all values are escaped, and nothing in them can act.

    Parameters
    ----------
    template : str
        A file of this package that extends ``base.html``.
    styles : tuple of str
        Style sheets of this package besides ``page.css``.
    script : str
        The one script of the page; its policy allows no other.
    **values
        What the template shows; ``sentences`` are the summary at the top.
    """
    style = "".join(asset(name) for name in ("page.css", *styles))
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        _templates()
        .get_template(template)
        .render(style=style, script=script, script_hash=digest, **values)
    )


def render_part(template: str, style: str, **values: Any) -> str:
    """A part of a page with its style sheet, to stand in the page of somebody else."""
    return _templates().get_template(template).render(style=asset(style), **values)


@cache
def _templates() -> Environment:
    """The templates of this package; each is compiled once, which takes longer than a page."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, loader=FunctionLoader(asset)
    )
    made.filters["short"] = lambda text: visible(shorten(text))
    made.filters["name"] = lambda text: visible(shorten(str(text), NAME))
    made.filters["seen"] = _plain
    made.globals.update(shapes=SHAPES, colors=COLORS)
    return made


@cache
def asset(name: str) -> str:
    """A template, style sheet or script of this package."""
    return (resources.files("coterie.page") / name).read_text("utf-8")


def _plain(value: object) -> str:
    """A value as readable text."""
    if isinstance(value, dict):
        return ", ".join(f"{_plain(key)} {_plain(inner)}" for key, inner in value.items())
    return visible(str(value))
