"""``coterie datasets``: the benchmarks of the papers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from coterie._errors import UsageError
from coterie.cli.options import AsJson, Data
from coterie.cli.talk import show_table


def datasets(
    action: Annotated[str, typer.Argument(help="list, show or get.")] = "list",
    name: Annotated[str | None, typer.Argument(help="Name of a data set.")] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets, show one, or download one from its public address.

    Nothing is bundled: files are found in the folder given by --data or COTERIE_DATA. Development
    sets (group dev) and sets in other languages (group lang) are looked for in its sub-folders dev
    and lang.

    Examples:

        coterie datasets
        coterie datasets show stackoverflow
        coterie datasets get tweet --data benchmarks
    """
    from coterie._progress import make_progress
    from coterie._validation import check_choice
    from coterie.datasets import CARDS, PAIRS, get_dataset, locate_dataset

    check_choice("action", action, ["list", "show", "get"])
    folder = Path(data) if data is not None else None
    if action == "list":
        found = {key: locate_dataset(key, folder) for key in CARDS}
        if as_json:
            cards = [asdict(card) | {"path": found[key]} for key, card in CARDS.items()]
            typer.echo(json.dumps(cards, indent=2, default=str))
            return
        rows = [[key, card.group, f"{card.rows:,}", str(card.classes), card.text,
                 str(found[key] or "not here")] for key, card in CARDS.items()]  # fmt: skip
        show_table("", ["name", "group", "rows", "classes", "texts", "file"], rows, numbers=(2, 3))
        return
    if name is None:
        raise UsageError(f"coterie datasets {action} needs the name of a data set.")
    card = CARDS[check_choice("data set", name, CARDS)]
    if action == "get":
        typer.echo(str(get_dataset(name, folder, progress=make_progress(1))))
        return
    facts = asdict(card) | {
        "address": card.address,
        "views": [kind for dataset, kind in PAIRS if dataset == name],
        "path": locate_dataset(name, folder),
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2, default=str))
    else:
        show_table("", ["field", "value"], [[k, str(v)] for k, v in facts.items()])
