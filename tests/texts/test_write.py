"""Writing tables: everything that came in goes out."""

import re
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest

from coterie.errors import DataError
from coterie.texts import read_corpus, write, write_rows
from coterie.texts.write import (
    LONGEST_CELL,
    Sheet,
    open_table,
    spreadsheet_text,
    write_workbook,
)
from said import raises

TABLE = pa.table({"text": ['say "hi", twice', None, "line\nbreak"], "cluster": [1, 2, 3]})
EXTRA = {"cluster": [0, -1, 0], "margin": [0.5, None, 0.25]}
FORMULAS = ["=1+1", "+1", "-1 off", "@SUM(A1)", "\t=1+1", "\r=2", '=HYPERLINK("http://a.b")',
            "=cmd|' /C calc'!A0", "{=1+1}", "https://example.invalid/x", "007", "1e5"]  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "xlsx"])
def test_what_is_written_can_be_read_again(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    write_rows(path, TABLE, EXTRA)
    corpus = read_corpus(path, text_column="text")
    assert corpus.table.column_names == ["text", "cluster", "coterie_cluster", "margin"]
    assert corpus.texts == ['say "hi", twice', "", "line break"]
    assert [str(v) for v in corpus.table.column("coterie_cluster").to_pylist()] == ["0", "-1", "0"]


def cells(path: Path, sheet: str = "s") -> list[list[object]]:
    book = openpyxl.load_workbook(path)
    return [[cell.value for cell in row] for row in book[sheet].iter_rows(min_row=2)]


def test_texts_that_look_like_formulas_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    header = ["=evil", "b"]
    assert write_workbook(path, [Sheet("s", header, [[text, 1] for text in FORMULAS])]) == []
    page = openpyxl.load_workbook(path)["s"]
    assert page["A1"].value == "=evil" and page["A1"].data_type in ("s", "inlineStr")
    for row, text in enumerate(FORMULAS, 2):
        cell = page.cell(row, 1)
        assert cell.data_type in ("s", "inlineStr"), text  # "f" would be a formula
        assert cell.value == text.replace("\r", "\n")
        assert cell.hyperlink is None
        assert cell.quotePrefix == (text[0] in "=+-@\t\r"), text
    with zipfile.ZipFile(path) as parts:
        content = parts.read("xl/worksheets/sheet1.xml").decode()
        assert not re.search(r"<f[ >]", content)
        assert not any("hyperlink" in name.lower() for name in parts.namelist())


def test_values_keep_their_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    moment = datetime(2026, 3, 4, 5, 6, 7)
    row = [1, -0.25, True, None, float("nan"), float("inf"), 2**60, date(2026, 3, 4), moment,
           date(1812, 1, 1), moment.replace(tzinfo=UTC), ["a"], b"raw"]  # fmt: skip
    write_workbook(path, [Sheet("s", [f"c{i}" for i in range(len(row))], [row])])
    assert cells(path)[0] == [
        1, -0.25, True, None, None, "inf", str(2**60), datetime(2026, 3, 4), moment, "1812-01-01",
        "2026-03-04 05:06:07+00:00", '["a"]', "raw",
    ]  # fmt: skip


def test_what_excel_cannot_hold_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    nasty = ["null \x00 bell \x07", "half \ud800", "no \ufffe \uffff", "del \x7f", "a\r\nb\nc\td",
             "_x0041_", "<&>\"'"]  # fmt: skip
    write_workbook(path, [Sheet("s", ["t"], [[text] for text in nasty])])
    assert [row[0] for row in cells(path)][:5] == [
        "null \ufffd bell \ufffd", "half \ufffd", "no \ufffd \ufffd", "del \ufffd", "a\nb\nc\td",
    ]  # fmt: skip
    assert cells(path)[6][0] == nasty[6]
    with zipfile.ZipFile(path) as parts:  # the escape of Excel itself is escaped
        assert b"_x005F_x0041_" in parts.read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize("character", ["x", "😀"])
def test_long_cells_are_cut_and_said(tmp_path: Path, character: str) -> None:
    path = tmp_path / "a.xlsx"
    units = 2 if character == "😀" else 1
    fits, long = character * (LONGEST_CELL // units), character * 40_000
    notes = write_workbook(path, [Sheet("s", ["t"], [[fits], [long]])])
    whole, cut = (row[0] for row in cells(path))
    assert whole == fits
    assert len(str(cut).encode("utf-16-le")) // 2 <= LONGEST_CELL
    assert str(cut).endswith("…") and str(cut)[: 30_000 // units] in long
    assert notes == ["a.xlsx: 1 cell is cut at Excel's 32,767 characters."]


@pytest.mark.parametrize(("name", "most"), [("SHEET_ROWS", 3), ("SHEET_COLUMNS", 1)])
def test_a_sheet_that_is_too_large_is_refused(tmp_path: Path, monkeypatch, name, most) -> None:
    monkeypatch.setattr(write, name, most)
    with raises(DataError, "at most"):
        write_workbook(tmp_path / "a.xlsx", [Sheet("s", ["n", "m"], [[1, 2]] * 3)])
    assert not list(tmp_path.iterdir())


def test_header_is_frozen_filtered_and_widths_are_readable(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_workbook(path, [Sheet("s", ["id", "text"], [[1, "x" * 500], [2, "short"]])])
    page = openpyxl.load_workbook(path)["s"]
    assert page.freeze_panes == "A2" and page.auto_filter.ref == "A1:B3"
    assert page["A1"].font.bold
    assert page.column_dimensions["A"].width < 12 < 50 < page.column_dimensions["B"].width < 70


def test_cells_for_spreadsheets_are_guarded_and_numbers_left_alone() -> None:
    for text in ("=1", "+x", "-x", "@x", "\tx", "\rx", "-1-1", "+49 89 1234"):
        assert spreadsheet_text(text) == f"'{text}"
    for text in ("-1", "+1.5", "-.5e-3", "", "a=b", "plain", "1-2"):
        assert spreadsheet_text(text) == text


def test_json_lines_have_texts_for_bytes_and_null_for_nan(tmp_path: Path) -> None:
    table = pa.table({"raw": [b"abc"], "pair": [{"x": b"abc"}], "n": [float("nan")]})
    write_rows(tmp_path / "a.jsonl", table, {})
    wanted = '{"raw": "abc", "pair": {"x": "abc"}, "n": null}\n'
    assert (tmp_path / "a.jsonl").read_text("utf-8") == wanted


def part(first: int, n: int = 3) -> tuple[pa.Table, dict[str, list]]:
    numbers = range(first, first + n)
    table = pa.table({"text": [f'say "{i}",\nplease' for i in numbers], "n": list(numbers)})
    return table, {"cluster": [i % 2 for i in numbers], "runner_up": [None] * n}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_parts_make_the_table_that_is_written_at_once(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    with open_table(path) as table:
        for first in (0, 3, 6):
            table.write(*part(first))
            assert not path.exists() and table.rows == first + 3
    whole, extra = part(0, 9)
    other = tmp_path / f"b.{suffix}"
    write_rows(other, whole, extra)
    if suffix == "parquet":
        grown, once = map(pyarrow.parquet.read_table, (path, other))
        assert grown.to_pydict() == once.to_pydict()
        assert grown.schema.field("runner_up").type == pa.int64()
    else:
        assert path.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_stopped_table_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(KeyboardInterrupt), open_table(tmp_path / f"a.{suffix}") as table:
        table.write(*part(0))
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_a_part_of_another_type_is_refused(tmp_path: Path) -> None:
    other = pa.table({"text": ["a"], "n": ["no number"]})
    with raises(DataError, "write CSV or JSON", "3"), open_table(tmp_path / "a.parquet") as table:
        table.write(*part(0))
        table.write(other, {"cluster": [0], "runner_up": [0]})
