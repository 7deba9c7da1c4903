"""The server: an address, a protocol that waits for nobody without end, and an orderly stop."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from coterie.errors import UsageError
from coterie.serve.access import Settings, is_loopback
from coterie.serve.app import Service

HEAD_TIMEOUT = 10.0  # seconds that a client may take for the lines before the body
KEEP_ALIVE = 30  # seconds until an idle connection is closed
CONNECTIONS = 1_000
STOP = 30  # seconds that requests have to end after a signal
NAME = re.compile(r"[\w.+-]{1,100}")


class Protocol(H11Protocol):
    """HTTP/1.1 that closes a connection on which no whole request comes in time."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit_time(True)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering():
            self._limit_time(False)
        elif self._limit is None:  # a request that has begun; or the rest of a refused body
            self._limit_time(True)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._limit_time(False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit_time(False)
        super().connection_lost(exc)

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _limit_time(self, on: bool) -> None:
        if self._limit is not None:
            self._limit.cancel()
        self._limit = self.loop.call_later(HEAD_TIMEOUT, self._give_up) if on else None

    def _give_up(self) -> None:
        self._limit = None
        if not self._answering() and not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """Ends with exit code 0 when it is told to stop, after the requests that have begun.

    ``started`` is called when requests are served.
    """

    def __init__(self, service: Service, started: Callable[[], None] = lambda: None) -> None:
        config = uvicorn.Config(
            service,
            http=Protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=STOP,
        )
        super().__init__(config)
        self._when_started = started
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it writes tracebacks
        logging.getLogger("uvicorn.access").disabled = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        self._when_started()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let the first signal end it in order, and the second at once."""

        def stop(number: int, frame: FrameType | None) -> None:
            self.force_exit = self.should_exit
            self.should_exit = True

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def name_runs(said: Sequence[str]) -> dict[str, Path]:
    """Folders by name, from ``FOLDER`` or ``NAME=FOLDER``.

    A folder without a name is called as its last part.
    """
    found: dict[str, Path] = {}
    for one in said:
        name, sign, folder = one.partition("=")
        if not sign or Path(one).exists():
            folder, name = one, Path(one).resolve().name
        if not NAME.fullmatch(name):
            raise UsageError(
                f"{name!r:.80} is no name for a run in an address; give one, as in tickets={one}."
            )
        if name in found:
            raise UsageError(f"two runs are called {name}; name one, as in other={name}.")
        found[name] = Path(folder)
    return found


def listen(host: str, port: int) -> socket.socket:
    """A socket that waits for clients."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot listen on {host}, port {port}: {why}; choose another with --host, or --port "
            "0 for any."
        ) from error


def serve(
    runs: Mapping[str, Path],
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    assistants: bool = False,
    started: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve runs until a signal ends it; ``started`` is told the address.

    A host that others can reach needs a token; port 0 takes one that is free. ``assistants`` are
    answered at /mcp.
    """
    if not is_loopback(host) and not settings.tokens:
        raise UsageError(
            f"others can reach {host}: set COTERIE_READ_TOKEN, and COTERIE_EDIT_TOKEN to allow "
            "edits, or listen on 127.0.0.1."
        )
    place = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{place.getsockname()[1]}"
    try:
        service = Service(runs, settings)
        if assistants:
            from coterie.serve.assistants import with_assistants

            with_assistants(service)
        Server(service, lambda: started(address)).run([place])
    finally:
        place.close()
