"""``coterie cache``: the vectors that are kept on disk."""

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
    """Where the vectors of encoded texts are kept, how much room they take, and how to drop them.

    COTERIE_CACHE names the folder, or is "off"; COTERIE_CACHE_LIMIT is the most bytes (2e9).

    Examples:

        coterie cache
        coterie cache clear
    """
    from coterie._validation import check_choice
    from coterie.encoders.cache import clear, place, usage

    check_choice("action", action, ["path", "size", "clear"])
    folder = place()
    if folder is None:
        typer.echo(json.dumps({"path": None}) if as_json else "off: no vectors are kept")
        return
    found = clear(folder) if action == "clear" else usage(folder)
    if as_json:
        typer.echo(json.dumps(asdict(found), default=str))
    elif action == "path":
        typer.echo(str(folder))
    else:
        what = f"{found.bytes / 1e6:,.1f} MB in {found.files} files"
        done = "deleted" if action == "clear" else f"of at most {found.limit / 1e6:,.0f} MB"
        typer.echo(f"{folder}: {what}, {done}")
