"""Errors and messages in tests, by what has to be in them: a field, a value, a word or two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from coterie.errors import CoterieError


@contextmanager
def raises(
    kind: type[CoterieError], *parts: str | Iterable[str]
) -> Iterator[pytest.ExceptionInfo[CoterieError]]:
    """Expect an error of this kind whose message has these parts."""
    with pytest.raises(kind) as caught:
        yield caught
    assert says(str(caught.value), *parts), caught.value


def says(output: str, *parts: str | Iterable[str]) -> bool:
    """Whether all parts were printed, wrapped in any way; a list stands for the parts in it."""
    flat = [p for part in parts for p in ([part] if isinstance(part, str) else part)]
    shown = " ".join(output.split())
    return all(" ".join(part.split()) in shown for part in flat)
