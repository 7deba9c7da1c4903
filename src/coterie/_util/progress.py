"""How long work tells where it stands: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

# What would steer a terminal: controls but tab and line feed, and overrides of the direction.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


_quiet = False


@contextmanager
def quietly() -> Iterator[None]:
    """Say nothing inside the block, but what is wrong."""
    global _quiet
    before, _quiet = _quiet, True
    try:
        yield
    finally:
        _quiet = before


def say(message: str, *, wrong: bool = False) -> None:
    """A line on stderr; stdout is for data. What came from a file cannot steer the terminal."""
    if _quiet and not wrong:
        return
    sys.stderr.write(STEERING.sub("\ufffd", message) + "\n")
    sys.stderr.flush()


class Progress:
    """Receives the start, the advance and the end of one piece of work at a time; says nothing."""

    def start(self, name: str, total: int, done: int = 0) -> None:
        """Begin work of ``total`` units, ``done`` of which an earlier run did."""

    def advance(self, done: int, values: Mapping[str, float] | None = None) -> None:
        """``done`` units are finished; ``values`` are the newest loss terms."""

    def stop(self) -> None:
        """End the piece of work."""


class Lines(Progress):
    """Plain lines on stderr, at most one every ``every`` seconds, for logs and pipes."""

    def __init__(self, every: float = 5.0) -> None:
        self.every = every

    def start(self, name: str, total: int, done: int = 0) -> None:
        self.name, self.total, self.first, self.done = name, total, done, done
        self.begun = self.said = time.monotonic()
        self.values = ""

    def advance(self, done: int, values: Mapping[str, float] | None = None) -> None:
        self.done = done
        self.values = format_values(values) or self.values
        now = time.monotonic()
        if now - self.said >= self.every:
            self.said = now
            left = (now - self.begun) / max(done - self.first, 1) * (self.total - done)
            say(f"{self.name} {done}/{self.total}{self.values}, {left:.0f} s left")

    def stop(self) -> None:
        spent = time.monotonic() - self.begun
        say(f"{self.name} {self.done}/{self.total}{self.values}, took {spent:.1f} s")


class Bar(Progress):
    """A rich progress bar on stderr with stage, loss terms, time spent and time left."""

    def __init__(self) -> None:
        self.bar: RichProgress | None = None
        self.task: TaskID | None = None

    def start(self, name: str, total: int, done: int = 0) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress

        self.bar = RichProgress(
            TextColumn("{task.description:<12}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[values]}"),
            console=Console(stderr=True),
        )
        self.bar.start()
        self.task = self.bar.add_task(name, total=total, completed=done, values="")

    def advance(self, done: int, values: Mapping[str, float] | None = None) -> None:
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done)
            if values:
                self.bar.update(self.task, values=format_values(values).lstrip(", "))

    def stop(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def format_values(values: Mapping[str, float] | None) -> str:
    """``{"contrast": 1.5}`` becomes ``, contrast 1.5``."""
    return "".join(f", {name} {value:.4g}" for name, value in (values or {}).items())


@contextmanager
def working(progress: Progress, name: str, total: int, done: int = 0) -> Iterator[Progress]:
    """Around a piece of work: started before it and stopped behind it, however it ends."""
    progress.start(name, total, done)
    try:
        yield progress
    finally:
        progress.stop()


def make_progress(verbose: int) -> Progress:
    """Choose by ``verbose`` and by whether stderr is a terminal."""
    if verbose <= 0:
        return Progress()
    return Bar() if sys.stderr.isatty() else Lines()
