"""Excel files: what goes in comes out as a value, never as a formula, or is said."""

import re
import zipfile
from datetime import date, datetime, timezone
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest

from coterie._errors import DataError, MissingError
from coterie.corpus import excel, write_rows
from coterie.corpus.excel import LONGEST, Sheet, spreadsheet_text, write_workbook

FORMULAS = ["=1+1", "+1", "-1 off", "@SUM(A1)", "\t=1+1", "\r=2", '=HYPERLINK("http://a.b")',
            "=cmd|' /C calc'!A0", "{=1+1}", "https://example.invalid/x", "007", "1e5"]  # fmt: skip


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
           date(1812, 1, 1), moment.replace(tzinfo=timezone.utc), ["a"], b"raw"]  # fmt: skip
    write_workbook(path, [Sheet("s", [f"c{i}" for i in range(len(row))], [row])])
    assert cells(path)[0] == [
        1, -0.25, True, None, None, "inf", str(2**60), datetime(2026, 3, 4), moment, "1812-01-01",
        "2026-03-04 05:06:07+00:00", '["a"]', "raw",
    ]  # fmt: skip


def test_what_excel_cannot_hold_is_replaced_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    nasty = ["null \x00 bell \x07", "half \ud800", "no \ufffe \uffff", "del \x7f", "a\r\nb\nc\td",
             "_x0041_", "<&>\"'"]  # fmt: skip
    notes = write_workbook(path, [Sheet("s", ["t"], [[text] for text in nasty])])
    assert [row[0] for row in cells(path)][:5] == [
        "null ␀ bell ␇", "half \ufffd", "no \ufffd \ufffd", "del ␡", "a\nb\nc\td",
    ]  # fmt: skip
    assert cells(path)[6][0] == nasty[6]
    with zipfile.ZipFile(path) as parts:  # the escape of Excel itself is escaped
        assert b"_x005F_x0041_" in parts.read("xl/worksheets/sheet1.xml")
    assert len(notes) == 1 and notes[0].startswith("a.xlsx: 4 cells have characters")


@pytest.mark.parametrize("character", ["x", "😀"])
def test_long_cells_are_cut_and_said(tmp_path: Path, character: str) -> None:
    path = tmp_path / "a.xlsx"
    units = 2 if character == "😀" else 1
    fits, long = character * (LONGEST // units), character * 40_000
    notes = write_workbook(path, [Sheet("s", ["t"], [[fits], [long]])])
    whole, cut = (row[0] for row in cells(path))
    assert whole == fits
    assert len(str(cut).encode("utf-16-le")) // 2 <= LONGEST
    assert str(cut).endswith("… [cut: 40,000 characters]") and str(cut)[: 30_000 // units] in long
    assert len(notes) == 1 and "1 cell is longer than Excel's 32,767 characters" in notes[0]


def test_many_rows_go_on_in_another_sheet(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(excel, "ROWS", 11)
    path = tmp_path / "a.xlsx"
    for count, expected in ((10, [10]), (11, [10, 1]), (25, [10, 10, 5]), (0, [0])):
        notes = write_workbook(path, [Sheet("s", ["n"], ([i] for i in range(count)))])
        book = openpyxl.load_workbook(path)
        assert [page.max_row - 1 for page in book] == expected
        found = [row[0].value for page in book for row in page.iter_rows(min_row=2)]
        assert found == list(range(count))
        assert all(page["A1"].value == "n" for page in book)
        assert bool(notes) == (count > 10)
        assert not notes or "goes on in the sheets 's 2'" in notes[0]


def test_header_is_frozen_filtered_and_widths_are_readable(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_workbook(path, [Sheet("s", ["id", "text"], [[1, "x" * 500], [2, "short"]])])
    page = openpyxl.load_workbook(path)["s"]
    assert page.freeze_panes == "A2" and page.auto_filter.ref == "A1:B3"
    assert page["A1"].font.bold
    assert page.column_dimensions["A"].width < 12 < 50 < page.column_dimensions["B"].width < 70


def test_too_many_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="16,385 columns are more than Excel's 16,384"):
        write_workbook(tmp_path / "a.xlsx", [Sheet("s", ["c"] * 16_385, [])])
    assert list(tmp_path.iterdir()) == []


def test_rows_of_a_table_as_a_workbook(tmp_path: Path) -> None:
    table = pa.table({"text": ["=a", None], "cluster": [5, 6]})
    write_rows(tmp_path / "t.xlsx", table, {"cluster": [0, -1], "margin": [0.5, None]})
    page = openpyxl.load_workbook(tmp_path / "t.xlsx")["texts"]
    assert [cell.value for cell in page[1]] == ["text", "cluster", "coterie_cluster", "margin"]
    assert cells(tmp_path / "t.xlsx", "texts") == [["=a", 5, 0, 0.5], [None, 6, -1, None]]


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xlsxwriter", None)
    with pytest.raises(MissingError, match=r"coterie\[excel\]"):
        excel.check_excel()


@pytest.mark.parametrize("text", ["=1", "+x", "-x", "@x", "\tx", "\rx", "-1-1", "+49 89 1234"])
def test_cells_for_spreadsheets_are_guarded(text: str) -> None:
    assert spreadsheet_text(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1", "+1.5", "-.5e-3", "", "a=b", "plain", "1-2"])
def test_numbers_and_plain_texts_are_left_alone(text: str) -> None:
    assert spreadsheet_text(text) == text
