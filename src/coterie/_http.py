"""One endpoint over HTTP: asked politely, given up in time, shown no key of another.

Redirects are not followed: they would carry texts and key to an address that nobody named.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, ClassVar

from coterie._validation import check_number
from coterie.errors import CoterieError, UsageError

log = logging.getLogger(__name__)

KEYS = ("COTERIE_API_KEY", "OPENAI_API_KEY")
OPENAI = "api.openai.com"
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})  # statuses that may pass
LONGEST_WAIT = 86_400  # seconds that one answer may take
PATIENCE = 60.0  # longest wait that an endpoint may ask for, in seconds


class EndpointError(CoterieError):
    """The endpoint cannot be used; the message says why and what to do."""


class UnusableError(CoterieError):
    """One answer was not what was asked for; the next may be."""


@dataclass
class Client:
    """Asks one endpoint with the paths of OpenAI, such as ``/models``.

    Attributes
    ----------
    url : str
        Address up to and with the version, such as ``http://localhost:11434/v1``.
    timeout : float
        Seconds for one answer, from the first byte sent to the last received.
    tries : int
        How often a request is sent when the endpoint is busy or cannot be reached.
    pause : float
        Seconds before the second try; doubled before each further one.
    """

    url: str
    timeout: float = 120.0
    tries: int = 4
    pause: float = 1.0
    _key: str | None = field(default=None, repr=False)
    largest: ClassVar[int] = 1 << 20  # bytes of an answer

    def __post_init__(self) -> None:
        self.url = check_url(self.url)
        if check_number("timeout", self.timeout, above=True) > LONGEST_WAIT:
            raise UsageError(
                f"`timeout={self.timeout!r}`: at most {LONGEST_WAIT:,} seconds (one day)."
            )
        self._key = find_key(self.host, os.environ)
        if self.url.startswith("http:") and not self.local:
            seen = "the texts and the key" if self._key else "the texts"
            log.warning(f"{self.url} is not encrypted: others on the network can read {seen}.")

    @property
    def host(self) -> str:
        """Name of the machine."""
        return urllib.parse.urlsplit(self.url).hostname or ""

    @property
    def local(self) -> bool:
        """Whether the endpoint runs on this machine."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def only_model(self) -> str:
        """The model of an endpoint that has one; an error that lists them where there are more."""
        found = self.send("models", None)
        listed = found.get("data") if isinstance(found, dict) else None
        entries = listed if isinstance(listed, list) else []
        names = [str(entry["id"]) for entry in entries if isinstance(entry, dict) and "id" in entry]
        if len(names) != 1:
            some = ", ".join(printable(name)[:60] for name in names[:12]) or "none that it names"
            raise UsageError(f"say which model of {self.url} to use; it has: {some}.")
        return names[0]

    def send(self, path: str, body: Mapping[str, Any] | None) -> Any:
        """Send, and send again where that may help."""
        tried = 0
        while True:
            try:
                return self._once(path, body)
            except BusyError as busy:
                wait = self.pause * 2**tried if busy.wait is None else busy.wait
                if wait > PATIENCE:
                    raise EndpointError(
                        f"{self.url} asks to wait {wait:.0f} s; try again later."
                    ) from None
                tried += 1
                if tried == self.tries:
                    raise
                log.info("%s Trying again in %.1f s.", busy, wait)
                time.sleep(wait)

    def _once(self, path: str, body: Mapping[str, Any] | None) -> Any:
        # The one that huggingface_hub requires: httpx, or httpx2 from 2.0 on.
        from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "coterie",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8")
        try:
            # A local endpoint is never asked through a proxy, whatever the environment says.
            client = httpx.Client(
                headers=headers,
                timeout=self.timeout,
                trust_env=not self.local,
                verify=_trusted(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR"))),
            )
            raw = _within(self.timeout, lambda: self._exchange(client, path, data), client.close)
        except (TimeoutError, httpx.TimeoutException):
            raise BusyError(f"{self.url} gave no answer in {self.timeout:g} s.") from None
        except (httpx.ConnectError, httpx.InvalidURL, ImportError, ValueError) as error:  # or proxy
            reason = printable(str(error))[:200]
            raise BusyError(f"{self.url} cannot be reached ({reason}).") from None
        except httpx.TransportError as error:
            reason = type(error).__name__
            raise BusyError(f"{self.url} closed the connection ({reason}).") from None
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise UnusableError(f"the answer of {self.url} is not JSON.") from error

    def _exchange(self, client: Any, path: str, data: bytes | None) -> bytes:
        """Send a request and read the answer."""
        method = "GET" if data is None else "POST"
        with client.stream(method, f"{self.url}/{path}", content=data) as response:
            if not response.is_success:
                raise self._judge(response)
            raw = _read(response, self.largest)
        if len(raw) > self.largest:
            raise UnusableError("the answer is too long.")
        return raw

    def _judge(self, response: Any) -> Exception:
        """The error that a status stands for; it says what to do."""
        body = _read(response, 2000)[:2000].decode("utf-8", "replace")
        code, headers = response.status_code, response.headers
        if code in AGAIN:
            busy = BusyError(f"{self.url} answers {code}.")
            busy.wait = _retry_after(headers.get("Retry-After"))
            return busy
        if 300 <= code < 400:
            where = printable(str(headers.get("Location")))[:200]
            return EndpointError(f"{self.url} redirects to {where}; use that address instead.")
        said = f"{self.url} answers {code} ({self.without_key(printable(body))[:300]})"
        if code == 401:
            return EndpointError(f"{said}; set {KEYS[0]} to its key.")
        if code == 403:
            return EndpointError(f"{said}; set {KEYS[0]} to a key that has access.")
        if code == 404:
            return EndpointError(
                f"{said}; check that the address is right up to /v1 and that the model exists."
            )
        return (RefusedError if code in (400, 413, 422) else EndpointError)(f"{said}.")

    def without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


class RefusedError(EndpointError):
    """The endpoint did not like the request itself."""


class BusyError(EndpointError):
    """The endpoint may answer later, after ``wait`` seconds if it said so."""

    wait: float | None = None


def check_url(url: str) -> str:
    """An address with http or https, a host, and neither password nor query."""
    try:
        parts = urllib.parse.urlsplit(url.strip())
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or any(ord(sign) < 33 for sign in url.strip()):
        raise UsageError(
            "the endpoint should be an address like http://localhost:11434/v1, got "
            f"{printable(url)!r}."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            f"the endpoint's address must not contain a key, password or query; set {KEYS[0]} "
            "instead."
        )
    return (
        urllib.parse.urlunsplit(parts)
        .rstrip("/")
        .removesuffix("/chat/completions")
        .removesuffix("/embeddings")
    )


def find_key(host: str, environment: Mapping[str, str]) -> str | None:
    """The key for a host. That of OpenAI goes to OpenAI, or where OPENAI_BASE_URL leads."""
    own, openai = (environment.get(name, "").strip() for name in KEYS)
    try:
        base = urllib.parse.urlsplit(environment.get("OPENAI_BASE_URL", "")).hostname
    except ValueError:  # no address
        base = None
    key = own or (openai if host in {OPENAI, base} else "")
    if not key:
        return None
    if not (key.isascii() and key.isprintable() and " " not in key):
        name = KEYS[0] if own else KEYS[1]
        raise UsageError(f"{name} contains characters that cannot be part of a key; set it again.")
    return key


def printable(text: str) -> str:
    """A text on one line, without signs that steer a terminal."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


@cache
def _trusted(*places: str | None) -> ssl.SSLContext:
    """Whose certificates are trusted, with those of these places; made once, as that takes long."""
    return ssl.create_default_context()


def _within(seconds: float, work: Callable[[], bytes], end: Callable[[], None]) -> bytes:
    """What ``work`` gives, or a TimeoutError after so many seconds, whatever a server does.

    Timeouts of sockets are for one wait each: a server that sends a byte of a header now and then,
    or "100 Continue" again and again, is never late. So the work is done in a thread, and ``end``
    closes its connection when the time is over.
    """
    done: futures.Future[bytes] = futures.Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return done.result(seconds)
    finally:
        end()


def _read(response: Any, most: int) -> bytes:
    """The body; of one that is longer than ``most``, a little more than that."""
    parts, size = [], 0
    for block in response.iter_raw():
        parts.append(block)
        size += len(block)
        if size > most:
            break
    return b"".join(parts)


def _retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header, which holds a number or a date."""
    if value is None:
        return None
    try:
        return max(float(value), 0.0) if float(value) < 1e9 else None
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return None
