"""A real server in a thread, on a real socket, and a client that says exactly what it is told."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import coterie
from browser import browser as browser
from browser import contexts as contexts
from browser import visit as visit
from coterie.serve.access import Settings
from coterie.serve.app import Service
from coterie.serve.server import Server, listen
from trees import nested_texts

PATIENCE = 60


@dataclass
class Answer:
    """Status, headers and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


@dataclass
class Client:
    """Asks a server that is running."""

    server: Server
    service: Service
    port: int

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        sent = {"Content-Type": "application/json"} if body is not None else {}
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, data, {**sent, **(headers or {})})
            found = connection.getresponse()
            names = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, names, found.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.ask("POST", path, body, headers)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def until(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < end, "it does not happen"
            time.sleep(0.05)

    def wait_for_vectors(self) -> None:
        self.until(lambda: all(run["searchable"] for run in self.get("/runs").json["runs"]))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, topics: tuple[list[str], list[str]]) -> Path:
    """A run of 90 texts in 4 clusters, with ids."""
    path = tmp_path_factory.mktemp("finished") / "tickets.csv"
    lines = [f"T-{i},{text},{kind}" for i, (text, kind) in enumerate(zip(*topics, strict=True))]
    path.write_text("\n".join(["id,text,kind", *lines]) + "\n", "utf-8")
    run = coterie.cluster(
        path, 4, method="kmeans", encoder="tfidf", text_column="text", id_column="id",
        folder=path.parent / "tickets", max_outliers="5%",
    )  # fmt: skip
    return Path(run.folder)


@pytest.fixture(scope="session")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with ids that found its number of clusters."""
    path = tmp_path_factory.mktemp("grown") / "tickets.csv"
    texts = [*nested_texts(), "violin and invoice"]
    lines = [f"T-{i},{text}" for i, text in enumerate(texts)]
    path.write_text("\n".join(["id,text", *lines]) + "\n", "utf-8")
    options = {"encoder": "tfidf-svd", "text_column": "text", "id_column": "id"}
    return Path(coterie.cluster(path, folder=path.parent / "tickets", **options).folder)


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """The run, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "tickets"))


@contextmanager
def running(
    runs: dict[str, Path], prepare: Callable[[Service], Any] = bool, **settings: Any
) -> Iterator[Client]:
    """A server that is stopped at the end; ``prepare`` adds something to the service."""
    place, service = listen("127.0.0.1", 0), Service(runs, Settings(**settings))
    prepare(service)
    server = Server(service)
    thread = threading.Thread(target=server.run, args=([place],))
    thread.start()
    try:
        yield Client(server, service, place.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture
def start() -> Iterator[Callable[..., Client]]:
    """Starts servers, and stops them at the end."""
    with ExitStack() as stack:
        yield lambda *folders, **settings: stack.enter_context(
            running({folder.name: folder for folder in folders}, **settings)
        )


@pytest.fixture(scope="session")
def reading(finished: Path) -> Iterator[Client]:
    """One server for the tests that change nothing."""
    with running({"tickets": finished}) as client:
        client.wait_for_vectors()
        yield client
