"""A chat endpoint that answers as it is told, and remembers what it was sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from coterie.description import Cluster
from coterie.description.describe import Neighbor
from endpoint_server import EndpointServer, send


def sent(body: Any) -> dict[str, list[str]]:
    """What a question shows: words, texts, names of parts."""
    shown: dict[str, list[str]] = {}
    for line in body["messages"][-1]["content"].splitlines():
        if line.startswith("- "):
            shown.setdefault("texts", []).append(line[2:])
        else:
            kind, listed = line.split(": ", 1)
            shown[kind.casefold()] = listed.split("; ")
    return shown


def say(name: str) -> Callable[[Any, Any], None]:
    """The name, backed by quotes from what was sent."""

    def answer(handler: Any, body: Any) -> None:
        quotes = sent(body).get("texts", []) if len(body["messages"]) > 1 else []
        said = [f"Name: {name}", *(f"Quote: {quote}" for quote in quotes[:2])]
        send(handler, 200, chat("\n".join(said) if quotes else name))

    return answer


def chat(content: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


def fail(status: int, body: Any = b"no", **headers: str) -> Callable[[Any, Any], None]:
    return lambda handler, _: send(handler, status, body, headers)


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


class Server(EndpointServer):
    """``plan`` holds one answer per call; the last one is repeated."""

    send, sent, say, fail = map(staticmethod, (send, sent, say, fail))
    slow, drip, chat = map(staticmethod, (slow, drip, chat))

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.plan: list[Callable[[Any, dict[str, Any]], None]] = [say("A good name")]
        self.models = ["tiny"]
        super().__init__()

    def get(self, handler: Any) -> None:
        send(handler, 200, {"data": [{"id": name} for name in self.models]})

    def post(self, handler: Any, body: Any) -> None:
        self.seen.append(body)
        self.plan[min(len(self.seen), len(self.plan)) - 1](handler, body)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as found:
        yield found


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
