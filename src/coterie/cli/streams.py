"""The standard streams as the program finds and leaves them."""

from __future__ import annotations

import io
import logging
import os
import sys
from pathlib import Path


def open_streams() -> None:
    """Make the standard streams usable, also those that the caller has closed.

    What goes into a file or a pipe is UTF-8 as all tables of coterie are; a terminal has its own
    encoding, and shows what it cannot as an escape.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # else the next file that is opened would be taken for a standard stream
    os.close(handle)
    nothing = Path(os.devnull)
    sys.stdin = sys.stdin or nothing.open(encoding="utf-8")
    sys.stdout = sys.stdout or nothing.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or nothing.open("w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            terminal = stream.isatty() or stream is sys.stderr
            kept = stream.encoding if terminal else "utf-8"
            stream.reconfigure(encoding=kept, errors="backslashreplace")


def log_details(wanted: bool) -> None:
    """Log to stderr, if that is wanted."""
    if wanted:
        logging.basicConfig(format="%(name)s: %(message)s", stream=sys.stderr)
        logging.getLogger("coterie").setLevel(logging.INFO)
