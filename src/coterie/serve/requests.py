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
        raise ServeError("serve.two_lengths")


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
        raise ServeError("serve.wrong_type")
    try:
        with fail_after(seconds):
            body = await _read_body(request, most)
    except TimeoutError as error:
        raise ServeError("serve.body_too_slow", seconds=seconds) from error
    if len(body) <= LARGE:
        found = parse_object(body)
    else:
        found = await asyncio.get_running_loop().run_in_executor(None, parse_object, body)
    for value in found.values():
        if isinstance(value, (list, dict)) and len(value) > items:
            raise ServeError("serve.too_many_texts", given=len(value), most=items)
    return Parsed(request, found)


async def _read_body(request: Request, most: int) -> bytes:
    announced = request.headers.get("content-length", "0")
    if not announced.isdigit() or int(announced) > most:
        raise ServeError("serve.body_too_large", most=most)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise ServeError("serve.body_too_large", most=most)
    return bytes(body)


def parse_object(body: bytes) -> dict[str, Any]:
    """An object of JSON; refuse what is none, with the reason."""
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise ServeError("serve.not_json", why="it is not UTF-8") from error
    except RecursionError as error:
        raise ServeError("serve.not_json", why="it is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ServeError("serve.not_json", why=f"{error.msg} at {error.pos}") from error
    except ValueError as error:  # a number of thousands of digits, or none
        raise ServeError("serve.not_json", why="a number cannot be read") from error
    if not isinstance(found, dict):
        raise ServeError("serve.not_json", why='an object is wanted, as in {"text": "..."}')
    return found


def _no_constant(said: str) -> float:
    raise ValueError(said)


def refusal(error: RequestValidationError) -> ServeError:
    """What is wrong with the first value that cannot be used."""
    found = error.errors()
    (place, field, *inner), given = found[0]["loc"], found[0].get("input")
    if field == "q":
        return ServeError("serve.bad_query", most=QUERY)
    name = ".".join([field, *(str(part) for part in inner if isinstance(part, int))])
    said = [one["msg"].partition(" should ")[2] for one in found if one["loc"][1] == field]
    wanted = " or ".join(said[:3])
    if place == "query":
        return ServeError("serve.bad_parameter", name=name, wanted=wanted, given=given)
    return ServeError("serve.bad_value", name=name, wanted=wanted)
