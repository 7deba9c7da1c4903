"""Folders that are replaced whole: one writer, two renames, readers that see one state.

The next state of a folder ``NAME`` is built in ``.NAME.coterie-new``. Then ``NAME`` becomes
``.NAME.coterie-old``, and the new folder gets the name. So a new folder beside an old one is whole:
whoever comes between the two renames, or after a kill there, gives it the name
(:func:`mend_folder`). Writers exclude each other by a lock beside the folder (:func:`held`), which
ends with its process.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from coterie._util.files import flush, written
from coterie.errors import DataError, UsageError

LITTER = re.compile(r"\..+\.(coterie-(new|old|lock)|\d+-[0-9a-f]{8}\.tmp)")
RENAMING = 0.05  # seconds that a writer may need between two renames
PATIENCE = 0.3  # seconds that a lock may be looked at by somebody else
TRIES = 200  # of reading a folder that is replaced meanwhile

T = TypeVar("T")


def replace_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Build the next state of a folder with ``fill`` and swap it in; the caller holds the folder.

    Readers see the old state or the new one, and a kill leaves one of them.
    """
    folder = folder.resolve()  # a link to a folder stays a link
    check_replaceable(folder)
    _rename_new(folder)
    fresh, stale = _beside(folder, "new"), _beside(folder, "old")
    if stale.exists():
        shutil.rmtree(stale)  # first: with it, half a new folder would count as whole
    delete(fresh)
    fresh.mkdir(parents=True)
    try:
        with written(fresh):
            fill(fresh)
        for path in fresh.rglob("*"):
            if not path.is_symlink() and (path.is_dir() or path.stat().st_nlink == 1):
                flush(path)  # links to files of the old folder are on the disk
        flush(fresh)
        if folder.exists():
            folder.rename(stale)
        else:
            fresh.rename(folder)
    finally:
        _rename_new(folder)  # also after Ctrl-C
        flush(folder.parent)
        delete(fresh)
        delete(stale)


def mend_folder(folder: Path) -> None:
    """Give a whole new folder its name, where a writer has not come to it yet or was killed."""
    try:
        _rename_new(folder.resolve())
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        time.sleep(RENAMING)  # who may not write waits for the writer


def _rename_new(folder: Path) -> None:
    """The second of the two renames, where the first one was made."""
    fresh = _beside(folder, "new")
    if fresh.exists() and _beside(folder, "old").exists():
        with suppress(FileNotFoundError):  # somebody else was quicker
            fresh.rename(folder)


def check_replaceable(folder: Path) -> None:
    """Refuse a folder in whose place no other can be put."""
    folder, why = folder.resolve(), ""
    if folder.exists() and folder.is_mount():
        why = "it is a mount point"
    elif folder.exists() and not os.access(folder.parent, os.W_OK):
        why = f"{folder.parent} is read-only"
    if why:
        raise UsageError(
            f"{folder} cannot be replaced by a new folder, as {why}. Name a folder inside of it, "
            "or work on a copy of the run in a folder that you may write to."
        )


def _beside(folder: Path, kind: str) -> Path:
    return folder.with_name(f".{folder.name}.coterie-{kind}")


def is_litter(name: str) -> bool:
    """Whether a name is one of those that a killed process leaves behind."""
    return LITTER.fullmatch(name) is not None


def delete(path: Path) -> None:
    """Remove a file or a folder with all it holds; never what a link leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def one_state(folders: Sequence[Path], read: Callable[[], T]) -> T:
    """What ``read`` returns, from one state of each folder: read again if one was replaced."""
    for _ in range(TRIES):
        before = [folder_state(folder) for folder in folders]
        try:
            for folder in folders:
                mend_folder(folder)
            found = read()
        except Exception:
            if [folder_state(folder) for folder in folders] == before:
                raise
            continue
        if [folder_state(folder) for folder in folders] == before:
            return found
    names = ", ".join(map(str, folders))
    raise DataError(
        f"{names}: another command keeps changing it; try again when it is done.",
        code="run.keeps_changing",
    )


def folder_state(folder: Path) -> tuple[int, ...] | None:
    """Tells one state of a folder from all others: every replacement writes a manifest anew."""
    try:
        place = folder.stat()
    except OSError:
        return None
    state = [place.st_dev, place.st_ino]
    for name in ("manifest.json", "config.json"):
        with suppress(OSError):
            file = (folder / name).stat()
            state += [file.st_ino, file.st_mtime_ns, file.st_size]
    return tuple(state)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep a folder for this process inside the block; refuse it if another one has it.

    A folder that was not there before is removed if it is empty at the end.
    """
    check_replaceable(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = _beside(folder.resolve(), "lock")
    _check_lock(path)
    lock = FileLock(path, timeout=PATIENCE, poll_interval=0.02)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(
            f"another process is working on {folder}; wait until it is done, or choose another "
            "folder.",
            code="run.held",
        ) from None
    try:
        mend_folder(folder)
        made = not folder.exists()
        try:
            yield
        finally:
            if made:
                with suppress(OSError):
                    folder.rmdir()
    finally:
        with suppress(OSError):  # who waits for it sees that it is gone, and makes another
            path.unlink()
        lock.release()


def _check_lock(path: Path) -> None:
    """Refuse a lock that is a link, a pipe, or a second name of somebody's file."""
    with suppress(FileNotFoundError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise DataError(
                f"{path} is no lock, and not a file of coterie's; move it away and try again."
            )


def refuse_held(folder: Path) -> None:
    """Refuse a folder that another process works on, or whose lock is not coterie's."""
    if os.path.lexists(_beside(folder.resolve(), "lock")):
        with held(folder):
            pass
