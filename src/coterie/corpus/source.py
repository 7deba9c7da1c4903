"""Where texts come from, a block at a time: a file, a pipe, or standard input as it arrives.

A pipe is opened once and read once. Compressed files are recognised by their first bytes and read
as what is inside.
"""

from __future__ import annotations

import bz2
import codecs
import errno
import glob
import gzip
import io
import lzma
import os
import queue
import select
import shutil
import stat
import sys
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import pyarrow as pa

from coterie._validation import check_path, need
from coterie.errors import DataError, UsageError

STDIN = "standard input"
BLOCK = 1 << 20  # bytes read at a time from a file
PIPE_BLOCK = 1 << 16  # from a pipe, which rarely holds more
PIPE_MEMORY = 1 << 25  # bytes of a pipe that are held without a temporary file
HEAD_BYTES = 1 << 12  # bytes that tell the format
PIPE_PATIENCE = 0.2  # seconds; a pipe that is silent for longer is waiting for something
LONGEST_ROW = 1 << 24  # bytes of a row or a cell
ANY_RATIO_BYTES = 1 << 26  # bytes; what unpacks to less is read however small it was
UNPACK_RATIO = 200  # of what unpacks to more: bytes for a byte; texts have 2 to 50
WRITER_SECONDS = 10.0  # seconds until somebody has to have opened a named pipe for writing
DATABASE = "sqlite:///"
PACKED: dict[bytes, tuple[str, Callable[[Any], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("zstd", lambda file: pa.CompressedInputStream(file, "zstd")),
}
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException)


class Source:
    """Bytes from a file, a pipe or standard input.

    Parameters
    ----------
    source : str, Path or sequence of them
        ``-`` is standard input. A folder, or a pattern such as ``parts/*.csv``, is several files.
        ``book.xlsx#SHEET`` is a sheet, ``sqlite:///FILE?table=NAME`` and
        ``sqlite:///FILE?query=SELECT ...`` are rows of a database. Addresses that fsspec knows,
        such as ``s3://bucket/parts``, are read where they are.
    again : bool, default=False
        Whether it must be possible to read it more than once; a pipe is then read to its end, and,
        if it is large, into a temporary file that goes when the source goes.
    """

    def __init__(self, source: str | Path | Sequence[str | Path], *, again: bool = False) -> None:
        one = isinstance(source, str) or not isinstance(source, Iterable)
        files: list[Any] = [source] if one else list(source)  # type: ignore[arg-type]
        for file in files:
            check_path("source", file)
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        self.name = str(source) if one or not files else f"{files[0]}{more}"
        self._path, self.inside = file_of(self.name) if one else (Path(), "")
        listed = [several(str(file)) or ([] if one else [file]) for file in files]
        self.parts = [Source(str(path)) for path in chain.from_iterable(listed)]
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
        plain = self._data is None and not (self._pipe or self._packed)
        return self._path if plain and isinstance(self._path, Path) else None

    def head(self) -> bytes:
        """The first bytes, unpacked, which stay to be read."""
        if self.parts:
            return self.parts[0].head()
        return self._raw_head() if self._packed is None else next(self.blocks(), b"")[:HEAD_BYTES]

    def blocks(self) -> Iterator[bytes]:
        """The bytes from the start, unpacked; of a pipe, as they come."""
        raw = self._open()
        left = size = sys.maxsize
        stream = raw
        if self._packed is not None:
            size = raw.seek(0, io.SEEK_END)
            raw.seek(0)
            stream, left = self._packed[1](raw), most_unpacked(size)
        try:
            while block := stream.read1(PIPE_BLOCK) if self.is_pipe else stream.read(BLOCK):
                left -= len(block)
                if left < 0:
                    raise unpacks_too_far(self.name, size)
                yield bytes(block)
        except DAMAGED as error:
            if self._packed is None:
                raise DataError(f"{self.name} cannot be read: {error}.") from error
            raise DataError(
                f"{self.name}: the {self._packed[0]} data are damaged or cut off ({error}); pack "
                "or download it again."
            ) from error
        finally:
            if not self.is_pipe:
                raw.close()

    def texts(self, encoding: str) -> Iterator[str]:
        r"""The text as it comes, without a byte order mark; none ends between ``\r`` and ``\n``.

        Marks of UTF-8, UTF-16 and UTF-32 are recognised whatever the ``encoding`` that was named.
        """
        encoding = find_encoding(self.head(), encoding)
        make = codecs.getincrementaldecoder(encoding)
        decoder, lines = io.IncrementalNewlineDecoder(make(), translate=False), 0
        for block in chain(self.blocks(), [b""]):
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeError as error:
                raise _undecodable(self.name, lines, error, encoding) from error
            if not encoding.startswith("utf-8"):
                text = text.encode("utf-8", "replace").decode()  # no half characters
            if text:
                yield text
            lines += block.count(b"\n")

    def open_anywhere(self) -> BinaryIO:
        """The bytes, unpacked, to be read from any place."""
        return self._open() if self._packed is None else io.BytesIO(b"".join(self.blocks()))

    def take(self) -> None:
        """Read a pipe to its end, so that it can be read again and from any place."""
        if self._pipe is None:
            return
        stream, self._pipe = self._pipe, None
        data = stream.read(PIPE_MEMORY)
        if len(data) < PIPE_MEMORY:
            self._data = data
            return
        number, name = tempfile.mkstemp(prefix="coterie-", suffix=".input")
        self._path = Path(name)
        weakref.finalize(self, self._path.unlink, missing_ok=True)
        with os.fdopen(number, "wb") as file:
            file.write(data)
            shutil.copyfileobj(stream, file, BLOCK)

    def waiting(self) -> bool:
        """Whether the next bytes would have to be waited for."""
        if self._pipe is None or not hasattr(select, "poll"):
            return False
        poll = select.poll()
        try:
            poll.register(self._pipe.fileno(), select.POLLIN | select.POLLHUP)
        except OSError:  # no file of the system
            return False
        return not poll.poll(1000 * PIPE_PATIENCE)

    def count_lines(self) -> int:
        """Lines of a text, counted quickly."""
        lines, last = 1, b"\n"
        for last in self.blocks():
            # Old Macs end lines with a carriage return alone; the larger number is a bound.
            lines += max(last.count(b"\n"), last.count(b"\r"))
        return lines - last.endswith(b"\n")

    def _raw_head(self) -> bytes:
        if self._pipe is not None:
            return bytes(self._pipe.peek(HEAD_BYTES))
        with self._open() as file:
            return bytes(file.read(HEAD_BYTES))

    def _open(self) -> Any:
        if self._pipe is not None:
            return self._pipe
        return self._path.open("rb") if self._data is None else io.BytesIO(self._data)


def whole_lines(
    texts: Iterable[str], name: str, ends: tuple[str, ...] = ("\n",)
) -> Iterator[tuple[int, str]]:
    """The texts cut behind lines, each with the number of lines before it.

    A line that is far too long is refused. Time is linear in the size of the texts.
    """
    held: list[str] = []
    before = size = 0
    for text in texts:
        cut = max(text.rfind(end) for end in ends) + 1
        held.append(text[:cut])
        if cut:
            whole = "".join(held)
            yield before, whole
            held, size = [], 0
            before += count_lines(whole)
        held.append(text[cut:])
        size += len(text) - cut
        if size > longest():
            raise too_long(name, f"line {before + 1:,}")
    if rest := "".join(held):
        yield before, rest


def count_lines(text: str) -> int:
    """How many lines end in it, by a new line, a carriage return, or both."""
    returns = text.count("\r") - text.count("\r\n") if "\r" in text else 0
    return text.count("\n") + returns


def limited() -> bool:
    """Whether rows, cells and unpacked files that are far too large are refused."""
    return os.environ.get("COTERIE_LIMITS") != "off"


def longest() -> int:
    """Bytes that a row or a cell may have; no table has more than a GiB."""
    return LONGEST_ROW if limited() else 1 << 30


def most_unpacked(packed: int) -> int:
    """Bytes that so many packed ones may give."""
    return max(ANY_RATIO_BYTES, UNPACK_RATIO * packed) if limited() else sys.maxsize


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
        "".encode(encoding)  # fails with what is no encoding of texts, such as rot13 and zlib
    except (LookupError, ValueError):
        name = ""
    if name in ("", "idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined"):
        raise UsageError(f"`encoding`: {encoding!r} is not an encoding of texts that Python knows.")
    if name in ("utf-16", "utf-32"):  # without a mark: zeros are before or behind most letters
        if head and head.isascii() and 0 not in head:
            raise UsageError(f"`encoding={encoding!r}`: this is plain text; leave the option out.")
        width = int(name[4:]) // 8
        before, behind = head[::width].count(0), head[width - 1 :: width].count(0)
        return f"{name}-{'be' if before > behind else 'le'}"
    return name


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
    if mark and not path_of(name).exists() and path_of(path).is_file():
        return path_of(path), inside
    return path_of(name), ""


def is_address(name: str) -> bool:
    """Whether a file is not on a drive of this machine, but at an address such as s3://..."""
    return "://" in name and not name.startswith(DATABASE)


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
        elif glob.has_magic(name) and not name.startswith(DATABASE) and not path.exists():
            base, pattern = split_pattern(name)
            inside = list(base.glob(pattern))
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


def split_pattern(name: str) -> tuple[Path, str]:
    """The folder before the first wildcard, and the pattern of the files below it.

    Examples
    --------
    >>> folder, pattern = split_pattern("data/2024-*/part.parquet")
    >>> folder.name, pattern
    ('data', '2024-*/part.parquet')
    """
    away = is_address(name)
    steps = name.split("/") if away else list(Path(name).parts)
    plain = next((i for i, step in enumerate(steps) if glob.has_magic(step)), len(steps) - 1)
    base = path_of("/".join(steps[:plain])) if away else Path(*steps[:plain])
    return base, "/".join(steps[plain:])


def _open_pipe(path: Path) -> Any:
    """An open pipe or terminal, to be read once; None for a file, which can be opened again."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise UsageError(f"there is no file {path}.") from error
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
    if str(path).startswith(("/dev/", "/proc/")):  # of the shell: its writer may be gone already
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(number, True)
        return os.fdopen(number, "rb")
    if not os.access(path, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    opened = queue.SimpleQueue[Any]()
    threading.Thread(target=lambda: opened.put(path.open("rb")), daemon=True).start()
    try:
        return opened.get(timeout=WRITER_SECONDS)
    except queue.Empty as error:
        raise DataError(
            f"{path} is a named pipe that no program opened for writing in {WRITER_SECONDS:.0f} "
            "seconds; start the program that writes to it first."
        ) from error


def _undecodable(name: str, lines: int, error: UnicodeError, encoding: str) -> DataError:
    """What to say about a byte that is not of the encoding."""
    if not isinstance(error, UnicodeDecodeError):
        return DataError(f"{name} is not {encoding}: {error}.")
    line = lines + error.object.count(b"\n", 0, error.start) + 1
    return DataError(
        f"{name}, line {line}: the byte 0x{error.object[error.start]:02x} is not {encoding}. The "
        "file was probably saved on Windows: try `encoding='cp1252'`, or save it as UTF-8."
    )
