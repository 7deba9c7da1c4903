"""A small client for servers with OpenAI's interface; a request is repeated where that may help.

Redirects are not followed: they would carry texts and key to an address that nobody named.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import ssl
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from coterie.errors import CoterieError, UsageError

log = logging.getLogger(__name__)

KEYS = ("COTERIE_API_KEY", "OPENAI_API_KEY")  # the second goes to OpenAI alone
OPENAI = "api.openai.com"
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504, 529})  # statuses that may pass
LONGEST_WAIT = 60.0  # seconds that a server may ask for


class EndpointError(CoterieError):
    """The server cannot be used; the message says why and what to do."""


class RefusedError(EndpointError):
    """The server did not like the request itself."""


class UnusableError(CoterieError):
    """One answer was not what was asked for; the next may be."""


class BusyError(EndpointError):
    """The server may answer later, after ``wait`` seconds if it said so."""

    wait: float | None = None


@dataclass
class Client:
    """Asks one server with the paths of OpenAI, such as ``/models``.

    Attributes
    ----------
    url : str
        Address up to and with the version, such as ``http://localhost:11434/v1``.
    timeout : float
        Seconds for one answer.
    tries : int
        How often a request is sent when the server is busy or cannot be reached.
    pause : float
        Seconds before the second try; doubled before each further one.
    """

    url: str
    timeout: float = 120.0
    tries: int = 4
    pause: float = 1.0
    _key: str = field(default="", repr=False)
    largest: ClassVar[int] = 1 << 20  # bytes of an answer

    def __post_init__(self) -> None:
        self.url = check_url(self.url)
        if not self.timeout > 0:
            raise UsageError(f"`timeout={self.timeout!r}`: give a number of seconds above 0.")
        own, openai = (os.environ.get(name, "").strip() for name in KEYS)
        self._key = own or (openai if self.host == OPENAI else "")
        if not (self._key.isascii() and self._key.isprintable() and " " not in self._key):
            raise UsageError(f"the key in {KEYS[0]} or {KEYS[1]} is not valid; set it again.")
        if self.url.startswith("http:") and not self.local:
            log.warning(
                f"{self.url} is not encrypted: others on the network can read what is sent."
            )

    @property
    def host(self) -> str:
        """Name of the machine."""
        return urllib.parse.urlsplit(self.url).hostname or ""

    @property
    def local(self) -> bool:
        """Whether the server runs on this machine."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def only_model(self) -> str:
        """The model of a server that has one; an error that lists them where there are more."""
        answer = self.send("models", None)
        listed = answer.get("data") if isinstance(answer, dict) else None
        models = [str(e["id"]) for e in listed or () if isinstance(e, dict) and "id" in e]
        if len(models) != 1:
            some = ", ".join(printable(model)[:60] for model in models[:12]) or "none"
            raise UsageError(f"say which model of {self.url} to use; it has: {some}.")
        return models[0]

    def send(self, path: str, body: Mapping[str, Any] | None) -> Any:
        """POST a body, or GET without one; the JSON that is answered."""
        for attempt in range(1, self.tries + 1):
            try:
                return self._once(path, body)
            except BusyError as busy:
                wait = self.pause * 2 ** (attempt - 1) if busy.wait is None else busy.wait
                if attempt == self.tries or wait > LONGEST_WAIT:
                    raise
                log.info("%s Trying again in %.1f s.", busy, wait)
                time.sleep(wait)
        raise AssertionError("not reached: the last try returns or raises")

    def _once(self, path: str, body: Mapping[str, Any] | None) -> Any:
        # The one that huggingface_hub requires: httpx, or httpx2 from 2.0 on.
        from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

        headers = {"User-Agent": "coterie", "Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        data = None if body is None else json.dumps(body).encode("ascii")
        until, content = time.monotonic() + self.timeout, bytearray()
        try:
            with httpx.stream(
                "GET" if data is None else "POST",
                f"{self.url}/{path}",
                content=data,
                headers=headers,
                timeout=self.timeout,
                trust_env=not self.local,  # no proxy on this machine
                verify=ssl.create_default_context(),
            ) as response:
                for block in response.iter_bytes():
                    content += block
                    if len(content) > self.largest:
                        raise UnusableError(f"the answer of {self.url} is too long.")
                    if time.monotonic() > until:
                        raise httpx.ReadTimeout("late")
        except httpx.TimeoutException:
            raise BusyError(f"{self.url} gave no answer in {self.timeout:g} s.") from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:  # or proxy
            reason = printable(str(error) or type(error).__name__)[:200]
            raise BusyError(f"{self.url} cannot be reached ({reason}).") from None
        if not response.is_success:
            raise self._judge(response, content.decode("utf-8", "replace"))
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise UnusableError(f"the answer of {self.url} is not JSON.") from error

    def _judge(self, response: Any, answer: str) -> EndpointError:
        """The error that a status stands for; it says what to do."""
        code, said = response.status_code, f"{self.url} answers {response.status_code}"
        if code in BUSY:
            busy, wait = BusyError(f"{said}; try again later."), response.headers.get("Retry-After")
            busy.wait = float(wait) if wait is not None and wait.isdecimal() else None
            return busy
        if 300 <= code < 400:
            where = printable(response.headers.get("Location", ""))[:200]
            return EndpointError(f"{said}: it redirects to {where}; use that address instead.")
        said += f" ({self.without_key(printable(answer))[:300]})"
        if code in (401, 403):
            return EndpointError(f"{said}; set {KEYS[0]} to a key that has access.")
        if code == 404:
            return EndpointError(
                f"{said}; check that the address is right up to /v1 and that the model exists."
            )
        return (RefusedError if code in (400, 413, 422) else EndpointError)(f"{said}.")

    def without_key(self, text: str) -> str:
        """The text without the key, which a server may send back."""
        return text.replace(self._key, "[key]") if self._key else text


def check_url(url: str) -> str:
    """An address with http or https, a host, and neither password nor query."""
    url = url.strip()
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or any(ord(sign) < 33 for sign in url):
        raise UsageError(
            "the endpoint should be an address like http://localhost:11434/v1, got "
            f"{printable(url)!r}."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"the endpoint's address must not contain a key, password or query; set {KEYS[0]} "
            "instead."
        )
    return url.rstrip("/").removesuffix("/chat/completions").removesuffix("/embeddings")


def printable(text: str) -> str:
    """A text on one line, without signs that steer a terminal."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
