"""Commands of the program: how tests call them, all of them and their options, what they wrote."""

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import typer
from click.testing import Result
from typer.testing import CliRunner

from coterie.cli import app


def run(*arguments: object, code: int | None = 0, stdin: str | bytes | None = None) -> Result:
    """Call a command in this process and check its exit code; ``None`` allows any."""
    result = CliRunner().invoke(app, [str(part) for part in arguments], input=stdin)
    assert code is None or result.exit_code == code, (result.output, result.exception)
    return result


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, or of the table of a run."""
    path = path / "assignments.csv" if path.is_dir() else path
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file, strict=True))


def write_csv(path: Path, *rows: Iterable[object]) -> Path:
    """Write a table, its header first."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, to the byte."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@cache
def commands() -> dict[str, set[str]]:
    """The options of every command, by its words."""
    found: dict[str, set[str]] = {}

    def visit(command: object, path: tuple[str, ...]) -> None:
        shown = [p for p in command.params if not getattr(p, "hidden", False)]
        found[" ".join(path)] = {o for p in shown for o in (*p.opts, *p.secondary_opts)}
        for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
            visit(command.get_command(None, name), (*path, name))

    visit(typer.main.get_command(app), ("coterie",))
    return found
