"""The standard streams as the program finds and leaves them."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Any


class _Closed(io.TextIOBase):
    """In place of a standard stream that the caller has closed: whoever uses it is told."""

    def __init__(self, name: str) -> None:
        self.named = name

    def _refuse(self, *_: Any) -> Any:
        from coterie.errors import CoterieError

        raise CoterieError(f"{self.named} is closed; open it, or name a file instead.")

    read = read1 = readinto = readline = write = __next__ = _refuse

    def readable(self) -> bool:
        return True

    writable = readable

    @property
    def buffer(self) -> Any:
        """The same without an encoding."""
        return self

    def fileno(self) -> int:
        raise OSError(errno.EBADF, f"{self.named} is closed")


def open_streams() -> None:
    """Make the standard streams usable: none of them is missing, and no text stops them.

    What goes into a file or a pipe is UTF-8 as all tables of coterie are; a terminal has its own
    encoding, and shows what it cannot as an escape.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # else the next file that is opened would be taken for a standard stream
    os.close(handle)
    sys.stdin = sys.stdin or _Closed("standard input")
    sys.stdout = sys.stdout or _Closed("standard output")
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            terminal = stream.isatty() or stream is sys.stderr
            kept = stream.encoding if terminal else "utf-8"
            stream.reconfigure(encoding=kept, errors="backslashreplace")
