"""Excel workbooks out: cells are values, never formulas, and what Excel cannot hold is said.

A text that begins with ``=``, ``+``, ``-`` or ``@`` is a formula to a spreadsheet that is let to
guess. Here nothing guesses: texts are written as texts, and those that look like formulas are also
marked as such (Excel's "quote prefix"), so that editing the cell does not turn it into one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import Any

from coterie._errors import DataError
from coterie._files import atomic_path
from coterie._validation import need
from coterie.corpus.clean import value_to_text

ROWS = 1_048_576  # of a sheet, the header among them
COLUMNS = 16_384
LONGEST = 32_767  # characters of a cell, as UTF-16 counts them
EXACT = 2**53  # Excel's numbers are floats: larger whole numbers would lose digits
WIDTHS = (8, 60)  # of a column, in characters
SEEN = 200  # rows that decide how wide the columns are
FORMULA = re.compile(r"[=+\-@\t\r\n]")
ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Sheet:
    """A table for a workbook.

    Attributes
    ----------
    name : str
        At most 28 characters, so that a number fits behind it.
    header : sequence of str
    rows : iterable of sequences
        Gone through once.
    """

    name: str
    header: Sequence[str]
    rows: Iterable[Sequence[Any]]


@dataclass
class Trouble:
    """What did not fit, counted while cells are written."""

    cut: int = 0
    replaced: int = 0
    sheets: list[str] = field(default_factory=list)

    def sentences(self, file: str) -> list[str]:
        """In words, for whoever gets the workbook."""
        out = []
        if self.cut:
            cells = "cell is" if self.cut == 1 else "cells are"
            out.append(f"{file}: {self.cut:,} {cells} longer than Excel's {LONGEST:,} characters "
                       "and cut; the CSV has all of them whole.")  # fmt: skip
        if self.replaced:
            cells = "cell has" if self.replaced == 1 else "cells have"
            out.append(f"{file}: {self.replaced:,} {cells} characters that Excel cannot hold; they "
                       "are replaced by pictures of themselves.")  # fmt: skip
        for name in self.sheets:
            out.append(f"{file}: {name!r} has more than Excel's {ROWS:,} rows and goes on in "
                       f"the sheets '{name} 2' and on.")  # fmt: skip
        return out


def check_excel() -> None:
    """Refuse early where the package that writes workbooks is not installed."""
    need("xlsxwriter", "excel")


def write_workbook(path: Path, sheets: Sequence[Sheet]) -> list[str]:
    """Write sheets with a frozen bold header, a filter and readable widths.

    Returns
    -------
    list of str
        What did not fit, in sentences; empty if all did.
    """
    xlsxwriter: Any = need("xlsxwriter", "excel")
    for sheet in sheets:
        if len(sheet.header) > COLUMNS:
            raise DataError(
                f"{path.name}: {len(sheet.header):,} columns are more than Excel's {COLUMNS:,}; "
                "write Parquet or CSV instead."
            )
    options = {
        "constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False,
        "strings_to_numbers": False, "nan_inf_to_errors": False,
    }  # fmt: skip
    trouble = Trouble()
    with atomic_path(path) as temporary:
        workbook = xlsxwriter.Workbook(str(temporary), options)
        looks = {
            "head": workbook.add_format({"bold": True, "bottom": 1, "quote_prefix": True}),
            "quoted": workbook.add_format({"quote_prefix": True}),
            "date": workbook.add_format({"num_format": "yyyy-mm-dd"}),
            "time": workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        }
        for sheet in sheets:
            _write_sheet(workbook, sheet, looks, trouble)
        workbook.close()
    return trouble.sentences(path.name)


def spreadsheet_text(text: str) -> str:
    """A CSV cell that no spreadsheet takes for a formula: an apostrophe before what looks like one.

    Examples
    --------
    >>> spreadsheet_text("=1+1"), spreadsheet_text("-5.2"), spreadsheet_text("- a point")
    ("'=1+1", '-5.2', "'- a point")
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _write_sheet(workbook: Any, sheet: Sheet, looks: dict[str, Any], trouble: Trouble) -> None:
    rows: Iterator[Sequence[Any]] = iter(sheet.rows)
    first = list(islice(rows, SEEN))
    widths = [_width(name, [row[i] for row in first]) for i, name in enumerate(sheet.header)]
    rest = chain(first, rows)
    number = 0
    while True:
        batch = islice(rest, ROWS - 1)
        head = next(batch, None)
        if head is None and number:
            return
        number += 1
        if number == 2:
            trouble.sheets.append(sheet.name)
        page = workbook.add_worksheet(sheet.name if number == 1 else f"{sheet.name} {number}")
        for i, width in enumerate(widths):
            page.set_column(i, i, width)
        for i, name in enumerate(sheet.header):
            page.write_string(0, i, _fit(name, trouble), looks["head"])
        page.freeze_panes(1, 0)
        last = 0
        for last, row in enumerate(batch if head is None else chain([head], batch), 1):
            for i, value in enumerate(row):
                _write_cell(page, (last, i), value, looks, trouble)
        if sheet.header:
            page.autofilter(0, 0, last, len(sheet.header) - 1)


def _write_cell(
    page: Any, place: tuple[int, int], value: Any, looks: dict[str, Any], trouble: Trouble
) -> None:
    if isinstance(value, bool):
        page.write_boolean(*place, value)
    elif isinstance(value, (int, float)) and isfinite(value) and abs(value) <= EXACT:
        page.write_number(*place, value)
    elif isinstance(value, date) and value.year >= 1900 and not getattr(value, "tzinfo", None):
        look = looks["time"] if isinstance(value, datetime) else looks["date"]
        page.write_datetime(*place, value, look)
    else:
        text = value_to_text(value)
        if text:
            look = (looks["quoted"],) if FORMULA.match(text) else ()
            page.write_string(*place, _fit(text, trouble), *look)


def _fit(text: str, trouble: Trouble) -> str:
    """The text as Excel can hold it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if ILLEGAL.search(text):
        trouble.replaced += 1
        text = ILLEGAL.sub(_picture, text)
    if len(text) * 2 > LONGEST and _units(text) > LONGEST:
        trouble.cut += 1
        note = f" … [cut: {len(text):,} characters]"
        raw = text.encode("utf-16-le")[: 2 * (LONGEST - _units(note))]
        text = raw.decode("utf-16-le", errors="ignore") + note
    return text


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _width(name: str, values: Sequence[Any]) -> int:
    longest = max((len(value_to_text(value)) for value in values), default=0)
    return min(max(len(name) + 3, longest + 1, WIDTHS[0]), WIDTHS[1])
