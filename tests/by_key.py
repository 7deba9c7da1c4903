"""Messages in tests, by their key: a new wording breaks no test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from string import Formatter
from typing import Any

import pytest

from coterie.errors import CoterieError
from coterie.messages import CLOSE, MESSAGES, OPEN, formatted


@contextmanager
def raises(
    kind: type[CoterieError], key: str | tuple[str, dict[str, Any]], /, **values: Any
) -> Iterator[pytest.ExceptionInfo[CoterieError]]:
    """Expect an error with this key; the values that are given have to be among its own.

    A list of cases may hold pairs of a key and its values in place of keys.
    """
    key, values = (key, values) if isinstance(key, str) else key
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert error.key == key, f"{error.key or 'no key'}: {error}"
    shown = {name: _plain(error.values.get(name)) for name in values}
    assert shown == values, error


def _plain(value: Any) -> Any:
    """A value without the marks around the name of a parameter."""
    return re.sub(f"[{OPEN}{CLOSE}]", "", value) if isinstance(value, str) else value


def says(output: str, key: str | tuple[str, dict[str, Any]], /, **values: Any) -> bool:
    """Whether a command printed the message with this key, wrapped in any way.

    Values that are not given may be anything, and so may the names of parameters.
    """
    key, values = (key, values) if isinstance(key, str) else key
    pattern = ""
    for text, name, spec, kind in Formatter().parse(MESSAGES[key]):
        parts = re.split(r"<\w+(?:=[^<>]*)?>", text)
        pattern += ".*?".join(re.escape(part) for part in parts)
        if name in values:
            value = repr(values[name]) if kind == "r" else values[name]
            pattern += re.escape(formatted(value, spec or ""))
        elif name is not None:
            pattern += ".*?"
    return bool(re.search(r"\s+".join(pattern.split(r"\ ")), output, re.S))
