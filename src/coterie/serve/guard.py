"""What is around every request: bounds, headers of the answer, counts and a line of the log."""

from __future__ import annotations

import logging
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie.serve.errors import ServeError, failure, fault
from coterie.serve.metrics import Metrics

log = logging.getLogger(__name__)

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": "frame-ancestors 'none'",  # a page has more of its own
}


class Guard:
    """Bounds the body of a request; an error of our own is answered with 500."""

    def __init__(self, app: ASGIApp, max_body: int, metrics: Metrics) -> None:
        self.app, self.max_body, self.metrics = app, max_body, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status, read = time.perf_counter(), 0, 0

        async def read_bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            self._check(read)
            return message

        async def send_guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            self._check(int(Headers(scope=scope).get("content-length", "0")))
            await self.app(scope, read_bounded, send_guarded)
        except ServeError as error:
            await failure(error)(scope, receive, send_guarded)
        except Exception as error:
            said = fault(error)
            if not status:
                await failure(said)(scope, receive, send_guarded)
        finally:
            route = getattr(scope.get("route"), "name", "none")
            method = scope["method"] if scope["method"] in ("GET", "POST") else "other"
            took = time.perf_counter() - begun
            self.metrics.requests.labels(route, method, status).inc()
            self.metrics.seconds.labels(route).observe(took)
            # Never the path or the query: they may hold texts.
            log.info("%s %s %d %.1f ms", method, route, status, 1000 * took)

    def _check(self, size: int) -> None:
        if size > self.max_body:
            said = f"the request is larger than {self.max_body:,} bytes; send less at a time."
            raise ServeError(413, "body_too_large", said)
