"""Vectors on disk: a text that the same unchanged encoder has read before is not read again.

A shard is one safetensors file with the vectors of the items of one call that were new, and their
digests. It is written once, whole, under a name of its own, and never changed, so that several
processes can read and write at the same time. What cannot be read is passed over and thrown away.
Only digests of items are kept, no text; but vectors tell much about the texts they were made of.
"""

from __future__ import annotations

import logging
import os
import re
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from coterie._files import save_arrays
from coterie._types import Floats, Ints
from coterie.errors import UsageError

log = logging.getLogger(__name__)

T = TypeVar("T")
VARIABLE = "COTERIE_CACHE"
LIMIT = "COTERIE_CACHE_LIMIT"
DEFAULT_LIMIT = 2_000_000_000  # bytes
OFF = {"off", "0", "no", "false", "none"}
FOLDER = "vectors"  # below the cache folder: clearing must never touch anything else
DIGEST = 16  # bytes of an item's digest
FEW = 64  # items that are worked at once without a look at the disk
SPACE = re.compile("[0-9a-f]{32}")  # folders and files of our own: nothing else is ever deleted
SHARD = re.compile(r"[0-9a-f]{32}\.safetensors")
HALF = re.compile(r"\.[0-9a-f]{32}\.safetensors\.\d+(-[0-9a-f]+)?\.tmp")
ROWS = 100_000  # most vectors in one shard, so that a shard stays far below any limit

_switch: ContextVar[bool] = ContextVar("coterie_cache", default=True)


@contextmanager
def no_cache() -> Iterator[None]:
    """Neither read nor write vectors on disk inside the block.

    Examples
    --------
    >>> with no_cache():
    ...     cache_folder() is None
    True
    """
    token = _switch.set(False)
    try:
        yield
    finally:
        _switch.reset(token)


def cache_folder() -> Path | None:
    """Folder of the vectors, or None if they are not to be kept."""
    return place() if _switch.get() else None


def place() -> Path | None:
    """Folder of the vectors as the environment says; None if it says off."""
    said = os.environ.get(VARIABLE, "").strip()
    if said.lower() in OFF:
        return None
    if said:
        return Path(said).expanduser() / FOLDER
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    try:
        root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError as error:  # no home: a service account
        raise UsageError(f"there is no home folder; set {VARIABLE} to a folder or off.") from error
    return root / "coterie" / FOLDER


def limit() -> int:
    """Most bytes that the cache may take."""
    said = os.environ.get(LIMIT, "").strip()
    if not said:
        return DEFAULT_LIMIT
    try:
        return max(0, int(float(said)))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{LIMIT}={said!r} should be a number of bytes, e.g. 2e9.") from error


@dataclass(frozen=True)
class Usage:
    """What the cache holds."""

    path: Path
    files: int
    bytes: int
    limit: int


def usage(folder: Path) -> Usage:
    """Files and bytes in the cache."""
    sizes = [size for _, size, _ in _shards(folder)]
    return Usage(folder, len(sizes), sum(sizes), limit())


def clear(folder: Path) -> Usage:
    """Delete all vectors; returns what there was."""
    before = usage(folder)
    for path, _, _ in _shards(folder):
        path.unlink(missing_ok=True)
    for space in (*_spaces(folder), folder):
        with suppress(OSError):
            space.rmdir()
    return before


class Shards:
    """Files of arrays in one folder, each written once.

    Parameters
    ----------
    root : Path
    space : str
        Digest of all that decides the arrays besides the item.
    what : str
        What they hold, for messages.
    """

    def __init__(self, root: Path, space: str, what: str) -> None:
        self.root, self.folder, self.what = root, root / space[:32], what

    def write_shards(self, parts: Iterable[dict[str, NDArray[Any]]], most: int) -> None:
        """Write a file for each part; all below ``root`` may take ``most`` bytes.

        A disk that is full or read-only costs the cache, not the run.
        """
        try:
            private(self.root)
            for arrays in parts:
                save_arrays(self.folder / f"{uuid.uuid4().hex}.safetensors", arrays)
            make_room(self.root, most)
        except OSError as error:
            log.warning("the %s are not kept in %s: %s", self.what, self.root, error)

    def read_shards(self, take: Callable[[Any], list[T]]) -> Iterator[T]:
        """What ``take`` finds in each file, the one used last first; broken files are deleted."""
        from safetensors import SafetensorError, safe_open

        for path, _, _ in sorted(_shards(self.folder), key=lambda shard: -shard[2]):
            try:
                with safe_open(path, "numpy") as file:  # reads an array when it is asked for
                    found = take(file)
            except FileNotFoundError:  # another process made room
                continue
            except (SafetensorError, KeyError, IndexError, OSError, ValueError, TypeError) as error:
                log.info("%s cannot be read: %s", path, error)
                with suppress(OSError):
                    path.unlink()
                continue
            if found:
                with suppress(OSError):
                    os.utime(path)  # used now: goes last when room is needed
            yield from found


class VectorCache(Shards):
    """Vectors, of ``dim`` numbers, of one encoder with one group of settings."""

    def __init__(self, folder: Path, space: str, dim: int) -> None:
        super().__init__(folder, space, "vectors")
        self.dim = dim

    def width(self) -> int | None:
        """Numbers of a vector that is kept; None if there is none."""
        shapes = self.read_shards(lambda file: [file.get_slice("vectors").get_shape()])
        return next((int(shape[1]) for shape in shapes), None)

    def read(self, keys: list[bytes]) -> tuple[Floats, Ints]:
        """Vectors of the keys, which differ, and the positions of those that are not here."""
        out = np.empty((len(keys), self.dim), dtype=np.float32)
        wanted = {key: position for position, key in enumerate(keys)}
        for key, vector in self.read_shards(lambda file: self._take(file, wanted)):
            out[wanted.pop(key)] = vector
            if not wanted:
                break
        return out, np.asarray(sorted(wanted.values()), dtype=np.int64)

    def write(self, keys: list[bytes], vectors: Floats) -> None:
        """Keep vectors."""
        parts = (slice(first, first + ROWS) for first in range(0, len(keys), ROWS))
        self.write_shards((_arrays(keys[part], vectors[part]) for part in parts), limit())

    def _take(self, file: Any, wanted: dict[bytes, int]) -> list[tuple[bytes, Floats]]:
        """What is wanted of a shard."""
        rows = _rows_of(file.get_tensor("keys"), wanted)
        if not rows:
            return []
        vectors, checks = file.get_tensor("vectors"), file.get_tensor("checks")
        good = vectors.dtype == np.float32 and vectors.shape == (len(checks), self.dim)
        if not good or any(_check(key, vectors[i]) != checks[i] for key, i in rows):
            raise ValueError("the vectors are not those that were written")
        return [(key, vectors[i]) for key, i in rows]


def _arrays(keys: list[bytes], vectors: Floats) -> dict[str, NDArray[Any]]:
    checks = [_check(*row) for row in zip(keys, vectors, strict=True)]
    digests = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, DIGEST)
    return {"keys": digests, "vectors": vectors, "checks": np.array(checks, dtype=np.uint32)}


def _rows_of(digests: Any, wanted: dict[bytes, int]) -> list[tuple[bytes, int]]:
    """Keys of a shard that are wanted, with their rows; few of many are found without a loop."""
    if digests.dtype != np.uint8 or digests.shape[1:] != (DIGEST,):
        raise ValueError("the digests have another shape")
    starts = np.frombuffer(b"".join(wanted), dtype="<u8")[::2]
    hits = np.flatnonzero(np.isin(np.ascontiguousarray(digests).view("<u8")[:, 0], starts))
    pairs = {digests[i].tobytes(): int(i) for i in hits}
    return [(key, i) for key, i in pairs.items() if key in wanted]


def make_room(folder: Path, most: int) -> None:
    """Delete the vectors that were not used for longest until at most ``most`` bytes are left."""
    shards = sorted(_shards(folder), key=lambda shard: shard[2])
    total = sum(size for _, size, _ in shards)
    for path, size, _ in shards:
        if total <= most:
            break
        with suppress(OSError):
            path.unlink()
        total -= size
    for path in _named(folder, HALF):  # what a killed process left half written a day ago
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > 86_400:
                path.unlink()


def private(folder: Path) -> None:
    """Make the folder so that only its owner can look inside."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            folder.chmod(0o700)


def _check(key: bytes, vector: Floats) -> int:
    return zlib.crc32(np.ascontiguousarray(vector).tobytes(), zlib.crc32(key))


def _shards(folder: Path) -> list[tuple[Path, int, float]]:
    """Path, size and time of last use of every shard; other files there are not ours."""
    out = []
    for path in _named(folder, SHARD):
        with suppress(OSError):  # another process may delete it meanwhile
            stat = path.lstat()
            out.append((path, stat.st_size, stat.st_mtime))
    return out


def _named(folder: Path, name: re.Pattern[str]) -> list[Path]:
    """Files of our own naming in the folder of a space, or in all of those below ``folder``."""
    spaces = [folder] if SPACE.fullmatch(folder.name) else _spaces(folder)
    found = (path for space in spaces for path in space.glob("*") if name.fullmatch(path.name))
    return [path for path in found if path.is_file() and not path.is_symlink()]


def _spaces(folder: Path) -> list[Path]:
    found = (path for path in folder.glob("*") if SPACE.fullmatch(path.name))
    return [path for path in found if path.is_dir() and not path.is_symlink()]
