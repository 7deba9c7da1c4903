"""Reading what somebody else may have made: checked before it is opened, bounded in size.

A model folder is data. Nothing in it is run, nothing in it may lead out of it, and what it claims
about itself is compared with what lies there before any memory is given to it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coterie._errors import CoterieError, DataError

JSON_LIMIT = 256 << 20  # bytes; the tokenizer of a large vocabulary has some twenty million
ENTRIES = 2_000  # files and folders in a model
DEPTH = 8
SUFFIXES = {".json", ".safetensors", ".txt", ".model", ".md", ".jinja", ".jsonl", ".html", ".csv"}
MODULES = re.compile(
    r"sentence_transformers(\.[a-z_]\w*)*\."
    r"(Transformer|Pooling|Normalize|Dense|LayerNorm|Dropout|WeightedLayerPooling|CNN|LSTM)"
)
ACTIVATIONS = re.compile(r"torch\.nn\.modules\.(activation|linear)\.[A-Z]\w*")


def check_folder(folder: Path) -> None:
    """Refuse a model folder with links, devices, code, or far too many files."""
    pending, seen = [(folder, 0)], 0
    while pending:
        place, depth = pending.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                seen += 1
                if seen > ENTRIES or depth >= DEPTH:
                    raise DataError(f"{folder} holds too many files for a model; it is not read.")
                if entry.is_dir(follow_symlinks=False):
                    pending.append((Path(entry.path), depth + 1))
                else:
                    _check_entry(Path(entry.path))


def _check_entry(path: Path) -> None:
    check_file(path)
    if path.suffix.lower() not in SUFFIXES and not path.name.startswith("."):
        raise DataError(
            f"{path} does not belong into a saved model, which is safetensors, JSON and plain "
            "text; it is not read."
        )


def check_file(path: Path, limit: int | None = None) -> None:
    """Refuse what is no ordinary file, or a larger one than ``limit`` bytes."""
    try:
        found = path.lstat()
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    if not stat.S_ISREG(found.st_mode):
        kind = "a link" if stat.S_ISLNK(found.st_mode) else "no ordinary file"
        raise DataError(f"{path} is {kind}; a saved model holds files only, so it is not read.")
    if limit is not None and found.st_size > limit:
        raise DataError(f"{path} has {found.st_size:,} bytes, more than the {limit:,} expected.")


def read_json_file(path: Path, limit: int = JSON_LIMIT) -> Any:
    """A JSON file that may be anybody's."""
    check_file(path, limit)
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}.") from error


@contextmanager
def damaged(folder: Path) -> Iterator[None]:
    """Whatever goes wrong inside is the fault of what was read, and said so."""
    from safetensors import SafetensorError

    try:
        yield
    except (CoterieError, MemoryError):
        raise
    except (
        ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RecursionError,
        RuntimeError, SafetensorError, TypeError, ValueError,
    ) as error:  # fmt: skip
        said = str(error).split("\n")[0][:200]
        raise DataError(
            f"{folder} cannot be read as a saved model ({type(error).__name__}: {said}); it is "
            "damaged, or was not written by coterie."
        ) from error


def check_modules(folder: Path) -> None:
    """Refuse an encoder's folder whose modules are not those of sentence-transformers itself."""
    file = folder / "modules.json"
    if not file.exists():
        return
    modules = json.loads(file.read_text("utf-8"))
    for module in modules if isinstance(modules, list) else [modules]:
        kind, path = (str(module.get(key, "")) for key in ("type", "path"))
        if not MODULES.fullmatch(kind):
            raise DataError(
                f"{file} asks for the module {kind!r}, which is not one that coterie loads; it "
                "runs no code that comes with a model."
            )
        if Path(path).is_absolute() or ".." in Path(path).parts:
            raise DataError(f"{file} leads out of its folder: {path!r}.")
        _check_activation(folder / path / "config.json")


def _check_activation(file: Path) -> None:
    if not file.is_file():
        return
    found = json.loads(file.read_text("utf-8"))
    named = found.get("activation_function") if isinstance(found, dict) else None
    if named is not None and not ACTIVATIONS.fullmatch(str(named)):
        raise DataError(f"{file} asks for the activation {named!r}, which is none of torch's own.")
