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
from said import says

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
    ("empty.csv", "", "is empty; give a"),
    ("blank.csv", " \n \n", "is empty; give a"),
    ("header.csv", "n,text\n", "there are no texts"),
    ("silent.csv", "n,text\n1,\n2,--\n", "are empty or have"),
    ("ragged.csv", CSV + "\n3,three, fish\n", "row 4 (line 5) has 3 fields"),
    ("short.csv", CSV + '3,"a\nb"\n3\n', "row 4 (line 6) has 1 fields"),
    ("open.csv", CSV + '3,"three\n', "line 4: a quote"),
    ("stray.csv", CSV + '3,"three" fish\n', "line 4: a quote"),
    ("latin.csv", (CSV + "3,caf\xe9\n").encode("cp1252"), "line 4: the byte 0xe9"),
    ("half.csv", CSV.encode("utf-16")[:-1], "The file was probably"),
    ("numbers.csv", "n,m\n1,2\n3,4\n", "no column contains"),
    ("unclear.csv", "one,two\na b c,d e f\ng h i,j k l\n", "it is not clear"),
    ("cut.csv.gz", gzip.compress((CSV * 999).encode())[:-20], "data are damaged"),
    ("changed.csv.gz", gzip.compress(CSV.encode())[:-6] + b"xxxxxx", "data are damaged"),
    ("cut.csv.bz2", bz2.compress((CSV * 999).encode())[:-20], "data are damaged"),
    ("cut.csv.zst", lambda: zstd()[:-20], "data are damaged"),
    ("broken.jsonl", '{"text": "one"}\n{"text": \n', "line 2: this is not JSON"),
    ("values.jsonl", '{"text": "one"}\n17\n', "line 2: expected an object"),
    ("cut.json", json.dumps([{"text": "one"}] * 3)[:-9], "Write one object"),
    ("cut.parquet", lambda: parquet()[:-20], "If it holds text"),
    ("footer.parquet", b"PAR1" + bytes(100) + b"PAR1", "If it holds text"),
    ("bytes.parquet", lambda: parquet(pa.table({"text": BAD_TEXT})), "in row 2 that is not UTF-8"),
    ("none.parquet", lambda: parquet(TABLE.slice(0, 0)), "is empty; give a"),
    ("cut.arrow", lambda: arrow()[:200], "If it holds text"),
    ("cut.arrows", lambda: arrow(pa.ipc.new_stream)[:250], "If it holds text"),
    ("old.feather", b"FEA1" + bytes(50) + b"FEA1", "Feather file of version 1"),
    ("cut.xlsx", lambda: workbook(["text"], ["one fish"], cut=900), "If it holds text"),
    ("parts.xlsx", lambda: archive("xl/workbook.xml"), "If it holds text"),
    ("empty.xlsx", lambda: workbook(), "is empty; give a"),
    ("sheet.xlsx#texts", lambda: workbook(["text"], ["one fish"]), "there is no sheet"),
    ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an old Excel"),
    ("page.xls", "<html><table><tr><td>one fish</td></tr></table></html>", "a web page"),
    ("book.ods", lambda: archive("mimetype", "content.xml"), "OpenDocument"),
    ("letter.xlsx", lambda: archive("word/document.xml"), "a Word document"),
    ("files.csv", lambda: archive("a.csv"), "a zip archive"),
    ("cut.db", b"SQLite format 3\0" + bytes(100), "check the file"),
    ("empty.db", lambda: database("CREATE TABLE t (x)", "DROP TABLE t"), "the database has"),
    ("two.db", lambda: database(*NOTES, "CREATE TABLE more (text)"), "say which table"),
    ("typo.db?query=SELECT txt FROM notes", lambda: database(*NOTES), "check the file"),
    ("write.db?query=DROP TABLE notes", lambda: database(*NOTES), "the query should"),
    ("pickle.csv", b"\x80\x04\x95" + bytes(50), "a pickle"),
    ("avro.csv", b"Obj\x01\x04\x14avro.codec", "an Avro file"),
    ("document.txt", b"%PDF-1.7\n", "a PDF document"),
    ("unknown.dat", CSV, "is not a known format"),
]


@pytest.mark.parametrize(
    ("name", "content", "said_part"), BROKEN, ids=[name for name, _, _ in BROKEN]
)
def test_a_broken_file_is_refused(
    name: str, content: bytes | str | Callable[[], bytes], said_part: str, tmp_path: Path
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
    assert says(done.output, said_part), said
    assert file in said.replace(" ", ""), said
    assert [path.name for path in tmp_path.iterdir()] == [file]
