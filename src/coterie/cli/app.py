"""The verbs put together, and what happens at start and end of the program."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from coterie import __version__
from coterie.cli.streams import open_streams

# Verb: its module, and its help on the page of all verbs, empty where it is not listed there. A
# module is imported when its verb runs, and so is all else that help does without.
RUNS, TOOLS, SERVE = "coterie.cli.runs", "coterie.cli.tools", "coterie.cli.serve"
VERBS = {
    "cluster": ("coterie.cli.cluster", "Cluster the texts of a file."),
    "predict": (RUNS, "Assign new texts to the clusters of a run."),
    "update": (RUNS, "Add new rows to a run; all old rows stay where they are."),
    "edit": (RUNS, "Merge, split, rename, move and lock the clusters of a run."),
    "name": (RUNS, "Name the clusters of a run with a language model."),
    "compare": (RUNS, "Compare two clusterings."),
    "stability": (RUNS, "Measure how stable the clusters of a run are."),
    "timeline": (RUNS, "Follow the clusters of a run over a column of dates."),
    "report": (RUNS, "Write the page of a run again."),
    "export": (RUNS, "Write the tables of a run for Excel and other programs."),
    "serve": (SERVE, "Serve runs over HTTP: predict, search, edit, update, and the page."),
    "check": (RUNS, "Check the files of a run or of a saved model."),
    "evaluate": (TOOLS, "Score a column of clusters against a column of true labels."),
    "methods": (TOOLS, "List the methods, or show one with its parameters and presets."),
    "augment": (TOOLS, "Make augmentations of each text, for methods that train on pairs."),
    "encoders": (TOOLS, ""),
    "cache": (TOOLS, ""),
}
GONE = ("bench", "datasets", "inspect")  # moved to the benchmarks
HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


class Commands(Mapping[str, Any]):
    """Commands by their names, each made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            from coterie.cli.talk import orderly

            module, shown = (TOOLS, "") if name in GONE else VERBS[name]
            verb = getattr(importlib.import_module(module), "moved" if name in GONE else name)
            alone = typer.Typer(rich_markup_mode="markdown", add_completion=False)
            settings = HELP_OPTIONS | (ANYTHING if name in GONE else {})
            alone.command(name, hidden=not shown, context_settings=settings)(orderly(verb))
            self._made[name] = typer.main.get_command(alone)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*VERBS, *GONE))

    def __len__(self) -> int:
        return len(VERBS) + len(GONE)


class Verbs(TyperGroup):
    """A group that lists its verbs without importing them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Commands()  # type: ignore[assignment]

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
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log details to stderr.")
    ] = False,
) -> None:
    """Cluster short texts."""
    if verbose:
        logging.basicConfig(format="%(name)s: %(message)s", stream=sys.stderr)
        logging.getLogger("coterie").setLevel(logging.INFO)


def main() -> None:
    """Run the program."""
    # Threads that wait for each other burn their core by default, and on a machine with other work
    # they keep from it the very thread they wait for. OpenMP reads this when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    open_streams()
    try:
        app()
    except (Exception, KeyboardInterrupt) as error:  # outside any verb
        from coterie.cli.talk import explain

        sys.exit(explain(error))
