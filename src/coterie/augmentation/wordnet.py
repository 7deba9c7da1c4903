"""WordNet's own files, read where they lie: an index in memory, senses when they are asked for.

The format is that of the manual page wndb(5WN): ``index.POS`` has a line per lemma with the places
of its senses in ``data.POS``, the frequent ones first; ``POS.exc`` has irregular forms;
``cntlist.rev`` tells how often a sense was met.
"""

from __future__ import annotations

import mmap
import os
import zipfile
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from coterie._errors import MissingError

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
NEEDED = [f"{kind}.{part}" for part in PARTS.values() for kind in ("index", "data")]
OPTIONAL = [*(f"{part}.exc" for part in PARTS.values()), "cntlist.rev"]
NUMBERED = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # 5: a satellite adjective
HELP = (
    "the files of WordNet are not on this machine. Install them with 'apt-get install "
    "wordnet-base' or 'python -m nltk.downloader wordnet', or set WNSEARCHDIR to their folder"
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
def _opened(place: str) -> WordNet:
    path = Path(place)
    names = [*NEEDED, *OPTIONAL]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            inside = {Path(name).name: name for name in archive.namelist()}
            return WordNet({name: archive.read(inside[name]) for name in names if name in inside})
    return WordNet({name: _mapped(path / name) for name in names if (path / name).exists()})


def _mapped(path: Path) -> Any:
    with path.open("rb") as file:
        if not path.stat().st_size:
            return b""  # nothing cannot be mapped
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def find_wordnet() -> WordNet:
    """WordNet from the first place that has it: WNSEARCHDIR, the system, NLTK's data."""
    for place in _places():
        if place.suffix == ".zip":
            good = place.is_file()
        else:
            good = all((place / name).is_file() for name in NEEDED)
        if good:
            return _opened(str(place.absolute()))
    raise MissingError(f"{HELP}.")


def _places() -> list[Path]:
    said = os.environ.get("WNSEARCHDIR")
    if said:
        return [Path(said).expanduser()]
    homes = [Path(p) for p in os.environ.get("NLTK_DATA", "").split(os.pathsep) if p]
    homes += [Path("~/nltk_data").expanduser()]
    homes += [Path(f"/usr{part}/nltk_data") for part in ("/share", "/local/share", "/lib")]
    system = [Path("/usr/share/wordnet"), Path("/usr/local/WordNet-3.0/dict")]
    corpora = [h / "corpora" / n for h in homes for n in ("wordnet", "wordnet31", "wordnet2021")]
    return [*system, *corpora, *(c.with_name(f"{c.name}.zip") for c in corpora)]
