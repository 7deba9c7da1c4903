"""Embeddings from a server over HTTP, in place of an encoder on this machine.

The address is that of the server and the name of a model: ``http://localhost:11434/v1#model``. Any
server with ``/embeddings`` of OpenAI will do, such as Ollama, llama.cpp, vLLM or LM Studio. Each
vector is on the disk before the next texts are sent, so that a run that is stopped asks for no
text twice.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from coterie._util.http import Client, EndpointError, RefusedError, UnusableError, check_url
from coterie._util.progress import Progress, say
from coterie._util.trust import check_shape, is_count
from coterie._util.types import Floats, Ints
from coterie.arrays.neighbors import unit_rows
from coterie.encoders.base import Encoder, Items, distinct
from coterie.encoders.cache import Cache, digest, is_on
from coterie.errors import UsageError

log = logging.getLogger(__name__)

PREFIXES = ("http://", "https://")
ALLOW = "COTERIE_ALLOW_ENDPOINT"  # hosts that saved models may send texts to
BATCH = 64  # texts of a request
LONGEST = 8_000  # characters of a text; what follows is not sent


def is_address(spec: Any) -> bool:
    """Whether an encoder is named by the address of a server."""
    return isinstance(spec, str) and spec.startswith(PREFIXES)


class EmbeddingsClient(Client):
    """Asks for embeddings."""

    largest: ClassVar[int] = 1 << 26

    def embed(self, model: str, texts: Sequence[str]) -> Floats:
        """One vector for each text; a batch that is too large is sent by halves."""
        try:
            answer = self.send("embeddings", {"model": model, "input": list(texts)})
        except RefusedError:
            if len(texts) == 1:
                raise
            half = len(texts) // 2
            return np.concatenate(
                [self.embed(model, part) for part in (texts[:half], texts[half:])]
            )
        try:
            entries = {entry.get("index", i): entry for i, entry in enumerate(answer["data"])}
            vectors = [entries[i]["embedding"] for i in range(len(texts))]
            found = np.asarray(vectors, dtype=np.float32)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            found = np.empty(0, dtype=np.float32)
        if found.ndim != 2 or not found.size or not np.isfinite(found).all():
            raise UnusableError(
                f"the answer of {self.url} is not a list of vectors, one for each text."
            )
        return found


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
        self.client, self._asked, self._width = EmbeddingsClient(url), asked, dim
        if not model:
            self._check_allowed()
        self.model = model or self.client.only_model()
        self.address = f"{self.client.url}#{self.model}"
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
        texts = {digest(items.texts[i]): items.texts[i] for i in chosen}
        cache = Cache(self.space()) if is_on() else None
        vectors = {} if cache is None else cache.find(list(texts))
        for vector in vectors.values():
            self._checked(vector)
        missing = [key for key in texts if key not in vectors]
        if missing:
            self._check_allowed()
            self._tell([texts[key] for key in missing], progress)
        progress = progress or Progress()
        progress.start("embed", len(missing))
        try:
            for first in range(0, len(missing), BATCH):
                keys = missing[first : first + BATCH]
                answered = self.client.embed(self.model, [texts[key] for key in keys])
                vectors.update(zip(keys, map(self._checked, answered), strict=True))
                if cache is not None:
                    cache.write(keys, answered)
                progress.advance(first + len(keys))
        except UnusableError as error:
            raise EndpointError(str(error)) from error
        finally:
            progress.stop()
        return unit_rows(np.stack([vectors[digest(items.texts[i])] for i in chosen]))

    def _tell(self, texts: list[str], progress: Progress | None) -> None:
        """Say what is sent, before it is."""
        characters, requests = sum(map(len, texts)), -(-len(texts) // BATCH)
        line = (
            f"{self.address}: {len(texts):,} texts with {characters:,} characters are sent in "
            f"{requests:,} requests or more."
        )
        log.info("%s", line)
        if progress is not None and type(progress) is not Progress:  # that one says nothing
            say(line)

    def _checked(self, vector: Floats) -> Floats:
        if self._width is not None and len(vector) != self._width:
            raise EndpointError(
                f"{self.address} gives vectors of {len(vector):,} numbers, but gave "
                f"{self._width:,} before; is it another model now? Name it with #MODEL, or set "
                "COTERIE_CACHE to another folder."
            )
        self._width = len(vector)
        return vector

    def _check_allowed(self) -> None:
        hosts = os.environ.get(ALLOW, "").replace(",", " ").split()
        if not (self._asked or self.client.local or self.client.host in hosts):
            host, url = self.client.host, self.client.url
            raise EndpointError(
                f"the model was made with {url}, and the texts would be sent there; to allow it, "
                f"set {ALLOW}={host}."
            )

    def space(self) -> str:
        return hashlib.sha256(f"endpoint {self.address}".encode()).hexdigest()

    def make_trainable(self) -> None:
        raise UsageError(
            f"`encoder`: {self.address} makes vectors and cannot be trained; use 'auto', "
            "'kmeans' or another method that trains nothing, or an encoder on this machine."
        )

    def to_config(self) -> dict[str, Any]:
        return {"address": self.address, "dim": self.dim}  # the key is nowhere

    @classmethod
    def from_config(
        cls, config: dict[str, Any], source: Path, inside: dict[str, Encoder]
    ) -> EndpointEncoder:
        saved = check_shape(config, {"address": str, "dim": is_count}, "encoder.json")
        check_url(saved["address"].partition("#")[0])
        return cls(saved["address"], saved["dim"], asked=False)


class TextItems(Items):
    """Different texts, as they are sent."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))

    def __len__(self) -> int:
        return len(self.texts)

    def content(self) -> bytes:
        return "\0".join(self.texts).encode("utf-8")
