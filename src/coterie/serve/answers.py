"""Answers: JSON, errors, and the headers that go with each."""

from __future__ import annotations

import json
from typing import Any

from anyio import fail_after
from fastapi import Response
from starlette.types import Message, Send

from coterie._files import plain
from coterie.errors import CoterieError
from coterie.serve.errors import status_of

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
POLICY = b"default-src 'none'; frame-ancestors 'none'"
PAGE_POLICY = b"frame-ancestors 'none'"  # the page has one of its own


def reply(value: dict[str, Any], status: int = 200, **headers: str) -> Response:
    """JSON in ASCII: no text in it can be anything else than a text; its version as ETag."""
    body = json.dumps(value, separators=(",", ":"), allow_nan=False, default=plain)
    if "version" in value:
        headers["etag"] = f'"{value["version"]}"'
    return Response(body.encode("ascii"), status, headers, "application/json")


def failure(error: CoterieError, said: str | None = None) -> Response:
    """The answer to a request that is not served."""
    headers = {
        401: {"www-authenticate": 'Basic realm="coterie", charset="UTF-8"'},
        503: {"retry-after": "1"},
    }.get(status_of(error), {})
    if error.code == "serve.two_lengths":
        headers = {"connection": "close"}  # what follows may be the rest of the body
    value = {"error": {"code": error.code, "message": said or str(error)}}
    return reply(value, status_of(error), **headers)


class GuardedSend:
    """Sends on what an endpoint answers, with headers of its own; keeps the status.

    A client that does not read a part within ``seconds`` is left.
    """

    def __init__(self, send: Send, seconds: float) -> None:
        self.send, self.seconds, self.status = send, seconds, 0

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", []))
            html = any(k == b"content-type" and v.startswith(b"text/html") for k, v in headers)
            policy = PAGE_POLICY if html else POLICY
            headers += [*HEADERS, (b"content-security-policy", policy)]
            message = {**message, "headers": headers}
        with fail_after(self.seconds):
            await self.send(message)
