"""All commands of the program and their options."""

from functools import cache

import typer

from coterie.cli import app


@cache
def commands() -> dict[str, set[str]]:
    """The options of every command, by its words."""
    found: dict[str, set[str]] = {}

    def visit(command: object, path: tuple[str, ...]) -> None:
        shown = [p for p in command.params if not getattr(p, "hidden", False)]
        found[" ".join(path)] = {o for p in shown for o in (*p.opts, *p.secondary_opts)}
        for name, inner in getattr(command, "commands", {}).items():
            visit(inner, (*path, name))

    visit(typer.main.get_command(app), ("coterie",))
    return found
