"""Where texts come from, read a part at a time: a file, or standard input as it arrives."""

from __future__ import annotations

import codecs
import io
import os
import re
import select
import sys
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from coterie._errors import DataError, UsageError

STDIN = "standard input"
BLOCK = 1 << 20  # bytes read at a time from a file
PIPE = 1 << 16  # from a pipe, which rarely holds more
MEMORY = 1 << 25  # bytes of standard input that are held without a temporary file
HEAD = 1 << 12  # bytes that tell the format
PATIENCE = 0.2  # seconds; a pipe that is silent for longer is waiting for something
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")


class Source:
    """Bytes from a file or from standard input.

    Parameters
    ----------
    source : str or Path
        ``-`` is standard input.
    again : bool, default=False
        Whether it must be possible to read it more than once; standard input is then read to its
        end, and, if it is large, into a temporary file that goes when the source goes.
    """

    def __init__(self, source: str | Path, *, again: bool = False) -> None:
        self.name, self._path = str(source), Path(source)
        self._stdin: Any = None
        self._data: bytes | None = None
        if str(source) == "-":
            self.name = STDIN
            self._stdin = _peekable(sys.stdin.buffer)
            if again:
                self.take()
        elif not self._path.exists():
            raise UsageError(f"there is no file {self._path}.")
        elif self._path.is_dir():
            raise UsageError(f"{self._path} is a folder; name a file in it.")

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read only once, as it comes."""
        return self._stdin is not None

    def head(self) -> bytes:
        """The first bytes, which stay to be read."""
        if self._stdin is not None:
            return bytes(self._stdin.peek(HEAD))
        with self.open() as file:
            return file.read(HEAD)

    def open(self) -> BinaryIO:
        """The bytes from the start."""
        if self._stdin is not None:
            stream: BinaryIO = self._stdin
            return stream
        return self._path.open("rb") if self._data is None else io.BytesIO(self._data)

    def take(self) -> None:
        """Read standard input to its end, so that it can be read again and from any place."""
        if self._stdin is None:
            return
        self._data, stream, self._stdin = self._stdin.read(MEMORY), self._stdin, None
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

    def most_rows(self, format: str) -> int:
        """No fewer than the rows in it, counted quickly: lines, or what a Parquet file says."""
        with self.open() as file:
            if format == "parquet":
                return _parquet_rows(file, self.name)
            lines, last = 1, b"\n"
            while block := file.read(BLOCK):
                # Old Macs end lines with a carriage return alone; the larger number is a bound.
                lines += max(block.count(b"\n"), block.count(b"\r"))
                last = block
        return lines - last.endswith(b"\n")


def _parquet_rows(file: BinaryIO, name: str) -> int:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return int(pyarrow.parquet.read_metadata(file).num_rows)
    except pa.ArrowInvalid as error:
        raise not_parquet(name, error) from error


def not_parquet(name: str, error: Exception) -> DataError:
    """What to say about a file that is not what it is called."""
    return DataError(f"{name} is not a Parquet file: {error}")


def _peekable(stream: Any) -> Any:
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)


class Lines:
    """Lines of a source as text, with their ends; knows when there is nothing to read just now.

    Parameters
    ----------
    source : Source
    encoding : str
        Byte order marks of UTF-8 and UTF-16 are recognised in any case.
    old_ends : bool, default=False
        Whether a carriage return alone ends a line, too.
    """

    def __init__(self, source: Source, encoding: str, *, old_ends: bool = False) -> None:
        self.source, self.old_ends = source, old_ends
        self.encoding = encoding_of(source.head(), encoding)
        try:
            self._decoder = codecs.getincrementaldecoder(self.encoding)()
        except LookupError as error:
            raise unknown_encoding(self.encoding) from error
        self._pending: list[str] = []  # the next line is the last
        self._rest = ""
        self._seen = 0  # line ends in bytes read before
        self._generator = self._lines()

    def __iter__(self) -> Iterator[str]:
        return self._generator

    def waiting(self) -> bool:
        """Whether the next line would have to be waited for."""
        if self._pending or not self.source.is_pipe or not hasattr(select, "poll"):
            return False
        stream: Any = self.source.open()
        try:
            number = stream.fileno()
        except (OSError, AttributeError):
            return False
        poll = select.poll()
        poll.register(number, select.POLLIN | select.POLLHUP)
        return not poll.poll(1000 * PATIENCE)

    def _lines(self) -> Iterator[str]:
        stream: Any = self.source.open()
        try:
            while True:
                pipe = self.source.is_pipe
                block = stream.read1(PIPE) if pipe else stream.read(BLOCK)
                self._split(self._decode(block), final=not block)
                while self._pending:
                    yield self._pending.pop()
                if not block:
                    return
        finally:
            if not self.source.is_pipe:
                stream.close()

    def _decode(self, block: bytes) -> str:
        try:
            text = self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            line = self._seen + error.object.count(b"\n", 0, error.start) + 1
            raise undecodable(self.source.name, line, error, self.encoding) from error
        self._seen += block.count(b"\n")
        return text

    def _split(self, text: str, *, final: bool) -> None:
        text = self._rest + text
        if self.old_ends:
            # A carriage return at the end may be the first half of a line end.
            held = "\r" if text.endswith("\r") and not final else ""
            text = text[: len(text) - len(held)]
            lines = LINE.findall(text)
            self._rest = text[sum(map(len, lines)) :] + held
        else:
            lines = text.split("\n")
            self._rest = lines.pop()
            lines = [f"{line}\n" for line in lines]
        if final and self._rest:
            lines.append(self._rest)
            self._rest = ""
        self._pending = lines[::-1]


def encoding_of(head: bytes, encoding: str) -> str:
    """The encoding that a byte order mark tells, else the one that was named."""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    return "utf-8-sig" if head[:3] == codecs.BOM_UTF8 else encoding


def undecodable(name: str, line: int, error: UnicodeDecodeError, encoding: str) -> DataError:
    """What to say about a byte that is not of the encoding."""
    return DataError(
        f"{name}, line {line}: the byte 0x{error.object[error.start]:02x} is not {encoding}. The "
        "file was probably saved on Windows: try --encoding cp1252, or save it as UTF-8."
    )


def unknown_encoding(encoding: str) -> UsageError:
    """What to say about an encoding that does not exist."""
    return UsageError(f"--encoding: {encoding!r} is not an encoding Python knows.")
