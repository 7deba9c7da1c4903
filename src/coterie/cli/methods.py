"""``coterie methods``: what there is to choose from, and with which parameters."""

from __future__ import annotations

import dataclasses
import inspect
import json
from typing import Annotated, Any

import typer

from coterie.cli.options import AsJson
from coterie.cli.talk import show_table


def methods(
    name: Annotated[str | None, typer.Argument(help="Show one method in full.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, or show one with its parameters, presets and source.

    `coterie cluster FILE --method NAME` takes one of them, `--set NAME=VALUE` sets a parameter.

    Examples:

        coterie methods
        coterie methods sccl
    """
    from coterie._validation import check_choice
    from coterie.methods import METHODS

    if name is None:
        rows = [[key, recipe.class_name, recipe.summary] for key, recipe in METHODS.items()]
        if as_json:
            typer.echo(json.dumps([dict(zip(("name", "class", "summary"), row, strict=True))
                                   for row in rows], indent=2))  # fmt: skip
        else:
            show_table("", ["method", "class", "what it does"], rows)
        return
    recipe = METHODS[check_choice("method", name, METHODS)]
    parameters = {f.name: recipe.parameters.get(f.name, f.default)
                  for f in dataclasses.fields(recipe.cls)}  # fmt: skip
    if as_json:
        typer.echo(json.dumps({"name": name, "class": recipe.cls.__name__,
                               "parameters": parameters, "presets": recipe.cls.presets},
                              indent=2, default=str))  # fmt: skip
        return
    _show(name, recipe, parameters)


def _show(name: str, recipe: Any, parameters: dict[str, Any]) -> None:
    typer.echo(f"{name}: {recipe.summary}\n")
    typer.echo(inspect.getdoc(recipe.cls).split("\n\nExamples\n")[0] + "\n")  # type: ignore[union-attr]
    rows = [[key, repr(value)] for key, value in parameters.items()]
    show_table("All parameters (--set KEY=VALUE)", ["key", "default"], rows)
    for preset, values in recipe.cls.presets.items():
        typer.echo(f"\npreset {preset}: {values or 'the defaults'}")
    if recipe.cls.citation:
        typer.echo(f"\n{recipe.cls.citation}")
