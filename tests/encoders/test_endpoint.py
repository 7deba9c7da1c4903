"""Embeddings over HTTP: a real server that is slow, busy, wrong, or goes away."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import coterie
from coterie._util.http import EndpointError, RefusedError
from coterie.cli import app
from coterie.encoders import EndpointEncoder, load_encoder
from coterie.encoders import endpoint as module
from coterie.errors import UsageError
from encoded import encoded
from endpoint_server import EndpointServer, send
from said import raises, says

KEY = "sk-this-is-a-secret-key"
FRUIT, CARS = "apple pear plum".split(), "car road tyre".split()
TEXTS = [f"{a} {b} {i}" for i in range(11) for words in (FRUIT, CARS) for a in words for b in words]


def vector(text: str, width: int = 8) -> list[float]:
    """Two directions, and a little of the text's own."""
    own = np.frombuffer(hashlib.sha256(text.encode()).digest()[:width], np.uint8) / 2550
    own[0 if any(word in text for word in FRUIT) else 1] += 1
    return own.tolist()


class Server(EndpointServer):
    """``plan`` holds one answer per request, by number from 0; others are right."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.answered: Counter[str] = Counter()
        self.plan: dict[int, Callable[[Any, list[str]], None]] = {}
        self.most, self.width = 10**9, 8
        super().__init__()

    @property
    def address(self) -> str:
        return f"{self.url}#tiny"

    def get(self, handler: Any) -> None:
        self.send(handler, {"data": [{"id": "tiny"}]})

    def post(self, handler: Any, body: Any) -> None:
        assert handler.path == "/v1/embeddings" and body["model"] == "tiny"
        texts, number = body["input"], len(self.asked)
        self.asked.append(texts)
        if len(texts) > self.most:
            self.send(handler, {"error": "too many inputs"}, 413)
        else:
            self.plan.get(number, self.right)(handler, texts)

    def send(self, handler: Any, body: Any, status: int = 200, **headers: str) -> None:
        send(handler, status, body, headers)

    def entries(self, texts: list[str], chosen: list[int], width: int = 8) -> dict[str, Any]:
        self.answered.update(texts[i] for i in chosen)
        return {"data": [{"index": i, "embedding": vector(texts[i], width)} for i in chosen]}

    def right(self, handler: Any, texts: list[str]) -> None:
        self.send(handler, self.entries(texts, list(range(len(texts))), self.width))

    def slow(self, handler: Any, texts: list[str]) -> None:
        time.sleep(0.3)
        self.right(handler, texts)

    def unordered(self, handler: Any, texts: list[str]) -> None:
        self.send(handler, self.entries(texts, list(range(len(texts)))[::-1]))

    def half(self, handler: Any, texts: list[str]) -> None:
        self.send(handler, self.entries(texts, list(range(len(texts) // 2))))

    def cut(self, handler: Any, texts: list[str]) -> None:
        raw = json.dumps(self.entries(texts, list(range(len(texts))))).encode()
        self.answered.subtract(texts)  # none of it can be read
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw[: len(raw) // 2])
        handler.close_connection = True

    def busy(self, handler: Any, texts: list[str]) -> None:
        self.send(handler, {"error": "rate limit"}, 429, Retry_After="0.05")

    def nonsense(self, handler: Any, texts: list[str]) -> None:
        self.send(handler, {"data": [{"index": 7, "embedding": [float("nan")]}]})

    def wide(self, handler: Any, texts: list[str]) -> None:
        self.send(handler, self.entries(texts, list(range(len(texts))), 9))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    for name in ("COTERIE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module.EmbeddingsClient, "pause", 0.02)
    monkeypatch.setattr(module, "BATCH", 20)
    found = Server()
    yield found
    found.stop()


def expected(texts: list[str], width: int = 8) -> np.ndarray:
    made = np.array([vector(text, width) for text in texts], dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def test_texts_go_in_batches_and_none_twice(server: Server) -> None:
    encoder = load_encoder(server.address)
    texts = [*TEXTS, *TEXTS[:30]]
    np.testing.assert_allclose(encoded(encoder, texts), expected(texts), atol=1e-6)
    assert max(map(len, server.asked)) == 20 and encoder.dim == 8
    assert set(server.answered.values()) == {1} and len(server.answered) == len(TEXTS)
    np.testing.assert_allclose(
        encoded(load_encoder(server.address), TEXTS[:5]), expected(TEXTS[:5]), atol=1e-6
    )
    assert set(server.answered.values()) == {1}


@pytest.mark.parametrize("fault", ["slow", "unordered", "cut", "busy"])
def test_a_faulty_answer_costs_time_and_nothing_else(server: Server, fault: str) -> None:
    server.plan = {0: getattr(server, fault), 3: getattr(server, fault)}
    found = encoded(load_encoder(server.address), TEXTS)
    np.testing.assert_allclose(found, expected(TEXTS), atol=1e-6)
    assert set(server.answered.values()) == {1}


def test_a_server_that_refuses_large_requests_gets_smaller_ones(server: Server) -> None:
    server.most = 6
    np.testing.assert_allclose(
        encoded(load_encoder(server.address), TEXTS), expected(TEXTS), atol=1e-6
    )
    assert set(server.answered.values()) == {1}
    server.most = 0
    with raises(RefusedError, "answers", "413"):
        encoded(load_encoder(server.address), ["one more text"])


def test_vectors_of_another_width_and_useless_answers_are_refused(server: Server) -> None:
    server.plan = {1: server.wide, 3: server.nonsense, 4: server.half}
    with raises(EndpointError, "9 numbers", "8"):
        encoded(load_encoder(server.address), TEXTS)
    server.width = 9  # another model under the same name, later
    with raises(EndpointError, "9 numbers"):
        encoded(load_encoder(server.address), TEXTS)
    for _ in range(2):
        with raises(EndpointError, "is not a list of vectors"):
            encoded(load_encoder(server.address), TEXTS)


def test_nothing_is_kept_on_disk_with_the_cache_off(server: Server, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("COTERIE_CACHE", "off")
    for times in (1, 2):
        encoded(load_encoder(server.address), TEXTS)
        assert set(server.answered.values()) == {times} and not (tmp_path / "cache").exists()


def test_the_only_model_need_not_be_named(server: Server) -> None:
    assert load_encoder(server.address.partition("#")[0]).address == server.address


def write(folder: Path) -> Path:
    lines = [json.dumps({"text": text}) for text in TEXTS]
    (folder / "in.jsonl").write_text("\n".join(lines))
    return folder / "in.jsonl"


def test_a_run_whose_server_goes_away_asks_for_no_text_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_API_KEY", KEY)
    monkeypatch.setattr(time, "sleep", lambda wait, real=time.sleep: real(min(wait, 0.01)))

    def gone(handler: Any, texts: list[str]) -> None:
        handler.connection.close()

    server.plan = {i: gone for i in range(2, 9)}
    file, out = write(tmp_path), tmp_path / "run"
    command = ["cluster", str(file), "-k", "2", "-m", "kmeans", "--encoder", server.address]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "broken")])
    assert done.exit_code == 1 and says(done.output, "cannot be reached")
    again = CliRunner().invoke(app, [*command, "--out", str(out)])
    assert again.exit_code == 0, again.output
    assert set(server.answered.values()) == {1} and set(server.answered) == set(TEXTS)
    run = coterie.open_run(out)
    fruit = np.array([any(word in text for word in FRUIT) for text in TEXTS])
    assert not set(run.labels[fruit]) & set(run.labels[~fruit])
    found = run.predict(["a new apple"])  # of this machine: allowed
    assert found["cluster"][0].as_py() in run.labels[fruit]
    assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"
    told = [
        path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert not told and KEY not in done.output + again.output


def test_a_saved_model_sends_no_text_to_another_machine_unasked(
    server: Server, monkeypatch
) -> None:
    monkeypatch.setattr(module.EmbeddingsClient, "local", property(lambda self: False))
    encoder = EndpointEncoder(server.address, 8, asked=False)
    with raises(EndpointError, "and the texts would", "127.0.0.1"):
        encoded(encoder, TEXTS[:2])
    assert not server.asked
    monkeypatch.setenv("COTERIE_ALLOW_ENDPOINT", "example.org, 127.0.0.1")
    assert encoded(encoder, TEXTS[:2]).shape == (2, 8)


@pytest.mark.parametrize("method", ["auto", "kmeans"])
def test_methods_and_saved_models(server: Server, method: str, tmp_path: Path) -> None:
    model = coterie.METHODS[method].make(2, encoder=server.address, random_state=0).fit(TEXTS)
    model.save(tmp_path / "model", include_encoder=True)
    same = coterie.load(tmp_path / "model")
    np.testing.assert_array_equal(same.predict(TEXTS), model.labels_)
    assert set(server.answered.values()) == {1}


def test_what_cannot_work_is_refused_before_anything_is_read(server: Server) -> None:
    with raises(UsageError, "the endpoint's address"):
        coterie.cluster("absent.csv", encoder="http://me:pass@localhost/v1#tiny")
    with raises(UsageError, "makes vectors and"):
        coterie.METHODS["sccl"].make(2, encoder=server.address, random_state=0, steps=1).fit(TEXTS)
