"""What a file is: by its first bytes, else by its name."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

from coterie.corpus.jsonlines import try_json
from coterie.corpus.source import STDIN, Source, most_unpacked, unpacks_too_far
from coterie.errors import DataError, UsageError


class Kind(NamedTuple):
    """How a kind of file is recognised: by suffixes, or by the bytes that all of them begin with.

    Files with such ``marks`` are no text, and are read from any place in them.
    """

    name: str
    suffixes: tuple[str, ...]
    marks: tuple[bytes, ...] = ()


ARROW_STREAM = b"\xff\xff\xff\xff"  # a file says ARROW1
KINDS = {
    "csv": Kind("a CSV", (".csv",)),
    "tsv": Kind("a TSV", (".tsv", ".tab")),
    "jsonl": Kind("a JSON lines", (".jsonl", ".ndjson", ".json")),
    "parquet": Kind("a Parquet", (".parquet", ".pq"), (b"PAR1",)),
    "arrow": Kind("an Arrow", (".arrow", ".feather", ".ipc", ".arrows"), (b"ARROW1", ARROW_STREAM)),
    "xlsx": Kind("an Excel", (".xlsx", ".xlsm"), (b"PK\x03\x04",)),
    "sqlite": Kind("an SQLite", (".db", ".sqlite", ".sqlite3"), (b"SQLite format 3\0",)),
    "txt": Kind("a plain text", (".txt", ".text")),
}
FORMATS = ("auto", *KINDS)
SUFFIXES = {suffix: format for format, kind in KINDS.items() for suffix in kind.suffixes}
PACKED = (".gz", ".bz2", ".xz", ".zst")
UNPACK = "unpack it and give the file inside"
EXCEL = "save it as .xlsx or as CSV (UTF-8) in the spreadsheet program and give that file"
EXPORT = "save its texts as a text file and give that file"
PARQUET = "write the table as Parquet or CSV and give that file"
NO_TABLES = {  # first bytes of what holds no table that can be read here, and the remedy
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook or another Office file", EXCEL),
    b"PK\x05\x06": ("an empty zip archive", UNPACK),
    b"7z\xbc\xaf": ("a 7z archive", UNPACK),
    b"Rar!\x1a\x07": ("a RAR archive", UNPACK),
    b"%PDF-1.": ("a PDF document", EXPORT),
    b"FEA1\0": ("a Feather file of version 1", PARQUET),
    b"\x89HDF": ("an HDF5 file", PARQUET),
    b"\x93NUMPY": ("a file of numbers", "give the texts, and this file with --vectors"),
    b"\x80\x04": ("a pickle, which can run code", PARQUET),
    b"\x80\x05": ("a pickle, which can run code", PARQUET),
    b"Obj\x01": ("an Avro file", PARQUET),
}
PAGES = (b"<!doctype html", b"<html")  # what web pages begin with, as some programs write .xls
PAGE = "a web page", EXPORT + "; if it has one text a line, add --format txt"
INSIDE = {  # entries of zip archives, what they tell, and the remedy; a workbook needs none
    "xl/workbook.xml": None,
    "xl/workbook.bin": ("a binary Excel workbook", EXCEL),
    "word/document.xml": ("a Word document", EXPORT),
    "content.xml": ("an OpenDocument file", EXCEL),
}


def check_content(source: Source, head: bytes, format: str = "auto") -> None:
    """Reject by its first bytes what is no table, whatever its name says, with the remedy."""
    found = next((NO_TABLES[mark] for mark in NO_TABLES if head.startswith(mark)), None)
    if format == "auto" and head.lstrip()[:20].lower().startswith(PAGES):
        found = PAGE
    if head.startswith(KINDS["xlsx"].marks):
        source.take()  # it is read from any place
        with source.open_anywhere() as file:
            size = file.seek(0, io.SEEK_END)
            try:
                entries = {e.filename: e.file_size for e in zipfile.ZipFile(file).infolist()}
            except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
                raise damaged(source.name, "a whole zip or Excel", error) from error
        if "xl/workbook.xml" in entries and sum(entries.values()) > most_unpacked(size):
            raise unpacks_too_far(source.name, size)
        found = next((INSIDE[n] for n in INSIDE if n in entries), ("a zip archive", UNPACK))
    if found:
        raise DataError(f"{source.name} is {found[0]}; {found[1]}.")


def damaged(name: str, kind: str, error: Exception) -> DataError:
    """What to say about a file that is not what it is called; ``kind`` with its article."""
    return DataError(
        f"{name} is not {kind} file, or is damaged ({error}). If it holds text, add "
        "`format='csv'`, or tsv, jsonl or txt."
    )


def find_format(source: Source, head: bytes, asked: str, *, columns: bool) -> tuple[str, str]:
    """The format of a file, and what to say if the content tells another one than the name.

    ``head`` are its first bytes, ``asked`` is "auto" to find it, and ``columns`` says whether the
    caller expects some.
    """
    marked = next((f for f, kind in KINDS.items() if head.startswith(kind.marks)), "")
    if asked != "auto":
        if marked and asked != marked:
            raise UsageError(f"`format` {asked}: {source.name} is {KINDS[marked].name} file.")
        return asked, ""
    if source.parts:
        return find_format(source.parts[0], head, asked, columns=columns)
    suffix = suffix_of(source.name if source.path is None else source.path.name)
    named = SUFFIXES.get(suffix, "")
    found = marked or _format_of_text(head, named)
    if named and found and found != named:
        return (
            found,
            f"by its content this is {KINDS[found].name} file, not {KINDS[named].name} file",
        )
    if named or marked:
        return named or marked, ""
    if source.name != STDIN and not source.name.startswith("/dev/fd/"):
        raise UsageError(
            f"{source.name}: the suffix {suffix!r} is not a known format; add `format` with one "
            f"of {', '.join(KINDS)}."
        )
    if head.lstrip()[:1] in (b"{", b"["):
        return "jsonl", ""
    return ("csv" if columns else "txt"), ""


def suffix_of(name: str) -> str:
    """The suffix that tells the format, in lower case.

    Examples
    --------
    >>> suffix_of("tickets.CSV.gz"), suffix_of("tickets.jsonl")
    ('.csv', '.jsonl')
    """
    path = Path(name)
    return Path(path.stem).suffix.lower() if path.suffix.lower() in PACKED else path.suffix.lower()


def _format_of_text(head: bytes, named: str) -> str:
    """What a text file is if its name is wrong, such as JSON lines named as CSV; else nothing."""
    line, ended, _ = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    text = line.decode("utf-8", "replace").strip()
    binary = bool(KINDS[named].marks) if named else False
    if binary and (b"\0" in head or "\ufffd" in text[:-1]):
        return ""  # damaged, and no text
    if (named in ("csv", "tsv") and ended) or binary:
        if text.startswith("{") and isinstance(try_json(text), dict):
            return "jsonl"
    if binary or (named == "jsonl" and text and text[0] not in '{["'):
        if try_json(text) is None:
            return "tsv" if "\t" in text else "csv" if "," in text or ";" in text else ""
    return ""
