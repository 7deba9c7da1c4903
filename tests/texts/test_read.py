"""Reading files: every cell as it is, malformed lines counted, and one clear error for the rest."""

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import threading
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import commands
from coterie.errors import DataError, UsageError
from coterie.texts import Corpus, TextStream, read, read_corpus, read_table, tables, write_rows
from coterie.texts import delimited as delimited_module
from coterie.texts import source as source_module
from coterie.texts.corpus import unique_names
from coterie.texts.delimited import guess_header
from said import raises, says

ZSTD = partial(pa.compress, codec="zstd", asbytes=True)
CSV = "id,text\n" + "".join(f"{i},text number {i}\n" for i in range(300))


@pytest.fixture
def write(tmp_path: Path):
    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def kinds(corpus: Corpus) -> dict[str, int]:
    return {note.kind: note.count for note in corpus.notes}


READ: dict[str, tuple[str, bytes | str, list]] = {  # first column: text
    "cells are texts": ("a.csv", 'text,n\n"late, again",007\n', [("late, again", "007")]),
    "delimiter ;": ("a.csv", "text;n\none, two;1\n", [("one, two", "1")]),
    "delimiter tab": ("a.csv", "text\tn\none, two\t1\n", [("one, two", "1")]),
    "delimiter |": ("a.csv", "text|n\none, two|1\n", [("one, two", "1")]),
    "delimiter, quoted header": ("a.csv", 'text;"n, m"\none;1\n', [("one", "1")]),
    "delimiter of Excel": ("a.csv", "sep=;\r\ntext;n\r\none, two;1\r\n", [("one, two", "1")]),
    "quotes": ("a.csv", 'text,n\n"say ""hi"",\nplease",1\n', [('say "hi",\nplease', "1")]),
    "quotes within": ("a.csv", 'text,n\na 5" screen,1\n', [('a 5" screen', "1")]),
    "blank lines": ("a.csv", "\ntext,n\na,1\n\nb,2\n\n\n", [("a", "1"), ("b", "2")]),
    "blank texts": ("a.csv", "text\na\n\nb\n\n\n", [("a",), ("",), ("b",)]),
    "trailing commas": ("a.csv", "text,n\na,1,\nb,2,,\n", [("a", "1"), ("b", "2")]),
    "line ends of Windows": ("a.csv", "text,n\r\na,1\r\nb,2", [("a", "1"), ("b", "2")]),
    "line ends of old Macs": ("a.csv", "text,n\ra,1\rb,2\r", [("a", "1"), ("b", "2")]),
    "a carriage return": ("a.csv", 'text,n\n"a\rb",1\n', [("a\rb", "1")]),
    "a cell of 300 KB": ("a.csv", f"text\n{'word ' * 60_000}\n", [("word " * 60_000,)]),
    "UTF-8, mark": ("a.csv", "text\nÜbung 你好\n".encode("utf-8-sig"), [("Übung 你好",)]),
    "UTF-16": ("a.csv", "text\nÜbung 你好\n".encode("utf-16"), [("Übung 你好",)]),
    "TSV": ("a.tsv", 'text\tn\n"say ""hi"""\t1\n"two\nlines"\t2\n',
            [('say "hi"', "1"), ("two\nlines", "2")]),
    "TSV without quotes": ("a.tsv", 'text\tn\n"open\t1\n5" screen\t2\nclose"\t3\n',
                           [('"open', "1"), ('5" screen', "2"), ('close"', "3")]),
    "records": ("a.jsonl", '{"text": "a"}\n{"text": "b", "n": 1}\n\n', [("a", None), ("b", 1)]),
    "JSON texts": ("a.jsonl", '"one"\n"two"\n', [("one",), ("two",)]),
    "JSON list": ("a.json", '[{"text": "a", "n": 1}, {"text": "b"}]', [("a", 1), ("b", None)]),
    "lines": ("a.txt", "one\r\n\r\nthree, four", [("one",), ("",), ("three, four",)]),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_cells_are_read_as_they_are(write, case: str) -> None:
    name, content, wanted = READ[case]
    corpus = read_corpus(write(name, content))
    assert [tuple(row.values()) for row in corpus.table.to_pylist()] == wanted
    assert corpus.text_column == "text"
    assert set(kinds(corpus)) & {"delimiter", "malformed"} <= {case.partition(" ")[0].strip(",")}


MALFORMED = {
    "csv": ("text,n\n" + "fine,1\n" * 40, "a text, with commas,1\n", "fine,1\nshort\n"),
    "quotes.csv": ("text,n\n" + "fine,1\n" * 40, 'a,"say "hi" now"\n', '"open\n'),
    "jsonl": ('{"text": "fine"}\n' * 41, "no JSON\n", '{"text": "a", "text": "b"}\n[1]\n'),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_lines_are_left_out_and_named(write, name: str) -> None:
    fine, *bad = MALFORMED[name]
    path = write(f"a.{name}", fine + "".join(bad))
    stream = TextStream(path)
    for _ in range(2):  # not counted twice
        texts = [text for part in stream for text in part.texts]
        assert set(texts) == {"fine"} and len(texts) >= 40
        [note] = [note for note in stream.notes if note.kind == "malformed"]
        assert note.count in (2, 3) and note.rows[0] == 42 and "(42, 4" in note.message
    with raises(DataError, "9 lines (42, 43, 44, ...)"):
        read_table(write(f"a.{name}", fine + bad[0] * 9))


def test_a_quote_that_is_not_closed_loses_no_lines_in_silence(write) -> None:
    quoted = "".join(f'{i},"a, b"\n' for i in range(60))
    with raises(DataError, "61 lines (2, ...)"):  # up to the next quote that closes nothing
        read_table(write("a.csv", 'n,text\n0,"open\n' + "1,a\n" * 59 + quoted))


def test_bytes_of_windows_are_read_and_noted(write) -> None:
    table = "text;n\nnaïve – süß;1\n".encode("cp1252")
    corpus = read_corpus(write("a.csv", table))
    assert corpus.texts == ["naïve – süß"] and "encoding" in kinds(corpus)
    mostly = read_corpus(write("b.csv", CSV.encode() + "7,Käse 你好\n".encode() + b"8,caf\xe9\n"))
    assert mostly.texts[-2:] == ["Käse 你好", "café"]
    assert "encoding" not in kinds(read_corpus(write("c.csv", CSV)))
    with raises(DataError, "name its `encoding`"):
        read_corpus(write("d.csv", "text\nпривет как дела\n".encode("cp1251")))
    assert read_corpus(write("d.csv", "text\nпривет\n".encode("cp1251")), encoding="cp1251").texts
    with raises(DataError, "is not ascii"):
        read_corpus(write("e.csv", table), encoding="ascii")
    with raises(UsageError, "is not an encoding"):
        read_corpus(write("e.csv", table), encoding="rot13")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "cell.csv", "a.jsonl"])
def test_a_line_and_a_cell_have_a_longest(write, monkeypatch, name: str) -> None:
    monkeypatch.setattr(source_module, "LONGEST_ROW", 2_000)
    monkeypatch.setattr(delimited_module, "LONGEST_ROW", 2_000)
    long = '"' + "x y\n" * 999 + '"' if name == "cell.csv" else f'{{"text": "{"x" * 5000}"}}'
    fine = '{"text": "a"}' if name.endswith("jsonl") else "text"
    with raises(DataError, f"{name}, line 2: longer than"):
        read_table(write(name, f"{fine}\n{long}\n"))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.parquet", "a.xlsx", "-"])
def test_what_unpacks_has_a_largest(tmp_path: Path, write, monkeypatch, name: str) -> None:
    for module in (source_module, tables):
        monkeypatch.setattr(module, "MOST_BYTES", 1_000)
    path = tmp_path / name
    if name in ("a.csv.gz", "-"):
        path = write("a.csv.gz", gzip.compress(CSV.encode()))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    else:
        write_rows(path, pa.table({"text": [f"text {i}" for i in range(999)]}), {})
    with raises(DataError, "GiB"):
        read_table("-" if name == "-" else path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, ZSTD])
def test_packed_files_are_unpacked(write, pack) -> None:
    path = write("a.csv", pack(CSV.encode()))  # whatever the suffix
    stream = TextStream(path)
    for _ in range(2):
        assert sum(map(len, stream)) == 300
    assert stream.most_rows() == 301
    path.write_bytes(path.read_bytes()[:-20])
    with raises(DataError, "it is damaged"):
        read_corpus(path)


BROKEN: list[tuple[str, bytes | str, str]] = [
    ("empty.csv", "", "is empty; give a"),
    ("blank.csv", " \n \n", "is empty; give a"),
    ("header.csv", "n,text\n", "there are no texts"),
    ("silent.csv", "n,text\n1,\n2,--\n", "are empty or have"),
    ("ragged.csv", "n,text\n1,two, fish\n", "1 line (2)"),
    ("cut.json", '[{"text": "one"}, {"te', "is none"),
    ("cut.parquet", b"PAR1" + bytes(100), "it is damaged"),
    ("cut.arrow", b"ARROW1" + bytes(100), "it is damaged"),
    ("letter.xlsx", b"PK\x03\x04" + bytes(100), "it is damaged"),
    ("old.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "is not UTF-8"),
    ("document.pdf", b"%PDF-1.7\n", "is not a known format"),
    ("numbers.csv", "n,m\n1,2\n3,4\n", "no column contains"),
]


@pytest.mark.parametrize(("name", "content", "part"), BROKEN, ids=[row[0] for row in BROKEN])
def test_a_broken_file_is_refused(write, tmp_path: Path, name: str, content, part: str) -> None:
    out = tmp_path / "out"
    done = commands.run("cluster", write(name, content), "-k", "2", "--out", out, code=None)
    assert done.exit_code in (2, 3) and isinstance(done.exception, SystemExit), done.output
    assert says(done.output, part), done.output
    assert name in done.output.replace("\n", "") and not out.exists()


@pytest.mark.parametrize(
    ("content", "options", "texts"),
    [
        ("one\ntwo\n", {}, ["one", "two"]),
        ('{"text": "one"}\n', {}, ["one"]),
        ("id,body\n1,one\n", {"text_column": "body"}, ["one"]),
        ("text\tn\none\t1\n", {"format": "tsv"}, ["one"]),
    ],
)
def test_standard_input(monkeypatch, content: str, options: dict, texts: list[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    stream = TextStream("-", **options)
    for _ in range(2):
        assert [text for part in stream for text in part.texts] == texts


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=[CSV])
    writer.start()
    assert len(read_corpus(tmp_path / "pipe", format="csv")) == 300
    writer.join()
    with raises(UsageError, "there is no file"):
        read_table("/dev/zero", format="txt")


def test_the_text_column_is_found_by_name_or_by_its_words(write) -> None:
    by_name = write("a.csv", "long,comment\n" + "x" * 99 + ",short\n")
    assert read_corpus(by_name).text_column == "comment"
    by_words = write("b.csv", "key,wording,n\nk1-" + "0" * 40 + ",a rather long wording,1\n")
    assert read_corpus(by_words).text_column == "wording"
    by_length = write("c.csv", "key,word,day\nk1,apples,2026-01-02\nk2,pears,2026-01-03\n")
    assert read_corpus(by_length).text_column == "word"
    unclear = write("d.csv", "n,one,two\n1,the first of two,as long as this\n")
    with raises(UsageError, "it is not clear", "`text_column`"):
        read_corpus(unclear)


def test_odd_values_are_kept_and_noted(write) -> None:
    lines = ['{"text": 12}', '{"text": null}', '{"text": "a\\u0000b\\nc"}', '{"text": "n/a"}']
    lines += ['{"text": "twice"}', '{"text": " twice "}', '{"text": "' + "w " * 6000 + '"}']
    corpus = read_corpus(write("a.jsonl", "\n".join(lines)))
    assert corpus.texts[:5] == ["12", "", "a b c", "n/a", "twice"]
    assert kinds(corpus) == {"empty": 1, "control": 1, "long": 1, "duplicate": 1, "boilerplate": 1}
    assert next(n for n in corpus.notes if n.kind == "empty").rows == (2,)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, None, 2], [1, None, 2]),
        ([1, 2.5, 2**60 + 1], [1.0, 2.5, float(2**60)]),
        ([2**70, 1, None], [str(2**70), "1", None]),
        ([True, 1, "x"], ["true", "1", "x"]),
        ([{"a": [1]}, [2], "x"], ['{"a": [1]}', "[2]", "x"]),
        (["\ud800", "b", "c"], ["\ufffd", "b", "c"]),
    ],
)
def test_a_column_of_json_has_one_type(write, monkeypatch, values: list, wanted: list) -> None:
    rows = [{"text": f"row {i}", "x": value} for i, value in enumerate(values)]
    path = write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert read_table(path)[0]["x"].to_pylist() == wanted
    for module in (read, sys.modules["coterie.texts.jsonlines"]):
        monkeypatch.setattr(module, "CHUNK_ROWS", 1)
    parts = [part.table for part in TextStream(path)]
    assert len(parts) == 3 and pa.concat_tables(parts)["x"].to_pylist() == wanted


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl", "a.json", "a.parquet"])
def test_parts_make_the_whole(write, monkeypatch, name: str) -> None:
    table = pa.table({"text": [f"text {i}" if i % 7 else f"a\t,\n«{i}»" for i in range(50)]})
    path = write(name, "\n".join(table["text"].to_pylist()))
    if name == "a.json":
        path.write_text(json.dumps(table.to_pylist()))
    elif name == "a.tsv":
        path.write_text("text\tn\n" + "".join(f'"{t}"\t1\n' for t in table["text"].to_pylist()))
    elif name != "a.txt":
        write_rows(path, table, {})
    whole = read_table(path)[0]
    for module in (read, delimited_module, tables, sys.modules["coterie.texts.jsonlines"]):
        monkeypatch.setattr(module, "CHUNK_ROWS", 8)
    parts = list(TextStream(path))
    assert all(len(part) <= 8 for part in parts)
    assert [part.first for part in parts] == list(range(0, whole.num_rows, 8))
    assert pa.concat_tables([part.table for part in parts]).to_pylist() == whole.to_pylist()


def test_files_of_different_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,n\none fish,1\n")
    (tmp_path / "b.csv").write_text("text,m\ntwo fish,1\n")
    with raises(DataError, "give files of one", "text, m", "text, n"):
        read_corpus(tmp_path)
    (tmp_path / "b.csv").rename(tmp_path / "b.tsv")
    with raises(UsageError, "name one file"):
        read_corpus(tmp_path)
    (tmp_path / "b.tsv").unlink()
    (tmp_path / "b.csv").write_text("text,n\n")  # a header alone
    assert read_corpus(tmp_path).texts == ["one fish"]
    with raises(UsageError, "there is no file"):
        read_corpus(f"{tmp_path}/*.parquet")


def test_files_at_an_address_are_read_where_they_are(write) -> None:
    folder = pytest.importorskip("upath").UPath("memory://bucket/parts")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("b.csv", "a.csv", "_c.csv"):
        (folder / name).write_text(f"text\n{name} fish\n")
    for address in (folder, f"{folder}/[ab].csv", "memory://bucket/**/[ab].csv"):
        assert read_corpus(str(address)).texts == ["a.csv fish", "b.csv fish"]
    assert read_corpus(f"{folder}/a.csv").texts == ["a.csv fish"]
    with raises(UsageError, "cannot be reached"):
        read_corpus("nothing://bucket/a.csv")


def test_names_that_come_again_lose_no_column(write) -> None:
    table, _ = read_table(write("a.csv", "text,a,a,a_2,a\none fish,1,2,3,4\n"))
    assert table.to_pylist() == [{"text": "one fish", "a": "1", "a_3": "2", "a_2": "3", "a_4": "4"}]
    assert unique_names(["x", "x", "x"]) == ["x", "x_2", "x_3"]


@pytest.mark.parametrize(
    ("content", "texts", "noted"),
    [
        ("1,my parcel is late\n2,a refund please\n", 2, "add --header"),
        ("where is it now then\nmy parcel is late\na refund please\n", 3, "add --header"),
        ("good,it works very well\nbad,it broke at once\ngood,nice\ngood,fine\n", 4, "--header"),
        ("2026-01-05;I never got my order\n2026-01-06;wrong size\n", 2, "add --header"),
        ("What did you like about us?\nthe staff was nice\nnothing at all\n", 2, "--no-header"),
        ("id,wording\n1,my parcel is late\n2,a refund please\n", 2, None),
        ("text\n12\n13\n", 2, None),
        ("wording,2019\nmy parcel is late,12\na refund please,13\n", 2, None),
        (",wording\n0,my parcel is late\n1,a refund please\n", 2, None),
        ("Timestamp,What was good or bad for you\n2026-01-05,all of it\n", 1, None),
        ("my parcel is late\n", 0, None),
    ],
)
def test_a_file_without_a_header_keeps_its_first_row(
    write, content: str, texts: int, noted: str | None
) -> None:
    path = write("a.csv", content)
    table, notes = read_table(path)
    assert table.num_rows == texts
    said = [note.message for note in notes if note.kind == "header"]
    assert len(said) == (noted is not None) and all(noted in message for message in said)
    lines = content.count("\n")
    assert read_table(path, header=False)[0].num_rows == lines
    assert read_table(path, header=True)[0].num_rows == lines - 1


def test_a_column_that_is_asked_for_is_a_header() -> None:
    rows = [["7", "to be or not to be"], ["1", "that is the question"]]
    assert guess_header(rows)[0] is False
    assert guess_header(rows, wanted=["7"]) == (True, None)


def test_two_columns_of_one_name_in_parquet(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["one fish"]), pa.array(["two"])], ["text", "text"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    corpus = read_corpus(tmp_path / "a.parquet")
    assert corpus.table.to_pylist() == [{"text": "one fish", "text_2": "two"}]
