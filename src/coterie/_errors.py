"""What can go wrong, by who can mend it; the command line turns each into an exit code."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable
from typing import Any

NOTHING = object()  # stands for a parameter that is named without a value
# Parameters are marked in messages: Python and the command line write them differently.
_OPEN, _IS, _CLOSE = "\ue0f0", "\ue0f1", "\ue0f2"
_MARKED = re.compile(f"{_OPEN}([^{_IS}{_CLOSE}]*)(?:{_IS}([^{_CLOSE}]*))?{_CLOSE}")


def param(name: str, value: Any = NOTHING) -> str:
    """A parameter for a message, with a value or without.

    Examples
    --------
    >>> error = UsageError(f"{param('device', 'cuda')}: there is none; see {param('device')}.")
    >>> str(error)
    "device='cuda': there is none; see device."
    >>> error.shown(lambda name, value: f"--{name}")
    '--device: there is none; see --device.'
    """
    given = "" if value is NOTHING else f"{_IS}{value!r}"
    return f"{_OPEN}{name}{given}{_CLOSE}"


class CoterieError(Exception):
    """Base of all errors that coterie raises on purpose; the message names the remedy."""

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        self._marked = str(message)
        super().__init__(self.shown(_in_python))

    def shown(self, write: Callable[[str, Any], str]) -> str:
        """The message with its parameters as ``write`` writes them, from name and value.

        The value is :data:`NOTHING` where a parameter is only named.
        """
        return _MARKED.sub(lambda found: write(found[1], _value(found[2])), self._marked)


class UsageError(CoterieError, ValueError):
    """An argument or option has a value that cannot work."""

    exit_code = 2


class DataError(CoterieError, ValueError):
    """The input data cannot be used as they are; the message names the row."""

    exit_code = 3


class MissingError(CoterieError):
    """A package, model or data set is not on this machine; the message says what brings it."""


class TrainingError(CoterieError, RuntimeError):
    """Training broke down, for instance with a loss that is not a number."""


def _in_python(name: str, value: Any) -> str:
    return name if value is NOTHING else f"{name}={value!r}"


def _value(shown: str | None) -> Any:
    if shown is None:
        return NOTHING
    try:
        return literal_eval(shown)
    except (ValueError, SyntaxError):
        return shown
