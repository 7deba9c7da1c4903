"""Find, check, read and download data sets."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import logging
import os
import re
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coterie._util.files import atomic_path, sha256_file
from coterie._util.validation import check_choice
from coterie.errors import DataError, MissingError
from coterie_bench.datasets.cards import CARDS, PAIRS, Card

SENTENCES = "-sentences"
END = re.compile(r"(?<=[.!?])[\"']?\s+(?=[\"'(]?[A-Z0-9£$])")  # a stop, then a capital or a number


@dataclass(frozen=True)
class Dataset:
    """Texts with their true labels, which are for scoring alone.

    ``coarse`` has the coarse classes of a set with two levels.
    """

    card: Card
    path: Path
    texts: list[str]
    labels: list[str]
    coarse: list[str] | None = None


def default_folder() -> Path:
    """``COTERIE_DATA``, else a cache folder of the user."""
    if folder := os.environ.get("COTERIE_DATA"):
        return Path(folder)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "coterie" / "data"


def locate_dataset(name: str, folder: Path | None = None) -> Path | None:
    """Path of a data set's CSV, or None if it is not on this machine."""
    card = CARDS[check_choice("data set", name, CARDS)]
    return _search(card.file, folder)


def load_dataset(name: str, folder: str | Path | None = None) -> Dataset:
    """Read a benchmark from a data folder, after checking that it is the known one.

    "NAME-sentences" is the data set NAME with each sentence as a text of its own.
    """
    if str(name).endswith(SENTENCES) and name.removesuffix(SENTENCES) in CARDS:
        return split_sentences(load_dataset(name.removesuffix(SENTENCES), folder))
    card = CARDS[check_choice("data set", name, CARDS)]
    path = _search(card.file, Path(folder) if folder is not None else None)
    if path is None:
        raise MissingError(
            f"the data set {name!r} is not in {folder or default_folder()}; {card.remedy}"
        )
    _check(path, card.sha256)
    reader = csv.DictReader(io.StringIO(path.read_text("utf-8"), newline=""))
    rows = list(reader)
    columns = {name: [row[name] for row in rows] for name in reader.fieldnames or ()}
    return Dataset(card, path, columns["text"], columns["label"], columns.get("coarse"))


def split_sentences(dataset: Dataset, shortest: int = 4) -> Dataset:
    """The data set with each sentence as a text, under the label of the text it is from.

    Parameters
    ----------
    dataset : Dataset
    shortest : int, default=4
        Sentences of fewer words are left out.
    """
    pairs = [
        (sentence, label)
        for text, label in zip(dataset.texts, dataset.labels, strict=True)
        for sentence in END.split(text)
        if len(sentence.split()) >= shortest
    ]
    card = replace(dataset.card, name=dataset.card.name + SENTENCES, rows=len(pairs))
    texts, labels = [text for text, _ in pairs], [label for _, label in pairs]
    return replace(dataset, card=card, texts=texts, labels=labels, coarse=None)


def find_pairs(name: str, kind: str, folder: str | Path | None = None) -> Path:
    """Path of the published augmentations of a benchmark, such as "contextual10" or "eda"."""
    kinds = [k for dataset, k in PAIRS if dataset == name]
    pairs = PAIRS[name, check_choice(f"views of {name!r}", kind, kinds)]
    path = _search(pairs.file, Path(folder) if folder is not None else None)
    if path is None:
        raise MissingError(
            f"{pairs.file} (from {pairs.source}) is not in {folder or default_folder()}; "
            "name its folder with --data or COTERIE_DATA."
        )
    _check(path, pairs.sha256)
    return path


def _search(file: str, folder: Path | None) -> Path | None:
    """Look in the folder itself, in ``data`` and ``augmented`` in it, and beside it.

    Files of prepared sets have the name of their folder in ``file``.
    """
    top = folder or default_folder()
    places = [top, top / "data", top / "augmented", top.parent / "augmented"]
    if "/" in file:
        places.append(top.parent)
    return next((place / file for place in places if (place / file).exists()), None)


def _check(path: Path, sha256: str) -> None:
    if sha256_file(path) != sha256:
        raise DataError(
            f"{path} is not the expected file (its sha256 differs); move it away and "
            "download it again."
        )


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


log = logging.getLogger(__name__)

TIMEOUT = 30.0


def get_dataset(
    name: str, folder: Path | None = None, *, urls: Sequence[str] | None = None
) -> Path:
    """Download a data set into ``folder`` and return the path of its CSV.

    Parameters
    ----------
    name : str
        One of ``CARDS``.
    folder : Path, optional
        Default: ``COTERIE_DATA``, else a cache folder of the user.
    urls : sequence of str, optional
        Mirrors of the source files, in the card's order; the checksum stays the same.
    """
    card = CARDS[check_choice("data set", name, CARDS)]
    folder = folder or default_folder()
    target = folder / card.file
    if target.exists() and sha256_file(target) == card.sha256:
        log.info("%s is already there", target)
        return target
    if not (urls or card.urls):
        raise MissingError(f"the data set {name!r} is not in {folder}; {card.remedy}")
    content = convert(card.format, [fetch(url) for url in urls or card.urls])
    found = hashlib.sha256(content).hexdigest()
    if found != card.sha256:
        raise DataError(
            f"the file that {card.address} sent for {name!r} is not the expected data "
            f"(sha256 {found[:12]}..., expected {card.sha256[:12]}...); nothing was kept."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(target) as temporary:
        temporary.write_bytes(content)
    return target


def fetch(url: str) -> bytes:
    """What is at an address; no source is larger than some megabytes."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            return bytes(answer.read())
    except OSError as error:
        raise MissingError(
            f"{url} could not be fetched ({error}). Without a network, put the file into a folder "
            "yourself and name the folder with --data or COTERIE_DATA."
        ) from error
