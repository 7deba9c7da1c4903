"""Writing files so that a crash never leaves half of one, and telling files apart by content."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = -100  # AT_FDCWD: paths are as the process sees them
EXCHANGE = 2  # RENAME_EXCHANGE
LITTER = (".tmp", ".new", ".old")  # endings of what a killed process leaves behind


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success flush it to disk and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
        flush(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Have the disk hold what the system still keeps in memory of a file, or of a folder's names.

    A file that cannot be flushed is an error; some systems cannot flush folders.
    """
    if path.is_dir():
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        return
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 with Unix line ends, whole or not at all."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, default=plain) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def replace_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Build a folder beside ``folder`` with ``fill`` and swap it in, so readers see old or new.

    Where the system cannot exchange two folders at once, a process that is killed between two
    renames leaves none of that name; see :func:`recover_folder`.
    """
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}.new")
    stale = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        with written(fresh):
            fill(fresh)
        for path in fresh.rglob("*"):
            flush(path)
        flush(fresh)
        try:
            if folder.exists() and not exchange(fresh, folder):
                folder.replace(stale)
            if not folder.exists():
                fresh.replace(folder)
        except BaseException:  # Ctrl-C between the two must not cost the old one
            if stale.exists() and not folder.exists():
                stale.replace(folder)
            raise
        flush(folder.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(stale, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Let two folders trade names in one step, where system and file system can; else nothing."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):  # an old C library
        return False
    return bool(rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)


def recover_folder(folder: Path) -> None:
    """Put back a folder whose replacement was killed between two renames, and clear its remains.

    To be called by the one process that may write ``folder``. A new one was whole before the old
    one was moved away, so it is taken where both are there.
    """
    if not folder.parent.is_dir():
        return
    left = {
        path.suffix: path
        for path in folder.parent.iterdir()
        if path.name.startswith(f".{folder.name}.") and path.suffix in (".new", ".old")
    }
    if not folder.exists() and ".old" in left:
        left.get(".new", left[".old"]).replace(folder)
    for path in left.values():
        shutil.rmtree(path, ignore_errors=True)


def is_litter(path: Path) -> bool:
    """Whether a file or folder is what a killed process of ours may leave behind."""
    return path.name.startswith(".") and path.suffix in LITTER


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Around calls of safetensors, whose own kind of error hides that a disk is full."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "SafetensorError":
            raise
        raise OSError(f"{path} cannot be written: {error}") from error


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as safetensors, which takes bytes as they lie: so laid out row by row first."""
    from safetensors.numpy import save_file

    path.touch()
    mode = path.stat().st_mode  # as the user has it; safetensors would lock out everybody else
    with written(path):
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    path.chmod(mode)


def sha256_file(path: Path) -> str:
    """Hex digest of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """Turn numpy scalars, arrays and paths into what JSON knows; anything else into its text."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)
