"""Reading in parts: the rows of the whole file, whatever the format and however they are cut."""

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

from coterie._errors import DataError, UsageError
from coterie.corpus import Source, TextStream, read_corpus
from coterie.corpus import chunks as module
from coterie.corpus import source as source_module

RECORDS = [
    {"id": i, "text": f"text {i}, with\nlines" if i % 7 == 0 else f"plain «{i}»", "score": i / 3}
    for i in range(57)
]


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


def test_most_rows_is_a_bound(file: Path) -> None:
    stream = TextStream(file)
    if not file.suffix == ".json":  # one line
        assert stream.source.most_rows(stream.format) >= len(read_corpus(file))


def test_the_first_parts_are_small(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text\n" * 20_000)
    sizes = [len(part) for part in TextStream(tmp_path / "a.txt")]
    assert sizes == [1000, 2000, 4000, 8000, 5000]


def test_types_are_those_of_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS", 2)
    rows = [{"text": "a", "n": 1, "m": None, "x": 1}, {"text": "b", "n": 2, "x": "one"}]
    rows += [{"text": "c", "n": 2.5, "m": 3, "late": True, "x": None}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    parts = [part.table for part in TextStream(tmp_path / "a.jsonl").chunks(1)]
    assert len({str(part.schema) for part in parts}) == 1
    assert pa.concat_tables(parts).to_pydict() == {
        "text": ["a", "b", "c"], "n": [1.0, 2.0, 2.5], "m": [None, None, 3],
        "x": ["1", "one", None], "late": [None, None, True],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "id,text\n1,fine\n\n2,one,two\n", "row 3 .line 4. has 3 fields where the header"),
        ("a.csv", 'id,text\n1,"open\n', "a.csv, line 2"),
        ("a.jsonl", '{"text": "a"}\n{"text"\n', "a.jsonl, line 2: this is not JSON"),
        ("a.jsonl", '{"text": "a"}\n7\n', "line 2: expected an object or a text"),
        ("a.csv", b"text\nfine\nna\xefve\n", "line 3: the byte 0xef is not utf-8"),
        ("a.csv", "", "is empty"),
        ("a.csv", "text\n", "is empty"),
        ("a.parquet", "PAR1 not", "is not a Parquet file"),
    ],
)
def test_what_is_broken_is_named(tmp_path: Path, name: str, content: str | bytes, said) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=said):
        list(TextStream(path))


@pytest.mark.parametrize("block", [1, 4, 1 << 20])
def test_a_bad_byte_is_found_in_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(source_module, "BLOCK", block)
    (tmp_path / "a.txt").write_bytes("süß\n".encode() * 5 + b"na\xefve\n")
    with pytest.raises(DataError, match="line 6: the byte 0xef is not utf-8"):
        list(TextStream(tmp_path / "a.txt"))


def test_what_is_asked_for_must_be_there(tmp_path: Path) -> None:
    path = put(tmp_path, "csv")
    with pytest.raises(DataError, match="no column 'txt'"):
        list(TextStream(path, text_column="txt"))
    with pytest.raises(DataError, match="no column 'key'"):
        list(TextStream(path, id_column="key"))
    with pytest.raises(UsageError, match="no file"):
        TextStream(tmp_path / "absent.csv")
    with pytest.raises(UsageError, match="not an encoding"):
        list(TextStream(path, encoding="utf-99"))


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
    with pytest.raises(DataError, match="row 2 has a column 'new'"):
        next(parts)


@pytest.mark.parametrize("memory", [4, 1 << 20])
def test_standard_input_can_be_taken_whole(monkeypatch: pytest.MonkeyPatch, memory: int) -> None:
    monkeypatch.setattr(source_module, "MEMORY", memory)
    pipe = Pipe(monkeypatch)
    pipe.say("one\ntwo\n")
    pipe.end()
    stream = TextStream(Source("-", again=True))
    for _ in range(2):
        assert [part.texts for part in stream] == [["one", "two"]]
    assert stream.source.most_rows("txt") == 2
    assert read_corpus(stream.source, format="txt").texts == ["one", "two"]
    left = stream.source._path
    assert left.exists() == (memory == 4)
    del stream
    assert not left.exists()
