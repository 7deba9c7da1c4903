"""``coterie report``: make the page of a run anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Words and counts only: report-no-texts.html.")
    ] = False,
) -> None:
    """Write report.html of a finished run anew, for instance with a newer coterie."""
    from coterie.runs import open_run

    typer.echo(str(open_run(folder).report(texts=not no_texts)))
