"""Results on disk by the digest of their text: what was made once is not made again.

The vectors of unchanged encoders, word vectors and the augmentations of language models are kept.
A shard is one safetensors file with the new results of one call, or of some seconds of it. It is
written once, whole, under a name of its own, and never changed, so that several processes can read
and write at the same time. What cannot be read is passed over and thrown away. Only digests of
texts are kept; but vectors tell much about the texts they were made of.
"""

from __future__ import annotations

import logging
import os
import re
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from coterie._files import save_arrays
from coterie._types import Floats, Ints
from coterie.errors import UsageError

log = logging.getLogger(__name__)

VARIABLE = "COTERIE_CACHE"
LIMIT = "COTERIE_CACHE_LIMIT"
DEFAULT_LIMIT = 2_000_000_000  # bytes
OFF = {"off", "0", "no", "false", "none"}
# Folders of the cache; clearing touches nothing else.
VECTORS, AUGMENTATIONS = "vectors", "augmentations"
SHARES = {VECTORS: 1, AUGMENTATIONS: 10}  # parts of the limit: augmentations are small
FEW = 64  # items that are worked at once without a look at the disk
SPACE = re.compile("[0-9a-f]{32}")  # folders and files of our own: nothing else is ever deleted
SHARD = re.compile(r"[0-9a-f]{32}\.safetensors")
HALF = re.compile(r"\.[0-9a-f]{32}\.safetensors\.\d+(-[0-9a-f]+)?\.tmp")
LARGEST_SHARD = 100_000  # results, so that a shard stays far below any limit
DAY = 86_400  # seconds

_switch: ContextVar[bool] = ContextVar("coterie_cache", default=True)


@contextmanager
def no_cache() -> Iterator[None]:
    """Neither read nor write results on disk inside the block.

    Examples
    --------
    >>> with no_cache():
    ...     is_on()
    False
    """
    token = _switch.set(False)
    try:
        yield
    finally:
        _switch.reset(token)


def is_on() -> bool:
    """Whether results are kept on disk."""
    return _switch.get() and place() is not None


def place(kind: str = VECTORS) -> Path | None:
    """Folder of one kind of results as the environment says; None if it says off."""
    said = os.environ.get(VARIABLE, "").strip()
    if said.lower() in OFF:
        return None
    if said:
        return Path(said).expanduser() / kind
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    try:
        root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError as error:  # no home: a service account
        raise UsageError(f"there is no home folder; set {VARIABLE} to a folder or off.") from error
    return root / "coterie" / kind


def limit(kind: str = VECTORS) -> int:
    """Maximum number of bytes of one kind of results."""
    said = os.environ.get(LIMIT, "").strip()
    try:
        most = max(0, int(float(said))) if said else DEFAULT_LIMIT
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{LIMIT}={said!r} should be a number of bytes, e.g. 2e9.") from error
    return most // SHARES[kind]


@dataclass(frozen=True)
class Usage:
    """What the cache holds of one kind of results."""

    path: Path
    files: int
    bytes: int
    limit: int


def usage(kind: str = VECTORS) -> Usage | None:
    """Files and bytes in the cache; None if it is off."""
    root = place(kind)
    if root is None:
        return None
    sizes = [size for _, size, _ in _shards(root)]
    return Usage(root, len(sizes), sum(sizes), limit(kind))


def clear(kind: str = VECTORS) -> Usage | None:
    """Delete all results of one kind; returns what there was."""
    before = usage(kind)
    if before is not None:
        for path, _, _ in _shards(before.path):
            path.unlink(missing_ok=True)
        for folder in (*_spaces(before.path), before.path):
            with suppress(OSError):
                folder.rmdir()
    return before


def digest(data: bytes | str) -> bytes:
    """What tells a text, or its tokens, from all others."""
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return blake2b(data, digest_size=16).digest()


class Cache:
    """Results, as bytes, by the :func:`digest` of what they were made of.

    Parameters
    ----------
    space : str
        Hexadecimal digest of all that decides a result besides its text.
    kind : {"vectors", "wordings"}, default="vectors"
    """

    def __init__(self, space: str, kind: str = VECTORS) -> None:
        root = place(kind)
        assert root is not None
        self.kind, self.root, self.folder = kind, root, root / space[:32]
        self.writable = True  # until a disk says otherwise

    def find(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, memoryview]]:
        """Keys that are here, once each, with their results."""
        from safetensors import SafetensorError, safe_open

        wanted = set(keys)
        for path, _, _ in sorted(_shards(self.root, self.folder), key=lambda shard: -shard[2]):
            if not wanted:
                return
            try:
                with safe_open(path, "numpy") as file:  # reads an array when it is asked for
                    found = _take(file, wanted)
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
            wanted -= found.keys()
            yield from found.items()

    def vectors(self, keys: Sequence[bytes], dim: int) -> tuple[Floats, Ints]:
        """Vectors of the keys, which differ, and the positions of those that are not here."""
        out = np.empty((len(keys), dim), dtype=np.float32)
        missing = {key: position for position, key in enumerate(keys)}
        for key, vector in self.find(keys):
            out[missing.pop(key)] = np.frombuffer(vector, np.float32)
        return out, np.asarray(list(missing.values()), dtype=np.int64)

    def write(self, keys: Sequence[bytes], results: Any) -> None:
        """Keep results: bytes, or rows of an array.

        A disk that is full or read-only costs the cache, not the run, and is told once.
        """
        if not self.writable:
            return
        try:
            if not self.root.exists():
                self.root.mkdir(parents=True, exist_ok=True)
                with suppress(OSError):
                    self.root.chmod(0o700)  # only its owner can look inside
            for first in range(0, len(keys), LARGEST_SHARD):
                part = slice(first, first + LARGEST_SHARD)
                arrays = _arrays(keys[part], results[part])
                save_arrays(self.folder / f"{uuid.uuid4().hex}.safetensors", arrays)
            _make_room(self.root, limit(self.kind))
        except OSError as error:
            self.writable = False
            log.warning("the %s are not kept in %s: %s", self.kind, self.root, error)


def _arrays(keys: Sequence[bytes], results: Any) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "keys": np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1),
        "ends": np.cumsum([memoryview(result).nbytes for result in results], dtype=np.int64),
        "data": np.frombuffer(b"".join(results), np.uint8),
    }
    return {**arrays, "check": np.array([_check(*arrays.values())], dtype=np.uint32)}


def _check(keys: Any, ends: Any, data: Any) -> int:
    return zlib.crc32(data, zlib.crc32(ends, zlib.crc32(keys)))


def _take(file: Any, wanted: set[bytes]) -> dict[bytes, memoryview]:
    """What is wanted of a shard; few of many are found without a loop."""
    keys = np.ascontiguousarray(file.get_tensor("keys"))
    starts = np.frombuffer(b"".join(wanted), dtype="<u8")[::2]  # half of each digest
    rows = np.flatnonzero(np.isin(keys.view("<u8")[:, 0], starts))
    places = {key: row for row in rows.tolist() if (key := keys[row].tobytes()) in wanted}
    if not places:
        return {}
    ends, data = file.get_tensor("ends"), file.get_tensor("data")
    if _check(keys, ends, data) != int(file.get_tensor("check")[0]):
        raise ValueError("the results are not those that were written")
    begins = np.concatenate([[0], ends])
    return {key: memoryview(data)[begins[row] : ends[row]] for key, row in places.items()}


def _make_room(root: Path, most: int) -> None:
    """Delete the results that were not used for longest until at most ``most`` bytes are left."""
    shards = sorted(_shards(root), key=lambda shard: shard[2])
    total = sum(size for _, size, _ in shards)
    for path, size, _ in shards:
        if total <= most:
            break
        with suppress(OSError):
            path.unlink()
        total -= size
    for path, _, used in _shards(root, name=HALF):  # what a killed process left half written
        if time.time() - used > DAY:
            with suppress(OSError):
                path.unlink()


def _shards(
    root: Path, space: Path | None = None, name: re.Pattern[str] = SHARD
) -> list[tuple[Path, int, float]]:
    """Path, size and time of last use of every shard, of one space or of all."""
    out = []
    for folder in _spaces(root) if space is None else [space]:
        for path in folder.glob("*"):
            if name.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                with suppress(OSError):  # another process may delete it meanwhile
                    stat = path.lstat()
                    out.append((path, stat.st_size, stat.st_mtime))
    return out


def _spaces(root: Path) -> list[Path]:
    found = (path for path in root.glob("*") if SPACE.fullmatch(path.name))
    return [path for path in found if path.is_dir() and not path.is_symlink()]
