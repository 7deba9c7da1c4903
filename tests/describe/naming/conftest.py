"""A chat endpoint that answers as it is told, and remembers what it was sent."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from coterie.describe import Cluster
from coterie.describe.describe import Neighbor
from endpoint_server import EndpointServer, send


def sent(body: Any) -> dict[str, list[str]]:
    """What a question shows: words and texts."""
    words, *texts = body["messages"][-1]["content"].splitlines()
    return {"words": words.removeprefix("Words: ").split("; "), "texts": [t[2:] for t in texts]}


def chat(content: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


def say(name: str, description: str = "") -> Callable[[Any, Any], None]:
    answer = json.dumps({"name": name, "description": description})
    return lambda handler, _: send(handler, 200, chat(answer))


def fail(status: int, body: Any = b"no", **headers: str) -> Callable[[Any, Any], None]:
    return lambda handler, _: send(handler, status, body, headers)


def slow(seconds: float) -> Callable[[Any, Any], None]:
    def answer(handler: Any, body: Any) -> None:
        time.sleep(seconds)
        say("Too late")(handler, body)

    return answer


def by_word(handler: Any, body: Any) -> None:
    """Answers with the first word, so that every cluster has a name of its own."""
    say(f"About {sent(body)['words'][0]}", "What they are about.")(handler, body)


class Server(EndpointServer):
    """``plan`` holds one answer per call; the last one is repeated."""

    send, sent, say, fail, slow, chat, by_word = map(
        staticmethod, (send, sent, say, fail, slow, chat, by_word)
    )

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.plan: list[Callable[[Any, dict[str, Any]], None]] = [by_word]
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
    for name in ("COTERIE_API_KEY", "OPENAI_API_KEY"):
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
