"""Make the synonyms that travel with the package from the files of WordNet 3.0.

    python tools/wordnet_table.py FOLDER     # such as /usr/share/wordnet of Debian's wordnet-base

The table keeps what augmentation reads and drops the rest (definitions, relations, names, long
phrases, rare senses): lemmas of one word with their first senses, the synonyms that may be
inserted, irregular forms, and how often each lemma was met. It stays in WordNet's own file format
(wndb(5WN)), in a zip file, so that one reader does for both. The same input gives the same bytes.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from coterie.methods.augmentation.wordnet import (
    BUNDLED,
    PARTS,
    SENSES,
    WordNet,
    read_wordnet,
    spoken,
)

MARK = {"n": 1, "v": 2, "a": 3, "r": 4}  # of a part of speech in cntlist.rev


def wanted(source: WordNet, part: str) -> set[str]:
    """Lemmas that augmentation may look for: letters and hyphens, and what irregular forms name."""
    irregular = {lemma for lemmas in source.exceptions[part].values() for lemma in lemmas}
    return {w for w in source.lemmas(part) if w in irregular or w.replace("-", "").isalpha()}


def table(source: WordNet) -> dict[str, str]:
    """Content of the files, by name."""
    files = {"cntlist.rev": "".join(_counts(source))}
    for part, name in PARTS.items():
        files[f"index.{name}"], files[f"data.{name}"] = _senses(source, part)
        forms = source.exceptions[part].items()
        files[f"{name}.exc"] = "".join(f"{form} {' '.join(lemmas)}\n" for form, lemmas in forms)
    return files


def _senses(source: WordNet, part: str) -> tuple[str, str]:
    """Lines of the index and of the data; a set of synonyms is written once."""
    index, data, places, length = [], [], {}, 0
    for lemma in sorted(wanted(source, part)):
        offsets = []
        for words in source.synsets(lemma, part, SENSES):
            kept = tuple(word.replace(" ", "_") for word in spoken(words))
            if kept not in places:
                places[kept] = length
                line = f"{length:08} 00 {part} {len(kept):02x} " + " ".join(f"{w} 0" for w in kept)
                data.append(line + "\n")
                length += len(data[-1])
            offsets.append(f"{places[kept]:08}")
        index.append(f"{lemma} {part} {len(offsets)} {' '.join(offsets)}\n")
    return "".join(index), "".join(data)


def _counts(source: WordNet) -> Iterator[str]:
    kept = {part: wanted(source, part) for part in PARTS}
    for lemma, counts in sorted(source.seen.items()):
        for part, count in counts.items():
            if lemma in kept[part]:
                yield f"{lemma}%{MARK[part]} 1 {count}\n"


def main(arguments: list[str]) -> int:
    """Write the table into the package."""
    if len(arguments) != 1:
        sys.stderr.write("usage: wordnet_table.py FOLDER\n")
        return 2
    files = table(read_wordnet(Path(arguments[0])))
    with zipfile.ZipFile(BUNDLED, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name)  # its date is that of no day
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name], compresslevel=9)
    sys.stderr.write(f"{BUNDLED}: {BUNDLED.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
