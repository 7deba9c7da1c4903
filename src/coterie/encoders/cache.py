"""Vectors on disk by the digest of their text: what was made once is not made again.

The vectors of unchanged encoders are kept. A shard is one safetensors file with the new vectors of
one call, or of some seconds of it. It is written once, whole, under a name of its own, and never
changed, so that several processes can read and write at the same time. Only digests of texts are
kept; but vectors tell much about the texts they were made of.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from hashlib import blake2b
from pathlib import Path

import numpy as np

from coterie._util.files import save_arrays
from coterie._util.types import Floats
from coterie.errors import UsageError

log = logging.getLogger(__name__)

VARIABLE = "COTERIE_CACHE"
LIMIT = "COTERIE_CACHE_LIMIT"
DEFAULT_LIMIT = 2_000_000_000  # bytes
OFF = {"off", "0", "no", "false", "none"}
FEW = 64  # items that are worked at once without a look at the disk
NAME = "[0-9a-f]" * 32  # of folders and files: nothing else is ever deleted
LARGEST_SHARD = 100_000  # vectors, so that a shard stays far below any limit

_switch: ContextVar[bool] = ContextVar("coterie_cache", default=True)


@contextmanager
def no_cache() -> Iterator[None]:
    """Neither read nor write vectors on disk inside the block.

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
    """Whether vectors are kept on disk."""
    return _switch.get() and place() is not None


def place() -> Path | None:
    """Folder of the vectors as the environment says; None if it says off, or there is no home."""
    given = os.environ.get(VARIABLE, "").strip()
    if given.lower() in OFF:
        return None
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    with suppress(RuntimeError):  # a service account has no home
        if given:
            return Path(given).expanduser()
        return (base if base.is_absolute() else Path.home() / ".cache") / "coterie"
    return None


def limit() -> int:
    """Maximum number of bytes of the vectors."""
    given = os.environ.get(LIMIT, "").strip()
    try:
        return max(0, int(float(given))) if given else DEFAULT_LIMIT
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{LIMIT}={given!r} should be a number of bytes, e.g. 2e9.") from error


def digest(data: bytes | str) -> bytes:
    """What tells a text, or its tokens, from all others."""
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return blake2b(data, digest_size=16).digest()


class Cache:
    """Vectors by the :func:`digest` of what they were made of.

    Parameters
    ----------
    space : str
        Hexadecimal digest of all that decides a vector besides its text.
    """

    def __init__(self, space: str) -> None:
        root = place()
        assert root is not None
        self.root, self.folder = root, root / space[:32]
        self.writable = True  # until a disk says otherwise

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """The vectors of those keys that are here."""
        from safetensors import safe_open

        wanted = set(keys)
        vectors: dict[bytes, Floats] = {}
        for path, _, _ in reversed(_shards(self.root, self.folder.name)):
            if len(vectors) == len(wanted):
                break
            try:
                with safe_open(path, "numpy") as file:  # reads an array when it is asked for
                    own = [row.tobytes() for row in file.get_tensor("keys")]
                    rows = [row for row, key in enumerate(own) if key in wanted]
                    if rows:
                        found = file.get_tensor("vectors")[rows]
                        vectors |= zip((own[row] for row in rows), found, strict=True)
                        os.utime(path)  # used now: goes last when room is needed
            except Exception as error:  # damaged, or another process made room
                log.info("%s cannot be read: %s", path, error)
        return vectors

    def write(self, keys: Sequence[bytes], vectors: Floats) -> None:
        """Keep vectors.

        A disk that is full or read-only costs the cache, not the run, and is told once.
        """
        if not self.writable:
            return
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)  # for its owner alone
            for first in range(0, len(keys), LARGEST_SHARD):
                part = slice(first, first + LARGEST_SHARD)
                own = np.frombuffer(b"".join(keys[part]), np.uint8).reshape(-1, 16)
                shard = self.folder / f"{uuid.uuid4().hex}.safetensors"
                save_arrays(shard, {"keys": own, "vectors": vectors[part]})
            _make_room(self.root, limit())
        except OSError as error:
            self.writable = False
            log.warning("nothing is kept in the cache %s: %s", self.root, error)


def _make_room(root: Path, most: int) -> None:
    """Delete the vectors that were not used for longest until at most ``most`` bytes are left."""
    shards = _shards(root)
    total = sum(size for _, size, _ in shards)
    for path, size, _ in shards:
        if total <= most:
            break
        path.unlink(missing_ok=True)
        total -= size


def _shards(root: Path, space: str = NAME) -> list[tuple[Path, int, float]]:
    """Path, size and time of last use of every shard, the one first that was not used longest.

    What a killed process left half written is among them, and goes like the others.
    """
    found = []
    for path in root.glob(f"{space}/*{NAME}.safetensors*"):
        with suppress(OSError):  # another process may delete it meanwhile
            seen = path.stat()
            found.append((path, seen.st_size, seen.st_mtime))
    return sorted(found, key=lambda shard: shard[2])
