"""The texts of one run with everything that came with them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from coterie._errors import DataError
from coterie.corpus.clean import CONTROL, clean_text, has_words, value_to_text
from coterie.corpus.columns import cell_values

LONG = 10_000  # characters; encoders read far less
BOILERPLATE = frozenset({
    "", "as discussed", "asdf", "n/a", "na", "nil", "no", "no comment", "no comments", "none",
    "not applicable", "nothing", "null", "ok", "okay", "see above", "see attached",
    "see attachment", "see below", "tbd", "test", "testing", "unknown", "x", "xx", "xxx",
})  # fmt: skip
LISTED = 3  # rows that a note names
MESSAGES = {
    "converted": "not text in the file, read as text",
    "empty": "no text (empty, missing or only punctuation), left without a cluster",
    "control": "line breaks or control characters, read as blanks",
    "long": f"longer than {LONG:,} characters; encoders read only the beginning",
    "duplicate": "repeats of an earlier text, in the same cluster",
    "boilerplate": "words that say nothing (such as n/a, none, test)",
}


class CleanTexts(list[str]):
    """Texts that were cleaned already: nobody cleans them again."""


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
    values = cell_values(table.column(text_column))
    if not values:
        raise DataError(f"the column {text_column!r} has no rows: there is nothing to cluster.")
    texts = clean_values(values)
    if not any(texts):
        raise no_words(len(texts), text_column)
    flags = row_flags(values, texts) | {"duplicate": _repeats(texts)}
    found = [
        make_note(kind, sum(flags[kind]), [i for i, flag in enumerate(flags[kind], 1) if flag])
        for kind in MESSAGES
    ]
    return Corpus(texts, table, text_column, id_column, (*notes, *(n for n in found if n)))


def clean_values(values: Sequence[Any]) -> CleanTexts:
    """Cleaned texts of the cells of a column; the empty text where there is no word."""
    texts = (clean_text(value_to_text(value)) for value in values)
    return CleanTexts(text if has_words(text) else "" for text in texts)


def row_flags(values: Sequence[Any], texts: Sequence[str]) -> dict[str, list[bool]]:
    """What is unusual about each row by itself, by the kind of note."""
    raw = (value_to_text(value).strip() for value in values)
    pairs = zip(values, texts, strict=True)
    return {
        "converted": [not isinstance(value, str) and text != "" for value, text in pairs],
        "empty": [text == "" for text in texts],
        "control": [CONTROL.search(text) is not None for text in raw],
        "long": [len(text) > LONG for text in texts],
        "boilerplate": [text != "" and _says_nothing(text) for text in texts],
    }


def make_note(kind: str, count: int, rows: Sequence[int]) -> Note | None:
    """A note about so many rows, counted from one, of which the first are listed."""
    if not count:
        return None
    listed = ", ".join(map(str, rows[:LISTED])) + (", ..." if count > LISTED else "")
    plural = "rows" if count > 1 else "row"
    return Note(kind, count, tuple(rows), f"{count} {plural} ({listed}): {MESSAGES[kind]}")


def no_words(rows: int, column: str) -> DataError:
    """What to say where there is nothing to cluster."""
    return DataError(
        f"all {rows} rows of the column {column!r} are empty or have no letter, digit or emoji; "
        "choose another one with --text-column."
    )


def _says_nothing(text: str) -> bool:
    return text.casefold().strip(" .!?-") in BOILERPLATE


def _repeats(texts: list[str]) -> list[bool]:
    seen: set[str] = set()
    flags = []
    for text in texts:
        flags.append(text != "" and text in seen)
        seen.add(text)
    return flags
