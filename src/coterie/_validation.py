"""The only code that judges arguments; every message names the argument and the remedy."""

from __future__ import annotations

import difflib
import importlib
import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from coterie._errors import DataError, MissingError, UsageError

if TYPE_CHECKING:
    import torch


def check_integer(name: str, value: Any, minimum: int = 1) -> int:
    """Refuse anything but an integer of at least ``minimum``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < minimum:
        raise UsageError(f"{name} should be an integer of at least {minimum}, got {value!r}.")
    return int(value)


def check_number(name: str, value: Any, minimum: float = 0.0, *, above: bool = False) -> float:
    """Refuse anything but a finite number of at least ``minimum``, or ``above`` it."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < minimum or (above and value == minimum):
        bound = "above" if above else "of at least"
        raise UsageError(f"{name} should be a number {bound} {minimum:g}, got {value!r}.")
    return float(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Refuse a value outside ``choices``, and suggest the nearest one."""
    known = list(choices)
    if value in known:
        return str(value)
    near = difflib.get_close_matches(str(value), known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{name} should be one of {', '.join(known)}; got {value!r}.{hint}")


def check_fields(
    owner: Any,
    *,
    choices: Mapping[str, Iterable[str]] | None = None,
    integers: Mapping[str, int] | None = None,
    above: Iterable[str] = (),
    least: Iterable[str] = (),
) -> None:
    """Check many attributes at once; those that are None by default may be None.

    Parameters
    ----------
    owner : dataclass
    choices : dict of str to list, optional
        Words that each may be.
    integers : dict of str to int, optional
        The least whole number that each may be.
    above, least : iterables of str
        Numbers above zero, and numbers of at least zero.
    """
    optional = {f.name for f in fields(owner) if f.default is None}

    def given(names: Iterable[str]) -> list[tuple[str, Any]]:
        pairs = [(name, getattr(owner, name)) for name in names]
        return [(name, value) for name, value in pairs if value is not None or name not in optional]

    for name, value in given(choices or {}):
        check_choice(name, value, (choices or {})[name])
    for name, value in given(integers or {}):
        check_integer(name, value, (integers or {})[name])
    for name, value in given(above):
        check_number(name, value, above=True)
    for name, value in given(least):
        check_number(name, value)


def check_device(device: str) -> torch.device:
    """Resolve ``auto``, ``cpu``, ``cuda`` (or ``cuda:1``) to a device that is really there."""
    import torch

    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except RuntimeError as error:
        raise UsageError(f"device should be auto, cpu or cuda, got {device!r}.") from error
    if resolved.type == "cuda" and not torch.cuda.is_available():
        raise UsageError(f"device={device!r}: torch sees no CUDA device here; use device='cpu'.")
    return resolved


def need(module: str, extra: str) -> ModuleType:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingError(
            f"the package {module!r} is not installed: pip install 'coterie[{extra}]'"
        ) from error


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse what needs more memory than the machine has free, before it is begun."""
    free = free_memory()
    if free is not None and needed > free:
        raise DataError(
            f"{what} needs about {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free; "
            f"{remedy}."
        )


def free_memory() -> int | None:
    """Bytes that can still be had, by the system or by the limit of a container; None: unknown."""
    found = []
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        found.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        return None
    try:
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text())
        found.append(most - int((group / "memory.current").read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        pass
    return max(0, min(found))
