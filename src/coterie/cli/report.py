"""``coterie report``: make the page of a run anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coterie._errors import DataError


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    no_texts: Annotated[
        bool, typer.Option("--no-texts", help="Words and counts only: report-no-texts.html.")
    ] = False,
) -> None:
    """Write report.html of a finished run anew, for instance with a newer coterie."""
    from coterie._files import read_json
    from coterie.cli.run_folder import write_page
    from coterie.description import Cluster

    if not (folder / "manifest.json").exists():
        raise DataError(f"{folder} holds no run: there is no manifest.json.")
    manifest = read_json(folder / "manifest.json")
    if manifest["status"] != "done":
        raise DataError(f"the run in {folder} is not finished ({manifest['status']}).")
    clusters = [Cluster.from_dict(saved) for saved in read_json(folder / "clusters.json")]
    typer.echo(str(write_page(folder, manifest, clusters, texts=not no_texts)))
