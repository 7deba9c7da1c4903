"""The texts of one run with everything that came with them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from coterie._errors import DataError
from coterie.corpus.clean import CONTROL, clean_text, has_words, value_to_text

LONG = 10_000  # characters; encoders read far less
BOILERPLATE = frozenset({
    "", "as discussed", "asdf", "n/a", "na", "nil", "no", "no comment", "no comments", "none",
    "not applicable", "nothing", "null", "ok", "okay", "see above", "see attached",
    "see attachment", "see below", "tbd", "test", "testing", "unknown", "x", "xx", "xxx",
})  # fmt: skip


@dataclass(frozen=True)
class Note:
    """Something a user should know about the data: what, how many rows, and the first of them."""

    kind: str
    count: int
    rows: tuple[int, ...]
    message: str


@dataclass(frozen=True)
class Corpus:
    """Texts, one per row of the input table, in its order.

    Attributes
    ----------
    texts : list of str
        Cleaned texts; the empty text where a row has none. Same length as ``table``.
    table : pyarrow.Table
        Every input column as it was read.
    text_column : str
    id_column : str or None
    notes : tuple of Note
        What reading noticed: empty rows, duplicates, control characters, very long texts, ...
    """

    texts: list[str]
    table: pa.Table
    text_column: str
    id_column: str | None = None
    notes: tuple[Note, ...] = field(default=(), compare=False)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def sha256(self) -> str:
        """Digest of the texts and their order."""
        digest = hashlib.sha256()
        for text in self.texts:
            digest.update(text.encode("utf-8") + b"\0")
        return digest.hexdigest()


def build(
    table: pa.Table,
    text_column: str,
    id_column: str | None = None,
    notes: Sequence[Note] = (),
) -> Corpus:
    """Clean the text column of a table and note what is unusual about it."""
    values = table.column(text_column).to_pylist()
    if not values:
        raise DataError(f"the column {text_column!r} has no rows: there is nothing to cluster.")
    raw = [value_to_text(value) for value in values]
    texts = [clean_text(text) for text in raw]
    texts = [text if has_words(text) else "" for text in texts]
    if not any(texts):
        raise DataError(
            f"all {len(texts)} rows of the column {text_column!r} are empty or have no letter or "
            "digit; choose another one with --text-column."
        )
    converted = [not isinstance(v, str) and t != "" for v, t in zip(values, texts, strict=True)]
    found = [
        _note("converted", converted, "not text in the file, read as text"),
        _note("empty", [text == "" for text in texts],
              "no text (empty, missing or only punctuation), left without a cluster"),
        _note("control", [CONTROL.search(t.strip()) is not None for t in raw],
              "line breaks or control characters, read as blanks"),
        _note("long", [len(text) > LONG for text in texts],
              f"longer than {LONG:,} characters; encoders read only the beginning"),
        _note("duplicate", _repeats(texts), "repeats of an earlier text, in the same cluster"),
        _note("boilerplate", [text != "" and _says_nothing(text) for text in texts],
              "words that say nothing (such as n/a, none, test)"),
    ]  # fmt: skip
    return Corpus(texts, table, text_column, id_column, (*notes, *(n for n in found if n)))


def _note(kind: str, flags: list[bool], message: str) -> Note | None:
    rows = [i + 1 for i, flag in enumerate(flags) if flag]  # people count rows from one
    if not rows:
        return None
    listed = ", ".join(map(str, rows[:3])) + (", ..." if len(rows) > 3 else "")
    plural = "rows" if len(rows) > 1 else "row"
    return Note(kind, len(rows), tuple(rows), f"{len(rows)} {plural} ({listed}): {message}")


def _says_nothing(text: str) -> bool:
    return text.casefold().strip(" .!?-") in BOILERPLATE


def _repeats(texts: list[str]) -> list[bool]:
    seen: set[str] = set()
    flags = []
    for text in texts:
        flags.append(text != "" and text in seen)
        seen.add(text)
    return flags
