"""Writing files so that a crash never leaves half of one, and digests of content."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a new empty file beside ``path``; on success flush it to disk and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        temporary.touch(exist_ok=False)
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


def open_own(path: Path) -> IO[bytes]:
    """A file of coterie's own to read, and to write at its end; made if it is not there.

    All files that are not written beside their place are opened here. A copy takes the place of
    one that has a second name elsewhere.
    """
    file = open_regular(path)
    if os.fstat(file.fileno()).st_nlink < 2:
        return file
    with file, atomic_path(path) as temporary, temporary.open("wb") as copy:
        shutil.copyfileobj(file, copy)
    return open_own(path)


def open_regular(path: Path, *, make: bool = True) -> IO[bytes]:
    """The same, whatever other names the file has; a link, a pipe or a folder is refused."""
    if os.path.lexists(path):
        _refuse_foreign(path, path.lstat())
    flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if make else 0)
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    file = os.fdopen(os.open(path, flags, 0o666), "r+b")
    try:
        _refuse_foreign(path, os.fstat(file.fileno()))
    except DataError:
        file.close()
        raise
    return file


def _refuse_foreign(path: Path, found: os.stat_result) -> None:
    kinds = {stat.S_IFREG: "", stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder"}
    if kind := kinds.get(stat.S_IFMT(found.st_mode), "no ordinary file"):
        raise DataError(f"{path} is {kind}, not a file of coterie's; move it away and try again.")


def append(path: Path, data: bytes) -> None:
    """Add bytes to a file of coterie's own."""
    with open_own(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 with Unix line ends, whole or not at all."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(text)


def write_json(path: Path, value: object) -> None:
    """Write ``value`` as indented JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, default=plain) + "\n")


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

    rows = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with atomic_path(path) as temporary:
        mode = temporary.stat().st_mode  # the user's; safetensors would lock out everybody else
        with written(path):
            save_file(rows, temporary)
        temporary.chmod(mode)


def sha256_file(path: Path) -> str:
    """Hex digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plain(value: object) -> Any:
    """Turn numpy scalars, arrays and paths into what JSON knows; anything else into its text."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)
