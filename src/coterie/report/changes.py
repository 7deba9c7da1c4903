"""What an update changed, as one self-contained HTML page: no network, no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from coterie._files import write_text
from coterie.description import Cluster
from coterie.drift import Drift
from coterie.report.points import shorten, visible

SHOWN = 30  # texts that fit nowhere


def write_changes(  # noqa: PLR0913 - each is a part of the page
    path: Path,
    title: str,
    sentences: Sequence[str],
    drift: Drift,
    new: Sequence[Cluster] = (),
    strange: Sequence[str] = (),
    *,
    texts: bool = True,
) -> None:
    """Write the page, whole or not at all.

    Parameters
    ----------
    path : Path
    title : str
    sentences : sequence of str
    drift : Drift
    new : sequence of Cluster
        Clusters that are new.
    strange : sequence of str
        Texts that fit nowhere; the first of them are shown.
    texts : bool, default=True
        False leaves out all texts and examples.
    """
    from jinja2 import Environment, StrictUndefined

    if not texts:
        new, strange = [replace(cluster, examples=[]) for cluster in new], ()
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["short"] = lambda text: visible(shorten(text))
    environment.filters["seen"] = lambda text: visible(str(text))
    folder = resources.files("coterie") / "report"
    page = environment.from_string((folder / "changes.html").read_text("utf-8")).render(
        title=title,
        sentences=sentences,
        drift=drift,
        new=new,
        strange=strange[:SHOWN],
        style=(folder / "page.css").read_text("utf-8"),
    )
    write_text(path, page)
