"""Bodies of JSON, read with limits, and what is wrong with a request."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from anyio import fail_after
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers

from coterie.serve.errors import ServeError
from coterie.serve.schema import QUERY

LARGE = 1 << 18  # bytes of a body that is parsed in a thread


class Parsed(Request):
    """A request whose body is an object of JSON that was read already."""

    def __init__(self, request: Request, value: dict[str, Any]) -> None:
        super().__init__(request.scope, request.receive)
        self._value = value

    async def body(self) -> bytes:
        return b"{}"

    async def json(self) -> dict[str, Any]:
        return self._value


def check_length(headers: Headers) -> None:
    """Refuse two lengths of one body: a proxy may take the other one."""
    if "content-length" in headers and "transfer-encoding" in headers:
        raise ServeError(
            "the request has Content-Length and Transfer-Encoding, which contradict each other; "
            "send one of them.",
            code="serve.two_lengths",
        )


async def read_json(request: Request, most: int, seconds: float, items: int) -> Parsed:
    """The request with its body, which has to be an object of JSON.

    Parameters
    ----------
    request : Request
    most : int
        Bytes that the body may have.
    seconds : float
        That a client may take to send it.
    items : int
        That each list of it may have.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ServeError(
            "send JSON, with the header 'Content-Type: application/json'.", code="serve.wrong_type"
        )
    try:
        with fail_after(seconds):
            body = await _read_body(request, most)
    except TimeoutError as error:
        raise ServeError(
            f"the request did not arrive within {seconds:g} seconds; send it again.",
            code="serve.body_too_slow",
        ) from error
    if len(body) <= LARGE:
        found = parse_object(body)
    else:
        found = await asyncio.get_running_loop().run_in_executor(None, parse_object, body)
    for value in found.values():
        if isinstance(value, (list, dict)) and len(value) > items:
            raise ServeError(
                f"{len(value):,} at a time; at most {items:,} are allowed. Send fewer, or start "
                "the service with a larger --max-texts.",
                code="serve.too_many_texts",
            )
    return Parsed(request, found)


async def _read_body(request: Request, most: int) -> bytes:
    announced = request.headers.get("content-length", "0")
    if not announced.isdigit() or int(announced) > most:
        raise ServeError(
            f"the request is larger than {most:,} bytes; send less at a time, or start the "
            "service with a larger --max-body.",
            code="serve.body_too_large",
        )
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise ServeError(
                f"the request is larger than {most:,} bytes; send less at a time, or start the "
                "service with a larger --max-body.",
                code="serve.body_too_large",
            )
    return bytes(body)


def parse_object(body: bytes) -> dict[str, Any]:
    """An object of JSON; refuse what is none, with the reason."""
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise ServeError(
            f"the request is not JSON: {'it is not UTF-8':.200}.", code="serve.not_json"
        ) from error
    except RecursionError as error:
        raise ServeError(
            f"the request is not JSON: {'it is nested too deeply':.200}.", code="serve.not_json"
        ) from error
    except json.JSONDecodeError as error:
        raise ServeError(
            f"the request is not JSON: {f'{error.msg} at {error.pos}':.200}.", code="serve.not_json"
        ) from error
    except ValueError as error:  # a number of thousands of digits, or none
        raise ServeError(
            f"the request is not JSON: {'a number cannot be read':.200}.", code="serve.not_json"
        ) from error
    if not isinstance(found, dict):
        why = 'an object is wanted, as in {"text": "..."}'
        raise ServeError(f"the request is not JSON: {why:.200}.", code="serve.not_json")
    return found


def _no_constant(said: str) -> float:
    raise ValueError(said)


def refusal(error: RequestValidationError) -> ServeError:
    """What is wrong with the first value that cannot be used."""
    found = error.errors()
    (place, field, *inner), given = found[0]["loc"], found[0].get("input")
    if field == "q":
        return ServeError(
            f"q should be a text of 1 to {QUERY:,} characters.", code="serve.bad_query"
        )
    name = ".".join([field, *(str(part) for part in inner if isinstance(part, int))])
    said = [one["msg"].partition(" should ")[2] for one in found if one["loc"][1] == field]
    wanted = " or ".join(said[:3])
    if place == "query":
        return ServeError(f"{name} should {wanted}; got {given!r:.80}.", code="serve.bad_parameter")
    return ServeError(f"{name} should {wanted}.", code="serve.bad_value")
