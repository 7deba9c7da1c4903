"""One card per data set: where it comes from, how large it is, and how to know it again.

The checksum is that of the CSV (columns ``text,label``) that the converter of ``format`` makes
from the source files, so it also proves the conversion. Sets of the groups "dev", "tails", "levels"
and "lang" are samples prepared from their sources: they have a checksum and a source, and cannot be
downloaded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources

GITHUB = "https://github.com"


@dataclass(frozen=True)
class Card:
    """A benchmark.

    Attributes
    ----------
    name, title : str
    file : str
        Path of the CSV in a data folder.
    repository : str
        ``owner/name@commit`` on GitHub.
    paths : tuple of str
        Files there.
    format : str
        How they are laid out; see ``files.py``. "prepared": the CSV is a sample of the source
        that only its checksum tells.
    rows, classes : int
    sha256 : str
    paper, text, licence : str
    group : {"benchmark", "longer", "raw", "dev", "tails", "levels", "lang"}
        The eight benchmarks, three sets of longer texts, rawer variants of four benchmarks,
        thirteen development sets, eleven further ones (six with many small classes, five with
        coarse classes above the classes), and six sets in other languages than English.
    """

    name: str
    title: str
    file: str
    repository: str
    paths: tuple[str, ...]
    format: str
    rows: int
    classes: int
    sha256: str
    paper: str
    text: str
    licence: str
    group: str = "benchmark"

    @property
    def address(self) -> str:
        """Page of the source."""
        owner, commit = self.repository.split("@")
        return f"{GITHUB}/{owner}/tree/{commit}"

    @property
    def urls(self) -> tuple[str, ...]:
        """Addresses to download from; a folder comes as the archive of its repository."""
        if self.format == "prepared":
            return ()
        owner, commit = self.repository.split("@")
        if self.format == "folders":
            return (f"{GITHUB}/{owner}/archive/{commit}.zip",)
        return tuple(f"{GITHUB}/{owner}/raw/{commit}/{path}" for path in self.paths)

    @property
    def remedy(self) -> str:
        """What to do where the file is missing."""
        where = f"name the folder that holds {self.file} with --data or COTERIE_DATA"
        if self.format == "prepared":
            return f"{where}; it was prepared from {self.address} and cannot be downloaded."
        return f"{where}, or run: coterie-bench datasets get {self.name}"


@dataclass(frozen=True)
class Pairs:
    """Published augmentations of a benchmark, row by row (columns ``text,text1[,text2],label``)."""

    dataset: str
    kind: str
    file: str
    source: str
    sha256: str


def _read() -> tuple[dict[str, Card], dict[tuple[str, str], Pairs]]:
    source = resources.files("coterie_bench") / "datasets" / "cards.json"
    data = json.loads(source.read_text("utf-8"))
    cards = [Card(**{**entry, "paths": tuple(entry["paths"])}) for entry in data["datasets"]]
    pairs = [Pairs(**entry) for entry in data["pairs"]]
    return {card.name: card for card in cards}, {(p.dataset, p.kind): p for p in pairs}


CARDS, PAIRS = _read()
GROUPS = {
    group: tuple(card.name for card in CARDS.values() if card.group == group)
    for group in ("benchmark", "dev", "tails", "levels", "lang")
}
BENCHMARKS, DEV, TAILS, LEVELS, LANGUAGES = GROUPS.values()
