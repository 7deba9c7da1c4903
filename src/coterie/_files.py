"""Writing files so that a crash never leaves half of one, and telling files apart by content."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success flush it to disk and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
    """Build a folder beside ``folder`` with ``fill`` and swap it in, so readers see old or new."""
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}.new")
    stale = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        fill(fresh)
        try:
            if folder.exists():
                folder.replace(stale)
            fresh.replace(folder)
        except BaseException:  # Ctrl-C between the two must not cost the old one
            if stale.exists() and not folder.exists():
                stale.replace(folder)
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(stale, ignore_errors=True)


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as safetensors, which takes bytes as they lie: so laid out row by row first."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


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
