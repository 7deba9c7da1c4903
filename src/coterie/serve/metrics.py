"""Counts and times of the service, as text that Prometheus reads."""

from __future__ import annotations

import os
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def quoted(value: str) -> str:
    r"""A value of a label: no value can end it, or begin a line of its own.

    Examples
    --------
    >>> quoted('a "run"\nof mine\\')
    '"a \\"run\\"\\nof mine\\\\"'
    """
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'


class Counter:
    """Numbers that only grow, one for each combination of labels."""

    kind = "counter"

    def __init__(self, name: str, about: str, labels: Sequence[str] = ()) -> None:
        self.name, self.about, self.labels = name, about, labels
        self._lock = threading.Lock()
        self._values: dict[tuple[str, ...], float] = {} if labels else {(): 0}

    def add(self, *values: str, by: float = 1) -> None:
        """Count one more, or several."""
        with self._lock:
            self._values[values] = self._values.get(values, 0) + by

    def lines(self) -> list[str]:
        """The samples."""
        with self._lock:
            pairs = sorted(self._values.items())
        return [f"{self.name}{_braces(self.labels, key)} {value:.15g}" for key, value in pairs]


class Histogram:
    """How often values fell below each of some bounds."""

    kind = "histogram"

    def __init__(
        self, name: str, about: str, bounds: Sequence[float], labels: Sequence[str] = ()
    ) -> None:
        self.name, self.about, self.bounds, self.labels = name, about, bounds, labels
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Count a value."""
        with self._lock:
            counts = self._counts.setdefault(labels, [0] * (len(self.bounds) + 1))
            counts[bisect_left(self.bounds, value)] += 1
            self._sums[labels] = self._sums.get(labels, 0.0) + value

    def lines(self) -> list[str]:
        """The samples: counts up to each bound, sum and count."""
        with self._lock:
            found = [(k, list(counts), self._sums[k]) for k, counts in sorted(self._counts.items())]
        out = []
        names = (*self.labels, "le")
        for key, counts, total in found:
            below = 0
            for bound, count in zip([*map(str, self.bounds), "+Inf"], counts, strict=True):
                below += count
                out.append(f"{self.name}_bucket{_braces(names, (*key, bound))} {below}")
            out.append(f"{self.name}_sum{_braces(self.labels, key)} {total:g}")
            out.append(f"{self.name}_count{_braces(self.labels, key)} {below}")
        return out


class Gauge:
    """Numbers that are asked for when somebody looks."""

    kind = "gauge"

    def __init__(
        self,
        name: str,
        about: str,
        read: Callable[[], dict[tuple[str, ...], float]],
        labels: Sequence[str] = (),
    ) -> None:
        self.name, self.about, self.read, self.labels = name, about, read, labels

    def lines(self) -> list[str]:
        """The samples."""
        return [f"{self.name}{_braces(self.labels, k)} {v:.15g}" for k, v in self.read().items()]


class Metrics:
    """All that the service counts."""

    def __init__(self) -> None:
        began = time.time()
        self.requests = Counter(
            "coterie_requests_total", "Requests answered.", ("route", "method", "status")
        )
        self.seconds = Histogram(
            "coterie_request_seconds", "Seconds from request to answer.", SECONDS, ("route",)
        )
        self.texts = Counter("coterie_predicted_texts_total", "Texts predicted.", ("run",))
        self.batches = Histogram("coterie_batch_texts", "Texts encoded in one batch.", TEXTS)
        self.batch_seconds = Histogram("coterie_batch_seconds", "Seconds of a batch.", SECONDS)
        self.edits = Counter("coterie_edits_total", "Edits of runs.", ("run", "result"))
        self.loads = Counter("coterie_run_loads_total", "Times a run was read.", ("run", "result"))
        self.parts: list[Counter | Histogram | Gauge] = [
            self.requests,
            self.seconds,
            self.texts,
            self.batches,
            self.batch_seconds,
            self.edits,
            self.loads,
            Gauge(
                "process_resident_memory_bytes", "Memory in use.", lambda: {(): resident_memory()}
            ),
            Gauge("process_start_time_seconds", "When the service began.", lambda: {(): began}),
        ]

    def text(self) -> str:
        """Everything in the format 0.0.4 of Prometheus."""
        lines = []
        for part in self.parts:
            lines += [f"# HELP {part.name} {part.about}", f"# TYPE {part.name} {part.kind}"]
            lines += part.lines()
        return "\n".join(lines) + "\n"


def resident_memory() -> int:
    """Bytes that this process holds in memory; its peak where the system tells no more."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0


def _braces(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = ",".join(f"{n}={quoted(v)}" for n, v in zip(names, values, strict=True))
    return f"{{{pairs}}}" if pairs else ""
