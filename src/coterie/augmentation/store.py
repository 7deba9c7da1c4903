"""Made wordings on disk: what took a model seconds is not made twice, and a stopped run goes on.

A shard is one safetensors file, written whole under a name of its own and never changed, as those
of the vectors are. It holds digests of the texts, and the new wordings as they are.
"""

from __future__ import annotations

import hashlib
import logging
import os
import uuid
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._cache import cache_folder, limit, make_room, place, private
from coterie._files import atomic_path, save_arrays

log = logging.getLogger(__name__)

FOLDER = "wordings"  # beside the vectors
SHARE = 10  # of the limit of the vectors: wordings are small
DIGEST = 16


def wordings_folder() -> Path | None:
    """Folder of the wordings, whether or not it exists; None if nothing is to be kept."""
    found = place()
    return None if found is None else found.with_name(FOLDER)


def open_store(space: str) -> Store | None:
    """The wordings of one augmenter with one group of settings, unless the cache is off."""
    folder = wordings_folder()
    return None if folder is None or cache_folder() is None else Store(folder, space)


class Store:
    """Wordings made with the same settings."""

    def __init__(self, folder: Path, space: str) -> None:
        self.root = folder
        self.space = hashlib.sha256(space.encode()).hexdigest()
        self.folder = folder / self.space[:32]

    def digests(self, texts: Sequence[str]) -> list[bytes]:
        """What tells each text from all others."""
        return [
            hashlib.blake2b(t.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()
            for t in texts
        ]

    def read(self, texts: Sequence[str]) -> dict[str, str]:
        """Wordings of those texts that are here."""
        wanted = dict(zip(self.digests(texts), texts, strict=True))
        found: dict[str, str] = {}
        for path in self.folder.glob("*.safetensors"):
            if len(found) == len(texts):
                break
            for digest, wording in self._open(path):
                if digest in wanted:
                    found[wanted[digest]] = wording
        return found

    def write(self, texts: Sequence[str], wordings: Sequence[str]) -> None:
        """Keep wordings; a disk that is full or read-only costs the cache, not the run."""
        data = [wording.encode("utf-8", "surrogatepass") for wording in wordings]
        whole = b"".join(data)
        arrays: dict[str, NDArray[Any]] = {
            "keys": np.frombuffer(b"".join(self.digests(texts)), np.uint8).reshape(-1, DIGEST),
            "ends": np.cumsum([len(d) for d in data], dtype=np.int64),
            "data": np.frombuffer(whole, np.uint8),
            "check": np.array([zlib.crc32(whole)], dtype=np.uint32),
        }
        try:
            private(self.root)
            with atomic_path(self.folder / f"{uuid.uuid4().hex}.safetensors") as temporary:
                save_arrays(temporary, arrays)
            make_room(self.root, limit() // SHARE)
        except OSError as error:
            log.warning("the wordings are not kept in %s: %s", self.root, error)

    def _open(self, path: Path) -> list[tuple[bytes, str]]:
        """What a shard holds; a file that is not whole is deleted and gives nothing."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            arrays = load_file(path)
            data, ends = arrays["data"].tobytes(), arrays["ends"].tolist()
            if zlib.crc32(data) == int(arrays["check"][0]):
                keys = [row.tobytes() for row in arrays["keys"]]
                parts = [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
                texts = [part.decode("utf-8", "surrogatepass") for part in parts]
                with suppress(OSError):
                    os.utime(path)  # used now: goes last when room is needed
                return list(zip(keys, texts, strict=True))
        except FileNotFoundError:  # another process made room
            return []
        except (SafetensorError, KeyError, IndexError, OSError, ValueError) as error:
            log.info("%s cannot be read: %s", path, error)
        with suppress(OSError):
            path.unlink()
        return []
