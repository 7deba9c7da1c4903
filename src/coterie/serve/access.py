"""Who may do what, and how much of it: tokens, hosts, pages of other sites, limits."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from coterie.errors import UsageError
from coterie.serve.errors import ServeError

if TYPE_CHECKING:
    from starlette.datastructures import Headers


SHORTEST, LONGEST = 16, 1024  # characters of a token
NAME = 40  # characters of the name of who has it


@dataclass(frozen=True)
class Tokens:
    """Digests of the tokens that allow reading, and reading and editing; None where there is none.

    Comparing digests takes as long for any wrong token, and tells nothing about the right one.
    """

    read: bytes | None = None
    edit: bytes | None = None

    @classmethod
    def find(
        cls,
        environment: Mapping[str, str],
        read_file: Path | None = None,
        edit_file: Path | None = None,
    ) -> Tokens:
        """Tokens from files, else from the environment."""
        read = _digest(environment, "COTERIE_READ_TOKEN", read_file)
        edit = _digest(environment, "COTERIE_EDIT_TOKEN", edit_file)
        if read is not None and read == edit:
            raise UsageError("the tokens to read and to edit are the same; take two.")
        return cls(read, edit)

    def __bool__(self) -> bool:
        return self.read is not None or self.edit is not None

    def may_edit(self, authorization: str | None) -> bool:
        """Whether a request with this header may edit; without any token, everybody may."""
        return not self or _is_token(authorization, self.edit)

    def check(self, authorization: str | None, *, edits: bool) -> None:
        """Refuse who may not do this."""
        may_edit, may_read = self.may_edit(authorization), _is_token(authorization, self.read)
        if not (may_edit or may_read):
            if given_token(authorization) is None:
                said = "a token is needed: send the header 'Authorization: Bearer TOKEN'."
                raise ServeError(401, "no_token", said)
            raise ServeError(401, "wrong_token", "this token is not known.")
        if edits and not may_edit:
            if self.edit is None:
                said = "this service has no token for edits, so nobody can edit."
                raise ServeError(403, "edits_off", said)
            raise ServeError(403, "reads_only", "this token may read, but not edit.")


def _digest(environment: Mapping[str, str], variable: str, file: Path | None) -> bytes | None:
    """The digest of the token in a file, or else in a variable."""
    if file is not None:
        try:
            with file.open("rb") as stream:  # of any length
                token = stream.read(4 * LONGEST).decode("latin-1").strip()
        except FileNotFoundError as error:
            raise UsageError(f"there is no file {file} with a token.") from error
    elif variable in environment:
        token = environment[variable].strip()
    else:
        return None
    plain = token.isascii() and token.isprintable() and " " not in token
    if not plain or not SHORTEST <= len(token) <= LONGEST:
        raise UsageError(
            f"{file or variable}: a token is one word of at least {SHORTEST} plain characters; "
            "'openssl rand -hex 32' makes one."
        )
    return hashlib.sha256(token.encode("ascii")).digest()


def given_token(authorization: str | None) -> bytes | None:
    """The token of a request: ``Bearer TOKEN``, or the password of what a browser asks for.

    Examples
    --------
    >>> given_token("Bearer abc"), given_token("Basic dXNlcjphYmM=")
    (b'abc', b'abc')
    """
    kind, _, value = (authorization or "").partition(" ")
    if kind.lower() == "bearer" and value.strip():
        return value.strip().encode("utf-8", "surrogatepass")
    found = _login(authorization)
    return None if found is None else found[1]


def given_name(authorization: str | None) -> str:
    """The name that somebody has typed besides the token, if it can be shown.

    Examples
    --------
    >>> given_name("Basic QW5uYTphYmM="), given_name("Bearer abc")
    ('Anna', '')
    """
    name = (_login(authorization) or (b"", b""))[0].decode("utf-8", "replace").strip()
    return name if name.isprintable() and len(name) <= NAME else ""


def _login(authorization: str | None) -> tuple[bytes, bytes] | None:
    """Name and password of what a browser asks for."""
    kind, _, value = (authorization or "").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        name, _, password = base64.b64decode(value.strip(), validate=True).partition(b":")
    except ValueError:
        return None
    return name, password


def _is_token(authorization: str | None, digest: bytes | None) -> bool:
    given = given_token(authorization)
    if given is None or digest is None:
        return False
    return hmac.compare_digest(hashlib.sha256(given).digest(), digest)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class HostPolicy:
    """Names that the service answers to, and sites whose pages may ask it.

    A page of another site can make a browser ask for its own name, after it has let that name point
    here. So names are listed; an address in digits cannot be made to point elsewhere.
    """

    names: frozenset[str] = frozenset()  # besides localhost and addresses in digits
    origins: tuple[str, ...] = ()  # such as https://desk.example.org; other sites are refused

    def check(self, headers: Headers) -> None:
        """Refuse a request for another name, or from a page of another site."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if len(headers.getlist("host")) != 1 or not self.answers_to(host):
            raise ServeError(
                421,
                "bad_host",
                f"this service does not answer to the name {host!r:.80}; start it with "
                "--allow-host NAME.",
            )
        if origin is None and headers.get("sec-fetch-site") == "cross-site":
            # A link to the page is no harm.
            origin = None if headers.get("sec-fetch-mode") == "navigate" else "another site"
        own = f"http://{host.lower()}", f"https://{host.lower()}"
        if origin not in (None, *self.origins, *own):
            raise ServeError(
                403,
                "bad_origin",
                f"pages of {origin!r:.80} may not ask this service; start it with --allow-origin "
                "ORIGIN.",
            )

    def answers_to(self, host: str) -> bool:
        """Whether this is a name, or an address in digits, that the service answers to."""
        try:
            name = urlsplit(f"//{host}").hostname
            if name is None or any(mark in host for mark in "/@?#\\ "):
                return False
            if name != "localhost" and name not in self.names:
                ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


@dataclass(frozen=True)
class Settings:
    """Rights and limits of the service."""

    tokens: Tokens = Tokens()
    hosts: HostPolicy = HostPolicy()
    max_body: int = 8 << 20  # bytes of a request
    max_texts: int = 1_000  # texts or rows of a request
    timeout: float = 60.0  # seconds until a request is given up, unless it is an edit or an update
    body_timeout: float = 20.0  # seconds that a client may take to send the body
    edit_timeout: float = 600.0  # seconds that a client waits for a change, which then goes on
    max_batch: int = 64  # texts that are encoded at once
    max_wait: float = 0.003  # seconds that a batch waits for requests on their way
    assistants_edit: bool = False  # whether assistants may do more than read
