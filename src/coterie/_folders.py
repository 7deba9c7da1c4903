"""Folders that are replaced whole: built beside, swapped in, mended after a kill, read whole.

A folder ``NAME`` is built as ``.NAME.PID-TOKEN.new``. Where the system can exchange two folders in
one step, it is exchanged; elsewhere the old one becomes ``.NAME.PID-TOKEN.old`` first. Whoever
opens the folder next, to read or to write, calls :func:`mend_folder`, which finishes what a kill
cut off.
"""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from coterie._files import LOCK, flush, is_locked, not_own, open_own, take_lock, written
from coterie.errors import DataError, UsageError

HERE = -100  # AT_FDCWD: paths are as the process sees them
EXCHANGE = 2  # RENAME_EXCHANGE
LEFT = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)(-[0-9a-f]+)?\.(?P<kind>tmp|new|old)")
PATIENCE = 10.0  # seconds that a writer may need between two renames
TRIES = 200  # of reading a folder that is replaced meanwhile
DAY = 86_400  # seconds

T = TypeVar("T")

_writing: set[Path] = set()  # folders that this process builds now


def replace_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Build a folder beside ``folder`` with ``fill`` and swap it in, so readers see old or new."""
    folder = folder.resolve()  # a link to a folder stays a link
    mend_folder(folder)
    check_replaceable(folder)
    # A name that was never used: whoever deletes remains must not meet a new folder of that name.
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(4)}.new")
    stale = fresh.with_suffix(".old")
    fresh.mkdir(parents=True)
    _writing.update((fresh, stale))
    try:
        with written(fresh):
            fill(fresh)
        for path in fresh.rglob("*"):
            if not path.is_symlink():
                flush(path)
        flush(fresh)
        try:
            if not exchange(fresh, folder):
                if folder.exists():
                    folder.replace(stale)
                fresh.replace(folder)
        except BaseException:  # Ctrl-C between the two must not cost the old one
            with suppress(OSError):
                stale.replace(folder)
            raise
        flush(folder.parent)
    finally:
        if not (fresh.exists() and stale.exists()):  # else neither has the name: kept for later
            delete(fresh)
            delete(stale)
        _writing.difference_update((fresh, stale))


def check_replaceable(folder: Path) -> None:
    """Refuse a folder in whose place no other can be put."""
    folder = folder.resolve()
    if folder.exists() and (folder.is_mount() or not os.access(folder.parent, os.W_OK)):
        why = "it is a mount point" if folder.is_mount() else f"{folder.parent} is read-only"
        raise UsageError(
            f"{folder} cannot be replaced by a new folder, as {why}. Copy it into a folder that "
            "you may write to, and work on the copy."
        )


def exchange(one: Path, other: Path) -> bool:
    """Let two folders trade names in one step, where system and file system can; else nothing."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):  # an old C library
        return False
    return bool(rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)


def mend_folder(folder: Path) -> None:
    """Finish or take back the replacement of a folder that was killed, and delete its remains.

    A new folder was whole before the old one was moved away, so it is taken where both are there.
    What belongs to a process that still runs is left alone, or waited for.
    """
    folder, end = folder.resolve(), time.monotonic() + PATIENCE
    while left := left_beside(folder, "new", "old"):
        dead = [path for path in left if is_abandoned(path)]
        cut = [path for path in left if path.suffix == ".old" and path.with_suffix(".new") in left]
        if cut and folder.exists() and all(path.name == LOCK for path in folder.iterdir()):
            with suppress(OSError):  # made by somebody who found none of that name
                (folder / LOCK).unlink(missing_ok=True)
                folder.rmdir()
        lost = not folder.exists() and any(path.suffix == ".old" for path in left)
        if lost and len(dead) == len(left):
            _put_back(folder, dead)
        elif lost and time.monotonic() < end:
            time.sleep(0.005)
            continue
        if folder.exists() or not lost:
            for path in dead:
                if path.with_suffix(".old") not in cut:
                    delete(path)
        return


def _put_back(folder: Path, left: Sequence[Path]) -> None:
    """Give the newest whole folder among ``left`` the name back."""
    old = max((p for p in left if p.suffix == ".old"), key=lambda p: p.stat().st_ctime_ns)
    whole = old.with_suffix(".new")
    with suppress(OSError):  # somebody else was quicker, or it is not permitted
        (whole if whole in left else old).replace(folder)
    if folder.exists() and whole in left:
        delete(old)


def left_beside(path: Path, *kinds: str) -> list[Path]:
    """What processes left of a file or folder that they were replacing, or replace right now."""
    try:
        names = [beside.name for beside in path.parent.iterdir()]
    except OSError:
        return []
    found = (match for name in names if (match := LEFT.fullmatch(name)))
    mine = (m for m in found if m["name"] == path.name and m["kind"] in kinds)
    return [path.with_name(match.string) for match in mine]


def is_abandoned(path: Path) -> bool:
    """Whether the process that wrote ``.NAME.PID.tmp``, ``.new`` or ``.old`` is gone."""
    match = LEFT.fullmatch(path.name)
    if match is None or path in _writing:
        return False
    locked = is_locked(path / LOCK)
    if locked is not None:
        return not locked
    number = int(match["pid"])
    if number == os.getpid():  # of an earlier process that had this number
        return True
    if os.name != "posix":  # no way to ask without harm
        with suppress(OSError):
            return time.time() - path.lstat().st_mtime > DAY
        return True
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        pass  # somebody else's, but alive
    return False


def is_litter(name: str) -> bool:
    """Whether a name is one of those that a killed process leaves behind."""
    return LEFT.fullmatch(name) is not None


def delete(path: Path) -> None:
    """Remove a file or a folder with all it holds; never what a link leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def one_state(folders: Sequence[Path], read: Callable[[], T]) -> T:
    """What ``read`` returns, from one state of each folder: read again if one was replaced."""
    for _ in range(TRIES):
        for folder in folders:
            mend_folder(folder)
        before = [folder_state(folder) for folder in folders]
        try:
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
        if not folder.is_dir():  # a table that is compared with a run
            return None
        for name in ("manifest.json", "config.json"):
            with suppress(FileNotFoundError, NotADirectoryError):
                file = (folder / name).stat()
                own = () if name == "manifest.json" else (place.st_mtime_ns,)  # no lock in there
                found = (place.st_dev, place.st_ino, file.st_ino, file.st_mtime_ns, file.st_size)
                return (*found, *own)
    except OSError:
        return None
    return (place.st_dev, place.st_ino, place.st_mtime_ns)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep a folder for this process inside the block; refuse it if another one has it.

    The folder is made if it is not there, and removed if it is empty at the end.
    """
    mend_folder(folder)
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder) as file:
        try:
            file.truncate(0)
            file.write(b"%d\n" % os.getpid())
            file.flush()
            yield
        finally:
            with suppress(OSError):
                (folder / LOCK).unlink()
            if made:
                with suppress(OSError):
                    folder.rmdir()


def refuse_held(folder: Path) -> None:
    """Refuse a folder that another process works on, or whose lock is not coterie's."""
    with suppress(FileNotFoundError, NotADirectoryError), _locked(folder, make=False):
        pass


@contextmanager
def _locked(folder: Path, *, make: bool = True) -> Iterator[IO[bytes]]:
    """The lock file, locked; not one that its holder has just deleted.

    While a folder is replaced, its lock has a name in the new one, too. Nobody else's has two.
    """
    path, mended = folder / LOCK, False
    while True:
        with open_own(path, make=make, shared=True) as file:
            if not take_lock(file):
                raise _refusal(folder)
            found = os.fstat(file.fileno())
            there = os.path.lexists(path) and os.path.samestat(found, path.lstat())
            if there and found.st_nlink == 1:
                yield file
                return
        if there and mended:
            raise not_own(path, "a second name of another file")
        mend_folder(folder)
        mended = there


def _refusal(folder: Path) -> UsageError:
    holder = (folder / LOCK).read_text("utf-8", "replace")[:20].strip()
    who = f"another process ({holder})" if holder.isdigit() else "another process"
    return UsageError(
        f"{who} is working on {folder}; wait until it is done, or choose another folder.",
        code="run.held",
    )
