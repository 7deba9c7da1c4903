"""Checks of arguments; every message names the argument and the remedy.

The parameters of an estimator are the fields of its dataclass. Their annotations say what they may
be, and :func:`check_parameters` refuses all else.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import numbers
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from math import nan
from pathlib import Path
from types import ModuleType, SimpleNamespace, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from coterie.errors import DataError, MissingError, UsageError, counted

if TYPE_CHECKING:
    import torch

    from coterie._util.types import Floats, Ints


LINE = 80  # characters of a value that a message quotes
LARGEST = 10**12  # of whole numbers: beyond, arrays and counters overflow


class Bounds(NamedTuple):
    """What a number may be, or the length of a list: part of an annotation."""

    least: float = 0
    most: float = LARGEST
    above: bool = False  # whether the least itself is left out
    below: bool = False  # whether the most itself is left out

    def hold(self, value: Any) -> bool:
        """Whether a number, or a list by its length, is within; what is not a number is not."""
        size: Any = value if isinstance(value, numbers.Real) else len(value)
        low = size > self.least if self.above else size >= self.least
        return bool(low and (size < self.most if self.below else size <= self.most))

    def words(self) -> str:
        """As a message says it."""
        low = f"{'above' if self.above else 'of at least'} {self.least:g}"
        return f"{low} and {'below' if self.below else 'at most'} {self.most:,}"


PositiveInt = Annotated[int, Bounds(1)]
NonNegativeInt = Annotated[int, Bounds(0)]
PositiveFloat = Annotated[float, Bounds(0, above=True)]
NonNegativeFloat = Annotated[float, Bounds(0)]
Length = Annotated[int, Bounds(3)]  # in tokens: two of them are marks
Share = Annotated[float, Bounds(0, 1)]
PositiveShare = Annotated[float, Bounds(0, 1, above=True)]
Dropout = Annotated[float, Bounds(0, 1, below=True)]
Widths = Annotated[Sequence[PositiveInt], Bounds(1)]
WORDS = {int: "an integer", float: "a number", bool: "true or false", str: "a text", Path: "a path"}


def check_parameters(owner: Any) -> None:
    """Refuse values of a dataclass that the annotations of its fields do not allow."""
    for name, kinds in _annotations(owner.__class__).items():
        value = getattr(owner, name)
        if not any(_fits(value, kind) for kind in kinds):
            choices = [
                one for kind in kinds if get_origin(kind) is Literal for one in get_args(kind)
            ]
            raise wrong_kind(name, value, " or ".join(map(_wanted, kinds)), choices)


@cache
def _annotations(cls: Any) -> dict[str, tuple[Any, ...]]:
    """What each field may be; those that name what type checkers alone import are left out."""
    found: dict[str, Any] = {}
    known = {f.name for f in fields(cls)}
    for part in reversed(cls.__mro__):
        space = vars(sys.modules[part.__module__])
        for name in vars(part).get("__annotations__", {}).keys() & known:
            with suppress(NameError):
                hint = part.__annotations__[name]
                alone = SimpleNamespace(__annotations__={name: hint})
                found |= get_type_hints(alone, space, include_extras=True)
    unions = (Union, UnionType)
    return {n: get_args(h) if get_origin(h) in unions else (h,) for n, h in found.items()}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, within its bounds, or one of its choices."""
    origin: Any = get_origin(kind) or kind
    if origin is Any:
        return True
    if origin is Literal:
        return any(isinstance(value, type(one)) and value == one for one in get_args(kind))
    if origin is Annotated:
        inner, *bounds = get_args(kind)
        return _fits(value, inner) and all(bound.hold(value) for bound in bounds)
    if origin in (int, float):
        number = numbers.Integral if origin is int else numbers.Real
        return isinstance(value, number) and not isinstance(value, bool)
    if origin is Sequence:
        listed = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
        return listed and all(_fits(one, get_args(kind)[0]) for one in value)
    return isinstance(value, origin)


def _wanted(kind: Any) -> str:
    """A kind as messages name it."""
    origin = get_origin(kind) or kind
    if origin is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if origin is Annotated:
        inner, *bounds = get_args(kind)
        return " ".join([_wanted(inner), *(bound.words() for bound in bounds)])
    return WORDS.get(origin) or {Sequence: "a list"}.get(origin, origin.__name__)


def check_integer(name: str, value: Any, minimum: int = 1) -> int:
    """Refuse anything but an integer of at least ``minimum``."""
    if not _fits(value, int) or not minimum <= value <= LARGEST:
        raise wrong_kind(name, value, f"an integer of at least {minimum}")
    return int(value)


def whole_number(text: str) -> int | None:
    """The whole number that ASCII digits write; None for anything else, or more than 18 digits.

    Examples
    --------
    >>> whole_number("12"), whole_number("-1"), whole_number("²"), whole_number("9" * 5000)
    (12, None, None, None)
    """
    plain = text.isascii() and text.isdigit() and len(text) <= 18
    return int(text) if plain else None


def share_of(given: object) -> float:
    """A number as written, a percentage as a share; what is no number is not a number.

    Examples
    --------
    >>> share_of("10%"), share_of(0.1), share_of("ten")
    (0.1, 0.1, nan)
    """
    text = str(given).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return nan
    return number / 100 if text.endswith("%") else number


def check_path(name: str, value: Any) -> Path:
    """Refuse what is no path, such as a number; ``name`` is the parameter."""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise wrong_kind(name, value, "a path, such as 'tickets.clusters'")
    reason: object = "it is empty" if value == "" else None
    if name != "encoder" and os.path.expanduser(value) != os.fspath(value):  # noqa: PTH111
        reason = "~ is not read as your home folder; write the whole path"  # Arrow alone reads it
    try:
        os.stat(value)  # noqa: PTH116 - a path may be one that pathlib cannot hold
    except OSError as error:
        reason = error.strerror if error.errno in (errno.ELOOP, errno.ENAMETOOLONG) else reason
    except ValueError as error:  # a zero byte, or half a character
        reason = str(error)
    if reason is not None:
        raise UsageError(
            f"{_called(name)}: {_short(os.fspath(value))} cannot be a path here: {reason}."
        )
    return Path(value)


def wrong_kind(name: str, value: Any, wanted: str, known: Iterable[str] = ()) -> UsageError:
    """The error for a parameter that is something else than it should be."""
    hint = did_you_mean(value, known)
    return UsageError(f"{_called(name)} should be {wanted}; got {_short(value)}.{hint}")


def check_vectors(name: str, value: Any, each: str = "text") -> Floats:
    """A matrix of numbers with a row for each text, or for each of something else."""
    found: Floats = _numbers(name, value, 2, f"numbers in rows and columns, a row for each {each}")
    return found


def check_numbers(name: str, value: Any, each: str = "text") -> Floats:
    """Numbers, one for each text, or for each of something else."""
    found: Floats = _numbers(name, value, 1, f"numbers, one for each {each}")
    return found.astype("float64", copy=False)


def check_whole_numbers(name: str, value: Any, each: str = "text") -> Ints:
    """Whole numbers, one for each text, or for each of something else."""
    found: Ints = _numbers(name, value, 1, f"whole numbers, one for each {each}", whole=True)
    return found.astype("int64", copy=False)


def _numbers(name: str, value: Any, dimensions: int, wanted: str, *, whole: bool = False) -> Any:
    """The value as an array of numbers; words that numpy would read as numbers are refused."""
    import numpy as np

    found = None
    with suppress(TypeError, ValueError):
        given = np.asarray(value)
        if given.dtype.kind not in "US" and not any(isinstance(v, str) for v in given.flat[:1]):
            found = given if given.dtype.kind in "fiu" else given.astype(float)
    if found is None or found.ndim != dimensions or (whole and (found != found.round()).any()):
        raise wrong_kind(name, value, wanted)
    return found


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Refuse a value outside ``choices``, and suggest the nearest one."""
    known = list(choices)
    if value in known:
        return str(value)
    raise wrong_kind(name, value, f"one of {', '.join(known)}", known)


def did_you_mean(value: Any, known: Iterable[str]) -> str:
    """A question about the nearest of the known words, in any case; empty if none is near."""
    words = {word.lower(): word for word in known}
    near = difflib.get_close_matches(str(value).lower(), words, n=1)
    return f" Did you mean {words[near[0]]!r}?" if near else ""


def check_device(device: str) -> torch.device:
    """Resolve ``auto``, ``cpu``, ``cuda`` (or ``cuda:1``) to a device that is really there."""
    import torch

    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except (RuntimeError, TypeError):
        resolved = None
    if resolved is None or resolved.type not in ("cpu", "cuda"):
        raise UsageError(f"`device` should be auto, cpu or cuda, got {_short(device)}.")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if resolved.type == "cuda" and (resolved.index or 0) >= count:
        seen, other = "no CUDA device", "cpu"
        if count:
            seen, other = f"{counted(count, 'CUDA device')}, numbered from 0,", "cuda"
        raise UsageError(f"`device={device!r}`: torch sees {seen} here; use `device={other!r}`.")
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
            f"{what} needs about {needed / 1e9:.1f} GB of memory, but "
            f"{free / 1e9:.1f} GB are free; {remedy}."
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


def _called(name: str) -> str:
    """A parameter as messages name it; other words, such as an option, stay as they are."""
    return f"`{name}`" if name.isidentifier() else name


def _short(value: Any) -> str:
    """A value as messages quote it, not longer than a line."""
    try:
        shown = repr(value)
    except ValueError:  # a whole number with more digits than Python prints
        return "a number of thousands of digits"
    return shown if len(shown) <= LINE else f"{shown[:LINE]}..."
