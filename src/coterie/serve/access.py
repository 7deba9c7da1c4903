"""Who may do what, and how much of it: tokens, pages of other sites, limits."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import compare_digest
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import (
    HTTPAuthorizationCredentials,
    HTTPBasic,
    HTTPBasicCredentials,
    HTTPBearer,
)

from coterie.errors import UsageError
from coterie.serve.errors import ServeError

SHORTEST, LONGEST = 16, 1024  # characters of a token


@dataclass(frozen=True)
class Tokens:
    """What allows reading, and reading and editing; empty where there is none."""

    read: str = field(default="", repr=False)
    edit: str = field(default="", repr=False)

    @classmethod
    def find(cls, environment: Mapping[str, str]) -> Tokens:
        """Tokens from the environment."""
        found = [_token(environment, f"COTERIE_{kind}_TOKEN") for kind in ("READ", "EDIT")]
        if found[0] and found[0] == found[1]:
            raise UsageError("the tokens to read and to edit are the same; take two.")
        return cls(*found)

    def __bool__(self) -> bool:
        return bool(self.read or self.edit)

    def may_edit(self, given: str | None) -> bool:
        """Whether a request with this token may edit; without any token, everybody may."""
        return not self or _same(given, self.edit)

    def check(self, given: str | None, *, edits: bool = False) -> None:
        """Refuse who may not do this."""
        if self.may_edit(given):
            return
        if not _same(given, self.read):
            said = "a token is needed: send the header 'Authorization: Bearer TOKEN'."
            raise ServeError(401, "no_token", said if given is None else "this token is not known.")
        if edits:
            raise ServeError(403, "reads_only", "this token may read, but not edit.")


def _token(environment: Mapping[str, str], name: str) -> str:
    token = environment.get(name)
    if token is None:
        return ""
    if not (SHORTEST <= len(token) <= LONGEST and token.isascii() and token.isprintable()):
        raise UsageError(
            f"{name} should have {SHORTEST} to {LONGEST:,} plain characters; "
            "'openssl rand -hex 32' makes one."
        )
    return token


def _same(given: str | None, token: str) -> bool:
    return bool(given and token) and compare_digest(str(given).encode(), token.encode())


@dataclass(frozen=True)
class Settings:
    """Rights and limits of the service."""

    tokens: Tokens = Tokens()
    hosts: tuple[str, ...] = ()  # names that it answers to, besides those of this machine
    origins: tuple[str, ...] = ()  # such as https://desk.example.org: their pages may ask
    max_body: int = 8 << 20  # bytes of a request
    max_texts: int = 1_000  # texts or rows of a request
    timeout: float = 60.0  # seconds until a prediction or a search is given up
    assistants_edit: bool = False  # whether assistants may do more than read


async def given_token(
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))],
    login: Annotated[
        HTTPBasicCredentials | None, Depends(HTTPBasic(auto_error=False, realm="coterie"))
    ],
) -> str | None:
    """The token of a request, or the password of what a browser asks for."""
    if bearer is not None:
        return bearer.credentials
    return None if login is None else login.password


Given = Annotated[str | None, Depends(given_token)]


async def may_read(request: Request, given: Given) -> None:
    """Refuse who may not read."""
    request.app.state.service.settings.tokens.check(given)


async def may_edit(request: Request, given: Given) -> None:
    """Refuse who may not edit."""
    request.app.state.service.settings.tokens.check(given, edits=True)


async def check_origin(request: Request) -> None:
    """Refuse what a page of another site sends; reading is refused by the browser."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "").lower()
    allowed = request.app.state.service.settings.origins
    if request.method != "GET" and origin not in (
        None,
        f"http://{host}",
        f"https://{host}",
        *allowed,
    ):
        said = f"pages of {origin!r:.80} may not ask this service; --allow-origin lists those."
        raise ServeError(403, "bad_origin", said)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
