r"""What can go wrong, by who can fix it; the command line turns each into an exit code.

A message says what is wrong, names the argument or row, and says how to fix it. Parameters stand
in backticks, as in :code:`\`levels\`` or :code:`\`device='cpu'\``; the command line shows them as
its options.
"""

from __future__ import annotations


class CoterieError(Exception):
    """Base of all errors that coterie raises on purpose; the message names the remedy.

    Parameters
    ----------
    message : str
    code : str, optional
        What the service answers as the code of the error. Default: the kind of error.
    """

    exit_code = 1
    code = "error"

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class UsageError(CoterieError, ValueError):
    """An argument or option has a value that cannot work."""

    exit_code = 2
    code = "usage"


class DataError(CoterieError, ValueError):
    """The input data cannot be used as they are; the message names the row."""

    exit_code = 3
    code = "data"


class MissingError(CoterieError):
    """A package, model or data set is not on this machine; the message says what brings it."""

    code = "missing"


class TrainingError(CoterieError, RuntimeError):
    """Training broke down, for instance with a loss that is not a number."""

    code = "training"


def counted(n: int, noun: str) -> str:
    """A number of things, for messages.

    Examples
    --------
    >>> counted(1, "cluster"), counted(1200, "different text")
    ('1 cluster', '1,200 different texts')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
