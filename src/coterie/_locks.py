"""One writer at a time: a folder or a file that one process works on is refused to others.

The lock is the system's own and ends with the process, however that ends; nothing has to be
cleaned up after a crash. A file system without locks (some network drives) has none.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from coterie._errors import UsageError

log = logging.getLogger(__name__)

NAME = ".lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep a folder for this process inside the block; refuse it if another one has it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    with _locked(path, folder) as file:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()


def refuse_held(folder: Path) -> None:
    """Refuse a folder that another process works on, without taking it."""
    if not (folder / NAME).exists():
        return
    with (folder / NAME).open("r", encoding="utf-8") as file:
        if not _lock(file):
            raise UsageError(_refusal(folder, file))


def keep_file(file: IO[Any], path: Path) -> None:
    """Keep an open file for this process until it is closed; refuse it if another one has it."""
    if not _lock(file):
        raise UsageError(
            f"another process is writing {path}; wait until it is done, or choose another name."
        )


@contextmanager
def _locked(path: Path, folder: Path) -> Iterator[IO[str]]:
    """The lock file, made if it is not there; not one that its holder has just deleted."""
    while True:
        with path.open("a+", encoding="utf-8") as file:
            if not _lock(file):
                raise UsageError(_refusal(folder, file))
            if path.exists() and os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                yield file
                return


def _lock(file: IO[Any]) -> bool:
    """Whether the file is ours now; on systems without such locks it always is."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        log.info("no locks here: %s", error)
    return True


def _refusal(folder: Path, file: IO[str]) -> str:
    file.seek(0)
    holder = file.read(20).strip()
    who = f"another process ({holder})" if holder.isdigit() else "another process"
    return f"{who} is working on {folder}; wait until it is done, or choose another folder."
