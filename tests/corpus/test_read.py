"""Reading files: every format, every kind of damage, and what the errors say."""

import io
import json
import os
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from coterie.corpus import Corpus, Source, TextStream, read_corpus
from coterie.corpus import source as source_module
from coterie.errors import DataError, UsageError
from said import raises

RECORDS = [
    {"id": i, "text": f"text {i}, with\nlines" if i % 7 == 0 else f"plain «{i}»", "score": i / 3}
    for i in range(57)
]


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
    "blank lines": ("a.csv", "text,n\na,1\n\nb,2\n\n\n", [("a", "1"), ("", ""), ("b", "2")]),
    "UTF-8, mark": ("a.csv", "text\nÜbung 你好\n".encode("utf-8-sig"), [("Übung 你好",)]),
    "UTF-16": ("a.csv", "text\nÜbung 你好\n".encode("utf-16"), [("Übung 你好",)]),
    "records": ("a.jsonl", '{"text": "a"}\n{"text": "b", "n": 1}\n\n', [("a", None), ("b", 1)]),
    "JSON texts": ("a.jsonl", '"one"\n"two"\n', [("one",), ("two",)]),
    "lines": ("a.txt", "one\r\n\r\nthree, four", [("one",), ("",), ("three, four",)]),
}


@pytest.mark.parametrize("case", READ)
def test_cells_are_read_as_they_are(write, case: str) -> None:
    name, content, wanted = READ[case]
    corpus = read_corpus(write(name, content))
    assert [tuple(row.values()) for row in corpus.table.to_pylist()] == wanted
    assert corpus.text_column == "text"
    assert ("delimiter" in kinds(corpus)) == case.startswith("delimiter")


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
    stdin = io.TextIOWrapper(io.BytesIO(content.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert read_corpus("-", **options).texts == texts


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xef\xbb\xbf\r\n"]
)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "txt", "parquet"])
def test_nothing_but_a_byte_order_mark_is_nothing(
    suffix: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / f"a.{suffix}").write_bytes(content)
    broken = suffix == "parquet" and content.strip()
    with raises(DataError, "If it holds text" if broken else "is empty; give a"):
        read_corpus(tmp_path / f"a.{suffix}")


def test_the_text_column_is_found_by_name_or_by_its_words(write) -> None:
    by_name = write("a.csv", "long,comment\n" + "x" * 99 + ",short\n")
    assert read_corpus(by_name).text_column == "comment"
    by_words = write("b.csv", "key,wording,n\nk1-" + "0" * 40 + ",a rather long wording,1\n")
    assert read_corpus(by_words).text_column == "wording"
    by_length = write("c.csv", "key,word,day\nk1,apples,2026-01-02\nk2,pears,2026-01-03\n")
    assert read_corpus(by_length).text_column == "word"


def test_candidates_are_listed_where_the_text_column_is_not_clear(write) -> None:
    path = write("a.csv", "n,one,two\n1,the first of two,as long as this\n")
    with raises(UsageError, "it is not clear", "--text-column") as caught:
        read_corpus(path)
    assert "'one' ('the first of two'), 'two' ('as long as this')" in str(caught.value)
    with raises(UsageError, "it is not clear"):
        list(TextStream(path))
    with raises(DataError, "no column contains", "n, m"):
        read_corpus(write("b.csv", "n,m\n1,2.5\n"))


def test_odd_values_are_kept_and_noted(write) -> None:
    lines = ['{"text": 12}', '{"text": null}', '{"text": "a\\u0000b\\nc"}', '{"text": "n/a"}']
    lines += ['{"text": "twice"}', '{"text": " twice "}', '{"text": "' + "w " * 6000 + '"}']
    corpus = read_corpus(write("a.jsonl", "\n".join(lines)))
    assert corpus.texts[:5] == ["12", "", "a b c", "n/a", "twice"]
    assert kinds(corpus) == {"empty": 1, "control": 1, "long": 1, "duplicate": 1, "boilerplate": 1}
    assert next(n for n in corpus.notes if n.kind == "empty").rows == (2,)


def test_numbers_in_the_text_column_are_read_as_text(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"text": [1.5, None, 3.0]}), tmp_path / "a.parquet")
    corpus = read_corpus(tmp_path / "a.parquet")
    assert corpus.texts == ["1.5", "", "3.0"]
    assert kinds(corpus) == {"converted": 2, "empty": 1}


def test_the_digest_depends_on_texts_and_order(write) -> None:
    digests = {read_corpus(write(f"{i}.txt", c)).sha256 for i, c in enumerate(["a\nb", "b\na"])}
    assert len(digests) == 2
    assert read_corpus(write("x.txt", "a\nb\n")).sha256 in digests


def csv_text(mark: str = ",", end: str = "\n") -> str:
    rows = [
        f'{r["id"]}{mark}"{r["text"]}"{mark}{r["score"]}' if r["id"] % 11 else "" for r in RECORDS
    ]
    return end.join(["id" + mark + "text" + mark + "score", *rows, "", ""]) + end


FILES: dict[str, tuple[str, bytes]] = {
    "csv": ("a.csv", csv_text().encode()),
    "csv, windows": ("a.csv", csv_text(end="\r\n").encode("utf-8-sig")),
    "csv, old mac": ("a.csv", csv_text(end="\r").encode()),
    "csv, semicolons, utf-16": ("a.csv", csv_text(";").encode("utf-16")),
    "tsv": ("a.tsv", csv_text("\t").encode()),
    "tsv, stray quotes": ("a.tsv", b'text\tn\n5" screen\t1\n"odd\t2\nmore\t3\n'),
    "txt": ("a.txt", "one\r\n\ntwo \x85 halves\nlast".encode()),
    "jsonl": ("a.jsonl", "\n\n".join(map(json.dumps, RECORDS)).encode()),
    "json list": ("a.json", json.dumps(RECORDS).encode()),
    "jsonl of texts": ("a.jsonl", b'"one"\n"two"\nnull\n'.replace(b"null\n", b'{"text": null}\n')),
}


def parquet(folder: Path) -> Path:
    pyarrow.parquet.write_table(pa.Table.from_pylist(RECORDS), folder / "a.parquet")
    return folder / "a.parquet"


def put(folder: Path, name: str) -> Path:
    file, content = FILES[name]
    (folder / file).write_bytes(content)
    return folder / file


@pytest.fixture(params=[*FILES, "parquet"])
def file(request, tmp_path: Path) -> Path:
    return parquet(tmp_path) if request.param == "parquet" else put(tmp_path, request.param)


@pytest.mark.parametrize("rows", [1, 2, 10, 1000])
def test_parts_make_the_whole(file: Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "BLOCK", 7)  # lines and letters are cut anywhere
    whole = read_corpus(file)
    stream = TextStream(file)
    for _ in range(2):  # a file can be read again
        parts = list(stream.chunks(rows))
        assert [text for part in parts for text in part.texts] == whole.texts
        assert all(len(part) <= rows for part in parts)
        assert [part.first for part in parts] == [
            sum(map(len, parts[:i])) for i in range(len(parts))
        ]
        table = pa.concat_tables([part.table for part in parts])
        assert table.to_pylist() == whole.table.to_pylist()
    assert stream.text_column == whole.text_column
    assert [note.kind for note in stream.notes] == [
        note.kind for note in whole.notes if note.kind == "delimiter"
    ]


def test_the_first_parts_are_small(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text\n" * 20_000)
    sizes = [len(part) for part in TextStream(tmp_path / "a.txt")]
    assert sizes == [1000, 2000, 4000, 8000, 5000]


@pytest.mark.parametrize("block", [1, 4, 1 << 20])
def test_a_bad_byte_is_found_in_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(source_module, "BLOCK", block)
    (tmp_path / "a.txt").write_bytes("süß\n".encode() * 5 + b"na\xefve\n")
    with raises(DataError, "The file was probably", "6", "utf-8"):
        list(TextStream(tmp_path / "a.txt"))


class Pipe:
    """Standard input that says one thing after another."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read, self.write_end = os.pipe()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(os.fdopen(read, "rb")))

    def say(self, text: str) -> None:
        os.write(self.write_end, text.encode())

    def end(self) -> None:
        os.close(self.write_end)


def test_a_pipe_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(monkeypatch)
    pipe.say("id,text\n1,first\n2,second\n3,th")
    parts = iter(TextStream("-", format="csv"))
    assert next(parts).texts == ["first", "second"]  # the third is not whole
    pipe.say("ird\n")
    assert next(parts).texts == ["third"]
    pipe.end()
    assert next(parts, None) is None


def test_a_pipe_that_speaks_on_is_not_cut_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(monkeypatch)

    def speak() -> None:
        for _ in range(20):
            pipe.say("a text\n" * 10)
            time.sleep(0.005)  # far below the patience of the reader
        pipe.end()

    speaker = threading.Thread(target=speak)
    speaker.start()
    parts = [len(part) for part in TextStream("-")]
    speaker.join()
    assert sum(parts) == 200 and len(parts) <= 3


def test_columns_from_a_pipe_are_those_of_the_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(monkeypatch)
    pipe.say('{"text": "a", "n": 1}\n')
    parts = iter(TextStream("-"))
    assert next(parts).table.to_pydict() == {"text": ["a"], "n": [1]}
    pipe.say('{"text": "b", "new": 2}\n')
    pipe.end()
    with raises(DataError, "that no earlier row", "2", "'new'"):
        next(parts)


@pytest.mark.parametrize("memory", [4, 1 << 20])
def test_standard_input_can_be_taken_whole(monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
    monkeypatch.setattr(source_module, "PIPE_MEMORY", memory)
    pipe = Pipe(monkeypatch)
    pipe.say("one\ntwo\n")
    pipe.end()
    stream = TextStream(Source("-", again=True))
    for _ in range(2):
        assert [part.texts for part in stream] == [["one", "two"]]
    assert stream.most_rows() == 2
    assert read_corpus(stream.source, format="txt").texts == ["one", "two"]
    left = stream.source._path
    assert left.exists() == (memory == 4)
    del stream
    assert not left.exists()


JSON = '{"text": "one fish", "n": 1}\n{"text": "two fish", "n": 2}\n'
COMMAS, TABS = (f"text{mark}n\none fish{mark}1\ntwo fish{mark}2\n" for mark in ",\t")


@pytest.mark.parametrize(
    ("suffix", "content", "kind"),
    [
        ("csv", JSON, "JSON lines"),
        ("json", COMMAS, "CSV"),
        ("jsonl", TABS, "TSV"),
        ("xlsx", TABS, "TSV"),
        ("parquet", COMMAS, "CSV"),
        ("db", JSON, "JSON lines"),
    ],
)
def test_a_wrong_suffix_is_recognised_and_said(write, suffix, content: str, kind: str) -> None:
    stream = TextStream(write(f"a.{suffix}", content))
    assert [chunk.texts for chunk in stream] == [["one fish", "two fish"]]
    assert any(f"is a {kind} file, not a" in note.message for note in stream.notes)


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
