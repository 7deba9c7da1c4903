"""The server: an address, and an orderly stop."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

import uvicorn

from coterie.errors import UsageError
from coterie.serve.access import Settings, is_loopback
from coterie.serve.app import Service

KEEP_ALIVE = 30  # seconds until an idle connection is closed
CONNECTIONS = 1_000
STOP = 30  # seconds that requests have to end after a signal
NAME = re.compile(r"[\w.+-]{1,100}")


class Server(uvicorn.Server):
    """Ends with exit code 0 when it is told to stop, after the requests that have begun."""

    def __init__(self, service: Service) -> None:
        config = uvicorn.Config(
            service.api,
            http="h11",
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
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it writes tracebacks

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Let the first signal end it in order, and the second at once."""
        self.force_exit = self.should_exit
        self.should_exit = True


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
    if not is_loopback(host):
        settings = replace(settings, hosts=(*settings.hosts, host))
    place = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{place.getsockname()[1]}"
    try:
        service = Service(runs, settings)
        if assistants:
            from coterie.serve.assistants import with_assistants

            with_assistants(service)
        started(address)  # who asks already, waits
        Server(service).run([place])
    finally:
        place.close()
