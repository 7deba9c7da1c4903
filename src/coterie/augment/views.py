"""Explicit view pairs: from a file of augmented texts, or as lists."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie._errors import DataError, UsageError
from coterie.corpus import read_table, texts_from

VIRTUAL = "virtual"  # the same text under another dropout mask; needs no file


def read_views(views: Any, texts: Sequence[str]) -> list[list[str]]:
    """Augmented texts for each text: none for virtual views, else one list per view.

    Parameters
    ----------
    views : None, "virtual", str, Path or sequence of lists
        A file has a column ``text`` and one column per view, ``text1``, ``text2``, ...; its rows
        are those of ``texts`` in the same order, or are looked up by ``text``.
    texts : sequence of str
        Cleaned texts.
    """
    if views is None or (isinstance(views, str) and views == VIRTUAL):
        return []
    if isinstance(views, (str, Path)):
        return _from_file(Path(views), texts)
    lists = [texts_from(view) for view in views]
    for number, view in enumerate(lists, 1):
        if len(view) != len(texts):
            raise UsageError(f"views: view {number} has {len(view)} texts, X has {len(texts)}.")
    return lists


def _from_file(path: Path, texts: Sequence[str]) -> list[list[str]]:
    if not path.exists():
        raise UsageError(
            f"views={str(path)!r} is neither {VIRTUAL!r} nor a file; give a CSV with the columns "
            "text, text1 and text2."
        )
    table, _ = read_table(path)
    names = sorted(n for n in table.column_names if n.startswith("text") and n[4:].isdigit())
    if "text" not in table.column_names or not names:
        raise DataError(
            f"{path}: expected the columns text, text1, ...; found {', '.join(table.column_names)}."
        )
    originals = texts_from(table.column("text"))
    columns = [texts_from(table.column(name)) for name in names]
    if list(originals) == list(texts):
        return columns
    place = {text: row for row, text in reversed(list(enumerate(originals)))}
    missing = [i for i, text in enumerate(texts) if text and text not in place]
    if missing:
        raise DataError(
            f"{path} has no views for {len(missing)} of {len(texts)} texts; the first is row "
            f"{missing[0] + 1}: {texts[missing[0]][:60]!r}."
        )
    rows = [place.get(text, -1) for text in texts]
    return [["" if row < 0 else column[row] for row in rows] for column in columns]
