"""Embeddings from a server over HTTP, in place of an encoder on this machine.

The address is that of the server and the name of a model: ``http://localhost:11434/v1#model``. Any
server with ``/embeddings`` of OpenAI will do, such as Ollama, llama.cpp, vLLM or LM Studio. Texts
are sent in batches; each vector is on the disk before the next batch is asked for, so that a run
that is stopped asks for no text twice.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from coterie._cache import Cache, digest, is_on
from coterie._http import Client, EndpointError, RefusedError, UnusableError
from coterie._progress import Progress, say
from coterie._types import Floats, Ints
from coterie.encoders.base import Encoder, Items, distinct
from coterie.errors import UsageError
from coterie.neighbors import unit_rows

log = logging.getLogger(__name__)

PREFIXES = ("http://", "https://")
ALLOW = "COTERIE_ALLOW_ENDPOINT"  # hosts that saved models may send texts to
BATCH = 64  # texts of a request
CHARACTERS = 64_000  # of a request, at most
LONGEST = 8_000  # characters of a text; what follows is not sent


def is_address(spec: Any) -> bool:
    """Whether an encoder is named by the address of a server."""
    return isinstance(spec, str) and spec.startswith(PREFIXES)


class EmbeddingsClient(Client):
    """Asks for embeddings."""

    largest: ClassVar[int] = 1 << 26

    def embed(self, model: str, texts: Sequence[str]) -> dict[int, Floats]:
        """Vectors by the position of their text; perhaps not of all texts."""
        found = self.send("embeddings", {"model": model, "input": list(texts)})
        left = set(range(len(texts)))
        vectors: dict[int, Floats] = {}
        good = True
        try:
            for position, entry in enumerate(found["data"]):
                index = entry.get("index", position)
                vector = np.asarray(entry["embedding"], dtype=np.float32)
                good &= vector.ndim == 1 and vector.size > 0 and bool(np.isfinite(vector).all())
                left.remove(index)
                vectors[index] = vector
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            good = False
        if not good or not vectors:
            raise UnusableError(
                f"the answer of {self.url} is not a list of vectors, one for each text."
            )
        return vectors


class EndpointEncoder(Encoder):
    """Vectors of unit length from the embeddings endpoint of a server.

    Parameters
    ----------
    address : str
        Such as ``http://localhost:11434/v1#model``; the model may be left out if there is one.
    dim : int, optional
        Width of the vectors, if it is known.
    asked : bool, default=True
        Whether the user named this address; one of a saved model gets texts only if it is on this
        machine, or if ``COTERIE_ALLOW_ENDPOINT`` names its host.
    """

    kind: ClassVar[str] = "endpoint"

    def __init__(self, address: str, dim: int | None = None, *, asked: bool = True) -> None:
        super().__init__()
        url, _, model = address.partition("#")
        self.client = EmbeddingsClient(url)
        self._asked = asked
        if not model:
            self._check_allowed()
        self.model = model or self.client.only_model()
        self.address = f"{self.client.url}#{self.model}"
        self._width = dim
        self._kept: dict[bytes, Floats] = {}  # what was asked for while the disk was not used
        self._text = "text"  # by which the width is found, if nothing was encoded before

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Width of the vectors; asks for one text where none is known."""
        if self._width is None:
            self.encode(TextItems([self._text]))
        assert self._width is not None
        return self._width

    def prepare(self, texts: Sequence[str]) -> tuple[TextItems, Ints]:
        cut = [text[:LONGEST] for text in texts]
        first, rows = distinct(cut)
        self._text = cut[0]
        return TextItems([cut[i] for i in first]), rows

    def encode(
        self, items: Any, index: Ints | None = None, *, progress: Progress | None = None
    ) -> Floats:
        chosen = np.arange(len(items)) if index is None else index
        keys = items.digests(chosen)
        first, rows = distinct(keys)
        texts = {keys[i]: items.texts[chosen[i]] for i in first}
        cache = Cache(self.space()) if is_on() else None
        found = self._known(list(texts), cache)
        missing = {key: text for key, text in texts.items() if key not in found}
        if missing:
            self._check_allowed()
            self._ask_for(missing, found, cache, progress or Progress())
        return unit_rows(np.stack([found[key] for key in texts]))[rows]

    def space(self) -> str:
        return hashlib.sha256(f"endpoint {self.address}".encode()).hexdigest()

    def _known(self, keys: list[bytes], cache: Cache | None) -> dict[bytes, Floats]:
        """Vectors that are kept; learns their width."""
        if cache is None:
            return {key: self._kept[key] for key in keys if key in self._kept}
        if self._kept:
            cache.write(list(self._kept), list(self._kept.values()))
            self._kept = {}
        found = {key: np.frombuffer(vector, np.float32) for key, vector in cache.find(keys)}
        for vector in found.values():
            self._check_width(len(vector))
        return found

    def _ask_for(
        self,
        texts: dict[bytes, str],
        found: dict[bytes, Floats],
        cache: Cache | None,
        progress: Progress,
    ) -> None:
        """Ask for vectors, put them into ``found`` and keep them as they come."""
        batches, done = list(_batches(texts)), 0
        characters, known = sum(map(len, texts.values())), len(found)
        said = (
            f"{self.address}: {len(texts):,} texts with {characters:,} characters are sent in "
            f"{len(batches):,} requests or more; {known:,} others are in the cache."
        )
        log.info("%s", said)
        if type(progress) is not Progress:  # that one says nothing
            say(said)
        progress.start("embed", len(texts))
        try:
            for batch in batches:
                for some in self._answers(batch, texts):
                    if cache is not None:
                        cache.write(list(some), list(some.values()))
                    else:
                        self._kept |= some
                    found.update(some)
                    done += len(some)
                    progress.advance(done)
        except RefusedError:
            raise
        except (EndpointError, UnusableError) as error:
            fate = "are in the cache; repeat the command with --resume to get the others."
            if cache is None:
                fate = "were there, and are lost since the cache is off."
            share = f"{known + done:,} of {known + len(texts):,} vectors"
            raise EndpointError(f"{error} {share} {fate}") from error
        finally:
            progress.stop()

    def _answers(self, keys: list[bytes], texts: dict[bytes, str]) -> Iterator[dict[bytes, Floats]]:
        """Answers until all of these texts have a vector.

        Of half an answer the vectors are taken, and the rest is asked for; a batch that is refused
        is asked for by halves.
        """
        left, failed, client = keys, 0, self.client
        while left:
            try:
                answer = client.embed(self.model, [texts[key] for key in left])
            except RefusedError:
                if len(left) == 1:
                    raise
                for half in (left[: len(left) // 2], left[len(left) // 2 :]):
                    yield from self._answers(half, texts)
                return
            except UnusableError:
                failed += 1
                if failed == client.tries:
                    raise
                time.sleep(client.pause * 2 ** (failed - 1))
                continue
            for vector in answer.values():
                self._check_width(len(vector))
            yield {left[i]: vector for i, vector in answer.items()}
            left = [key for i, key in enumerate(left) if i not in answer]

    def _check_width(self, width: int) -> None:
        if self._width is not None and width != self._width:
            raise EndpointError(
                f"{self.address} gives vectors of {width:,} numbers, but gave {self._width:,} "
                "before; is it another model now? Name it with #MODEL, or forget the old "
                "vectors (coterie cache clear)."
            )
        self._width = width

    def _check_allowed(self) -> None:
        hosts = os.environ.get(ALLOW, "").replace(",", " ").split()
        if not (self._asked or self.client.local or self.client.host in hosts):
            host, url = self.client.host, self.client.url
            raise EndpointError(
                f"the model was made with {url}, and the texts would be sent there; to allow it, "
                f"set {ALLOW}={host}."
            )

    def make_trainable(self) -> None:
        raise UsageError(
            f"`encoder`: {self.address} makes vectors and cannot be trained; use 'auto', "
            "'kmeans' or another method that trains nothing, or an encoder on this machine."
        )

    def save(self, folder: Path) -> None:
        """Nothing: the address is in the settings of the model, the key nowhere."""


class TextItems(Items):
    """Different texts, as they are sent."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))

    def __len__(self) -> int:
        return len(self.texts)

    def digests(self, index: Ints) -> list[bytes]:
        """What tells each of the texts ``index`` from all others."""
        return [digest(self.texts[i]) for i in index]

    def content(self) -> bytes:
        return "\0".join(self.texts).encode("utf-8")


def _batches(texts: dict[bytes, str]) -> Iterator[list[bytes]]:
    """Keys of texts that go into one request."""
    batch: list[bytes] = []
    size = 0
    for key, text in texts.items():
        if batch and (len(batch) == BATCH or size + len(text) > CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(key)
        size += len(text)
    if batch:
        yield batch
