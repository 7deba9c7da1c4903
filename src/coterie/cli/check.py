"""``coterie check``: whether the files of a run or of a model are whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from coterie._progress import say
from coterie.cli.options import AsJson


def check(
    folder: Annotated[Path, typer.Argument(help="Folder of a run, or of a saved model.")],
    as_json: AsJson = False,
) -> None:
    """Check that the files of a run or of a saved model are whole and belong together.

    Digests of the model's files, that all numbers are finite, rows of the table against the
    manifest and the clusters, levels, map, and what edits have kept for --undo. Nothing is changed.

    Exit code 0: all is well. 3: something is damaged; each line says what, and what mends it.

    Examples:

        coterie check tickets.clusters
        coterie check tickets.clusters --json
    """
    from coterie.checking import check_integrity

    found = check_integrity(folder)
    if as_json:
        shown = {
            "folder": str(found.folder),
            "kind": found.kind,
            "looked_at": found.looked_at,
            "findings": [{"what": one.what, "remedy": one.remedy} for one in found.findings],
        }
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
    else:
        for one in found.findings:
            say(one.what + (f"\n  to mend it: {one.remedy}" if one.remedy else ""))
        state = f"{len(found.findings)} damaged" if found.findings else "all is well"
        typer.echo(f"{found.folder}: {found.kind}, {len(found.looked_at)} checks, {state}.")
    if found.findings:
        raise typer.Exit(3)
