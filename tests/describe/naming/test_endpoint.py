"""The HTTP client: keys, waiting, giving up, and what it says about it."""

import time

import pytest

from coterie._util.http import EndpointError, UnusableError, check_url
from coterie.describe.naming.endpoint import Endpoint
from coterie.errors import UsageError

BODY = {"model": "tiny", "messages": [{"role": "user", "content": "Words: héllo"}]}


def quick(server, **settings: float) -> Endpoint:
    return Endpoint(server.url, **{"pause": 0.01, "timeout": 5.0, **settings})


def test_busy_servers_are_asked_again(server) -> None:
    server.plan = [server.fail(429), server.fail(503, Retry_After="1"), server.by_word]
    begun = time.monotonic()
    assert "About héllo" in quick(server).ask(BODY).encode().decode("unicode_escape")
    assert len(server.seen) == 3 and time.monotonic() - begun >= 1
    assert server.seen[0] == BODY and "Authorization" not in server.headers[0]


@pytest.mark.parametrize("status", [400, 401, 404, 302])
def test_what_will_not_pass_is_not_asked_again(server, status: int) -> None:
    server.plan = [server.fail(status, Location="http://elsewhere.example/")]
    with pytest.raises(EndpointError, match=f"answers {status}"):
        quick(server).ask(BODY)
    assert len(server.seen) == 1


def test_nobody_waits_for_long(server) -> None:
    server.plan = [server.fail(429, Retry_After="3600"), server.slow(3)]
    begun = time.monotonic()
    for _ in range(2):
        with pytest.raises(EndpointError):
            quick(server, timeout=0.3, tries=1).ask(BODY)
    server.stop()
    with pytest.raises(EndpointError, match="cannot be reached"):
        quick(server, tries=2).ask(BODY)
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    "body",
    [b"<html>hello</html>", b"[" * 100_000, {"choices": []}, [],
     {"choices": [{"message": {"content": None}}]},
     {"choices": [{"message": {"content": "x" * (3 << 20)}}]}],  # not read to its end
    ids=range(6),
)  # fmt: skip
def test_garbage(server, body) -> None:
    server.plan = [lambda handler, _: server.send(handler, 200, body)]
    with pytest.raises(UnusableError):
        quick(server).ask(BODY)


def test_a_model_with_one_temperature(server) -> None:
    server.plan = [server.fail(400, {"error": "temperature is not supported"}), server.by_word]
    quick(server).ask({**BODY, "temperature": 0})
    assert [("temperature" in body) for body in server.seen] == [True, False]


def test_a_key_is_sent_to_its_server_alone_and_never_shown(server, monkeypatch, caplog) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    quick(server).ask(BODY)
    monkeypatch.setenv("COTERIE_API_KEY", "sk-secret")
    server.plan = [server.fail(401, {"error": "sk-secret is wrong"})]
    with pytest.raises(EndpointError) as caught:
        quick(server).ask(BODY)
    assert "Authorization" not in server.headers[0]
    assert server.headers[1]["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in f"{caught.value} {caplog.text} {quick(server)!r}"
    monkeypatch.setenv("COTERIE_API_KEY", "a b")
    with pytest.raises(UsageError, match="COTERIE_API_KEY"):
        quick(server)


@pytest.mark.parametrize(
    "url", ["", "localhost:11434", "file:///etc/passwd", "http://", "http://x:99999/",
            "http://[::1", "http://u:p@x/v1", "http://x/v1?key=1", "http://x\x1b/v1"],
)  # fmt: skip
def test_addresses_that_cannot_be(url: str) -> None:
    with pytest.raises(UsageError):
        check_url(url)


def test_addresses_that_are_mended() -> None:
    assert check_url(" http://x:1/v1/ ") == "http://x:1/v1"
    assert check_url("https://x/v1/chat/completions") == "https://x/v1"


def test_the_only_model_is_taken_and_several_are_listed(server) -> None:
    assert quick(server).only_model() == "tiny"
    server.models = ["a", "b\x1b[31m"]
    with pytest.raises(UsageError, match="it has: a, b "):
        quick(server).only_model()
