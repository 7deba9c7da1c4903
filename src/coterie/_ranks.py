"""Which of several processes this is, when torchrun started more than one for the same command."""

from __future__ import annotations

import os


def started() -> int:
    """How many processes share the work; 1 without torchrun.

    ``torchrun`` sets environment variables. All of them have to be there: some job
    systems set one or the other for purposes of their own.
    """
    if not {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys():
        return 1
    size = os.environ["WORLD_SIZE"]
    return max(1, int(size)) if size.isdigit() else 1


def is_first() -> bool:
    """Whether this process is the one that writes files and talks."""
    return started() == 1 or os.environ["RANK"] == "0"
