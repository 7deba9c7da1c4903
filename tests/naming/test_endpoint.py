"""The endpoint: keys, waiting, giving up, and what it says about it."""

import logging
import ssl
import subprocess
import time

import pytest

from coterie._http import EndpointError, UnusableError, check_url, find_key
from coterie.errors import UsageError
from coterie.naming.endpoint import Endpoint
from said import raises

CHAT_NONE = {"choices": [{"message": {"content": None}}]}
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "héllo"}], "temperature": 0}


def quick(server, **settings: float) -> Endpoint:
    return Endpoint(server.url, **{"pause": 0.01, "timeout": 5.0, **settings})


def test_a_good_answer(server) -> None:
    assert quick(server).ask(BODY) == "A good name"
    assert server.seen == [BODY]
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize("status", [408, 429, 500, 529])
def test_busy_servers_are_asked_again(server, status: int) -> None:
    server.plan = [server.fail(status), server.fail(status), server.say("At last")]
    assert quick(server).ask(BODY) == "At last"
    assert len(server.seen) == 3


def test_https_is_encrypted_or_fails(server) -> None:
    """The server does not speak TLS, and sees nothing of the request."""
    secure = Endpoint(server.url.replace("http:", "https:"), tries=1, timeout=5.0)
    with raises(EndpointError, "cannot be reached") as caught:
        secure.ask(BODY)
    assert "SSL" in str(caught.value)
    assert server.seen == []


def test_an_authority_of_the_environment_is_trusted(server, tmp_path, monkeypatch) -> None:
    """On this machine, too, where no proxy of the environment is asked."""
    key, known = tmp_path / "key.pem", tmp_path / "known.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    make += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(known)]
    subprocess.run(make, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(known, key)
    server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
    secure = Endpoint(server.url.replace("http:", "https:"), tries=1, timeout=5.0)
    with raises(EndpointError, "cannot be reached", "CERTIFICATE"):
        secure.ask(BODY)
    monkeypatch.setenv("SSL_CERT_FILE", str(known))
    assert secure.ask(BODY) == "A good name"


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_will_not_pass_is_not_asked_again(server, status: int) -> None:
    server.plan = [server.fail(status)]
    with pytest.raises(EndpointError) as caught:
        quick(server).ask(BODY)
    assert f"answers {status}" in str(caught.value)
    assert len(server.seen) == 1


def test_retry_after_is_honoured(server) -> None:
    server.plan = [server.fail(429, Retry_After="0.5"), server.say("Later")]
    begun = time.monotonic()
    assert quick(server).ask(BODY) == "Later"
    assert time.monotonic() - begun >= 0.5


def test_retry_after_as_a_date(server) -> None:
    server.plan = [server.fail(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), server.say("Now")]
    assert quick(server, pause=30.0).ask(BODY) == "Now"  # that date has passed: no wait at all


def test_who_asks_for_too_long_a_wait_is_left_alone(server) -> None:
    server.plan = [server.fail(429, Retry_After="3600")]
    begun = time.monotonic()
    with raises(EndpointError, "s; try again later", "3600"):
        quick(server).ask(BODY)
    assert time.monotonic() - begun < 5 and len(server.seen) == 1


@pytest.mark.parametrize("answer", ["slow", "drip"])
def test_slow_answers_are_cut_off(server, answer: str) -> None:
    server.plan = [server.slow(3.0) if answer == "slow" else server.drip]
    begun = time.monotonic()
    with raises(EndpointError, "gave no answer in", "0.3"):
        quick(server, timeout=0.3, tries=1).ask(BODY)
    assert time.monotonic() - begun < 2


def test_nobody_there(server) -> None:
    server.stop()
    with raises(EndpointError, "cannot be reached"):
        quick(server, tries=2).ask(BODY)


@pytest.mark.parametrize(
    "body",
    [b"<html>hello</html>", b"", b"[" * 100_000, {"choices": []}, [], {"error": "no"}, CHAT_NONE,
     {"choices": [{"message": {"content": ["x"]}}]}, b"\xff\xfe\x00",
     {"choices": [{"message": {"content": "x" * (3 << 20)}}]}],  # not read to its end
    ids=range(10),
)  # fmt: skip
def test_garbage(server, body) -> None:
    server.plan = [lambda handler, _: server.send(handler, 200, body)]
    with pytest.raises(UnusableError):
        quick(server).ask(BODY)


def test_a_connection_that_breaks_off(server) -> None:
    def half(handler, body) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"{")
        handler.close_connection = True

    server.plan = [half, server.say("Whole")]
    assert quick(server).ask(BODY) == "Whole"


@pytest.mark.parametrize("status", [302, 307])
def test_redirects_are_not_followed(server, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_API_KEY", "sk-secret")
    other = type(server)()
    try:
        server.plan = [server.fail(status, Location=f"{other.url}/chat/completions")]
        with raises(EndpointError, "use that address"):
            quick(server).ask(BODY)
        assert other.seen == other.headers == []
    finally:
        other.stop()


def test_a_proxy_never_sees_a_local_endpoint(server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert quick(server).ask(BODY) == "A good name"


def test_a_refused_temperature_is_left_out_from_then_on(server) -> None:
    refusal = {"error": {"message": "'temperature' does not support 0 with this model"}}
    server.plan = [server.fail(400, refusal), server.say("One"), server.say("Two")]
    endpoint = quick(server)
    assert [endpoint.ask(BODY), endpoint.ask(BODY)] == ["One", "Two"]
    assert ["temperature" in body for body in server.seen] == [True, False, False]


def test_the_key_is_sent_and_shown_to_nobody(
    server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("COTERIE_API_KEY", "sk-secret")
    server.plan = [
        server.say("sk-secret is the key"),
        server.fail(401, b"wrong key sk-secret"),
        server.fail(500),
    ]
    endpoint = quick(server, tries=2)
    assert endpoint.ask(BODY) == "[key] is the key"
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    for _ in range(2):
        with pytest.raises(EndpointError) as caught:
            endpoint.ask(BODY)
        assert "sk-secret" not in str(caught.value)
    assert "sk-secret" not in caplog.text + repr(endpoint)


def test_whose_key_goes_where() -> None:
    both = {"COTERIE_API_KEY": "own", "OPENAI_API_KEY": "theirs"}
    assert find_key("api.openai.com", both) == find_key("localhost", both) == "own"
    theirs = {"OPENAI_API_KEY": " theirs\n"}
    assert find_key("api.openai.com", theirs) == "theirs"
    assert find_key("localhost", theirs) is None
    based = {**theirs, "OPENAI_BASE_URL": "https://gate.example/v1"}
    assert find_key("gate.example", based) == "theirs"
    assert find_key("host", {**theirs, "OPENAI_BASE_URL": "http://["}) is None


@pytest.mark.parametrize("key", ["a\nb", "a b", "schlüssel", "a\x00b"])
def test_a_broken_key_is_not_printed(key: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_key("localhost", {"COTERIE_API_KEY": key})
    assert key not in str(caught.value) and "COTERIE_API_KEY" in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "localhost:11434", "file:///etc/passwd", "ftp://x/v1", "http://", "http://x:99999/",
            "http://[::1", "http://host:port/v1", "http://u:p@x/v1", "http://x/v1?key=1",
            "http://x/v1#a", "http://x\x1b/v1"],
)  # fmt: skip
def test_addresses_that_cannot_be(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_url(url)
    assert any(
        part in str(caught.value) for part in ("the endpoint should", "the endpoint's address")
    )


def test_addresses_that_are_mended() -> None:
    assert check_url(" http://x:1/v1/ ") == "http://x:1/v1"
    assert check_url("https://x/v1/chat/completions") == "https://x/v1"


def test_an_open_line_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    Endpoint("http://10.0.0.1/v1")
    assert "not encrypted" in caplog.text
    caplog.clear()
    Endpoint("http://localhost:1/v1"), Endpoint("http://[::1]:1/v1"), Endpoint("https://x/v1")
    assert not caplog.text


def test_the_only_model_is_taken_and_several_are_listed(server) -> None:
    assert quick(server).only_model() == "tiny"
    server.models = ["a", "b\x1b[31m"]
    with raises(UsageError, "say which model of"):
        quick(server).only_model()
    server.models = []
    with raises(UsageError, "say which model of", "none that it names"):
        quick(server).only_model()


@pytest.mark.parametrize("timeout", [1e12, float("inf"), float("nan"), 0.0, -1.0])
def test_a_time_limit_that_no_socket_takes_is_refused(timeout: float) -> None:
    with pytest.raises(UsageError) as caught:
        Endpoint("http://localhost:1/v1", timeout=timeout)
    parts = ("seconds (one day", "should be a number")
    assert any(part in str(caught.value) for part in parts)
