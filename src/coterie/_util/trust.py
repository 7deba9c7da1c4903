"""Reading what somebody else may have made: checked before it is opened, bounded in size.

The folder of a run or of a model is data. Nothing in it is run, no name in it leads out of it, and
what it says about itself is compared with what is there before any memory is given to it. All
files of such folders are read through this module.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from coterie._util.files import sha256_file
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
        path = inside(folder, name)
        check_file(path, said["bytes"])  # nothing larger is read for its digest
        if sha256_file(path) != said["sha256"]:
            raise DataError(
                f"{path} is not the file that was saved (its SHA-256 digest differs): it is "
                "damaged or was replaced. Restore a copy, or fit and save the model again."
            )


def list_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Bytes and digest of every file of a folder, by its name there."""
    return {name: file_facts(folder / name) for name in sorted(check_folder(folder))}


def file_facts(path: Path) -> dict[str, Any]:
    """Bytes and digest of a file."""
    return {"bytes": path.stat().st_size, "sha256": sha256_file(path)}


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


def is_count(value: object) -> bool:
    """Whether a value is a whole number from 0 on."""
    return type(value) is int and 0 <= value < 1 << 53


def is_finite(value: object) -> bool:
    """Whether a value is a number, and neither infinite nor none at all."""
    return type(value) in (int, float) and abs(value) < LARGEST  # type: ignore[arg-type]


def check_shape(value: Any, shape: Any, where: str) -> Any:
    """Reject JSON of another shape than expected; returns the value.

    Parameters
    ----------
    value : object
    shape : object
        A type, whose subtypes do not count; a function that says whether a value fits; a list of
        one shape; or a mapping of keys to shapes, in which ``str`` stands for any key, and
        ``"key?"`` may be missing or null.
    where : str
        File and place, for messages.

    Examples
    --------
    >>> check_shape({"dim": 3}, {"dim": is_count, "parts?": [str]}, "encoder.json")
    {'dim': 3}
    """
    kind = type(shape) if isinstance(shape, (list, dict)) else shape
    if not (type(value) is kind if isinstance(kind, type) else kind(value)):
        raise DataError(f"{where} is damaged: {value!r:.60} does not belong there.")
    if isinstance(shape, list):
        for number, inner in enumerate(value):
            check_shape(inner, shape[0], f"{where}[{number}]")
    elif isinstance(shape, dict):
        for key, inner in shape.items():
            _check_key(value, key, inner, where)
    return value


def _check_key(value: dict[str, Any], key: Any, shape: Any, where: str) -> None:
    if key is str:
        for name, inner in value.items():
            check_shape(inner, shape, f"{where}.{name[:60]}")
        return
    name = key.removesuffix("?")
    if name == key and name not in value:
        raise DataError(f"{where} is damaged: {name!r} is missing.")
    if name == key or value.get(name) is not None:
        check_shape(value[name], shape, f"{where}.{name}")


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
