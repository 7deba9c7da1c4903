"""Talking to people: messages on stderr, exit codes, and tables that cannot be abused."""

from __future__ import annotations

import errno
import functools
import logging
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, get_type_hints

import typer

from coterie._errors import NOTHING, CoterieError

log = logging.getLogger(__name__)

# What would steer a terminal: controls but tab and line feed, and overrides of the direction.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


# Parameters of the library that options call otherwise.
ALIASES = {"n_clusters": "clusters", "random_state": "seed"}


def say(message: str) -> None:
    """A line on stderr; stdout is for data. What came from a file cannot steer the terminal."""
    sys.stderr.write(STEERING.sub("\ufffd", message) + "\n")
    sys.stderr.flush()


def orderly(verb: Callable[..., None]) -> Callable[..., None]:
    """Turn errors into one clear line and the right exit code."""

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except CoterieError as error:
            say(f"coterie: {error.shown(_as_option(verb))}")
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as error:
            say("coterie: interrupted")
            raise typer.Exit(130) from error
        except BrokenPipeError as error:
            # The reader of our output is gone; keep Python from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from error
        except (OSError, MemoryError) as error:
            log.info("where it happened", exc_info=error)  # shown by --verbose
            say(f"coterie: {_about(error)}")
            raise typer.Exit(1) from error

    return run


def _as_option(verb: Callable[..., None]) -> Callable[[str, Any], str]:
    """How parameters of the library are written on the command line of a verb."""

    def write(name: str, value: Any) -> str:
        from coterie.cli.cluster import cluster

        known = _options(cluster) | _options(verb)
        option = known.get(ALIASES.get(name, name))
        if option is None and _is_setting(name):
            return f"--set {name}" if value is NOTHING else f"--set {name}={_word(value)}"
        if option is None:
            return name if value is NOTHING else f"{name} {_word(value)}"
        return option if value is NOTHING or value is True else f"{option} {_word(value)}"

    return write


def _options(verb: Callable[..., None]) -> dict[str, str]:
    """Options of a verb by the names of its parameters."""
    from typer.models import OptionInfo

    out = {}
    for name, hint in get_type_hints(verb, include_extras=True).items():
        for info in getattr(hint, "__metadata__", ()):
            if isinstance(info, OptionInfo):
                long = [said for said in info.param_decls or () if said.startswith("--")]
                out[name] = next(iter(long), f"--{name.replace('_', '-')}")
    return out


def _is_setting(name: str) -> bool:
    """Whether a method has a parameter of this name."""
    from coterie.methods import METHODS

    return any(name == f.name for recipe in METHODS.values() for f in fields(recipe.cls))


def _word(value: Any) -> str:
    return shlex.quote(str(value))


def _about(error: BaseException) -> str:
    """What the machine refused, and what helps."""
    if isinstance(error, MemoryError):
        return "the machine has not enough memory; fit a sample (--fit-sample), or fewer texts."
    said = str(error)
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in said:
        return f"the disk is full ({said}). Make room and repeat the command with --resume."
    if getattr(error, "errno", None) in (errno.EACCES, errno.EROFS, errno.EPERM):
        return f"not allowed to write there ({said}); choose another folder with --out."
    return f"{said or type(error).__name__} (--verbose shows where)"


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


def say_header(notes: Iterable[Any]) -> None:
    """Say what was guessed about the first row of a table."""
    for note in notes:
        if note.kind == "header":
            say(f"note: {note.message}")
