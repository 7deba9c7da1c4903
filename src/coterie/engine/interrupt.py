"""Ctrl-C once asks the loop to stop at the end of a step; twice stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def asked_to_stop(enabled: bool) -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether somebody pressed Ctrl-C inside the block.

    Signals reach only the main thread; elsewhere, and when not enabled, nothing changes.
    """
    if not enabled or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked: list[int] = []
    before: Any = signal.getsignal(signal.SIGINT)

    def first(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, first)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, before)
