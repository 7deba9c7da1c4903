"""Nobody gets further than allowed: tokens, other sites, names, paths, headers, logs."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import coterie
from coterie.errors import UsageError
from coterie.serve.access import HostPolicy, Tokens
from coterie.serve.server import serve
from said import raises

READ, EDIT = "r" * 20, "e" * 20
TOKENS = Tokens.find({"COTERIE_READ_TOKEN": READ, "COTERIE_EDIT_TOKEN": EDIT})
READS = [
    ("GET", "/", None),
    ("GET", "/version", None),
    ("GET", "/live", None),
    ("GET", "/clusters", None),
    ("GET", "/texts", None),
    ("GET", "/search?q=plum&by=words", None),
    ("GET", "/similar/T-1", None),
    ("POST", "/predict", {"text": "plum"}),
    ("GET", "/metrics", None),
    ("GET", "/openapi.json", None),
    ("GET", "/runs", None),
    ("GET", "/runs/tickets", None),  # answers where the page is
]
EDITS = [
    ("POST", "/edits", {"edits": [{"lock": [0]}], "dry_run": True}),
    ("POST", "/cut", {"clusters": 2}),
    ("POST", "/update", {"texts": ["ripe plum"], "dry_run": True}),
]
OPEN = [("GET", "/healthz", None), ("GET", "/readyz", None)]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def basic(token: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"me:{token}".encode()).decode()}


NOBODY = [
    {}, bearer("w" * 20), basic("w" * 20), bearer(""), bearer(READ[:-1]), bearer(f"{READ} "[1:]),
    {"Authorization": READ}, {"Authorization": "Basic !!!"}, {"Authorization": "Bearer"},
    {"Authorization": f"Digest {READ}"}, {"Cookie": f"token={READ}"},
]  # fmt: skip


def test_every_address_with_every_token(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder, tokens=TOKENS)
    own = {route.path for route in client.service.api.routes}
    tried = {
        path.partition("?")[0].replace("T-1", "{id:path}").replace("tickets", "{run}")
        for _, path, _ in (*READS, *EDITS, *OPEN)
    }
    assert own == tried | {f"/runs/{{run}}{p}" for p in tried if f"/runs/{{run}}{p}" in own}
    for case in NOBODY:
        for method, path, body in (*READS, *EDITS):
            answer = client.ask(method, path, body, case)
            assert answer.status == 401, (path, case)
            assert answer.headers["www-authenticate"].startswith("Basic")
            assert len(answer.body) < 200
    for headers in ({}, bearer("wrong")):
        for method, path, body in OPEN:
            assert client.ask(method, path, body, headers).status == 200
    client.until(lambda: client.ask("GET", "/similar/T-1", None, bearer(READ)).status == 200)
    for allowed in (bearer(READ), basic(READ), bearer(EDIT), basic(EDIT)):
        for method, path, body in READS:
            wanted = 308 if path == "/runs/tickets" else 200
            assert client.ask(method, path, body, allowed).status == wanted, path
    for method, path, body in EDITS:
        for headers in (bearer(READ), basic(READ)):
            answer = client.ask(method, path, body, headers)
            assert (answer.status, answer.code) == (403, "serve.reads_only")
        wanted = 422 if path == "/cut" else 200  # this run has no merge tree
        assert client.ask(method, path, body, bearer(EDIT)).status == wanted
    prefixed = client.ask("POST", "/runs/tickets/edits", EDITS[0][2], bearer(READ))
    assert prefixed.status == 403


def test_without_an_edit_token_nobody_edits(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder, tokens=Tokens.find({"COTERIE_READ_TOKEN": READ}))
    answer = client.ask("POST", "/edits", {"undo": True}, bearer(READ))
    assert (answer.status, answer.code) == (403, "serve.edits_off")


def test_tokens_of_files_and_of_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{READ}\n")
    assert Tokens.find({}, file) == Tokens.find({"COTERIE_READ_TOKEN": READ})
    assert not Tokens.find({}) and repr(READ) not in repr(TOKENS)
    with raises(UsageError, "there is no file"):
        Tokens.find({}, tmp_path / "none")
    with raises(UsageError, "the tokens to read"):
        Tokens.find({"COTERIE_READ_TOKEN": READ, "COTERIE_EDIT_TOKEN": READ})
    for bad in ("", "short", "two words of some length", "ümlaut" * 5, "x" * 1025):
        with raises(UsageError, "plain characters", "COTERIE_READ_TOKEN"):
            Tokens.find({"COTERIE_READ_TOKEN": bad})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "desk.example.org"])
def test_other_addresses_need_a_token(host: str, finished: Path) -> None:
    from coterie.serve.access import Settings

    with raises(UsageError, "set COTERIE_READ_TOKEN", str(host)):
        serve({"tickets": finished}, Settings(), host=host, port=0)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:80", "",
     "127.0.0.1@evil.example", "localhost/", "[::1", "local host", "127.0.0.1\\evil"],
)  # fmt: skip
def test_other_names_are_not_answered(reading: Any, host: str) -> None:
    answer = reading.ask("GET", "/clusters", headers={"Host": host})
    assert answer.status == 400 or (answer.status, answer.code) == (421, "serve.bad_host")


def test_two_names_or_none(reading: Any) -> None:
    line = b"GET /clusters HTTP/1.1\r\n"
    end = b"Connection: close\r\n\r\n"
    twice = line + b"Host: localhost\r\nHost: evil.example\r\n" + end
    for said in (twice, line + end, line.replace(b"1.1", b"1.0") + end):
        assert reading.raw(said).split()[1] in (b"400", b"421")


def test_own_names_are_answered(start: Callable[..., Any], folder: Path) -> None:
    client = start(folder, hosts=HostPolicy(frozenset({"desk.example.org"})))
    port = client.port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", "[::1]:80", "192.0.2.7", "LOCALHOST",
                 "desk.example.org", "Desk.Example.org:8000"):  # fmt: skip
        assert client.ask("GET", "/version", headers={"Host": host}).status == 200, host


ORIGINS = ["https://evil.example", "null", "http://127.0.0.1:1", "file://", "", "http://[::",
           "https://localhost.evil.example"]  # fmt: skip


@pytest.mark.parametrize("origin", ORIGINS)
def test_pages_of_other_sites_are_refused(reading: Any, origin: str, finished: Path) -> None:
    before = (finished / "manifest.json").read_bytes()
    for method, path, body in (*READS, *EDITS):
        answer = reading.ask(method, path, body, {"Origin": origin})
        assert (answer.status, answer.code) == (403, "serve.bad_origin"), path
        assert not [name for name in answer.headers if name.startswith("access-control")]
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    assert reading.ask("OPTIONS", "/edits", headers=asked).status == 403
    assert (finished / "manifest.json").read_bytes() == before


def test_what_a_form_of_another_site_can_send_is_refused(reading: Any) -> None:
    """A browser sends these without asking, and an old one without an origin."""
    body = json.dumps({"undo": True}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = reading.ask("POST", "/edits", body, {"Content-Type": kind})
        assert (answer.status, answer.code) == (415, "serve.wrong_type")
    for more in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    ):
        assert reading.ask("GET", "/clusters", headers=more).status == 403
    navigation = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert reading.ask("GET", "/", headers=navigation).status == 200


def test_a_site_that_is_allowed_can_read(start: Callable[..., Any], folder: Path) -> None:
    site = "https://desk.example.org"
    client = start(folder, hosts=HostPolicy(origins=(site,)), tokens=TOKENS)
    asked = {"Origin": site, "Access-Control-Request-Method": "POST"}
    asked["Access-Control-Request-Headers"] = "authorization,content-type"
    preflight = client.ask("OPTIONS", "/predict", headers=asked)
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-origin"] == site
    assert "authorization" in preflight.headers["access-control-allow-headers"]
    answer = client.ask("POST", "/predict", {"text": "plum"}, {"Origin": site, **bearer(READ)})
    assert answer.status == 200 and answer.headers["access-control-allow-origin"] == site
    assert "access-control-allow-credentials" not in answer.headers
    assert client.ask("POST", "/predict", {"text": "plum"}, {"Origin": site}).status == 401
    other = client.ask("GET", "/version", headers={"Origin": "https://desk.example.org.evil"})
    assert other.status == 403 and "access-control-allow-origin" not in other.headers


def test_the_own_page_may_ask(reading: Any) -> None:
    own = {"Origin": f"http://127.0.0.1:{reading.port}"}
    assert reading.ask("POST", "/predict", {"text": "plum"}, own).status == 200


TRAVERSALS = [
    "/../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
    "/runs/../../etc/passwd", "/runs/tickets/../../../etc/passwd", "/manifest.json",
    "/runs/tickets/manifest.json", "/runs/tickets/model/config.json", "/report.html",
    "/runs/tickets%2f..%2f..%2fetc", "/assignments.csv", "/.lock", "/earlier", "/docs", "/static/x",
    "/runs/tickets/similar/../../manifest.json", "/similar/..%2f..%2fmanifest.json", "/%00", "/\\x",
]  # fmt: skip


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_file_can_be_reached(reading: Any, path: str) -> None:
    answer = reading.get(path)
    assert answer.status == 404 and answer.json["error"]
    assert b"root:" not in answer.body and b"sha256" not in answer.body


def test_headers_and_logs_hold_nothing_of_the_client(
    start: Callable[..., Any], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = start(folder)
    evil = "SECRET%0d%0aSet-Cookie:%20a=b%0d%0aGET%20/forged%20200"
    for path in (f"/{evil}", f"/search?q={evil}", f"/similar/{evil}", f"/texts?{evil}=1",
                 f"/runs/{evil}/clusters", f"/texts?contains={evil}"):  # fmt: skip
        answer = client.get(path)
        assert "set-cookie" not in answer.headers
        assert b"SECRET" not in b"".join(v.encode("latin-1") for v in answer.headers.values())
    client.post("/predict", {"text": "SECRET text of a client"})
    client.post("/predict", {"texts": ["SECRET", 7]})
    client.post("/predict", b'{"text": "SECRET')
    client.post("/edits", {"edits": [{"rename": {"0": "SECRET name"}}]})
    client.post("/edits", {"edits": [{"move": {"rows": [{"text": "SECRET"}], "to": 0}}]})
    client.post("/update", {"texts": ["SECRET row of a client", "SECRET other"]})
    client.ask("GET", "/version", headers={"User-Agent": "SECRET", "X-Forwarded-For": "SECRET"})
    client.raw(b"SECRET SECRET\r\n\r\n")
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "predict 200" in said and "SECRET" not in said.upper() and "forged" not in said
    assert "SECRET" not in client.get("/metrics").body.decode()


def test_a_fault_tells_nothing_of_the_inside(
    start: Callable[..., Any], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = start(folder)
    snapshot = client.service.first.snapshot

    def broken(index: Any) -> Any:
        raise RuntimeError("SECRET of the inside")

    snapshot.rows = broken  # type: ignore[method-assign]
    answer = client.get("/texts")
    assert (answer.status, answer.code) == (500, "serve.fault")
    assert b"SECRET" not in answer.body
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "RuntimeError at" in said and "SECRET" not in said


def test_every_answer_has_the_headers_that_keep_it_what_it_is(reading: Any) -> None:
    for path in ("/", "/clusters", "/nothing", "/healthz", "/metrics"):
        headers = reading.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


HOSTILE = [
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(2)">',
    "null \x00 byte, \x1b[31mred, \u202eesrever, line\u2028separator",
    "lone \ud800 surrogate",
    "=HYPERLINK(1)",
    "a" * 100_000,
    "\U0010ffff\ufffe",
]


def test_hostile_texts_and_names_stay_texts(
    start: Callable[..., Any], tmp_path: Path, topics: tuple[list[str], list[str]]
) -> None:
    folder = tmp_path / "hostile"
    texts = [*topics[0][:30], *HOSTILE]
    coterie.cluster(texts, 3, method="kmeans", encoder="tfidf", folder=folder)
    client = start(folder)
    client.wait_for_vectors()
    for text in HOSTILE:
        answer = client.post("/predict", {"text": text})
        assert answer.status == 200 and answer.body.isascii()
        assert answer.headers["content-type"] == "application/json"
    assert client.post("/predict", {"texts": HOSTILE}).status == 200
    listed = client.get("/texts?limit=1000").json["texts"]
    assert [row["text"] for row in listed][-7:-4] == HOSTILE[:3]
    name = HOSTILE[0]
    assert client.post("/edits", {"edits": [{"rename": {"0": name}}]}).status == 200
    assert name in [c["name"] for c in client.get("/clusters").json["clusters"]]
    page = client.get("/").body.decode()
    assert "<script>alert" not in page and "<img src=x" not in page
    assert client.get("/search?q=%3Cscript%3E").status == 200


@pytest.mark.parametrize("bad", ["\ud800", "a\udc00", "\x00", "a\x00"])
def test_no_field_of_a_request_can_hold_what_breaks_it(reading: Any, bad: str) -> None:
    row = {"id": "N", "text": "ripe plum"}
    for path, body in (
        ("predict", {"text": bad}),
        ("predict", {"texts": [bad, "plum"]}),
        ("predict", {"text": "plum", bad: bad}),
        ("update", {"texts": [f"plum {bad}"]}),
        ("update", {"rows": [row | {"id": bad}]}),
        ("update", {"rows": [row | {"text": f"plum {bad}"}]}),
        ("update", {"rows": [row | {"kind": {"a": [bad]}}]}),
        ("update", {"rows": [row | {bad: bad}]}),
        ("update", {"rows": [row], "text_column": bad}),
        ("update", {"rows": [row], "id_column": bad}),
        ("update", {"rows": [row], "n_clusters": bad}),
        ("update", {"rows": [row], "version": bad}),
        ("edits", {"edits": {bad: [0]}}),
        ("edits", {"edits": [bad]}),
        ("edits", {"edits": [{"rename": {"0": bad}}]}),
        ("edits", {"edits": [{"rename": {bad: "a"}}]}),
        ("edits", {"edits": [{"merge": [0, bad], "name": bad}]}),
        ("edits", {"edits": [{"move": {"rows": [bad], "to": 0}}]}),
        ("edits", {"edits": [{"move": {"rows": [{"text": bad}, {bad: 1}], "to": bad}}]}),
        ("edits", {"edits": [{"lock": [0]}], "version": bad}),
    ):
        more: dict[str, Any] = {} if path == "predict" else {"dry_run": True}
        answer = reading.post(f"/{path}", {**body, **more})
        assert answer.status in (200, 409, 422), (path, body)
    quoted = quote(bad, errors="surrogatepass")
    for path in ("search?q", "search?q=a&by", "texts?contains", "texts?sort", "texts?cluster", "a"):
        assert reading.get(f"/{path}={quoted}").status in (200, 404, 422)
    for path in ("similar", "runs"):
        assert reading.get(f"/{path}/{quoted}").status == 404
