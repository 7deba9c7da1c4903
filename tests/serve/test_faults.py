"""Clients that send slowly, too much, or half of it; a server that is told to stop."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coterie.serve import server as server_module

HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def answer_of(place: socket.socket) -> tuple[int, bytes]:
    """Status and body of the next answer on a connection."""
    found = http.client.HTTPResponse(place)
    found.begin()
    return found.status, found.read()


def test_a_body_that_is_too_large_is_refused_before_it_is_read(
    start: Callable[..., Any], finished: Path
) -> None:
    client = start(finished, max_body=10_000)
    block = b"1000\r\n" + b"a" * 4096 + b"\r\n"
    begun = time.monotonic()
    for sent in (b"Content-Length: 1000000000\r\n\r\n{",
                 b"Transfer-Encoding: chunked\r\n\r\n" + 4 * block):  # fmt: skip
        with client.connect() as place:
            place.sendall(HEAD + sent)
            status, said = answer_of(place)
        assert status == 413 and b"serve.body_too_large" in said
    assert time.monotonic() - begun < 10
    answer = client.post("/predict", {"text": "a" * 20_000})
    assert (answer.status, answer.code) == (413, "serve.body_too_large")
    assert client.post("/predict", {"text": "a" * 9_000}).status == 200


@pytest.mark.slow
@pytest.mark.parametrize("chunked", [False, True])
def test_a_gigabyte_is_refused_without_holding_it(
    start: Callable[..., Any], finished: Path, chunked: bool
) -> None:
    def resident_memory() -> float:
        said = client.get("/metrics").body.decode()
        return float(said.partition("\nprocess_resident_memory_bytes ")[2].split()[0])

    client = start(finished)
    client.post("/predict", {"text": "plum"})
    before, block = resident_memory(), b" " * (1 << 20)
    with client.connect() as place:
        kind = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 1073741824"
        place.sendall(HEAD + kind + b"\r\n\r\n")
        try:
            for _ in range(1024):
                place.sendall(b"100000\r\n" + block + b"\r\n" if chunked else block)
        except OSError:  # it has heard enough
            pass
        with contextlib.suppress(OSError):  # the answer may be lost with the rest of the body
            assert answer_of(place)[0] == 413
    assert resident_memory() - before < 64 << 20
    assert client.post("/predict", {"text": "plum"}).status == 200


def test_a_client_that_sends_its_body_slowly_is_given_up(
    start: Callable[..., Any], finished: Path
) -> None:
    client = start(finished, body_timeout=0.5)
    begun = time.monotonic()
    with client.connect() as place:
        place.sendall(HEAD + b"Content-Length: 30\r\n\r\n")
        threading.Thread(target=drip, args=(place,), daemon=True).start()
        status, said = answer_of(place)
        assert client.post("/predict", {"text": "plum"}).status == 200  # others are served
    assert status == 408 and b"serve.body_too_slow" in said
    assert time.monotonic() - begun < 20


def drip(place: socket.socket) -> None:
    try:
        for _ in range(29):
            place.sendall(b" ")
            time.sleep(0.1)
    except OSError:
        pass


def test_a_client_that_never_ends_its_headers_is_closed(
    start: Callable[..., Any], finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "HEAD_TIMEOUT", 0.5)
    client = start(finished)
    for said in (b"", b"GET /clusters HTTP/1.1\r\nHost: localhost\r\nX-A: ", HEAD):
        begun = time.monotonic()
        assert client.raw(said) == b""
        assert time.monotonic() - begun < 10
    with client.connect() as place:
        for letter in b"GET /clusters HTTP/1.1":  # each byte is news, and yet it ends
            try:
                place.sendall(bytes([letter]))
            except OSError:
                break
            time.sleep(0.1)
        try:
            assert place.recv(10) == b""
        except ConnectionError:
            pass
    assert client.get("/healthz").status == 200


def test_half_a_body_and_a_closed_connection(start: Callable[..., Any], finished: Path) -> None:
    client = start(finished)
    for _ in range(5):
        with client.connect() as place:
            place.sendall(HEAD + b'Content-Length: 30\r\n\r\n{"text": ')
    assert client.post("/predict", {"text": "plum"}).status == 200
    body = json.dumps({"texts": ["plum juice"] * 500}).encode()
    for _ in range(5):  # gone before the answer
        with client.connect() as place:
            place.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert client.post("/predict", {"text": "plum"}).status == 200
    assert client.service.batcher.alive and client.service.batcher._arriving == 0


def test_two_requests_in_one_packet_and_a_smuggled_one(reading: Any) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    said = reading.raw(one + b"\r\n" + one + b"Connection: close\r\n\r\n")
    assert said.count(b"HTTP/1.1 200") == 2
    both = (
        HEAD
        + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"
    )
    said = reading.raw(both, wait=2)
    assert said.startswith(b"HTTP/1.1 400") and said.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("given_up_by", ["service", "client"])
def test_requests_for_much_work_hold_up_nobody_and_end_when_given_up(
    given_up_by: str, folder: Path, warm_python: list[str]
) -> None:
    process, port = begin(
        warm_python, folder, "--timeout", "3" if given_up_by == "service" else "60"
    )
    body = json.dumps({"texts": ["a." * 10_000] * 390}).encode()
    asked = HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body

    def get(path: str) -> tuple[int, bytes, float]:
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), timeout=60) as place:
            place.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            return *answer_of(place), time.monotonic() - begun

    def queued() -> float:
        line = next(x for x in get("/metrics")[1].splitlines() if x.startswith(b"coterie_queued"))
        return float(line.split()[-1])

    places = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(6)]
    try:
        for place in places:
            place.sendall(asked)
        time.sleep(0.5)
        took = [get("/search?q=ripe+plum") for _ in range(4)]
        assert [status for status, _, _ in took] == [200] * 4
        assert max(seconds for _, _, seconds in took) < 1
        assert queued() > 0
        for place in places:
            assert given_up_by == "client" or answer_of(place)[0] == 504
            place.close()
        time.sleep(2)
        assert queued() == 0
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_an_edit_goes_on_when_its_client_is_gone(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder)
    before = client.get("/version").json["version"]
    body = json.dumps({"edits": [{"merge": [0, 1]}]}).encode()
    head = HEAD.replace(b"/predict", b"/edits")
    with client.connect() as place:
        place.sendall(head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(0.2)
    client.until(lambda: client.get("/version").json["version"] != before)
    assert len(client.get("/clusters").json["clusters"]) == 3
    assert not client.service._tasks


def begin(
    python: list[str], folder: Path, *more: str, **environment: str
) -> tuple[subprocess.Popen[str], int]:
    """The command in a process of its own, and its port."""
    process = subprocess.Popen(
        [*python, "-m", "coterie", "serve", str(folder), "--port", "0", *more],
        stderr=subprocess.PIPE, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("serving"):
            return process, int(line.partition("http://127.0.0.1:")[2].split()[0])
    raise AssertionError("the service did not start")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_end_that_have_begun(
    number: int, folder: Path, warm_python: list[str]
) -> None:
    process, port = begin(warm_python, folder)
    body = json.dumps({"edits": [{"merge": [0, 1]}]}).encode()
    head = HEAD.replace(b"/predict", b"/edits")
    with socket.create_connection(("127.0.0.1", port), timeout=60) as place:
        place.sendall(head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(0.3)
        process.send_signal(number)
        status, said = answer_of(place)
        assert status == 200 and b'"written":true' in said
    assert process.wait(60) == 0
    assert process.stderr is not None and "Traceback" not in process.stderr.read()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    assert len(json.loads((folder / "clusters.json").read_text("utf-8"))["clusters"]) == 3
