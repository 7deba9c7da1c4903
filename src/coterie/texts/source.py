"""Bytes and lines of a file, of standard input, or of a file at an address.

Files that gzip, bzip2, xz or zstd have packed are unpacked on the way.
"""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile

import pyarrow as pa

from coterie._util.validation import check_path, need
from coterie.errors import DataError, UsageError

STDIN = "standard input"
BLOCK = 1 << 20  # bytes read at a time
HEAD_BYTES = 1 << 12  # that tell the format
LONGEST_ROW = 1 << 24  # characters of a line, a row or a cell
MOST_BYTES = 1 << 32  # that are unpacked, or read from a pipe
FOREIGN = 0.2  # of the characters: what has more bytes that are not UTF-8 is not Windows-1252
PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": lambda file: pa.CompressedInputStream(file, "zstd"),
}
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException, BadZipFile)
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ESCAPED = re.compile("[\udc80-\udcff]")  # a byte that is not of UTF-8, as "surrogateescape" has it
WINDOWS = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(128, 256)}


class Source:
    """A file that can be read again and again; standard input is kept in memory.

    Parameters
    ----------
    source : str, Path or sequence of them
        ``-`` is standard input. A folder, or a pattern such as ``parts/*.csv``, is several files.
        ``book.xlsx#SHEET`` is a sheet. Addresses that fsspec knows, such as ``s3://bucket/parts``,
        are read where they are.

    Attributes
    ----------
    name : str
        For messages.
    inside : str
        Name of a sheet, or empty.
    parts : list of Source
        The files, if they are several.
    windows : bool
        Whether bytes that are not UTF-8 were read as Windows-1252.
    """

    def __init__(self, source: str | Path | Sequence[str | Path]) -> None:
        one = isinstance(source, str) or not isinstance(source, Iterable)
        files: list[Any] = [source] if one else list(source)  # type: ignore[arg-type]
        for file in files:
            check_path("source", file)
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        self.name = str(source) if one or not files else f"{files[0]}{more}"
        self._path, self.inside = file_of(self.name) if one else (Path(), "")
        listed = [several(str(file)) or ([] if one else [file]) for file in files]
        self.parts = [Source(str(path)) for path in chain.from_iterable(listed)]
        self.windows = False
        self._data: bytes | None = None  # of a pipe
        self._unpack: Callable[[Any], Any] | None = None
        if self.parts:
            return
        if self.name == "-":
            self.name, self._data = STDIN, self._bounded(sys.stdin.buffer)
        elif self._path.is_fifo():
            with self._path.open("rb") as pipe:
                self._data = self._bounded(pipe)
        elif not self._path.is_file():
            raise UsageError(f"there is no file {self._path}.")
        with self._open() as raw:
            begin = raw.read(6)
        self._unpack = next((PACKED[mark] for mark in PACKED if begin.startswith(mark)), None)

    @property
    def path(self) -> Path | None:
        """The file; None for a pipe."""
        return self._path if self._data is None else None

    @contextmanager
    def open(self) -> Iterator[Any]:
        """The bytes from the start, unpacked; a damaged file is an error."""
        with self._open() as raw:
            try:
                yield raw if self._unpack is None else self._unpack(raw)
            except DAMAGED as error:
                raise DataError(
                    f"{self.name} cannot be read: it is damaged, or of another kind than its name "
                    f"or `format` says ({error})."
                ) from error

    @contextmanager
    def open_anywhere(self) -> Iterator[BinaryIO]:
        """The bytes, unpacked, to be read from any place."""
        with self.open() as file:
            yield file if self._unpack is None else io.BytesIO(self._bounded(file))

    def head(self) -> bytes:
        """The first bytes, unpacked."""
        if self.parts:
            return self.parts[0].head()
        with self.open() as file:
            return bytes(file.read(HEAD_BYTES))

    def read(self) -> bytes:
        """All bytes, unpacked."""
        with self.open() as file:
            return self._bounded(file)

    def lines(self, encoding: str) -> Iterator[str]:
        r"""The lines with their ends (``\n``, ``\r\n`` or ``\r``), without a byte order mark.

        Marks of UTF-8, UTF-16 and UTF-32 are recognised whatever the ``encoding`` that was named.
        Bytes that are not UTF-8 are read as Windows-1252, in which Excel saves CSV files.
        """
        name = find_encoding(self.head(), encoding, self.name)
        errors = "surrogateescape" if name.startswith("utf-8") else "strict"
        number, left = 0, sys.maxsize if self._unpack is None else MOST_BYTES
        with self.open() as raw, io.TextIOWrapper(raw, name, errors, newline="") as file:
            try:
                while line := file.readline(LONGEST_ROW + 1):
                    number, left = number + 1, left - len(line)
                    if len(line) > LONGEST_ROW:
                        raise too_long(self.name, number)
                    if left < 0:
                        raise self._too_large()
                    if not line.isascii() and ESCAPED.search(line):
                        self.windows, line = True, line.translate(WINDOWS)
                    yield line
            except UnicodeError as error:
                raise DataError(
                    f"{self.name}: the text behind line {number:,} is not {name} ({error}); name "
                    "another `encoding`."
                ) from error

    def count_lines(self) -> int:
        """Lines of a text, counted quickly."""
        lines, last = 1, b"\n"
        with self.open() as file:
            while block := file.read(BLOCK):
                # Old Macs end lines with a carriage return alone; the larger number is a bound.
                lines, last = lines + max(block.count(b"\n"), block.count(b"\r")), block
        return lines - last.endswith(b"\n")

    def _bounded(self, file: Any) -> bytes:
        data = bytes(file.read(MOST_BYTES + 1))
        if len(data) > MOST_BYTES:
            raise self._too_large()
        return data

    def _open(self) -> Any:
        return self._path.open("rb") if self._data is None else io.BytesIO(self._data)

    def _too_large(self) -> DataError:
        return DataError(
            f"{self.name} has more than {MOST_BYTES >> 30} GiB, which are too many to unpack or to "
            "read from a pipe; save the unpacked text as a file and give that."
        )


def too_long(name: str, line: int) -> DataError:
    """What to say about a line or a cell that has no end."""
    return DataError(
        f"{name}, line {line:,}: longer than {LONGEST_ROW >> 20} MiB. Is it a table? A quote that "
        "is not closed, or line ends that are missing, may be the cause."
    )


def find_encoding(head: bytes, encoding: str, name: str) -> str:
    """The encoding that a byte order mark tells, else the one that was named.

    Examples
    --------
    >>> find_encoding("a,b".encode("utf-16"), "UTF8", "a.csv")
    'utf-16'
    """
    for mark, marked in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return marked
    try:
        named = codecs.lookup(encoding).name
        "".encode(named)  # fails with what is no encoding of texts, such as rot13 and zlib
    except (LookupError, ValueError) as error:
        raise UsageError(
            f"`encoding`: {encoding!r} is not an encoding of texts that Python knows."
        ) from error
    if named == "utf-8":
        text = head.decode(named, "surrogateescape")
        if len(ESCAPED.findall(text)) + text.count("\0") > FOREIGN * len(text):
            raise DataError(
                f"{name} is not UTF-8. If it is a text, name its `encoding`, such as cp1251, "
                "gb18030 or utf-16-le. Other tables can be Parquet, Arrow or Excel (.xlsx)."
            )
    return named


def file_of(name: str) -> tuple[Path, str]:
    """The file that a name leads to, and the sheet in it, which stands behind ``#``."""
    if not name:
        raise UsageError(f"there is no file {name!r}.")
    path, mark, inside = name.rpartition("#")
    if mark and not path_of(name).exists() and path_of(path).is_file():
        return path_of(path), inside
    return path_of(name), ""


def is_address(name: str) -> bool:
    """Whether a file is not on a drive of this machine, but at an address such as s3://..."""
    return "://" in name


def path_of(name: str) -> Path:
    """The path of a file; one at an address has the methods of a path, too."""
    if not is_address(name):
        return Path(name)
    upath = need("upath", "remote")
    try:
        found: Path = upath.UPath(name)
        found.exists()  # the first contact: a missing package, a wrong name, no access
    except Exception as error:  # each kind of storage has its own
        raise UsageError(f"{name} cannot be reached: {error}") from error
    return found


def several(name: str) -> list[Path]:
    """The files that a folder or a pattern stands for, by name; none for anything else.

    Hidden files and those that begin with an underscore, as other programs leave behind, do not
    count.
    """
    path = path_of(name)
    try:
        if path.is_dir():
            inside = [p for p in path.iterdir() if p.is_file() and p.name[0] not in "._"]
        elif glob.has_magic(name) and not path.exists():
            inside = _matches(name, path)
        else:
            return []
    except (OSError, ValueError):
        return []
    kinds = {p.suffix.lower() for p in inside}
    if not inside:
        raise UsageError(
            f"{name}: there is no file in it, or none that fits; name files with texts."
        )
    if len(kinds) > 1:
        folder = path if path.is_dir() else path.parent
        raise UsageError(
            f"{name}: these are files of several kinds ({', '.join(sorted(kinds))}); name one "
            f"file, or several by a pattern such as '{folder}/*.csv'."
        )
    return sorted(inside)


def _matches(pattern: str, path: Any) -> list[Path]:
    """The files that fit a pattern; ``path`` is the pattern as a path."""
    if not is_address(pattern):
        found = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
        return [file for file in found if file.is_file()]
    return [path_of(path.fs.unstrip_protocol(name)) for name in path.fs.glob(path.path)]
