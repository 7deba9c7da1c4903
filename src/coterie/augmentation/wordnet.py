"""WordNet's files: an index in memory, senses when they are asked for.

The package brings what augmentation needs of WordNet 3.0 in ``wordnet.zip``, whose licence is in
``wordnet-licence.txt``. WNSEARCHDIR names other files: a whole WordNet, or another version.

The format is that of the manual page wndb(5WN): ``index.POS`` has a line per lemma with the places
of its senses in ``data.POS``, the frequent ones first; ``POS.exc`` has irregular forms;
``cntlist.rev`` tells how often a sense was met.
"""

from __future__ import annotations

import mmap
import os
import zipfile
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from coterie._errors import MissingError

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
NEEDED = [f"{kind}.{part}" for part in PARTS.values() for kind in ("index", "data")]
OPTIONAL = [*(f"{part}.exc" for part in PARTS.values()), "cntlist.rev"]
NUMBERED = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # 5: a satellite adjective
BUNDLED = Path(__file__).with_name("wordnet.zip")  # made by tools/wordnet_table.py
REMEDY = (
    "unset WNSEARCHDIR to take the synonyms of coterie itself, or let it name a folder with "
    "WordNet's files ('apt-get install wordnet-base' brings them to /usr/share/wordnet)"
)


class WordNet:
    """Senses of English words.

    Parameters
    ----------
    files : mapping of str to bytes or mmap
        By name, as in WordNet's ``dict`` folder.
    """

    def __init__(self, files: Mapping[str, Any]) -> None:
        self.files = files
        self._read: dict[tuple[str, int], list[str]] = {}

    def synsets(self, lemma: str, part: str, most: int | None = None) -> list[list[str]]:
        """Words of each sense of a lemma as one part of speech, the frequent senses first.

        Parameters
        ----------
        lemma : str
            In small letters, with underscores for blanks.
        part : {"n", "v", "a", "r"}
        most : int, optional
            How many senses. Default: all.
        """
        line = self._index[part].get(lemma)
        if line is None:
            return []
        fields = line.split()
        places = fields[len(fields) - int(fields[1]) :][:most]
        return [self._words(part, int(place)) for place in places]

    def _words(self, part: str, place: int) -> list[str]:
        known = self._read.get((part, place))
        if known is None:
            data = self.files[f"data.{PARTS[part]}"]
            # Eight digits, two digits, a letter, and the number of words in two digits.
            line = data[place : data.find(b"\n", place)]
            count = int(line[14:16], 16)
            words = line[17:].split(b" ", 2 * count)[: 2 * count : 2]
            known = self._read[part, place] = [word.decode().partition("(")[0] for word in words]
        return known

    def lemmas(self, part: str) -> Iterable[str]:
        """All lemmas of a part of speech."""
        return self._index[part]

    def has(self, lemma: str, part: str) -> bool:
        """Whether there is such a lemma."""
        return lemma in self._index[part]

    @cached_property
    def _index(self) -> dict[str, dict[str, str]]:
        """By part of speech: what stands behind each lemma in its line, unread."""
        out = {}
        for part, name in PARTS.items():
            lines = self.files[f"index.{name}"][:].decode().splitlines()
            split = (line.split(" ", 2) for line in lines if line[0] != " ")
            out[part] = {lemma: f"{part} {rest}" for lemma, _, rest in split}
        return out

    @cached_property
    def seen(self) -> dict[str, dict[str, int]]:
        """How often each lemma was met as which part of speech, in texts that were marked by hand.

        What was never met is left out.
        """
        out: dict[str, dict[str, int]] = {}
        for line in self.files.get("cntlist.rev", b"")[:].splitlines():
            sense, _, count = line.split()
            lemma, _, rest = sense.decode().partition("%")
            own = out.setdefault(lemma, {})
            part = NUMBERED[rest[:1]]
            own[part] = own.get(part, 0) + int(count)
        return out

    @cached_property
    def exceptions(self) -> dict[str, dict[str, list[str]]]:
        """By part of speech: lemmas of each irregular form."""
        out: dict[str, dict[str, list[str]]] = {}
        for part, name in PARTS.items():
            lines = bytes(self.files.get(f"{name}.exc", b"")[:]).decode().splitlines()
            out[part] = {fields[0]: fields[1:] for line in lines if (fields := line.split())}
        return out

    @cached_property
    def irregular(self) -> dict[str, dict[str, list[str]]]:
        """By part of speech: irregular forms of each lemma."""
        out: dict[str, dict[str, list[str]]] = {part: {} for part in PARTS}
        for part, forms in self.exceptions.items():
            for form, lemmas in forms.items():
                for lemma in lemmas:
                    out[part].setdefault(lemma, []).append(form)
        return out


@lru_cache(maxsize=2)
def read_wordnet(place: Path) -> WordNet:
    """WordNet from its ``dict`` folder or from a zip file of it."""
    names = [*NEEDED, *OPTIONAL]
    if place.suffix == ".zip" and place.is_file():
        with zipfile.ZipFile(place) as archive:
            inside = {Path(name).name: name for name in archive.namelist()}
            files = {name: archive.read(inside[name]) for name in names if name in inside}
    else:
        files = {name: _mapped(place / name) for name in names if (place / name).is_file()}
    if missing := [name for name in NEEDED if name not in files]:
        raise MissingError(f"{place} holds no {missing[0]} of WordNet; {REMEDY}.")
    return WordNet(files)


def _mapped(path: Path) -> Any:
    with path.open("rb") as file:
        if not path.stat().st_size:
            return b""  # nothing cannot be mapped
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def find_wordnet() -> WordNet:
    """WordNet from the folder or zip file that WNSEARCHDIR names, else from the package."""
    named = os.environ.get("WNSEARCHDIR")
    return read_wordnet(Path(named).expanduser().absolute() if named else BUNDLED)
