"""Reading what somebody else may have made: checked before it is opened, bounded in size.

The folder of a run or of a model is data. Nothing in it is run, no name in it leads out of it, and
what it says about itself is compared with what is there before any memory is given to it. All
files of such folders are read through this module.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from coterie.errors import CoterieError, DataError

JSON_LIMIT = 16 << 20  # bytes of a JSON file
LARGE = 128 << 20  # bytes of one that grows with the data: descriptions, corrections, tokenizers
ENTRIES = 2_000  # files and folders in a model
DEPTH = 8
LARGEST = 1e300  # a finite number
SUFFIXES = {".json", ".safetensors", ".txt", ".model", ".md", ".jinja", ".jsonl", ".html", ".csv"}
MODULES = re.compile(
    r"sentence_transformers(\.[a-z_]\w*)*\."
    r"(Transformer|Pooling|Normalize|Dense|LayerNorm|Dropout|WeightedLayerPooling|CNN|LSTM)"
)
ACTIVATIONS = re.compile(r"torch\.nn\.modules\.(activation|linear)\.[A-Z]\w*")
DTYPES = {np.dtype(name) for name in ("f4", "f8", "i4", "i8", "u1", "?")}
SETTINGS = {"tokenizer_config.json", "sentence_bert_config.json", "special_tokens_map.json"}
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


# Paths and files ------------------------------------------------------------------------------


def inside(folder: Path, name: object) -> Path:
    """The path of a name that was read from a file of ``folder``; reject one that leads out.

    The name is relative, without ``..``, and neither it nor a folder above it is a link. All names
    of files that a run or a model holds go through here before anything is done with them.
    """
    said = name if isinstance(name, str) else ""
    pure = PurePosixPath(said)
    odd = pure.is_absolute() or ".." in pure.parts or "\\" in said or not said.isprintable()
    if odd or not pure.parts or ":" in pure.parts[0]:
        raise DataError(f"{folder} names {str(name)[:200]!r}, which is outside its folder.")
    path = folder
    for part in pure.parts:
        path = path / part
        if path.is_symlink():
            raise DataError(f"{path} is a link; {folder} may contain files and folders only.")
    return path


def check_file(path: Path, limit: int | None = None) -> os.stat_result:
    """Reject what is no ordinary file, or a larger one than ``limit`` bytes."""
    try:
        found = path.lstat()
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise DataError(f"{path} cannot be read: {said}.") from error
    if not stat.S_ISREG(found.st_mode):
        kind = "a link" if stat.S_ISLNK(found.st_mode) else "no ordinary file"
        raise DataError(f"{path} is {kind}; runs and models contain files only, so it is not read.")
    if limit is not None and found.st_size > limit:
        raise DataError(f"{path} has {found.st_size:,} bytes, more than the {limit:,} expected.")
    return found


def check_folder(folder: Path) -> list[str]:
    """Reject a folder with links, pipes, devices or far too many files; returns names of files."""
    pending, names = [(folder, 0)], []
    seen = 0
    while pending:
        place, deep = pending.pop()
        with os.scandir(place) as found:
            for entry in found:
                seen += 1
                if seen > ENTRIES or deep >= DEPTH:
                    raise DataError(f"{folder} has too many files for a model, so it is not read.")
                if entry.is_dir(follow_symlinks=False):
                    pending.append((Path(entry.path), deep + 1))
                else:
                    check_file(Path(entry.path))
                    names.append(Path(entry.path).relative_to(folder).as_posix())
    return names


def check_model_files(folder: Path, listed: Mapping[str, Mapping[str, Any]]) -> None:
    """Reject files that a saved model does not have.

    Parameters
    ----------
    folder : Path
    listed : mapping of str to mapping
        Bytes and digest by name of all files but ``config.json``.
    """
    found = check_folder(folder)
    for name in found:
        base = name.rpartition("/")[2]
        if base.startswith("."):  # of a file system or an editor; nothing opens them
            continue
        if Path(base).suffix.lower() not in SUFFIXES or base.endswith(".index.json"):
            raise DataError(
                f"{folder / name} does not belong in a saved model (safetensors, JSON and plain "
                "text), so it is not read."
            )
        if name not in listed and name != "config.json":
            raise DataError(
                f"{folder / name} is not in the model's list of files, so it is not read. Delete "
                "it if you put it there."
            )
        if base in SETTINGS:
            _check_names(folder / name)
    for name, said in listed.items():
        check_file(inside(folder, name), said["bytes"])  # nothing larger is read for its digest
    check_digests(folder, {name: said["sha256"] for name, said in listed.items()})


def list_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Bytes and digest of every file of a folder, by its name there."""
    return {name: file_facts(folder / name) for name in sorted(check_folder(folder))}


def file_facts(path: Path) -> dict[str, Any]:
    """Bytes and digest of a file."""
    return {"bytes": path.stat().st_size, "sha256": digest_of(path)}


def check_digests(folder: Path, listed: Mapping[str, str]) -> None:
    """Reject a folder whose files are not those of which it keeps the digests."""
    for name, digest in listed.items():
        path = inside(folder, name)
        check_file(path, LARGE if path.suffix == ".json" else None)
        if digest_of(path) != digest:
            raise DataError(
                f"{path} is not the file that was saved (its SHA-256 digest differs): it is "
                "damaged or was replaced. Restore a copy, or fit and save the model again."
            )


def digest_of(path: Path) -> str:
    """SHA-256 of an ordinary file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def open_file(path: Path, limit: int | None = None) -> Iterator[Any]:
    """An ordinary file, opened to read bytes; never waits for a pipe and follows no link."""
    check_file(path, limit)
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise DataError(f"{path} is not a regular file, so it is not read.")
        yield file


# JSON -----------------------------------------------------------------------------------------


def read_json(path: Path, limit: int = JSON_LIMIT) -> Any:
    """A JSON file that may be anybody's: bounded in size."""
    with open_file(path, limit) as file:
        data = file.read(limit + 1)
    return parse_json(data, str(path), limit)


def parse_json(data: bytes, name: str, limit: int = JSON_LIMIT) -> Any:
    """The value of JSON bytes, bounded as in :func:`read_json`; ``name`` is for messages."""
    if len(data) > limit:
        raise DataError(f"{name} has more than the {limit:,} bytes expected.")
    try:
        value = json.loads(data)
        if SURROGATE.search(data):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError as error:
        raise DataError(f"{name} is not UTF-8: {str(error)[:200]}.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} is not JSON: {str(error)[:200]}.") from error
    return value


@dataclass(frozen=True)
class Kind:
    """In a shape: a value that is no list and no mapping."""

    said: str  # in messages
    fits: Callable[[Any], bool]


def _whole(said: str, low: int, high: int) -> Kind:
    return Kind(said, lambda value: type(value) is int and low <= value < high)


HIGHEST_ID = 1_000_000  # of a cluster: tables have a column for each
Count = _whole("a whole number from 0 on", 0, 1 << 53)
ClusterId = _whole("the number of a cluster", 0, HIGHEST_ID)
Label = _whole("the number of a cluster or -1", -1, HIGHEST_ID)
Real = Kind("a number", lambda value: type(value) in (int, float))  # also infinite, or none at all
KINDS = {
    str: Kind("a text", lambda value: type(value) is str),
    int: _whole("a whole number", -1 << 63, 1 << 64),
    float: Kind("a number", lambda value: Real.fits(value) and abs(value) < LARGEST),
    bool: Kind("true or false", lambda value: type(value) is bool),
    dict: Kind("a mapping", lambda value: type(value) is dict),
    list: Kind("a list", lambda value: type(value) is list),
    None: Kind("null", lambda value: value is None),
}


class Row:
    """In a shape: a list of as many values as shapes are given."""

    def __init__(self, *shapes: Any) -> None:
        self.shapes = shapes


def check_shape(value: Any, shape: Any, where: str) -> Any:
    """Reject a value of another shape than expected; returns the value.

    Parameters
    ----------
    value : object
        From JSON.
    shape : object
        A type (``float`` takes any finite number) or :class:`Kind`; ``None`` for null; a list of
        one shape; a :class:`Row`; a tuple of alternatives; or a mapping of keys to shapes, in
        which ``"key?"`` may be missing, and ``str`` or ``int`` stand for any key (that is written
        as a number).
    where : str
        File and place, for messages.
    """
    if isinstance(shape, tuple):
        for alternative in shape[:-1]:
            with suppress(DataError):
                return check_shape(value, alternative, where)
        other = shape[-1] is None and value is not None  # what the message is about
        return check_shape(value, shape[0 if other else -1], where)
    if isinstance(shape, (list, Row)):
        _check_kind(value, KINDS[list], where)
        shapes = shape.shapes if isinstance(shape, Row) else shape * len(value)
        if len(shapes) != len(value):
            raise DataError(f"{where} is damaged: it should have {len(shapes)} values.")
        for number, inner in enumerate(value):
            check_shape(inner, shapes[number], f"{where}[{number}]")
    elif isinstance(shape, dict):
        _check_kind(value, KINDS[dict], where)
        for key, inner in shape.items():
            for name in _keys(value, key, where):
                check_shape(value[name], inner, f"{where}.{name[:60]}")
    else:
        _check_kind(value, shape if isinstance(shape, Kind) else KINDS[shape], where)
    return value


def _keys(value: dict[str, Any], key: Any, where: str) -> list[str]:
    """Keys of a mapping that a key of its shape stands for."""
    if key is int:
        for name in value:
            if not (name.isascii() and name.isdigit() and len(name) < 16):
                raise DataError(f"{where} is damaged: {name[:60]!r} should be a number.")
    if key in (int, str):
        return list(value)
    name = key.removesuffix("?")
    if name == key and name not in value:
        raise DataError(f"{where} is damaged: {name!r} is missing.")
    return [name] if name in value else []


def _check_kind(value: Any, kind: Kind, where: str) -> None:
    if not kind.fits(value):
        said = repr(value)
        said = said if len(said) <= 60 else f"{said[:57]}..."
        raise DataError(f"{where} is damaged: it should be {kind.said}, not {said}.")


# Arrays ---------------------------------------------------------------------------------------


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of a safetensors file, all of which hold finite numbers."""
    from safetensors.numpy import load_file

    check_file(path)
    with damaged(path):
        arrays: dict[str, Any] = load_file(path)
    for name, array in arrays.items():
        check_array(array, f"{path}: {name!r}")
    return arrays


def read_tensors(path: Path) -> dict[str, Any]:
    """The same as tensors."""
    import torch

    return {name: torch.from_numpy(array) for name, array in read_arrays(path).items()}


def check_array(array: Any, where: str) -> None:
    """Reject an array of an unusual type, or one that holds what is not a finite number."""
    if array.dtype not in DTYPES:
        raise DataError(f"{where} is damaged: numbers of type {array.dtype} are not expected.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise DataError(f"{where} is damaged: it has values that are not finite numbers.")


@contextmanager
def damaged(folder: Path, kind: str = "a saved model") -> Iterator[None]:
    """Whatever goes wrong inside is the fault of what was read, and said so."""
    try:
        yield
    except (CoterieError, MemoryError):
        raise
    except Exception as error:
        said = str(error).split("\n")[0][:200]
        raise DataError(
            f"{folder} cannot be read as {kind} ({type(error).__name__}: {said}); it is damaged, "
            "or was not written by coterie."
        ) from error


# Folders of encoders --------------------------------------------------------------------------


def check_encoder_folder(folder: Path) -> None:
    """Reject an encoder's folder that a model names if it would lead elsewhere or be unpickled."""
    for path in folder.iterdir():
        if not (path.is_dir() or path.is_file()):
            raise DataError(f"{path} is not a regular file, so the encoder is not read.")
        if path.name.endswith(".index.json") and not (folder / "model.safetensors").is_file():
            raise DataError(f"{path}: coterie reads encoders whose weights are in one file only.")
        if path.name in SETTINGS:
            _check_names(path)


def _check_names(file: Path) -> None:
    """Reject settings of an encoder that name a file outside its folder."""
    value = read_json(file.resolve())
    for name, inner in value.items() if isinstance(value, dict) else ():
        # Many published tokenizers keep the last one from where they were made; nothing opens it.
        if name.endswith("_file") and inner is not None and name != "special_tokens_map_file":
            inside(file.parent, inner)


def check_modules(folder: Path) -> None:
    """Reject an encoder's folder whose modules are not those of sentence-transformers itself."""
    file = folder / "modules.json"
    if not file.exists():
        return
    modules = read_json(file.resolve())
    for module in check_shape(
        modules if isinstance(modules, list) else [modules], [dict], str(file)
    ):
        kind, path = (str(module.get(key, "")) for key in ("type", "path"))
        if not MODULES.fullmatch(kind):
            raise DataError(
                f"{file} asks for the module {kind!r}, which coterie does not load; loading a "
                "model never runs code that comes with it."
            )
        place = inside(folder, path) if path else folder
        _check_activation(place / "config.json")


def _check_activation(file: Path) -> None:
    if not file.is_file():
        return
    found = read_json(file.resolve())
    named = found.get("activation_function") if isinstance(found, dict) else None
    if named is not None and not ACTIVATIONS.fullmatch(str(named)):
        raise DataError(f"{file} asks for the activation {named!r}, which torch does not have.")
