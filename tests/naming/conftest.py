"""A real HTTP server in a thread that answers as it is told, and remembers what it was sent."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from coterie.description import Cluster
from coterie.description.describe import Neighbor


def send(handler: Any, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for key, value in {"Content-Length": str(len(raw)), **(headers or {})}.items():
        handler.send_header(key, value)
    handler.end_headers()
    handler.wfile.write(raw)


def say(name: str) -> Callable[[Any, Any], None]:
    """The name, backed by a quote from what was sent."""

    def answer(handler: Any, body: Any) -> None:
        try:
            texts = json.loads(body["messages"][1]["content"]).get("texts", [])
        except (IndexError, KeyError, ValueError):  # not a question for a name
            texts = []
        said = json.dumps({"name": name, "quotes": texts[:1]}) if texts else name
        send(handler, 200, chat(said))

    return answer


def chat(content: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


def fail(status: int, body: Any = b"no", **headers: str) -> Callable[[Any, Any], None]:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return lambda handler, _: send(handler, status, body, named)


def slow(seconds: float) -> Callable[[Any, Any], None]:
    def answer(handler: Any, body: Any) -> None:
        time.sleep(seconds)
        send(handler, 200, chat("Too late"))

    return answer


def drip(handler: Any, body: Any) -> None:
    """A byte now and then, for ever: no single wait is long."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


class Server:
    """``plan`` holds one answer per call; the last one is repeated."""

    send, say, fail, slow, drip, chat = map(staticmethod, (send, say, fail, slow, drip, chat))

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.plan: list[Callable[[Any, dict[str, Any]], None]] = [say("A good name")]
        self.models = ["tiny"]
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.headers.append(dict(self.headers))
                send(self, 200, {"data": [{"id": name} for name in server.models]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.seen.append(body)
                server.headers.append(dict(self.headers))
                step = min(len(server.seen), len(server.plan)) - 1
                try:
                    server.plan[step](self, body)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the client has gone, as it should when answers take too long

            def log_message(self, *args: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.stop()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COTERIE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def make_cluster(i: int, name: str, text: str) -> Cluster:
    near = [Neighbor((i + 1) % 3, f"own {(i + 1) % 3}", 0.5, [], [])]
    return Cluster(i, name, 4, 0.3, [(f"word{i}", 1.0)], [text, f"second {i}"], near=near)


@pytest.fixture
def clusters() -> list[Cluster]:
    """Three clusters; the texts of the second hold personal data."""
    return [
        make_cluster(0, "own 0", "my parcel is late"),
        make_cluster(1, "own 1", "Dear Anna, refund to a.b@example.org or 4111 1111 1111 1111"),
        make_cluster(2, "own 2", "the app crashes"),
    ]
