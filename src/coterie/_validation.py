"""The only code that judges arguments; every message names the argument and the remedy."""

from __future__ import annotations

import difflib
import errno
import functools
import importlib
import inspect
import math
import numbers
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import ModuleType, NoneType, SimpleNamespace, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from coterie.errors import DataError, MissingError, UsageError

if TYPE_CHECKING:
    import torch

    from coterie._types import Floats, Ints


# Parameters of methods by their names in version 0.1: saved models and result lines have them.
RENAMED = {"labels": "labels_from", "shortcuts": "optimizations"}
LINE = 80  # characters of a value that a message quotes
P = ParamSpec("P")
T = TypeVar("T")
LARGEST = 10**12  # of whole numbers: beyond, arrays and counters overflow


def check_integer(name: str, value: Any, minimum: int = 1) -> int:
    """Refuse anything but an integer of at least ``minimum``."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < minimum:
        raise UsageError(
            f"{_called(name)} should be an integer of at least {minimum}, got {_short(value)}."
        )
    if value > LARGEST:
        raise UsageError(f"{_called(name)} should be at most {LARGEST:,}, got {_short(value)}.")
    return int(value)


def one_seed(seed: Any, random_state: Any, default: Any = None) -> Any:
    """The one that is given of two names of the same thing."""
    if seed is not None and random_state is not None and seed is not random_state:
        if not isinstance(seed, numbers.Integral) or seed != random_state:
            raise UsageError(
                f"`seed` {seed!r:.80} and random_state {random_state!r:.80} are the same thing; "
                "give one."
            )
    given = random_state if seed is None else seed
    return default if given is None else given


def whole_number(text: str) -> int | None:
    """The whole number that ASCII digits write; None for anything else, or more than 18 digits.

    Examples
    --------
    >>> whole_number("12"), whole_number("-1"), whole_number("²"), whole_number("9" * 5000)
    (12, None, None, None)
    """
    plain = text.isascii() and text.isdigit() and len(text) <= 18
    return int(text) if plain else None


def check_number(name: str, value: Any, minimum: float = 0.0, *, above: bool = False) -> float:
    """Refuse anything but a finite number of at least ``minimum``, or ``above`` it."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < minimum or (above and value == minimum):
        bound = "above" if above else "of at least"
        raise UsageError(
            f"{_called(name)} should be a number {bound} {minimum:g}, got {_short(value)}."
        )
    return float(value)


def check_path(name: str, value: Any) -> Path:
    """Refuse what is no path, such as a number; ``name`` is the parameter."""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise UsageError(
            f"{_called(name)} should be a path, such as 'tickets.clusters'; got {_short(value)}."
        )
    reason: object = "it is empty" if value == "" else None
    try:
        os.stat(value)  # noqa: PTH116 - a path may be one that pathlib cannot hold
    except OSError as error:
        reason = error.strerror if error.errno in (errno.ELOOP, errno.ENAMETOOLONG) else reason
    except ValueError as error:  # a zero byte, or half a character
        reason = str(error)
    if reason is not None:
        raise UsageError(f"{_called(name)}: {_short(value)} cannot be a path here: {reason}.")
    return Path(value)


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Make a public function refuse arguments of another kind than its annotations say.

    It does so before it does anything else. The bounds of numbers, and choices, are left to the
    function.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with suppress(TypeError):  # of too few or too many: the call itself says so
            given = signature.bind(*args, **kwargs).arguments
            for name, hint in annotations_of(function).items():
                if name in given:
                    check_annotated(name, given[name], hint)
        return function(*args, **kwargs)

    return call


@cache
def annotations_of(owner: Any) -> dict[str, Any]:
    """What a function's parameters, or the fields of a dataclass, are annotated with.

    Those that name what is imported for type checkers alone are left out.
    """
    found: dict[str, Any] = {}
    parts = reversed(owner.__mro__) if isinstance(owner, type) else (owner,)
    about = inspect.signature(owner).parameters.values()
    known = {parameter.name for parameter in about if parameter.kind is not parameter.VAR_KEYWORD}
    for part in parts:
        space = vars(importlib.import_module(part.__module__))
        for name, hint in inspect.get_annotations(part).items():
            if name in known:
                with suppress(NameError):
                    found |= get_type_hints(SimpleNamespace(__annotations__={name: hint}), space)
    return found


def check_annotated(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is of none of the kinds of an annotation."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if Path in kinds and isinstance(value, (str, os.PathLike)):
        check_path(name, value)
    elif not any(_is_of(value, kind) for kind in kinds):
        if Path in kinds and {str, Path, NoneType}.issuperset(kinds):
            raise UsageError(
                f"{_called(name)} should be a path, such as 'tickets.clusters'; got "
                f"{_short(value)}."
            )
        said = {str} if Path in kinds else set()
        bare = [get_origin(kind) or kind for kind in kinds if kind not in said]
        words = (KINDS.get(kind) or getattr(kind, "__name__", str(kind)) for kind in bare)
        raise wrong_kind(name, value, " or ".join(words))
    elif isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeError as error:
            raise wrong_kind(name, value, "text, without half characters") from error


KINDS = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a text",
    Path: "a path",
    NoneType: "None",
    Mapping: "a mapping",
    Sequence: "a list",
    Iterable: "a list",
}


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; choices, and what is in lists, are checked elsewhere."""
    import numpy as np

    origin: Any = get_origin(kind) or kind
    if kind in (Any, object) or origin is Literal:
        return True
    if kind in (int, float):
        number = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, number) and not isinstance(value, bool)
    if origin in (list, tuple, Iterable, Sequence, np.ndarray):
        return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    return isinstance(value, (bool, np.bool_) if kind is bool else origin)


def check_kind(name: str, value: Any, kinds: type | tuple[type, ...], wanted: str) -> None:
    """Refuse what is not an instance of ``kinds``; ``wanted`` says what the parameter takes."""
    if not isinstance(value, kinds):
        raise wrong_kind(name, value, wanted)


def wrong_kind(name: str, value: Any, wanted: str) -> UsageError:
    """The error for a parameter that is something else than it should be."""
    return UsageError(f"{_called(name)} should be {wanted}; got {_short(value)}.")


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
    wanted = f"whole numbers, one for each {each}"
    found: Ints = _numbers(name, value, 1, wanted)
    if (found != found.round()).any():
        raise wrong_kind(name, value, wanted)
    return found.astype("int64", copy=False)


def _numbers(name: str, value: Any, dimensions: int, wanted: str) -> Any:
    """The value as an array of numbers; words that numpy would read as numbers are refused."""
    import numpy as np

    try:
        found = np.asarray(value)
        words = found.dtype.kind in "US" or any(isinstance(v, str) for v in found.flat[:1])
        found = found if found.dtype.kind in "fiu" else found.astype(float)
    except (TypeError, ValueError) as error:
        raise wrong_kind(name, value, wanted) from error
    if words or found.ndim != dimensions:
        raise wrong_kind(name, value, wanted)
    return found


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Refuse a value outside ``choices``, and suggest the nearest one."""
    known = list(choices)
    if value in known:
        return str(value)
    raise UsageError(
        f"{_called(name)} should be one of {', '.join(known)}; got "
        f"{_short(value)}.{did_you_mean(value, known)}"
    )


def did_you_mean(value: Any, known: Iterable[str]) -> str:
    """A question about the nearest of the known words, in any case; empty if none is near."""
    words = {word.lower(): word for word in known}
    near = difflib.get_close_matches(str(value).lower(), words, n=1)
    return f" Did you mean {words[near[0]]!r}?" if near else ""


def check_choices(owner: Any) -> None:
    """Refuse values that the annotations of a dataclass, such as ``Literal["a", "b"]``, lack."""
    cls: Any = type(owner)
    for name, choices in literal_choices(cls).items():
        value = getattr(owner, name)
        if value is not None or None not in choices:
            check_choice(name, value, [choice for choice in choices if choice is not None])
    for name, hint in annotations_of(cls).items():
        if hasattr(owner, name):
            check_annotated(name, getattr(owner, name), hint)


@cache
def literal_choices(cls: type[Any]) -> dict[str, list[Any]]:
    """Fields of a dataclass that are annotated with ``Literal``, and what they may be.

    None is among the choices of a field that may be None. A field that may be a number or a word
    is left out.
    """
    found: dict[str, list[Any]] = {}
    known = {field.name for field in fields(cls)}
    for base in reversed([base for base in cls.__mro__ if "__dataclass_fields__" in vars(base)]):
        for name, hint in inspect.get_annotations(base, eval_str=True).items():
            parts = [hint] if _is_literal(hint) else list(get_args(hint))
            words = [part for part in parts if _is_literal(part)]
            rest = [part for part in parts if part not in words]
            if name in known and words and all(part is type(None) for part in rest):
                found[name] = [c for part in words for c in get_args(part)] + [None] * len(rest)
    return found


def _is_literal(hint: Any) -> bool:
    origin: Any = get_origin(hint)
    return origin is Literal


def check_fields(
    owner: Any,
    *,
    integers: Mapping[str, int] | None = None,
    above: Iterable[str] = (),
    least: Iterable[str] = (),
) -> None:
    """Check many attributes at once; those that are None by default may be None.

    Parameters
    ----------
    owner : dataclass
    integers : dict of str to int, optional
        The least whole number that each may be.
    above, least : iterables of str
        Numbers above zero, and numbers of at least zero.
    """
    optional = {f.name for f in fields(owner) if f.default is None}

    def given(names: Iterable[str]) -> list[tuple[str, Any]]:
        pairs = [(name, getattr(owner, name)) for name in names]
        return [(name, value) for name, value in pairs if value is not None or name not in optional]

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
    except (RuntimeError, TypeError):
        resolved = None
    if resolved is None or resolved.type not in ("cpu", "cuda"):
        raise UsageError(f"`device` should be auto, cpu or cuda, got {_short(device)}.")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if resolved.type == "cuda" and not count:
        raise UsageError(
            f"`device={device!r}`: torch sees no CUDA device here; use `device='cpu'`."
        )
    if resolved.type == "cuda" and (resolved.index or 0) >= count:
        raise UsageError(
            f"`device={device!r}`: torch sees {count} CUDA devices here, counted from 0; use "
            "`device='cuda'`."
        )
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
