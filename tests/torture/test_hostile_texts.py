"""Texts, columns and files that mean harm go through the whole flow and do none."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import openpyxl
import pytest

from commands import run as run_command

OVERRIDES = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HARM = [
    "<script>alert(1)</script> broken page",
    "</script><script>alert(2)</script> closing tag",
    "<img src=x onerror=alert(3)> picture",
    '"><svg onload=alert(4)> quote',
    "{{ 7 * 7 }} {% raw %} template ${7*7} `x`",
    '=HYPERLINK("http://evil";"click") formula',
    "+cmd|' /C calc'!A0 formula",
    "-2+3 formula sum",
    "@SUM(A1:A9) formula sum",
    "\t=1+1 formula after tab",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 terminal",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ terminal link",
    "\x9b31m eight bit terminal",
    "user\u202egnp.exe\u202c override terminal",
    "\u2066isolate\u2069 override page",
    "null\x00byte inside text",
    "bell \x07\x07 and \x08\x08 backspace",
    "line one\nline two\r\nline three\rline four",
    "\ud800 lone half of a pair".encode("utf-8", "replace").decode(),
    "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301 marks over marks",
    "\ufeff mark of order \u2028 line \u2029 paragraph",
    "\U000e0041\U000e0042 tags nobody sees, hidden text",
]
FORBIDDEN = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{OVERRIDES}]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("hostile")
    rows = [{"id": i, "text": text, "=1+1": text, "<b>x": "y"} for i, text in enumerate(HARM * 2)]
    with (place / "in.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return place


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, str]:
    """What each command of a whole flow says, by its verb."""
    run, file = str(folder / "run"), str(folder / "in.jsonl")
    (folder / "e.json").write_text(json.dumps([{"rename": {"0": HARM[10] + HARM[0]}}]))
    common = ["-k", "3", "--encoder", "bow", "-m", "kmeans", "-t", "text"]
    more = ["--set", "write=xlsx", "--levels", "2,3"]
    flow = {
        "cluster": ["cluster", file, *common, "--out", run, *more],
        "second": ["cluster", file, *common, "--out", run + "2", "--seed", "1"],
        "edit": ["edit", run, str(folder / "e.json")],
        "predict": ["predict", run, file, "-t", "text", "--out", str(folder / "p.csv")],
        "report": ["report", run],
        "export": ["export", run, "--to", "xlsx"],
        "compare": ["compare", run, run + "2", "--out", str(folder / "c.html")],
        "wrong": ["cluster", file, *common[:-1], "\x1b[31mno such\u202e", "--out", run + "3"],
        "missing": ["predict", run, str(folder / "\x1b[31mno\u202e.csv")],
    }
    out = {}
    for verb, command in flow.items():
        done = run_command(*command, code=None)
        assert done.exit_code in ((0,) if verb not in ("wrong", "missing") else (2, 3)), done.output
        out[verb] = done.output
    return out


VERBS = ["cluster", "second", "edit", "predict", "report", "export", "compare"]


@pytest.mark.parametrize("verb", [*VERBS, "wrong", "missing"])
def test_nothing_reaches_the_terminal_that_steers_it(said: dict[str, str], verb: str) -> None:
    assert not FORBIDDEN.findall(said[verb]), repr(said[verb])


@pytest.mark.parametrize("page", ["run/report.html", "run2/report.html", "c.html"])
def test_pages_hold_no_tag_of_a_text(said, folder: Path, page: str) -> None:
    text = (folder / page).read_text("utf-8")
    body = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    assert "<script>alert" not in text and "<img src=x" not in text and "<svg onload" not in text
    assert not re.search(r"<[^>]*\son(error|load)=alert", body)
    assert "\x00" not in text and not set(OVERRIDES) & set(text)


def test_workbooks_hold_texts_and_no_formula(said, folder: Path) -> None:
    for book in sorted((folder / "run").glob("*.xlsx")):
        for sheet in openpyxl.load_workbook(book).worksheets:
            for row in sheet.iter_rows():
                assert all(cell.data_type != "f" for cell in row), book


def test_cells_come_back_to_the_letter(said, folder: Path) -> None:
    with (folder / "p.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(HARM)
    for row, text in zip(rows, HARM * 2, strict=True):
        assert row["text"].replace("\r\n", "\n") == text.replace("\r\n", "\n")
