"""The verbs put together, and what happens at start and end of the program."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from coterie import __version__
from coterie.cli.streams import log_details, open_streams

# Verb: its module, and its help on the page of all verbs, empty where it is not listed there. A
# module is imported when its verb runs, and so is all else that help does without.
VERBS = {
    "cluster": ("cluster", "Cluster the texts of a file."),
    "predict": ("runs", "Assign new texts to the clusters of a run."),
    "update": ("runs", "Add new rows to a run; all old rows stay where they are."),
    "cut": ("runs", "Show more or fewer clusters of a run."),
    "edit": ("runs", "Merge, split, rename and delete the clusters of a run; move texts."),
    "name": ("names", "Name the clusters of a run with a language model."),
    "compare": ("analyses", "Compare two clusterings, or two clusters of a run."),
    "stability": ("analyses", "Measure how stable the clusters of a run are."),
    "report": ("runs", "Write the page of a run again, or a figure of it."),
    "export": ("runs", "Write the tables of a run for Excel and other programs."),
    "serve": ("serve", "Serve runs over HTTP: predict, search, edit, update, and the page."),
    "mask": ("mask", "Replace personal data in a table by words in brackets."),
    "evaluate": ("analyses", "Score a column of clusters against a column of true labels."),
    "methods": ("tools", "List the methods, or show one with its parameters and presets."),
}
HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class Verbs(TyperGroup):
    """A group that lists its verbs without importing them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = dict.fromkeys(VERBS)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: Any, name: str) -> Any:
        """The command of a verb, made when it is asked for."""
        if name in self.commands and self.commands[name] is None:
            from coterie.cli.talk import orderly

            module, shown = VERBS[name]
            verb = getattr(importlib.import_module(f".{module}", __package__), name)
            alone = typer.Typer(rich_markup_mode="markdown", add_completion=False)
            alone.command(name, hidden=not shown, context_settings=HELP_OPTIONS)(orderly(verb))
            self.commands[name] = typer.main.get_command(alone)
        return self.commands.get(name)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """The verbs with their help, from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in VERBS.items() if said])


app = typer.Typer(
    name="coterie",
    cls=Verbs,
    help=(
        "Cluster short texts: tickets, queries, titles, posts, survey answers.\n\n"
        "Start with: coterie cluster FILE"
    ),
    epilog="coterie COMMAND --help explains a command, with examples.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP_OPTIONS,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"coterie {__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
    verbose: bool = typer.Option(
        False, "--verbose", "-v", callback=log_details, help="Log details to stderr."
    ),
) -> None:
    """Cluster short texts."""


def main() -> None:
    """Run the program."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as fits in Python; before NumPy is there
    open_streams()
    try:
        app()
    except (Exception, KeyboardInterrupt) as error:  # outside any verb
        from coterie.cli.talk import explain

        sys.exit(explain(error))
