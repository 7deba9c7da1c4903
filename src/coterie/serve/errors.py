"""What the service answers when a request cannot be served."""

from __future__ import annotations

from coterie.errors import CoterieError

# Status of each answer by its code. Errors of the library that are not listed are
# the client's: what was asked for cannot be done.
STATUS = {
    "serve.not_json": 400,
    "serve.two_lengths": 400,
    "serve.no_token": 401,
    "serve.wrong_token": 401,
    "serve.bad_origin": 403,
    "serve.edits_off": 403,
    "serve.reads_only": 403,
    "serve.no_path": 404,
    "serve.no_run": 404,
    "serve.no_row": 404,
    "serve.no_method": 405,
    "serve.body_too_slow": 408,
    "edit.other_version": 409,
    "edit.changed_meanwhile": 409,
    "edit.changed_since": 409,
    "serve.body_too_large": 413,
    "serve.too_many_texts": 413,
    "serve.wrong_type": 415,
    "serve.bad_host": 421,
    "serve.fault": 500,
    "serve.not_written": 507,
    "run.held": 503,
    "run.keeps_changing": 503,
    "serve.busy": 503,
    "serve.stopping": 503,
    "serve.not_ready": 503,
    "serve.vectors_not_ready": 503,
    "serve.too_slow": 504,
}
UNPROCESSABLE = 422


class ServeError(CoterieError):
    """A request that is not served; the message says why and what to do."""


def status_of(error: CoterieError) -> int:
    """The status of the answer."""
    return STATUS.get(error.code, UNPROCESSABLE)
