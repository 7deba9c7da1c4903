"""Who may do what: tokens, the names the service answers to, and pages of other sites."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from coterie.errors import UsageError
from coterie.serve.errors import ServeError

READ_VARIABLE, EDIT_VARIABLE = "COTERIE_READ_TOKEN", "COTERIE_EDIT_TOKEN"
SHORTEST, LONGEST = 16, 1024  # characters of a token


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
        read = _token(environment, READ_VARIABLE, read_file)
        edit = _token(environment, EDIT_VARIABLE, edit_file)
        if read is not None and read == edit:
            raise UsageError(
                "the tokens to read and to edit are the same; take two.", code="serve.same_tokens"
            )
        return cls(_digest(read), _digest(edit))

    def __bool__(self) -> bool:
        return self.read is not None or self.edit is not None

    def check(self, authorization: str | None, *, edits: bool) -> None:
        """Refuse who may not do this; without any token, everybody may."""
        if not self:
            return
        given = given_token(authorization)
        if given is None:
            raise ServeError(
                "a token is needed: send the header 'Authorization: Bearer TOKEN'.",
                code="serve.no_token",
            )
        digest = hashlib.sha256(given).digest()
        # Both are compared, whatever the first comparison says.
        may_edit = self.edit is not None and hmac.compare_digest(digest, self.edit)
        may_read = self.read is not None and hmac.compare_digest(digest, self.read)
        if not (may_edit or may_read):
            raise ServeError("this token is not known.", code="serve.wrong_token")
        if edits and self.edit is None:
            raise ServeError(
                "this service has no token for edits, so nobody can edit.", code="serve.edits_off"
            )
        if edits and not may_edit:
            raise ServeError("this token may read, but not edit.", code="serve.reads_only")

    def may_edit(self, authorization: str | None) -> bool:
        """Whether a request with this header may edit."""
        try:
            self.check(authorization, edits=True)
        except ServeError:
            return False
        return True


def _token(environment: Mapping[str, str], variable: str, file: Path | None) -> str | None:
    if file is not None:
        try:
            with file.open("rb") as stream:
                token, where = stream.read(4 * LONGEST).decode("utf-8").strip(), str(file)
        except FileNotFoundError as error:
            raise UsageError(
                f"there is no file {file} with a token.", code="serve.no_token_file"
            ) from error
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{file}: a token is one word of at least {SHORTEST} plain characters; `openssl "
                "rand -hex 32` makes one.",
                code="serve.bad_token",
            ) from error
    else:
        token, where = environment.get(variable, "").strip(), variable
        if variable not in environment:
            return None
    plain = token.isascii() and token.isprintable() and " " not in token
    if not plain or not SHORTEST <= len(token) <= LONGEST:
        raise UsageError(
            f"{where}: a token is one word of at least {SHORTEST} plain characters; `openssl "
            "rand -hex 32` makes one.",
            code="serve.bad_token",
        )
    return token


def _digest(token: str | None) -> bytes | None:
    return None if token is None else hashlib.sha256(token.encode("ascii")).digest()


def given_token(authorization: str | None) -> bytes | None:
    """The token of a request: ``Bearer TOKEN``, or the password of what a browser asks for.

    Examples
    --------
    >>> given_token("Bearer abc"), given_token("Basic dXNlcjphYmM=")
    (b'abc', b'abc')
    """
    kind, _, value = (authorization or "").partition(" ")
    value = value.strip()
    if kind.lower() == "bearer" and value:
        return value.encode("utf-8", "surrogatepass")
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return None
    return None


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Doors:
    """Names that the service answers to, and sites whose pages may ask it.

    A page of another site can make a browser ask for its own name, after it has let that name point
    here. So names are listed; an address in digits cannot be made to point elsewhere.

    Attributes
    ----------
    names : frozenset of str
        Besides localhost and addresses in digits.
    origins : tuple of str
        Such as ``https://desk.example.org``; other sites are refused.
    """

    names: frozenset[str] = frozenset()
    origins: tuple[str, ...] = ()

    def check(self, headers: Headers) -> None:
        """Refuse a request for another name, or from a page of another site."""
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self.answers_to(host):
            raise ServeError(
                f"this service does not answer to the name {host!r:.80}; start it with "
                "--allow-host NAME.",
                code="serve.bad_host",
            )
        origin = headers.get("origin")
        if origin is not None and origin not in self.origins and not _same(origin, host):
            raise ServeError(
                f"pages of {origin!r:.80} may not ask this service; start it with --allow-origin "
                "ORIGIN.",
                code="serve.bad_origin",
            )
        if origin is None and headers.get("sec-fetch-site", "") == "cross-site":
            if headers.get("sec-fetch-mode", "") != "navigate":  # a link to the page is no harm
                raise ServeError(
                    f"pages of {'another site'!r:.80} may not ask this service; start it with "
                    "--allow-origin ORIGIN.",
                    code="serve.bad_origin",
                )

    def answers_to(self, host: str) -> bool:
        """Whether this is a name, or an address in digits, that the service answers to."""
        try:
            name = urlsplit(f"//{host}").hostname
            if name is None or not host or any(mark in host for mark in "/@?#\\ "):
                return False
            if name == "localhost" or name in self.names:
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _same(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def environment_tokens(read_file: Path | None, edit_file: Path | None) -> Tokens:
    """Tokens of files or of the environment of this process."""
    return Tokens.find(os.environ, read_file, edit_file)
