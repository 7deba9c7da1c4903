"""``coterie cache``: the vectors and wordings that are kept on disk."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from coterie.cli.options import AsJson


def cache(
    action: Annotated[str, typer.Argument(help="path, size or clear.")] = "size",
    as_json: AsJson = False,
) -> None:
    """Where vectors of texts are kept, how much room they take, and how to drop them.

    Beside the vectors lie the wordings that language models made for coterie augment; they are
    shown and dropped along. COTERIE_CACHE names the folder, or is "off"; COTERIE_CACHE_LIMIT is the
    most bytes of the vectors (2e9); wordings may take another tenth of it.

    Examples:

        coterie cache
        coterie cache clear
    """
    from coterie._cache import clear, place, usage
    from coterie._validation import check_choice
    from coterie.augmentation.run import SHARE, wordings_folder

    check_choice("action", action, ["path", "size", "clear"])
    folder, beside = place(), wordings_folder()
    if folder is None or beside is None:
        typer.echo(json.dumps({"path": None}) if as_json else "off: no vectors are kept")
        return
    found, more = (clear(f) if action == "clear" else usage(f) for f in (folder, beside))
    if as_json:
        wordings = {"path": more.path, "files": more.files, "bytes": more.bytes}
        typer.echo(json.dumps({**asdict(found), "wordings": wordings}, default=str))
    elif action == "path":
        typer.echo(str(folder))
    else:
        for kept, most in ((found, found.limit), (more, found.limit // SHARE)):
            if kept is found or kept.files:
                what = f"{kept.bytes / 1e6:,.1f} MB in {kept.files} files"
                done = "deleted" if action == "clear" else f"of at most {most / 1e6:,.0f} MB"
                typer.echo(f"{kept.path}: {what}, {done}")
