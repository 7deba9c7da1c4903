"""Errors as answers: a status, a code, and a message that says what to do."""

from __future__ import annotations

import json
import logging
import traceback
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from coterie._util.files import plain
from coterie.errors import CoterieError

log = logging.getLogger(__name__)

# Errors of the library that are not the client's fault; any other means that what was asked for
# cannot be done.
STATUS = {
    "edit.other_version": 409,
    "edit.changed_meanwhile": 409,
    "edit.changed_since": 409,
    "run.held": 503,
    "run.keeps_changing": 503,
}
HEADERS = {
    401: {"www-authenticate": 'Basic realm="coterie", charset="UTF-8"'},
    503: {"retry-after": "1"},
}


class ServeError(CoterieError):
    """A request that is not served."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message, code=f"serve.{code}")
        self.status = status


def reply(value: dict[str, Any], status: int = 200) -> Response:
    """JSON in ASCII, which holds any text, also half characters."""
    body = json.dumps(value, separators=(",", ":"), allow_nan=False, default=plain)
    return Response(body, status, HEADERS.get(status), "application/json")


def failure(error: CoterieError) -> Response:
    """The answer to a request that is not served."""
    status = error.status if isinstance(error, ServeError) else STATUS.get(error.code, 422)
    return reply({"error": {"code": error.code, "message": str(error)}}, status)


def fault(error: Exception) -> ServeError:
    """What is answered to an error of our own; the log says where, and quotes no text."""
    where = traceback.extract_tb(error.__traceback__)[-3:]
    places = ", ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in where)
    log.error("%s at %s", type(error).__name__, places)
    return ServeError(500, "fault", "unexpected error; this is a fault of coterie.")


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, CoterieError)
    return failure(request.app.state.service.without_paths(error))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    if place or first["type"] == "json_invalid":
        return failure(ServeError(422, "invalid", f"{place:.80}: {first['msg']:.200}."))
    said = "send an object of JSON, with the header 'Content-Type: application/json'."
    return failure(ServeError(422, "invalid", said))


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error.__cause__, CoterieError):  # FastAPI wraps what reading a body raises
        return failure(error.__cause__)
    assert isinstance(error, HTTPException)
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    return failure(ServeError(error.status_code, code, f"{error.detail}."))


async def _late(request: Request, error: Exception) -> Response:
    return failure(ServeError(504, "too_slow", "it takes too long; send less at a time."))


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)


HANDLERS: Any = {
    CoterieError: _known,
    RequestValidationError: _invalid,
    HTTPException: _refused,
    TimeoutError: _late,
    ClientDisconnect: _gone,
}
