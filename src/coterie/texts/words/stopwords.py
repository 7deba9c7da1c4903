"""Words that tell nothing about a theme, by language; ``stopwords.txt`` has them."""

from __future__ import annotations

from pathlib import Path

_LINES = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
STOP_WORDS = {
    code: frozenset(words.split())
    for code, _, words in (line.partition("\t") for line in _LINES if not line.startswith("#"))
}
ENGLISH = STOP_WORDS["en"]
