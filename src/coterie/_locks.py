"""Locks of the operating system: they end with their process, however that ends.

A file system without locks (some network drives) has none.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import IO, Any

from coterie._errors import UsageError

log = logging.getLogger(__name__)

NAME = ".lock"
PATIENCE = 0.3  # seconds; whoever only looks whether a lock is free has it for less


def keep_file(file: IO[Any], path: Path) -> None:
    """Keep an open file for this process until it is closed; refuse it if another one has it."""
    if not take(file):
        raise UsageError(
            f"another process is writing {path}; wait until it is done, or choose another name."
        )


def is_locked(path: Path) -> bool | None:
    """Whether another process has this lock; None if there is no such file, or no locks here."""
    try:
        with path.open("r", encoding="utf-8") as file:
            return _try(file)
    except OSError:
        return None


def take(file: IO[Any]) -> bool:
    """Whether the file is ours now; on systems without such locks it always is."""
    end = time.monotonic() + PATIENCE
    while _try(file):
        if time.monotonic() >= end:
            return False
        time.sleep(0.02)
    return True


def _try(file: IO[Any]) -> bool | None:
    """Take a lock; returns whether another process has it, or None where there are no locks."""
    try:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError) as error:
        log.info("no locks here: %s", error)
        return None
    return False
