"""``coterie edit``: correct the clusters of a finished run by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from coterie._errors import UsageError
from coterie._progress import say
from coterie.cli.options import AsJson, NoCache


def edit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="EDITS", help="YAML or JSON file with the edits.")
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Put the run back to before its last edits.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the edits and say what they do; write nothing.")
    ] = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
) -> None:
    """Merge, split, rename, move and lock clusters of a finished run.

    The table, the page and the model change together, or not at all, if an edit cannot be done.
    New texts go where the edits say, and later runs keep numbers, names and locks with --keep.

    A file of edits, done in their order:

        - merge: [3, 7]
          name: Late parcels
        - split: {cluster: 4, into: 2}
        - rename: {2: "Refunds"}
        - move: {rows: [12, {contains: "gift card"}], to: 5}
        - lock: [2, 5]

    Examples:

        coterie edit tickets.clusters edits.yaml --dry-run
        coterie edit tickets.clusters edits.yaml
        coterie edit tickets.clusters --undo
    """
    from coterie.editing import edit as do
    from coterie.editing import undo as put_back
    from coterie.report.points import visible

    if undo == (file is not None):
        raise UsageError("name a file of edits, or --undo the last ones: one of the two.")
    if undo:
        number = put_back(run)
        say(f"undone: change {number} of {run}")
        if as_json:
            typer.echo(json.dumps({"undone": number}))
        return
    found = do(run, file, dry_run=dry_run)
    if as_json:
        shown = {"done": found.done, "clusters": found.clusters, "written": not dry_run}
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    for sentence in found.done:
        typer.echo(visible(sentence))
    if dry_run:
        say("nothing was written (--dry-run)")
    else:
        say(f"\npage  {run / 'report.html'}\nundo  coterie edit {run} --undo")
