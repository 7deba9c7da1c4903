"""Files that cannot be read: each is refused by a message with its name and a remedy.

Nothing is written, whatever is wrong with the file.
"""

import bz2
import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import commands
from by_key import says

TABLE = pa.table({"n": [1, 2], "text": ["one fish", "two fish"]})
CSV = "n,text\n1,one fish\n2,two fish\n"


def parquet(table: pa.Table = TABLE) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()


def arrow(make: Callable = pa.ipc.new_file) -> bytes:
    file = io.BytesIO()
    with make(file, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return file.getvalue()


def zstd() -> bytes:
    return pa.compress((CSV * 999).encode(), "zstd", asbytes=True)


def archive(*names: str, content: str = "content") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, content)
    return file.getvalue()


def workbook(*rows: list, cut: int | None = None) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()[:cut]


def database(*statements: str, cut: int | None = None) -> bytes:
    connection = sqlite3.connect(":memory:")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    made = connection.serialize() if hasattr(connection, "serialize") else b"SQLite format 3\0"
    connection.close()
    return made[:cut]


NOTES = ("CREATE TABLE notes (n, text)", "INSERT INTO notes VALUES (1, 'one fish')")
BAD_TEXT = pa.StringArray.from_buffers(
    2,
    pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 3, 6))),
    pa.py_buffer(b"abca\xffb"),
)
# Name of the file, its content, and the message; what follows a ? or # is added to the name.
BROKEN: list[tuple[str, bytes | str | Callable[[], bytes], str]] = [
    ("empty.csv", "", "file_empty"),
    ("blank.csv", " \n \n", "file_empty"),
    ("header.csv", "n,text\n", "no_rows"),
    ("silent.csv", "n,text\n1,\n2,--\n", "column_empty"),
    ("ragged.csv", CSV + "3,three, fish\n", "ragged_row"),
    ("short.csv", CSV + "3\n", "ragged_row"),
    ("open.csv", CSV + '3,"three\n', "bad_delimited"),
    ("stray.csv", CSV + '3,"three" fish\n', "bad_delimited"),
    ("latin.csv", (CSV + "3,caf\xe9\n").encode("cp1252"), "bad_byte"),
    ("half.csv", CSV.encode("utf-16")[:-1], "bad_byte"),
    ("numbers.csv", "n,m\n1,2\n3,4\n", "no_text_column"),
    ("unclear.csv", "one,two\na b c,d e f\ng h i,j k l\n", "which_column"),
    ("cut.csv.gz", gzip.compress((CSV * 999).encode())[:-20], "damaged_compression"),
    ("changed.csv.gz", gzip.compress(CSV.encode())[:-6] + b"xxxxxx", "damaged_compression"),
    ("cut.csv.bz2", bz2.compress((CSV * 999).encode())[:-20], "damaged_compression"),
    ("cut.csv.zst", lambda: zstd()[:-20], "damaged_compression"),
    ("broken.jsonl", '{"text": "one"}\n{"text": \n', "line_not_json"),
    ("values.jsonl", '{"text": "one"}\n17\n', "not_an_object"),
    ("cut.json", json.dumps([{"text": "one"}] * 3)[:-9], "line_not_json"),
    ("cut.parquet", lambda: parquet()[:-20], "damaged"),
    ("footer.parquet", b"PAR1" + bytes(100) + b"PAR1", "damaged"),
    ("bytes.parquet", lambda: parquet(pa.table({"text": BAD_TEXT})), "row_not_utf8"),
    ("none.parquet", lambda: parquet(TABLE.slice(0, 0)), "file_empty"),
    ("cut.arrow", lambda: arrow()[:200], "damaged"),
    ("cut.arrows", lambda: arrow(pa.ipc.new_stream)[:250], "damaged"),
    ("old.feather", b"FEA1" + bytes(50) + b"FEA1", "not_a_table"),
    ("cut.xlsx", lambda: workbook(["text"], ["one fish"], cut=900), "damaged"),
    ("parts.xlsx", lambda: archive("xl/workbook.xml"), "damaged"),
    ("empty.xlsx", lambda: workbook(), "file_empty"),
    ("sheet.xlsx#texts", lambda: workbook(["text"], ["one fish"]), "no_sheet"),
    ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "not_a_table"),
    ("page.xls", "<html><table><tr><td>one fish</td></tr></table></html>", "not_a_table"),
    ("book.ods", lambda: archive("mimetype", "content.xml"), "not_a_table"),
    ("letter.xlsx", lambda: archive("word/document.xml"), "not_a_table"),
    ("files.csv", lambda: archive("a.csv"), "not_a_table"),
    ("cut.db", b"SQLite format 3\0" + bytes(100), "database"),
    ("empty.db", lambda: database("CREATE TABLE t (x)", "DROP TABLE t"), "no_table"),
    ("two.db", lambda: database(*NOTES, "CREATE TABLE more (text)"), "which_table"),
    ("typo.db?query=SELECT txt FROM notes", lambda: database(*NOTES), "database"),
    ("write.db?query=DROP TABLE notes", lambda: database(*NOTES), "not_a_select"),
    ("pickle.csv", b"\x80\x04\x95" + bytes(50), "not_a_table"),
    ("unknown.dat", CSV, "unknown_suffix"),
]


@pytest.mark.parametrize(("name", "content", "key"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_a_broken_file_is_refused(
    name: str, content: bytes | str | Callable[[], bytes], key: str, tmp_path: Path
) -> None:
    made = content() if callable(content) else content
    file = name.partition("?")[0].partition("#")[0]
    (tmp_path / file).write_bytes(made.encode() if isinstance(made, str) else made)
    named = f"sqlite:///{tmp_path / name}" if "?" in name else str(tmp_path / name)
    options = ["--method", "kmeans", "--encoder", "tfidf", "-k", "2", "--out", tmp_path / "out"]
    done = commands.run("cluster", named, *options, code=None)
    said = " ".join(done.output.split())
    assert done.exit_code in (2, 3), said
    assert isinstance(done.exception, SystemExit)  # no traceback
    assert says(done.output, f"corpus.{key}"), said
    assert file in said.replace(" ", ""), said
    assert [path.name for path in tmp_path.iterdir()] == [file]
