"""Any number of made texts, for measuring time and memory.

    coterie-bench make-texts 1000000 million.csv

The texts are messages of the bundled sample, drawn at random, with words left out, doubled in the
wrong place and numbers put in, so that nearly all differ. They say how long the work takes, not
how good it is. The file is CSV with the columns ``id`` and ``text``.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from coterie import sample


def make_texts(size: int, seed: int = 0) -> Iterator[str]:
    """Texts like those of the sample; the same seed and size give the same texts."""
    rng = np.random.default_rng(seed)
    source = [text.split() for text in sample().texts if text.strip()]
    for pick in rng.integers(len(source), size=size):
        words = [word for word in source[pick] if rng.random() > 0.1] or list(source[pick])
        other = source[rng.integers(len(source))]
        words.insert(rng.integers(len(words) + 1), other[rng.integers(len(other))])
        if rng.random() < 0.3:
            words.append(str(rng.integers(10, 10_000)))
        yield " ".join(words)


def write_texts(texts: Iterable[str], path: Path) -> None:
    """Write texts one by one."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        writer.writerows(enumerate(texts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("size", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    write_texts(make_texts(options.size, options.seed), options.file)
