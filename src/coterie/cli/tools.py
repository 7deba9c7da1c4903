"""The verb that lists the methods."""

from __future__ import annotations

import dataclasses
from inspect import getdoc

import typer

from coterie._util.validation import check_choice
from coterie.cli import options
from coterie.cli.talk import show_json, show_table


def methods(
    name: str | None = typer.Argument(None, metavar="NAME", help="Show one method in full."),
    quiet: bool = options.QUIET,
    as_json: bool = options.AS_JSON,
) -> None:
    """List the methods, or show one with its parameters and presets.

    Use one with `coterie cluster FILE --method NAME`; `--set NAME=VALUE` sets a parameter.

    Examples:

        coterie methods
        coterie methods sccl
    """
    from coterie.models.registry import METHODS

    if name is None:
        rows = [[key, recipe.class_name, recipe.summary] for key, recipe in METHODS.items()]
        if as_json:
            show_json([dict(zip(("name", "class", "summary"), row, strict=True)) for row in rows])
        else:
            show_table("", ["method", "class", "what it does"], rows)
        return
    recipe = METHODS[check_choice("method", name, METHODS)]
    known, presets = dataclasses.fields(recipe.cls), recipe.cls.presets
    parameters = {f.name: recipe.parameters.get(f.name, f.default) for f in known}
    if as_json:
        facts = {"name": name, "class": recipe.cls.__name__, "parameters": parameters}
        show_json(facts | {"presets": presets})
        return
    typer.echo(f"{name}: {recipe.summary}\n")
    typer.echo(str(getdoc(recipe.cls)).split("\n\nExamples\n")[0] + "\n")
    rows = [[key, repr(value)] for key, value in parameters.items()]
    show_table("All parameters (--set KEY=VALUE)", ["key", "default"], rows)
    for preset, values in presets.items():
        typer.echo(f"\npreset {preset}: {values or 'the defaults'}")
    if recipe.references:
        typer.echo("\n" + "\n".join(recipe.references))
