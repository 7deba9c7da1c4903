"""Files that would take gigabytes: refused early, with the place and the way to read them.

Each is written in parts; the readers run in a process of their own, whose memory is measured.
"""

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import feather

from coterie.corpus import read_table
from coterie.corpus import source as module
from coterie.errors import DataError
from said import raises

MIB = 1 << 20
MEASURED = """
import sys, time
from coterie.corpus import TextStream, read_table
for read in TextStream.most_rows, TextStream.whole:
    try:
        read(TextStream(sys.argv[1]))
    except ValueError as error:
        print(error)
peak = open("/proc/self/status").read().split("VmHWM:")[1].split()[0]  # getrusage has the parent's
print(int(peak) // 1024, time.process_time())
"""


def book(path: Path, mebibytes: int) -> None:
    """A workbook whose second row is so long."""
    openpyxl = pytest.importorskip("openpyxl")
    made, small = openpyxl.Workbook(), io.BytesIO()
    made.active.append(["text"])
    made.active.append(["|"])
    made.save(small)
    with zipfile.ZipFile(small) as parts, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name in parts.namelist():
            begin, mark, end = parts.read(name).partition(b"|")
            with out.open(name, "w") as file:
                file.write(begin)
                for _ in range(mebibytes if mark else 0):
                    file.write(b"x" * MIB)
                file.write(end)


def packed(path: Path, mebibytes: int, begin: bytes = b"id,text\n1,", byte: bytes = b"x") -> None:
    more = gzip.compress(byte * 50 * MIB)
    path.write_bytes(gzip.compress(begin) + more * (mebibytes // 50))


def stray(path: Path, *cells: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    made.active.append(["id", "text"])
    for i in range(100):
        made.active.append([i, f"text number {i}"])
    for cell in cells:
        made.active[cell] = "x"
    made.save(path)


LARGE: list[tuple[str, Callable[[Path], None], str]] = [
    ("stray.xlsx", lambda path: stray(path, "XFD1048576"), "row 1,048,576 and column XFD"),
    ("line.csv.gz", lambda path: packed(path, 300), "line.csv.gz, line 2: longer than 16 MiB"),
    ("zeros.csv.gz", lambda path: packed(path, 2000, b"", b"\0"), "line 1: longer than 16 MiB"),
    ("cell.xlsx", lambda path: book(path, 200), "unpack to more than 64 MiB"),
]


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux")
@pytest.mark.parametrize(("name", "make", "said"), LARGE, ids=[name for name, *_ in LARGE])
def test_a_small_file_takes_no_gigabytes(tmp_path: Path, name: str, make: Callable, said: str):
    make(tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, tmp_path / name],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    *told, memory, seconds = done.stdout.split()
    assert said in " ".join(told) and "COTERIE_LIMITS=off" in done.stdout
    assert int(memory) < 300 and float(seconds) < 10, "MiB, seconds of a core"


LONG, SHORT = "x" * 5_000, "a text"
ROWS = [SHORT, SHORT, LONG, SHORT]


def text(ending: str = "\n", rows: list[str] = ROWS, begin: str = "") -> Callable[[Path], object]:
    return lambda path: path.write_text(begin + "".join(row + ending for row in rows), newline="")


def table(write: Callable) -> Callable[[Path], object]:
    return lambda path: write(pa.table({"text": ROWS}), path)


def database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (text)")
        connection.executemany("INSERT INTO notes VALUES (?)", [(row,) for row in ROWS])
        connection.commit()


TOO_LONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "a.txt": (text(), "line 3"),
    "a.csv": (text(begin="text\n"), "line 4"),
    "mac.csv": (text("\r", begin="text\r"), "line"),
    "header.csv": (text(begin="x" * 5_000), "line 1"),
    "quotes.csv": (text(rows=['"a', *[SHORT] * 900], begin='text\n"b"\n'), "line 3"),
    "stray.csv": (text(rows=['"a', *[SHORT] * 900], begin='text\na "b"\n'), "line 3"),
    "open.csv": (text(rows=['"a', *[SHORT] * 900]), "line 1"),
    "a.tsv": (text(rows=[f"1\t{row}" for row in ROWS], begin="id\ttext\n"), "line 4"),
    "a.jsonl": (text(rows=[json.dumps({"text": row}) for row in ROWS]), "line 3"),
    "a.json": (lambda path: path.write_text(json.dumps(ROWS)), "row 3, column 'text'"),
    "a.parquet": (table(pyarrow.parquet.write_table), "row 3, column 'text'"),
    "a.arrow": (table(feather.write_feather), "row 3, column 'text'"),
    "a.db": (database, "row"),
    "a.xlsx": (lambda path: book(path, 1), "row 1, column 'text'"),
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_rows_and_cells_have_a_longest(tmp_path: Path, name: str, monkeypatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 100)
    monkeypatch.setattr(module, "LONGEST_ROW", 2_000)
    make, place = TOO_LONG[name]
    make(tmp_path / name)
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / name)
    assert f"{name}" in str(caught.value) and place in str(caught.value)
    assert "COTERIE_LIMITS=off" in str(caught.value)


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst", "xlsx", "parquet"])
def test_what_unpacks_to_far_too_much_is_refused(tmp_path: Path, suffix: str, monkeypatch) -> None:
    data, path = b"text\n" + b"the same line\n" * 200_000, tmp_path / f"a.txt.{suffix}"
    if suffix == "xlsx":
        book(path, 3)
    elif suffix == "parquet":
        written = pa.table({"text": [data.decode()]})
        pyarrow.parquet.write_table(written, path, use_dictionary=False, compression="zstd")
    else:
        with open_packed(path, suffix) as file:
            file.write(data)
    monkeypatch.setattr(module, "ANY_RATIO_BYTES", 1_000_000)
    with raises(DataError, "MiB, which no table"):
        read_table(path)
    monkeypatch.setenv("COTERIE_LIMITS", "off")
    assert read_table(path)[0].num_rows


def open_packed(path: Path, suffix: str) -> Any:
    kinds = {"gz": gzip.GzipFile, "bz2": bz2.BZ2File, "xz": lzma.LZMAFile}
    if suffix == "zst":
        return pa.CompressedOutputStream(str(path), "zstd")
    return kinds[suffix](path, "wb")


@pytest.mark.parametrize("cell", ["XFD1048576", "XFD3", "C400000"])
def test_a_stray_cell_is_named(tmp_path: Path, cell: str) -> None:
    stray(tmp_path / "a.xlsx", cell)
    with raises(DataError, "hold something. One"):
        read_table(tmp_path / "a.xlsx")


def test_a_sheet_with_gaps_is_read(tmp_path: Path, monkeypatch) -> None:
    stray(tmp_path / "a.xlsx", "C5000")
    assert read_table(tmp_path / "a.xlsx")[0].shape == (4_999, 3)
    stray(tmp_path / "a.xlsx", "C400000")
    monkeypatch.setenv("COTERIE_LIMITS", "off")
    assert read_table(tmp_path / "a.xlsx")[0].shape == (399_999, 3)
