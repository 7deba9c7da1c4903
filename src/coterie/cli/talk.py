"""Talking to people: messages on stderr, exit codes, and tables that cannot be abused."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer

from coterie._errors import CoterieError


def say(message: str) -> None:
    """A line on stderr; stdout is for data."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


def orderly(verb: Callable[..., None]) -> Callable[..., None]:
    """Turn errors into one clear line and the right exit code."""

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except CoterieError as error:
            say(f"coterie: {error}")
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as error:
            say("coterie: interrupted")
            raise typer.Exit(130) from error
        except BrokenPipeError as error:
            # The reader of our output is gone; keep Python from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from error

    return run


def show_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
) -> None:
    """A table on stdout; cells are plain text, never markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False)
    for i, column in enumerate(columns):
        right = i in numbers
        table.add_column(
            Text(column), justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120  # a file has no width of its own
    console.print(table)
