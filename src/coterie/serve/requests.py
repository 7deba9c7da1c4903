"""What clients ask: parameters of an address and bodies of JSON, checked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request

from coterie.serve.errors import ServeError

LARGE = 1 << 18  # bytes of a body that is parsed in a thread


class Query:
    """The parameters of an address; those that are not known are refused."""

    def __init__(self, request: Request, *known: str) -> None:
        self.values = dict(request.query_params)
        for name in self.values:
            if name not in known:
                said = ", ".join(known) or "none"
                raise ServeError("serve.unknown_parameter", name=name, known=said)

    def text(self, name: str) -> str:
        """A text; empty if it is not there."""
        return self.values.get(name, "")

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number."""
        said = self.values.get(name, str(default))
        if not said.isascii() or not said.isdigit() or len(said) > 15:
            raise ServeError("serve.bad_parameter", name=name, wanted="a number", given=said)
        if not least <= int(said) <= most:
            wanted = f"from {least} to {most:,}"
            raise ServeError("serve.bad_parameter", name=name, wanted=wanted, given=said)
        return int(said)

    def number(self, name: str) -> float | None:
        """A number from 0 to 1; None if it is not there."""
        if name not in self.values:
            return None
        try:
            found = float(self.values[name])
        except ValueError:
            found = -1.0
        if not 0 <= found <= 1:
            raise ServeError(
                "serve.bad_parameter", name=name, wanted="from 0 to 1", given=self.values[name]
            )
        return found

    def choice(self, name: str, known: Sequence[str], default: str) -> str:
        """One of some words."""
        said = self.values.get(name, default)
        if said not in (*known, default):
            wanted = f"one of {', '.join(known)}"
            raise ServeError("serve.bad_parameter", name=name, wanted=wanted, given=said)
        return said

    def cluster(self) -> int | None:
        """The number of a cluster; -1 is none."""
        said = self.values.get("cluster")
        if said is None:
            return None
        return -1 if said == "-1" else self.whole("cluster", 0, 0, 1 << 40)


def check_length(headers: Headers) -> None:
    """Refuse two lengths of one body: a proxy may take the other one."""
    if "content-length" in headers and "transfer-encoding" in headers:
        raise ServeError("serve.two_lengths")


async def read_json(request: Request, most: int, seconds: float) -> dict[str, Any]:
    """The body, which has to be an object of JSON.

    Parameters
    ----------
    request : Request
    most : int
        Bytes that it may have.
    seconds : float
        That a client may take to send it.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ServeError("serve.wrong_type")
    try:
        body = await asyncio.wait_for(_read_body(request, most), seconds)
    except asyncio.TimeoutError as error:
        raise ServeError("serve.body_too_slow", seconds=seconds) from error
    if len(body) <= LARGE:
        return parse_object(body)
    return await asyncio.get_running_loop().run_in_executor(None, parse_object, body)


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


def check_keys(body: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse keys that the endpoint does not know."""
    for key in body:
        if key not in known:
            raise ServeError("serve.unknown_key", key=key, known=", ".join(known))


def flag(body: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """A value that is true or false."""
    found = body.get(name, default)
    if not isinstance(found, bool):
        raise ServeError("serve.bad_value", name=name, wanted="true or false")
    return found


def option(body: Mapping[str, Any], name: str) -> str | int:
    """The value of an option of an update."""
    found = body[name]
    if name in ("text_column", "id_column") and isinstance(found, str):
        return found
    if name == "n_clusters" and not isinstance(found, bool):
        if found == "auto" or (isinstance(found, int) and found > 0):
            return str(found) if found == "auto" else int(found)
    wanted = 'a number, or "auto"' if name == "n_clusters" else "a text"
    raise ServeError("serve.bad_value", name=name, wanted=wanted)


def rows_of(body: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
    """Rows of an update: objects with one value for each column."""
    rows = body["rows"]
    if not isinstance(rows, list) or not rows or not all(isinstance(r, dict) for r in rows):
        raise ServeError("serve.bad_value", name="rows", wanted="a list of objects")
    if "texts" in body:
        raise ServeError("serve.text_or_texts")
    if len(rows) > most:
        raise ServeError("serve.too_many_texts", given=len(rows), most=most)
    return rows


_IN_JSON = {  # what a value is called there
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def texts_of(body: Mapping[str, Any], most: int) -> list[str]:
    """The texts of a request: ``text`` or ``texts``."""
    if ("text" in body) == ("texts" in body):
        raise ServeError("serve.text_or_texts")
    texts = body["texts"] if "texts" in body else [body["text"]]
    if not isinstance(texts, list) or not texts:
        raise ServeError("serve.no_texts")
    if len(texts) > most:
        raise ServeError("serve.too_many_texts", given=len(texts), most=most)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise ServeError("serve.not_a_text", number=number, kind=_IN_JSON[type(text)])
    return texts


def wanted_version(request: Request, body: Mapping[str, Any]) -> str | None:
    """The version that a client has seen: the header If-Match, or ``version`` in the body."""
    header = request.headers.get("if-match")
    if header is not None and header.strip() != "*":
        return header.strip().removeprefix("W/").strip('"')
    found = body.get("version")
    if found is not None and not isinstance(found, str):
        raise ServeError("serve.bad_value", name="version", wanted="a text")
    return found
