"""Why a request is not served: status and code of the answer, and what to do."""

from __future__ import annotations

from coterie.errors import CoterieError

# Errors of the library that are not the client's fault; any other means that what was asked for
# cannot be done.
STATUS = {
    "edit.other_version": 409,
    "edit.changed_meanwhile": 409,
    "edit.changed_since": 409,
    "run.held": 503,
    "run.keeps_changing": 503,
}


class ServeError(CoterieError):
    """A request that is not served."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message, code=f"serve.{code}")
        self.status = status


def status_of(error: CoterieError) -> int:
    """The status of the answer."""
    return error.status if isinstance(error, ServeError) else STATUS.get(error.code, 422)


def stopping() -> ServeError:
    """The answer to what comes after the signal to stop."""
    return ServeError(503, "stopping", "the service is stopping; try again when it is back.")
