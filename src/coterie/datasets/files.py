"""Finding data sets on this machine, checking them, and reading them."""

from __future__ import annotations

import csv
import io
import os
import re
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from coterie._errors import DataError, MissingError
from coterie._files import sha256_file
from coterie._validation import check_choice
from coterie.corpus import Corpus, read_corpus
from coterie.datasets.cards import CARDS, PAIRS, Card

SENTENCES = "-sentences"
END = re.compile(r"(?<=[.!?])[\"']?\s+(?=[\"'(]?[A-Z0-9£$])")  # a stop, then a capital or a number


@dataclass(frozen=True)
class Dataset:
    """Texts with their true labels, which are for scoring alone."""

    card: Card
    path: Path
    texts: list[str]
    labels: list[str]


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
    if name.endswith(SENTENCES) and name.removesuffix(SENTENCES) in CARDS:
        return split_sentences(load_dataset(name.removesuffix(SENTENCES), folder))
    card = CARDS[check_choice("data set", name, CARDS)]
    path = _search(card.file, Path(folder) if folder is not None else None)
    if path is None:
        raise MissingError(
            "datasets.not_found", name=name, folder=folder or default_folder(), remedy=card.remedy
        )
    _check(path, card.sha256)
    reader = csv.DictReader(io.StringIO(path.read_text("utf-8"), newline=""))
    rows = [(row["text"], row["label"]) for row in reader]
    return Dataset(card, path, [text for text, _ in rows], [label for _, label in rows])


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
    return replace(dataset, card=card, texts=texts, labels=labels)


def find_pairs(name: str, kind: str, folder: str | Path | None = None) -> Path:
    """Path of the published augmentations of a benchmark, such as "contextual10" or "eda"."""
    kinds = [k for dataset, k in PAIRS if dataset == name]
    pairs = PAIRS[name, check_choice(f"views of {name!r}", kind, kinds)]
    path = _search(pairs.file, Path(folder) if folder is not None else None)
    if path is None:
        raise MissingError(
            "datasets.no_pairs_file",
            file=pairs.file,
            source=pairs.source,
            folder=folder or default_folder(),
        )
    _check(path, pairs.sha256)
    return path


def sample() -> Corpus:
    """The bundled support messages: columns id, date, channel, message and theme."""
    source = resources.files("coterie") / "sample" / "support.csv"
    with resources.as_file(source) as path:
        return read_corpus(path, text_column="message", id_column="id")


def _search(file: str, folder: Path | None) -> Path | None:
    """Look in the folder itself, in ``data`` and ``augmented`` in it, and beside it.

    Files of the groups "dev" and "lang" have the name of their folder in ``file``.
    """
    top = folder or default_folder()
    places = [top, top / "data", top / "augmented", top.parent / "augmented"]
    if "/" in file:
        places.append(top.parent)
    return next((place / file for place in places if (place / file).exists()), None)


def _check(path: Path, sha256: str) -> None:
    if sha256_file(path) != sha256:
        raise DataError("datasets.file_differs", path=path)
