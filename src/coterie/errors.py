"""What can go wrong, by who can fix it; the command line turns each into an exit code."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable
from typing import Any

from coterie.messages import CLOSE, IS, MESSAGES, OPEN, fill
from coterie.messages import NOTHING as NOTHING
from coterie.messages import param as param

_MARKED = re.compile(f"{OPEN}([^{IS}{CLOSE}]*)(?:{IS}([^{CLOSE}]*))?{CLOSE}")


class CoterieError(Exception):
    """Base of all errors that coterie raises on purpose; the message names the remedy.

    Parameters
    ----------
    key : str
        Which message of :mod:`coterie.messages`; the attribute ``key`` keeps it. A text that is
        no key is the message itself, and ``key`` is then empty.
    **values
        What the message is filled with; the attribute ``values`` keeps it.

    Examples
    --------
    >>> error = UsageError(f"{param('device', 'cuda')}: there is none; see {param('device')}.")
    >>> str(error)
    "device='cuda': there is none; see device."
    >>> error.shown(lambda name, value: f"--{name}")
    '--device: there is none; see --device.'
    """

    exit_code = 1

    def __init__(self, key: str = "", /, **values: object) -> None:
        self.key = key if key in MESSAGES else ""
        self.values = values
        self._marked = fill(MESSAGES[key], values) if self.key else str(key)
        super().__init__(self.shown(_in_python))

    def shown(self, write: Callable[[str, Any], str]) -> str:
        """The message with its parameters as ``write`` writes them, from name and value.

        The value is :data:`coterie.messages.NOTHING` where a parameter is only named.
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


def _in_python(name: str, value: object) -> str:
    return name if value is NOTHING else f"{name}={value!r}"


def _value(shown: str | None) -> Any:
    if shown is None:
        return NOTHING
    try:
        return literal_eval(shown)
    except (ValueError, SyntaxError):
        return shown
