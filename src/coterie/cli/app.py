"""The verbs put together, and what happens at start and end of the program."""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated

import typer

from coterie import __version__
from coterie.cli.cluster import cluster
from coterie.cli.runs import (
    check,
    compare,
    edit,
    export,
    name,
    predict,
    report,
    stability,
    timeline,
    update,
)
from coterie.cli.serve import serve
from coterie.cli.talk import explain, open_streams, orderly
from coterie.cli.tools import augment, cache, encoders, evaluate, methods
from coterie.errors import UsageError

app = typer.Typer(
    name="coterie",
    help=(
        "Cluster short texts: tickets, queries, titles, posts, survey answers.\n\n"
        "Start with: coterie cluster FILE"
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    cluster,
    predict,
    report,
    export,
    name,
    compare,
    edit,
    update,
    stability,
    timeline,
    serve,
    check,
    evaluate,
    methods,
    encoders,
    augment,
    cache,
):
    app.command()(orderly(verb))


def moved(context: typer.Context) -> None:
    """Say where a verb of earlier versions is now."""
    raise UsageError("cli.moved", verb=context.info_name)


for gone in ("bench", "datasets", "inspect"):
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(gone, hidden=True, context_settings=anything)(orderly(moved))


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
    except Exception as error:  # outside any verb
        sys.exit(explain(error))
    except KeyboardInterrupt as error:
        sys.exit(explain(error))
