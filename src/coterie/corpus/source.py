"""Where texts come from, a block at a time: a file, a pipe, or standard input as it arrives.

A pipe is opened once and read once. Compressed files are recognised by their first bytes and read
as what is inside. Whatever the encoding, :class:`Blocks` hands on valid UTF-8.
"""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import io
import lzma
import os
import select
import stat
import sys
import tempfile
import time
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import pyarrow as pa

from coterie._validation import check_path
from coterie.errors import CoterieError, DataError, UsageError

STDIN = "standard input"
BLOCK = 1 << 20  # bytes read at a time from a file
PIPE = 1 << 16  # from a pipe, which rarely holds more
MEMORY = 1 << 25  # bytes of a pipe that are held without a temporary file
HEAD = 1 << 12  # bytes that tell the format
PATIENCE = 0.2  # seconds; a pipe that is silent for longer is waiting for something
LONGEST = 1 << 24  # bytes of a row or a cell
LARGE = 1 << 26  # bytes; what unpacks to less is read however small it was
RATIO = 200  # of what unpacks to more: bytes for a byte; texts have 2 to 50
WRITER = 10.0  # seconds until somebody has to have opened a named pipe for writing


def _open_zstd(file: BinaryIO) -> BinaryIO:
    stream: BinaryIO = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
    return stream


PACKED: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("zstd", _open_zstd),
}
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException)
UNPACK = "unpack it and give the file inside"
EXCEL = "save it as .xlsx or as CSV (UTF-8) in the spreadsheet program and give that file"
EXPORT = "save its texts as a text file and give that file"
KNOWN = {  # first bytes of what holds no table that can be read here, and the remedy
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook or another Office file", EXCEL),
    b"PK\x05\x06": ("an empty zip archive", UNPACK),
    b"7z\xbc\xaf": ("a 7z archive", UNPACK),
    b"Rar!\x1a\x07": ("a RAR archive", UNPACK),
    b"%PDF-1.": ("a PDF document", EXPORT),
    b"FEA1\0": ("a Feather file of version 1", "write it again as Feather version 2 or Parquet"),
    b"\x89HDF": ("an HDF5 file", "write the table as Parquet or CSV and give that file"),
    b"\x93NUMPY": ("a file of numbers", "give the texts, and this file with --vectors"),
    b"\x80\x04": ("a pickle, which can run code", "write the table as Parquet or CSV"),
    b"\x80\x05": ("a pickle, which can run code", "write the table as Parquet or CSV"),
    b"Obj\x01": ("an Avro file", "write the table as Parquet or CSV and give that file"),
}
PAGES = (b"<!doctype html", b"<html")  # what web pages begin with, as some programs write .xls
PAGE = "a web page", EXPORT + "; if it has one text a line, add --format txt"
INSIDE = {  # entries of zip archives, what they tell, and the remedy; a workbook needs none
    "xl/workbook.xml": ("", ""),
    "xl/workbook.bin": ("a binary Excel workbook", EXCEL),
    "word/document.xml": ("a Word document", EXPORT),
    "content.xml": ("an OpenDocument file", EXCEL),
}
DATABASE = "sqlite:///"


class Source:
    """Bytes from a file, a pipe or standard input.

    Parameters
    ----------
    source : str, Path or sequence of them
        ``-`` is standard input. A folder, or a pattern such as ``parts/*.csv``, is several files.
        ``book.xlsx#SHEET`` is a sheet, ``sqlite:///FILE?table=NAME`` and
        ``sqlite:///FILE?query=SELECT ...`` are rows of a database.
    again : bool, default=False
        Whether it must be possible to read it more than once; a pipe is then read to its end, and,
        if it is large, into a temporary file that goes when the source goes.
    """

    def __init__(self, source: str | Path | Sequence[str | Path], *, again: bool = False) -> None:
        if not isinstance(source, (str, Path, Iterable)):
            check_path("source", source)
        files = [] if isinstance(source, (str, Path)) else list(source)
        for file in files:
            check_path("source", file)
        self.name = str(source) if not files else f"{files[0]} and {len(files) - 1} more"
        self._path, self.inside = (Path(), "") if files else file_of(self.name)
        listed: list[str | Path] = [
            path for file in files for path in several(str(file)) or [Path(file)]
        ]
        self.parts = [Source(path) for path in listed or several(self.name)]
        self._data: bytes | None = None
        self._packed: tuple[str, Callable[[Any], Any]] | None = None
        self._pipe: Any = None
        if self.parts:
            return
        if self.name == "-":
            self.name, stream = STDIN, sys.stdin.buffer
            self._pipe = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
        else:
            self._pipe = _open_pipe(self._path)
        if again:
            self.take()
        head = self._raw_head()
        self._packed = next((PACKED[mark] for mark in PACKED if head.startswith(mark)), None)
        if self._packed is not None:
            self.take()

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read only once, as it comes."""
        return self._pipe is not None

    @property
    def path(self) -> Path | None:
        """The file, if it can be opened by its name as it is."""
        return self._path if self._data is None and not (self._pipe or self._packed) else None

    def head(self) -> bytes:
        """The first bytes, unpacked, which stay to be read."""
        if self.parts:
            return self.parts[0].head()
        if self._packed is None:
            return self._raw_head()
        with self.open() as file:
            return self.read(file, HEAD)

    def open(self) -> Any:
        """The bytes from the start, unpacked."""
        raw = self._open_raw()
        return raw if self._packed is None else _Unpacked(raw, self._packed[1], self.name)

    def open_anywhere(self) -> BinaryIO:
        """The same, to be read from any place."""
        if self._packed is None:
            return self._open_raw()
        with self.open() as stream:
            return io.BytesIO(b"".join(iter(lambda: self.read(stream, BLOCK), b"")))

    def read(self, stream: Any, size: int = -1) -> bytes:
        """Bytes of the opened source; what it has, if it is a pipe."""
        try:
            return bytes(stream.read1(PIPE) if self.is_pipe and size > 0 else stream.read(size))
        except DAMAGED as error:
            if self._packed is None:
                raise DataError(f"{self.name} cannot be read: {error}.") from error
            raise DataError(
                f"{self.name}: the {self._packed[0]} data are damaged or cut off ({error}); pack "
                "or download it again."
            ) from error

    def take(self) -> None:
        """Read a pipe to its end, so that it can be read again and from any place."""
        if self._pipe is None:
            return
        self._data, stream, self._pipe = self._pipe.read(MEMORY), self._pipe, None
        if len(self._data) < MEMORY:
            return
        number, name = tempfile.mkstemp(prefix="coterie-", suffix=".input")
        self._path = Path(name)
        weakref.finalize(self, self._path.unlink, missing_ok=True)
        block, self._data = self._data, None
        with os.fdopen(number, "wb") as file:
            while block:
                file.write(block)
                block = stream.read(BLOCK)

    def waiting(self) -> bool:
        """Whether the next bytes would have to be waited for."""
        if self._pipe is None or not hasattr(select, "poll"):
            return False
        try:
            number = self._pipe.fileno()
        except (OSError, AttributeError):
            return False
        poll = select.poll()
        poll.register(number, select.POLLIN | select.POLLHUP)
        return not poll.poll(1000 * PATIENCE)

    def count_lines(self) -> int:
        """Lines of a text, counted quickly."""
        with self.open() as file:
            lines, last = 1, b"\n"
            while block := self.read(file, BLOCK):
                # Old Macs end lines with a carriage return alone; the larger number is a bound.
                lines += max(block.count(b"\n"), block.count(b"\r"))
                last = block
        return lines - last.endswith(b"\n")

    def _raw_head(self) -> bytes:
        if self._pipe is not None:
            return bytes(self._pipe.peek(HEAD))
        with self._open_raw() as file:
            return file.read(HEAD)

    def _open_raw(self) -> BinaryIO:
        if self._pipe is not None:
            stream: BinaryIO = self._pipe
            return stream
        if self._data is not None:
            return io.BytesIO(self._data)
        try:
            return self._path.open("rb")
        except OSError as error:
            raise DataError(f"{self.name} cannot be read: {error.strerror}.") from error


class Blocks:
    """The bytes of a source as UTF-8 in whole characters, without a byte order mark.

    Marks of UTF-8, UTF-16 and UTF-32 are recognised whatever the ``encoding`` that was named.
    """

    def __init__(self, source: Source, encoding: str) -> None:
        self.source, self.encoding = source, find_encoding(source.head(), encoding)

    def __iter__(self) -> Iterator[bytes]:
        source = self.source
        decoder = codecs.getincrementaldecoder(self.encoding)()
        same = self.encoding in ("utf-8", "utf-8-sig")
        lines = 0
        stream = source.open()
        try:
            while True:
                block = source.read(stream, BLOCK)
                if same and block and block.isascii() and not decoder.getstate()[0]:
                    yield block
                else:
                    try:
                        text = decoder.decode(block, final=not block)
                    except UnicodeError as error:
                        raise _undecodable(source.name, lines, error, self.encoding) from error
                    if text:
                        yield text.encode("utf-8", "replace")
                lines += block.count(b"\n")
                if not block:
                    return
        finally:
            if not source.is_pipe:
                stream.close()


class Pieces:
    """Blocks cut where rows end, in time that is linear in their size; gone through once.

    ``find_end`` is called with bytes and the byte behind them (none at the end), each byte once. It
    returns where the last row in them ends, 0 if none does, and None where rows cannot be told;
    then :attr:`odd` is true, and the piece at hand is the last. Bytes of ``waits`` at the end of a
    block wait for the next one: what stands behind them matters. A row that is too long is refused
    with its number: ``before``, and how often the bytes of ``unit`` came since.
    """

    def __init__(
        self,
        blocks: Iterable[bytes],
        name: str,
        find_end: Callable[[bytes, bytes], int | None],
        waits: tuple[bytes, ...] = (),
        *,
        before: int = 0,
        unit: tuple[str, bytes] = ("line", b"\n"),
    ) -> None:
        self.name, self.odd = name, False
        self._before, self._unit = before, unit
        self._blocks, self._find_end, self._waits = iter(blocks), find_end, waits
        self._held: list[bytes] = []  # of a row that has not ended

    def __iter__(self) -> Iterator[bytes]:
        size, last, most = 0, b"", longest()
        for block in self._blocks:
            seen = last + block
            cut = len(seen) - seen.endswith(self._waits)
            body, last = seen[:cut], seen[cut:]
            end = self._find_end(body, last or b"\n")
            self.odd = end is None
            self._held.append(body[: end or None])
            size += len(body)
            if end != 0:
                piece = b"".join(self._held)
                self._held = [body[end:] if end else b"", last]
                self._before += piece.count(self._unit[1])
                yield piece
                if self.odd:
                    return
                self._held.pop()
                size = len(self._held[0])
            if size > most:
                raise too_long(self.name, f"{self._unit[0]} {self._before + 1:,}")
        self.odd = self._find_end(last, b"") is None
        whole, self._held = b"".join([*self._held, last]), []
        if whole:
            yield whole

    def left(self) -> Iterator[bytes]:
        """What is behind the piece at hand."""
        return chain(self._held, self._blocks)


class _Unpacked:
    """A packed stream that ends where it gives far more bytes than it takes."""

    def __init__(self, raw: BinaryIO, unpack: Callable[[Any], Any], name: str) -> None:
        self._size, self._name = raw.seek(0, io.SEEK_END), name
        raw.seek(0)
        self._stream, self._left = unpack(raw), most_unpacked(self._size)

    def read(self, size: int) -> bytes:
        block = bytes(self._stream.read(size))
        self._left -= len(block)
        if self._left < 0:
            raise unpacks_too_far(self._name, self._size)
        return block

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> _Unpacked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def limited() -> bool:
    """Whether rows, cells and unpacked files that are far too large are refused."""
    return os.environ.get("COTERIE_LIMITS") != "off"


def longest() -> int:
    """Bytes that a row or a cell may have; no table has more than a GiB."""
    return LONGEST if limited() else 1 << 30


def most_unpacked(packed: int) -> int:
    """Bytes that so many packed ones may give."""
    return max(LARGE, RATIO * packed) if limited() else sys.maxsize


def unpacks_too_far(name: str, packed: int) -> DataError:
    """What to say about a file that grows without bounds."""
    most = most_unpacked(packed) >> 20
    return DataError(
        f"{name}: its {packed:,} bytes unpack to more than {most:,} MiB, which no table of texts "
        "does. If it is meant, set COTERIE_LIMITS=off."
    )


def too_long(name: str, place: str) -> DataError:
    """What to say about a row or a cell that has no end."""
    return DataError(
        f"{name}, {place}: longer than {longest() >> 20:,} MiB. Is it a table? A quote that is "
        "not closed, or line ends that are missing, may be the cause. If it is meant, set "
        "COTERIE_LIMITS=off."
    )


def find_encoding(head: bytes, encoding: str) -> str:
    """The encoding that a byte order mark tells, else the one that was named.

    Examples
    --------
    >>> find_encoding("a,b".encode("utf-16-be"), "UTF16")
    'utf-16-be'
    """
    if head[:4] in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    if head[:3] == codecs.BOM_UTF8:
        return "utf-8-sig"
    try:
        name = codecs.lookup(encoding).name
        "".encode(encoding)  # rejects what is no encoding of texts, such as rot13 and zlib
        if name in ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined"):
            raise LookupError(name)
    except (LookupError, ValueError, UnicodeError) as error:
        raise UsageError(
            f"`encoding`: {encoding!r} is not an encoding of texts that Python knows."
        ) from error
    if name in ("utf-16", "utf-32"):  # without a mark: zeros are before or behind most letters
        if head and head.isascii() and 0 not in head:
            raise UsageError(f"`encoding={encoding!r}`: this is plain text; leave the option out.")
        width = int(name[4:]) // 8
        before, behind = head[::width].count(0), head[width - 1 :: width].count(0)
        return f"{name}-{'be' if before > behind else 'le'}"
    return name


def check_content(source: Source, head: bytes, format: str = "auto") -> None:
    """Reject by its first bytes what is no table, whatever its name says, with the remedy."""
    found = next((KNOWN[mark] for mark in KNOWN if head.startswith(mark)), None)
    if format == "auto" and head.lstrip()[:20].lower().startswith(PAGES):
        found = PAGE
    if head.startswith(b"PK\x03\x04"):
        source.take()  # it is read from any place
        try:
            with source.open_anywhere() as file:
                archive = zipfile.ZipFile(file)
                names = archive.namelist()
                if "xl/workbook.xml" in names:
                    _check_workbook(archive, source.name, file.seek(0, io.SEEK_END))
        except CoterieError:
            raise
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            raise damaged(source.name, "a whole zip or Excel", error) from error
        found = next((INSIDE[n] for n in INSIDE if n in names), ("a zip archive", UNPACK))
    if found and found[0]:
        raise DataError(f"{source.name} is {found[0]}; {found[1]}.")


def _check_workbook(archive: zipfile.ZipFile, name: str, size: int) -> None:
    """Reject a workbook that unpacks to far too much, or that has a cell far too long.

    Its parts are read in pieces between two tags, before any of them is read as a whole.
    """
    parts = [part for part in archive.infolist() if part.filename.endswith(".xml")]
    if sum(part.file_size for part in parts) > most_unpacked(size):
        raise unpacks_too_far(name, size)
    for part in parts:
        shared = part.filename.endswith("sharedStrings.xml")
        with archive.open(part) as file:
            for _ in Pieces(
                iter(partial(file.read, BLOCK), b""),
                f"{name}, {part.filename}",
                lambda body, _: max(body.rfind(b"<"), 0),
                before=-1,
                unit=("text", b"<si") if shared else ("row", b"<row"),
            ):
                pass


def damaged(name: str, kind: str, error: Exception) -> DataError:
    """What to say about a file that is not what it is called; ``kind`` with its article."""
    return DataError(
        f"{name} is not {kind} file, or is damaged ({error}). If it holds text, add "
        "`format='csv'`, or tsv, jsonl or txt."
    )


def file_of(name: str) -> tuple[Path, str]:
    """The file that a name leads to, and which table in it: a sheet, ``table=...``, ``query=...``.

    Examples
    --------
    >>> file_of("sqlite:///notes.db?query=SELECT body FROM notes")[1]
    'query=SELECT body FROM notes'
    """
    if not name:
        raise UsageError(f"there is no file {name!r}.")
    if name.startswith(DATABASE):
        path, _, inside = name.removeprefix(DATABASE).partition("?")
        if inside and not inside.startswith(("query=", "table=")):
            raise UsageError(
                f"{name}: write sqlite:///FILE?table=NAME or sqlite:///FILE?query=SELECT ..."
            )
        return Path(unquote(path)), unquote(inside)
    path, mark, inside = name.rpartition("#")
    if mark and not Path(name).exists() and Path(path).is_file():
        return Path(path), inside
    return Path(name), ""


def several(name: str) -> list[Path]:
    """The files that a folder or a pattern stands for, by name; none for anything else.

    Hidden files and those that begin with an underscore, as other programs leave behind, do not
    count.
    """
    path = Path(name)
    try:
        if path.is_dir():
            inside = [p for p in path.iterdir() if p.is_file() and p.name[0] not in "._"]
        elif glob.has_magic(name) and not name.startswith(DATABASE) and not path.exists():
            inside = [p for p in Path(path.anchor).glob(str(path.relative_to(path.anchor)))]
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


def _open_pipe(path: Path) -> Any:
    """An open pipe or terminal, to be read once; None for a file, which can be opened again."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise UsageError(f"there is no file {path}.") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISFIFO(mode):
        return _open_fifo(path)
    terminal = path.open("rb") if stat.S_ISCHR(mode) else None
    if terminal is None or not terminal.isatty():
        raise UsageError(f"{path} is a device or a socket; name a file, a pipe or -.")
    return terminal


def _open_fifo(path: Path) -> Any:
    """A pipe; waits as long as its writer takes, but not for ever for one to come."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    first, deadline = b"", time.monotonic() + WRITER
    while not first and time.monotonic() < deadline:
        try:
            first = os.read(number, PIPE)
        except BlockingIOError:  # somebody has opened it and has not written yet
            break
        if not first:
            if str(path).startswith(("/dev/fd/", "/proc/")):  # its writer was there and is gone
                break
            time.sleep(0.02)
    else:
        if not first:
            os.close(number)
            raise DataError(
                f"{path} is a named pipe that no program opened for writing in {WRITER:.0f} "
                "seconds; start the program that writes to it first."
            )
    os.set_blocking(number, True)
    return io.BufferedReader(_Rest(number, first))


class _Rest(io.RawIOBase):
    """An open file with bytes put back before it."""

    def __init__(self, number: int, first: bytes) -> None:
        self._file, self._first = io.FileIO(number, "rb"), first

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: Any) -> int | None:
        if self._first:
            block, self._first = self._first[: len(buffer)], self._first[len(buffer) :]
            buffer[: len(block)] = block
            return len(block)
        return self._file.readinto(buffer)


def _undecodable(name: str, lines: int, error: UnicodeError, encoding: str) -> DataError:
    """What to say about a byte that is not of the encoding."""
    if not isinstance(error, UnicodeDecodeError):
        return DataError(f"{name} is not {encoding}: {error}.")
    line = lines + error.object.count(b"\n", 0, error.start) + 1
    return DataError(
        f"{name}, line {line}: the byte 0x{error.object[error.start]:02x} is not {encoding}. The "
        "file was probably saved on Windows: try `encoding='cp1252'`, or save it as UTF-8."
    )
