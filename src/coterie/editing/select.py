"""Which rows a move is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie._types import Ints
from coterie._validation import whole_number
from coterie.corpus.corpus import clean_text
from coterie.editing.parse import Edit
from coterie.editing.state import State

KEYS = ("row", "id", "text", "contains")


def select_rows(edit: Edit, state: State) -> Ints:
    """Rows that an edit names, and all rows with the same texts.

    A number or word alone is an id if the run has an id column, else the number of a row, counted
    from one. Mappings say which: ``{row: 12}``, ``{id: T-17}``, ``{text: "..."}`` (all of it) or
    ``{contains: "..."}`` (any part, in upper or lower case), each with ``in: 4`` to look in one
    cluster alone.
    """
    found: set[int] = set()
    for wanted in edit.rows:
        found |= set(_find(edit, state, wanted))
    without = sorted(row for row in found if not state.texts[row])
    if without:
        raise edit.wrong(f"row {without[0] + 1} has no text, so it has no cluster; leave it out.")
    # Identical texts are in one cluster, always: they move together.
    texts = {state.texts[row] for row in found}
    return np.array([i for i, text in enumerate(state.texts) if text in texts], dtype=np.int64)


def _find(edit: Edit, state: State, wanted: Any) -> list[int]:
    if not isinstance(wanted, Mapping):
        wanted = {"row" if state.ids is None else "id": wanted}
    keys = [key for key in wanted if key in KEYS]
    strange = [key for key in wanted if key not in (*KEYS, "in")]
    if len(keys) != 1 or strange:
        raise edit.wrong(f"rows are named by one of {', '.join(KEYS)}, and in; got {dict(wanted)}.")
    key = keys[0]
    rows = _FINDERS[key](edit, state, str(wanted[key]))
    if "in" in wanted:
        inside = str(wanted["in"])
        cluster = whole_number(inside)
        if cluster not in state.names:
            raise edit.wrong(f"in: there is no cluster {inside:.80}.")
        rows = [row for row in rows if state.labels[row] == cluster]
    if not rows:
        where = f" in cluster {wanted['in']}" if "in" in wanted else ""
        said = "contains" if key == "contains" else f"has the {key}"
        raise edit.wrong(f"no row{where} {said} {wanted[key]!r}; look it up in assignments.csv.")
    return rows


def _by_row(edit: Edit, state: State, wanted: str) -> list[int]:
    row = whole_number(wanted) or 0
    if not 1 <= row <= len(state.texts):
        raise edit.wrong(
            f"row {wanted!r} is not there; rows are counted from 1 to {len(state.texts)}."
        )
    return [row - 1]


def _by_id(edit: Edit, state: State, wanted: str) -> list[int]:
    if state.ids is None:
        raise edit.wrong("the run has no id column; name the row by its number: {row: 12}.")
    return [i for i, value in enumerate(state.ids) if value == wanted]


def _by_text(edit: Edit, state: State, wanted: str) -> list[int]:
    text = clean_text(wanted)
    return [i for i, value in enumerate(state.texts) if value == text and text]


def _by_part(edit: Edit, state: State, wanted: str) -> list[int]:
    part = clean_text(wanted).casefold()
    if not part:
        raise edit.wrong("contains: the text to look for is empty.")
    return [i for i, text in enumerate(state.texts) if part in text.casefold()]


_FINDERS = {"row": _by_row, "id": _by_id, "text": _by_text, "contains": _by_part}
