"""Bodies of JSON, read with limits, and what is wrong with a request."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from anyio import fail_after
from fastapi import Request
from fastapi.exceptions import RequestValidationError

from coterie.editing.parse import once
from coterie.serve.access import Settings
from coterie.serve.errors import ServeError
from coterie.serve.schema import QUERY

LARGE = 1 << 18  # bytes of a body that is parsed in a thread
IN_JSON = {type(None): "null", bool: "true or false", list: "a list", dict: "an object"}


class Parsed(Request):
    """A request whose body is an object of JSON that was read already."""

    def __init__(self, request: Request, value: dict[str, Any]) -> None:
        super().__init__(request.scope, request.receive)
        self._value = value

    async def body(self) -> bytes:
        return b"{}"

    async def json(self) -> dict[str, Any]:
        return self._value


async def read_json(request: Request, settings: Settings) -> Parsed:
    """The request with its body, which has to be an object of JSON within the limits."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        said = "send JSON, with the header 'Content-Type: application/json'."
        raise ServeError(415, "wrong_type", said)
    try:
        with fail_after(settings.body_timeout):
            body = await _read_body(request, settings.max_body)
    except TimeoutError as error:
        said = (
            f"the request did not arrive within {settings.body_timeout:g} seconds; send it again."
        )
        raise ServeError(408, "body_too_slow", said) from error
    if len(body) <= LARGE:
        found = parse_object(body)
    else:
        found = await asyncio.get_running_loop().run_in_executor(None, parse_object, body)
    for value in found.values():
        if isinstance(value, (list, dict)) and len(value) > settings.max_texts:
            raise ServeError(
                413,
                "too_many_texts",
                f"{len(value):,} at a time; at most {settings.max_texts:,} are allowed. Send "
                "fewer, or start the service with a larger --max-texts.",
            )
    return Parsed(request, found)


async def _read_body(request: Request, most: int) -> bytes:
    announced = request.headers.get("content-length", "0")
    body = bytearray()
    if announced.isdigit() and int(announced) <= most:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                break
        else:
            return bytes(body)
    raise ServeError(
        413,
        "body_too_large",
        f"the request is larger than {most:,} bytes; send less at a time, or start the service "
        "with a larger --max-body.",
    )


def parse_object(body: bytes) -> dict[str, Any]:
    """An object of JSON; refuse what is none, with the reason."""
    try:
        text = body.decode("utf-8")
        found = json.loads(text, parse_constant=_no_constant, object_pairs_hook=once)
        if not isinstance(found, dict):
            raise ValueError('an object is wanted, as in {"text": "..."}')
    except (ValueError, RecursionError) as error:
        raise ServeError(400, "not_json", f"the request is not JSON: {error!s:.200}.") from error
    return found


def _no_constant(said: str) -> float:
    raise ValueError(f"{said} is no number of JSON")


def refusal(error: RequestValidationError) -> ServeError:
    """What is wrong with the first value that cannot be used."""
    found = error.errors()
    where, given = found[0]["loc"], found[0].get("input")
    place, field, *inner = where if len(where) > 1 else (*where, given)  # a key of half characters
    in_query = place == "query"
    if found[0]["type"] == "extra_forbidden" or len(where) == 1:
        code = "unknown_parameter" if in_query else "unknown_key"
        said = f"{field!r:.80} is not known here; /openapi.json lists what is."
        return ServeError(422, code, said)
    if field == "edits":
        said = 'edits should be a list, as in [{"merge": [3, 7]}].'
        return ServeError(422, "edits_are_a_list", said)
    if field == "texts" and not inner:
        return ServeError(422, "no_texts", "texts should be a list of at least one text.")
    if field in ("text", "texts"):
        kind, number = IN_JSON.get(type(given), "a number"), (inner or [0])[0] + 1
        said = f"text {number} should be a string; it is {kind}."
        return ServeError(422, "not_a_text", said)
    if field == "q":
        said = f"q should be a text of 1 to {QUERY:,} characters."
        return ServeError(422, "bad_query", said)
    if found[0]["type"] == "missing":
        return ServeError(422, "missing_key", f"{field} is missing; /openapi.json has an example.")
    name = ".".join([field, *(str(part) for part in inner if isinstance(part, int))])
    wanted = [one["msg"].partition(" should ")[2] for one in found if one["loc"][1] == field]
    said = f"{name} should {' or '.join(wanted[:3])}"
    if in_query:
        return ServeError(422, "bad_parameter", f"{said}; got {given!r:.80}.")
    return ServeError(422, "bad_value", f"{said}.")
