"""What can go wrong, by who can mend it; the command line turns each into an exit code."""

from __future__ import annotations


class CoterieError(Exception):
    """Base of all errors that coterie raises on purpose; the message names the remedy."""

    exit_code = 1


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
