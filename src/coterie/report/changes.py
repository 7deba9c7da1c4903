"""What an update changed, as one self-contained HTML page: no network, no script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coterie._files import write_text
from coterie.description import Cluster
from coterie.drift import Drift
from coterie.report.page import render_page

SHOWN = 30  # texts that fit nowhere


def write_changes(
    path: Path,
    title: str,
    sentences: Sequence[str],
    drift: Drift,
    new: Sequence[Cluster] = (),
    strange: Sequence[str] = (),
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
    """
    page = render_page(
        "changes.html",
        title=title,
        sentences=sentences,
        drift=drift,
        new=new,
        strange=strange[:SHOWN],
    )
    write_text(path, page)
