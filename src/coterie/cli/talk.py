"""Talking to people: messages on stderr, exit codes, and tables that cannot be abused."""

from __future__ import annotations

import errno
import functools
import inspect
import json
import logging
import os
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from coterie import __version__
from coterie._util.progress import say
from coterie._util.validation import check_path
from coterie.errors import CoterieError

if TYPE_CHECKING:
    from coterie.texts import DataNote

log = logging.getLogger(__name__)


def orderly(verb: Callable[..., None]) -> Callable[..., None]:
    """Turn errors into one clear line and the right exit code; no traceback reaches a user."""

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            _check_paths(kwargs)
            verb(*args, **kwargs)
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where a full disk or a closed pipe can still be told
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise typer.Exit(explain(error, verb)) from error

    return run


def _check_paths(given: dict[str, Any]) -> None:
    """Refuse paths that cannot be, such as a link that leads to itself."""
    for name, value in given.items():
        for one in value if isinstance(value, (list, tuple)) else (value,):
            named = isinstance(one, str) and os.path.islink(one)  # noqa: PTH114 - of any length
            if named or isinstance(one, Path):
                check_path(name, one)


def explain(error: BaseException, verb: Callable[..., None] | None = None) -> int:
    """Say what went wrong in one line, with remedies that the verb has; returns the exit code."""
    if isinstance(error, KeyboardInterrupt):
        say("coterie: interrupted", wrong=True)
        return 130
    if isinstance(error, BrokenPipeError):
        # The reader of our output is gone; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    if isinstance(error, CoterieError):
        say(f"coterie: {error}", wrong=True)
        return error.exit_code
    if isinstance(error, (OSError, MemoryError)):
        log.info("where it happened", exc_info=error)  # shown by --verbose
        options = () if verb is None else inspect.signature(verb).parameters
        say(f"coterie: {_about(error, options)}", wrong=True)
        return 1
    said = f"{type(error).__name__}: {error}".replace("\n", " ")
    say(
        f"coterie: unexpected error ({said[:200]}). This is a fault of coterie; {_keep(error)}",
        wrong=True,
    )
    return 1


def _keep(error: BaseException) -> str:
    """Write the traceback to a file that only its owner can read; returns where it is."""
    text = "".join(traceback.format_exception(error))
    about = f"coterie {__version__}, Python {sys.version}\n{shlex.join(sys.argv)}\n\n"
    try:
        handle, name = tempfile.mkstemp(prefix="coterie-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(about + text)
    except OSError:
        log.info("where it happened", exc_info=error)
        return "--verbose shows where."
    return f"please report it with {name}."


def _about(error: BaseException, options: Container[str]) -> str:
    """What the machine refused, and what helps."""
    if isinstance(error, MemoryError):
        sample = "fit a sample (--set fit_sample=10000), or " if "resume" in options else ""
        return f"out of memory; {sample}take fewer texts."
    said, number = str(error) or type(error).__name__, getattr(error, "errno", None)
    if number in (errno.ENOSPC, errno.EDQUOT) or "No space left" in said:
        resume = " with --resume" if "resume" in options else ""
        return f"the disk is full ({said}). Make room and repeat the command{resume}."
    if number in (errno.EACCES, errno.EROFS, errno.EPERM):
        return f"not allowed ({said}); check the permissions, or choose another place."
    return f"{said} (--verbose shows where)"


def show_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    numbers: Sequence[int] = (),
) -> None:
    """A table on stdout; cells are shown as plain text, never as markup."""
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
        table.add_row(*(Text(str(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120  # a file has no width of its own
    console.print(table)


def show_lines(sentences: Iterable[str]) -> None:
    """Sentences on stdout, in which no name or text can steer the terminal."""
    from coterie.page.points import visible

    for sentence in sentences:
        typer.echo(visible(sentence))


def show_json(value: object, indent: int | None = 2) -> None:
    """A value on stdout, as JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=indent, default=str))


def say_reading(notes: Iterable[DataNote]) -> None:
    """Say what was guessed about a file, and which lines of it are left out."""
    for note in notes:
        if note.kind in ("header", "encoding", "malformed"):
            say(f"note: {note.message}")
