"""From a data set's source files to the CSV with the columns ``text,label`` that coterie reads."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Sequence

Row = tuple[str, str]  # text, label


def convert(format: str, sources: Sequence[bytes]) -> bytes:
    """Content of the CSV made from the source files: UTF-8, comma, CRLF, header, stripped texts."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["text", "label"])
    writer.writerows((text.strip(), label) for text, label in FORMATS[format](sources))
    return out.getvalue().encode("utf-8")


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _tab(sources: Sequence[bytes]) -> Iterable[Row]:
    """``label<TAB>text`` a line."""
    for line in _lines(sources[0]):
        label, _, text = line.partition("\t")
        yield text, label.strip()


def _two_files(sources: Sequence[bytes]) -> Iterable[Row]:
    """Texts in one file, labels in the other, line by line."""
    labels = (label.strip() for label in _lines(sources[1]))
    return list(zip(_lines(sources[0]), labels, strict=True))


def _json(sources: Sequence[bytes]) -> Iterable[Row]:
    """``{"text": ..., "cluster": ...}`` a line."""
    records = (json.loads(line) for line in _lines(sources[0]) if line.strip())
    return [(record["text"], str(record["cluster"])) for record in records]


def _csv(sources: Sequence[bytes]) -> Iterable[Row]:
    """A CSV with the columns ``text`` and ``label`` among others."""
    reader = csv.DictReader(io.StringIO(sources[0].decode("utf-8-sig"), newline=""))
    return [(row["text"], row["label"]) for row in reader]


def _label_title_text(sources: Sequence[bytes]) -> Iterable[Row]:
    """A CSV without header: label, title, text."""
    reader = csv.reader(io.StringIO(sources[0].decode("utf-8-sig"), newline=""))
    return [(f"{title.strip()} {text.strip()}", label) for label, title, text in reader]


def _class_text(sources: Sequence[bytes]) -> Iterable[Row]:
    """``class<TAB>text`` with a header line; classes are numbered in alphabetical order."""
    pairs = [line.partition("\t") for data in sources for line in _lines(data)[1:] if line.strip()]
    number = {name: str(i) for i, name in enumerate(sorted({p[0] for p in pairs}), 1)}
    return [(text, number[name]) for name, _, text in pairs]


def _folders(sources: Sequence[bytes]) -> Iterable[Row]:
    """An archive with a folder per class and a file per text; white space is folded."""
    with zipfile.ZipFile(io.BytesIO(sources[0])) as archive:
        files = [n for n in archive.namelist() if n.endswith(".txt") and n.count("/") >= 2]
        keyed = sorted((*name.rsplit("/", 2)[1:], name) for name in files)
        classes = {name: str(i) for i, name in enumerate(sorted({key[0] for key in keyed}), 1)}
        for folder, _, name in keyed:
            text = archive.read(name).decode("utf-8", errors="replace")
            yield " ".join(text.split()), classes[folder]


FORMATS: dict[str, Callable[[Sequence[bytes]], Iterable[Row]]] = {
    "tab": _tab,
    "two-files": _two_files,
    "json": _json,
    "csv": _csv,
    "label-title-text": _label_title_text,
    "class-text": _class_text,
    "folders": _folders,
}
