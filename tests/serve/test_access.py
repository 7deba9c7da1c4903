"""Nobody gets further than allowed: tokens, other sites, names, paths, logs; nobody holds it up."""

from __future__ import annotations

import base64
import http.client
import json
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import coterie
from coterie.errors import UsageError
from coterie.serve.access import Settings, Tokens
from coterie.serve.server import serve
from said import raises

READ, EDIT = "r" * 20, "e" * 20
TOKENS = Tokens(READ, EDIT)
HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
READS = [
    ("GET", "/", None),
    ("GET", "/version", None),
    ("GET", "/clusters", None),
    ("GET", "/texts", None),
    ("GET", "/search?q=plum&by=words", None),
    ("GET", "/similar/T-1", None),
    ("POST", "/predict", {"text": "plum"}),
    ("GET", "/metrics", None),
    ("GET", "/runs", None),
]
EDITS = [
    ("POST", "/edits", {"edits": [{"rename": {"0": "New"}}], "dry_run": True}),
    ("POST", "/cut", {"clusters": "medium"}),
    ("POST", "/update", {"texts": ["ripe plum"], "dry_run": True}),
]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def basic(token: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"me:{token}".encode()).decode()}


NOBODY = [
    {}, bearer("w" * 20), basic("w" * 20), bearer(""), bearer(READ[:-1]), {"Authorization": READ},
    {"Authorization": "Basic !!!"}, {"Authorization": f"Digest {READ}"}, {"Cookie": READ},
]  # fmt: skip


def test_every_address_with_every_token(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder, tokens=TOKENS)
    client.until(lambda: client.ask("GET", "/similar/T-1", None, bearer(READ)).status == 200)
    tried = {path.partition("?")[0].replace("T-1", "{id}") for _, path, _ in (*READS, *EDITS)}
    documented = set(client.get("/openapi.json").json["paths"])
    assert tried | {"/healthz", "/readyz"} == {p for p in documented if "{run}" not in p}
    for case in NOBODY:
        for method, path, body in (*READS, *EDITS):
            answer = client.ask(method, path, body, case)
            assert answer.status == 401, (path, case)
            assert answer.headers["www-authenticate"].startswith("Basic")
    for allowed in (bearer(READ), basic(READ), bearer(EDIT), basic(EDIT)):
        for method, path, body in READS:
            assert client.ask(method, path, body, allowed).status == 200, path
    for method, path, body in EDITS:
        for headers in (bearer(READ), basic(READ)):
            assert client.ask(method, path, body, headers).code == "serve.reads_only"
            assert client.ask(method, f"/runs/tickets{path}", body, headers).status == 403
        assert client.ask(method, path, body, bearer(EDIT)).status == 200
    assert client.get("/healthz").status == client.get("/readyz").status == 200


def test_without_an_edit_token_nobody_edits(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder, tokens=Tokens(READ))
    assert client.ask("POST", "/edits", {"undo": True}, bearer(READ)).status == 403


def test_tokens_of_the_environment() -> None:
    assert Tokens.find({"COTERIE_READ_TOKEN": READ, "COTERIE_EDIT_TOKEN": EDIT}) == TOKENS
    assert not Tokens.find({}) and READ not in repr(TOKENS)
    with raises(UsageError, "the tokens to read"):
        Tokens.find({"COTERIE_READ_TOKEN": READ, "COTERIE_EDIT_TOKEN": READ})
    for bad in ("", "short", "ümlaut" * 5, "x" * 1025):
        with raises(UsageError, "plain characters", "COTERIE_READ_TOKEN"):
            Tokens.find({"COTERIE_READ_TOKEN": bad})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "desk.example.org"])
def test_other_addresses_need_a_token(host: str, finished: Path) -> None:
    with raises(UsageError, "set COTERIE_READ_TOKEN", str(host)):
        serve({"tickets": finished}, Settings(), host=host, port=0)


def test_names_that_it_answers_to(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder, hosts=("desk.example.org",))
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "[::1", ""):
        assert client.ask("GET", "/clusters", headers={"Host": host}).status == 400, host
    for host in (f"localhost:{client.port}", f"127.0.0.1:{client.port}", "[::1]:80", "LOCALHOST",
                 "Desk.Example.org:8000"):  # fmt: skip
        assert client.ask("GET", "/version", headers={"Host": host}).status == 200, host


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", ""])
def test_pages_of_other_sites_are_refused(reading: Any, origin: str) -> None:
    for method, path, body in (*READS, *EDITS):
        answer = reading.ask(method, path, body, {"Origin": origin})
        assert not [name for name in answer.headers if name.startswith("access-control")]
        if method == "POST":
            assert (answer.status, answer.code) == (403, "serve.bad_origin"), path
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    assert reading.ask("OPTIONS", "/edits", headers=asked).status == 400
    own = {"Origin": f"http://127.0.0.1:{reading.port}"}
    assert reading.ask("POST", "/predict", {"text": "plum"}, own).status == 200


def test_what_a_form_of_another_site_can_send_is_refused(reading: Any) -> None:
    body = json.dumps({"undo": True}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = reading.ask("POST", "/edits", body, {"Content-Type": kind})
        assert answer.status == 422 and "application/json" in answer.json["error"]["message"]


def test_a_site_that_is_allowed_can_read(start: Callable[..., Any], folder: Path) -> None:
    site = "https://desk.example.org"
    client = start(folder, origins=(site,), tokens=TOKENS)
    asked = {"Origin": site, "Access-Control-Request-Method": "POST"}
    asked["Access-Control-Request-Headers"] = "authorization,content-type"
    preflight = client.ask("OPTIONS", "/predict", headers=asked)
    assert preflight.headers["access-control-allow-origin"] == site
    answer = client.ask("POST", "/predict", {"text": "plum"}, {"Origin": site, **bearer(READ)})
    assert answer.status == 200 and answer.headers["access-control-allow-origin"] == site
    assert client.ask("POST", "/predict", {"text": "plum"}, {"Origin": site}).status == 401
    other = {"Origin": f"{site}.evil", **bearer(READ)}
    assert "access-control-allow-origin" not in client.ask("GET", "/version", None, other).headers


@pytest.mark.parametrize(
    "path",
    ["/../../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/manifest.json",
     "/runs/tickets/../../../etc/passwd", "/runs/tickets/manifest.json", "/report.html",
     "/runs/tickets%2f..%2f..%2fetc", "/docs", "/similar/..%2f..%2fmanifest.json", "/%00"],
)  # fmt: skip
def test_no_file_can_be_reached(reading: Any, path: str) -> None:
    answer = reading.get(path)
    assert answer.status == 404 and answer.json["error"]


def test_logs_and_headers_hold_nothing_of_the_client(
    start: Callable[..., Any], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = start(folder)
    evil = "SECRET%0d%0aSet-Cookie:%20a=b"
    for path in (f"/{evil}", f"/search?q={evil}", f"/similar/{evil}", f"/texts?{evil}=1"):
        headers = client.get(path).headers
        assert "set-cookie" not in headers and "SECRET" not in "".join(headers.values())
        assert headers["x-content-type-options"] == "nosniff" and "server" not in headers
    client.post("/predict", {"texts": ["SECRET", 7]})
    client.post("/predict", b'{"text": "SECRET')
    client.post("/edits", {"edits": [{"rename": {"0": "SECRET name"}}]})
    client.post("/update", {"texts": ["SECRET row of a client", "SECRET other"]})
    client.service.first.snapshot.rows = None  # breaks /texts
    broken = client.get("/texts?contains=SECRET")
    assert (broken.status, broken.code) == (500, "serve.fault")
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "predict 422" in said and "TypeError at" in said and "SECRET" not in said
    assert "SECRET" not in client.get("/metrics").body.decode()


HOSTILE = [
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(2)">',
    "null \x00 byte, \x1b[31mred, \u202eesrever, line\u2028separator",
    "lone \ud800 surrogate",
    "a" * 100_000,
]


def test_hostile_texts_and_names_stay_texts(
    start: Callable[..., Any], tmp_path: Path, topics: tuple[list[str], list[str]]
) -> None:
    texts, folder = [*topics[0][:30], *HOSTILE], tmp_path / "hostile"
    coterie.cluster(texts, 3, method="kmeans", encoder="tfidf", folder=folder)
    client = start(folder)
    answer = client.post("/predict", {"texts": HOSTILE})
    assert answer.status == 200 and answer.body.isascii()
    assert answer.headers["content-type"] == "application/json"
    listed = client.get("/texts?limit=1000").json["texts"]
    assert [row["text"] for row in listed][-5:-2] == HOSTILE[:3]
    assert client.post("/edits", {"edits": [{"rename": {"0": HOSTILE[0]}}]}).status == 200
    assert HOSTILE[0] in [c["name"] for c in client.get("/clusters").json["clusters"]]
    page = client.get("/").body.decode()
    assert "<script>alert" not in page and "<img src=x" not in page


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
    for sent in (b"Content-Length: 1000000000\r\n\r\n{",
                 b"Transfer-Encoding: chunked\r\n\r\n" + 4 * block):  # fmt: skip
        with client.connect() as place:
            place.sendall(HEAD + sent)
            status, said = answer_of(place)
        assert status == 413 and b"serve.body_too_large" in said
    assert client.post("/predict", {"text": "a" * 20_000}).code == "serve.body_too_large"
    assert client.post("/predict", {"text": "a" * 9_000}).status == 200


@pytest.mark.parametrize("given_up_by", ["service", "client"])
def test_work_that_is_given_up_ends_and_holds_up_nobody(
    start: Callable[..., Any], finished: Path, given_up_by: str
) -> None:
    client = start(finished, timeout=1 if given_up_by == "service" else 60)
    client.wait_for_vectors()
    assess = client.service.first.snapshot.assign(None)

    def slow(texts: list[str]) -> Any:
        time.sleep(0.1)
        return assess(texts)

    client.service.first.snapshot.assign = lambda level: slow
    body = json.dumps({"texts": ["ripe plum"] * 1000}).encode()
    places = [client.connect() for _ in range(6)]
    for place in places:
        place.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    client.until(lambda: client.service.batcher.queued > 3_000)
    assert client.get("/search?q=ripe+plum").status == 200
    assert client.service.batcher.queued > 1_000
    for place in places:
        assert given_up_by == "client" or answer_of(place)[0] == 504
        place.close()
    begun = time.monotonic()
    client.until(lambda: client.service.batcher.queued == 0)
    assert time.monotonic() - begun < 3


def test_half_a_body_and_a_closed_connection(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder)
    for _ in range(5):
        with client.connect() as place:
            place.sendall(HEAD + b'Content-Length: 30\r\n\r\n{"text": ')
    assert client.post("/predict", {"text": "plum"}).status == 200
    before = client.get("/version").json["version"]
    body = json.dumps({"edits": [{"merge": [0, 1]}]}).encode()
    with client.connect() as place:  # an edit goes on
        head = HEAD.replace(b"/predict", b"/edits")
        place.sendall(head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(0.2)
    client.until(lambda: client.get("/version").json["version"] != before)
    assert len(client.get("/clusters").json["clusters"]) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_end_that_have_begun(number: int, folder: Path) -> None:
    line = [sys.executable, "-m", "coterie", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        said = [process.stderr.readline() for _ in range(2)][1]  # reading, then serving
        port = int(said.partition("http://127.0.0.1:")[2].split()[0])
        body = json.dumps({"edits": [{"merge": [0, 1]}]}).encode()
        head = HEAD.replace(b"/predict", b"/edits")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as place:
            place.sendall(head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            threading.Timer(0.5, process.send_signal, [number]).start()
            status, answer = answer_of(place)
        assert status == 200 and b'"written":true' in answer
        assert process.wait(60) == 0
        assert "Traceback" not in process.stderr.read()
    assert len(json.loads((folder / "clusters.json").read_text("utf-8"))["clusters"]) == 3
