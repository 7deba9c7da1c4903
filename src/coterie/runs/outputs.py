"""What a command may write: never an input, a file of a run, or somebody else's file.

Every command that writes calls :func:`check_output` before it does anything else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from glob import escape
from pathlib import Path

from coterie.errors import UsageError
from coterie.runs.store import is_part, is_run


def check_output(out: Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse a file that must not be written; delete what killed commands left of it.

    Parameters
    ----------
    out : Path
    inputs : iterable of str, Path or None
        What the command reads.
    """
    given = [Path(str(path)) for path in inputs if path is not None and str(path) != "-"]
    for read in given:
        if is_same(out, read):
            raise UsageError(
                f"`out={str(out)!r}`: {read} is the input, and would be replaced. Choose another "
                "name."
            )
    if out.is_dir():
        raise UsageError(f"`out={str(out)!r}` is a folder; name a file.")
    refuse_run_file(out)
    for left in out.parent.glob(f".{escape(out.name)}.*.tmp"):
        if _is_abandoned(left) and not any(is_same(left, read) for read in given):
            left.unlink()


def _is_abandoned(temporary: Path) -> bool:
    """Whether the process is gone that wrote a file of :func:`~coterie._util.files.atomic_path`."""
    match = re.search(r"\.(\d+)-[0-9a-f]{8}\.tmp$", temporary.name)
    if match is None or os.name != "posix":  # elsewhere there is no way to ask without harm
        return False
    try:
        os.kill(int(match[1]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        pass  # somebody else's, but alive
    return int(match[1]) == os.getpid()  # of an earlier process that had this number


def check_run_output(out: Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse to put a run where one of its inputs would be replaced by it."""
    for given in inputs:
        path = Path(given).resolve() if given is not None and given != "-" else None
        if path is None or not path.is_file() or out.resolve() not in path.parents:
            continue
        if is_part(path.relative_to(out.resolve()).as_posix()):
            raise UsageError(
                f"`out={str(out)!r}`: {given} is the input, and a file of the run there. Choose "
                "another folder, or copy the input."
            )


def refuse_run_file(out: Path) -> None:
    """Refuse a file that belongs to a run."""
    path = out.resolve()
    for parent in path.parents:
        if is_part(path.relative_to(parent).as_posix()) and is_run(parent):
            raise UsageError(
                f"`out={str(out)!r}` is a file of the run in {parent}; choose another name."
            )


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by links or by other spellings, too."""
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()
