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
    from coterie._folders import held
    from coterie._runs import swap_run
    from coterie.cli.name import check_run
    from coterie.cli.run_folder import write_page
    from coterie.run_files import read_clusters, read_manifest

    def write(fresh: Path) -> None:
        manifest, clusters = read_manifest(fresh), read_clusters(fresh)
        names.append(write_page(fresh, manifest, clusters, texts=not no_texts).name)

    names: list[str] = []
    check_run(folder)
    with held(folder):
        swap_run(folder, write)
    typer.echo(str(folder / names[0]))
