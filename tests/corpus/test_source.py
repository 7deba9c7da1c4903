"""Where bytes come from: pipes are opened once, contents are recognised, encodings are checked."""

import bz2
import gzip
import lzma
import os
import threading
import time
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from coterie.corpus import TextStream, read_corpus, read_table
from coterie.corpus import source as module
from coterie.errors import DataError, UsageError
from said import raises

PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
ZSTD = partial(pa.compress, codec="zstd", asbytes=True)
CSV = "id,text\n" + "".join(f"{i},text number {i}\n" for i in range(3000))


def write_later(path: Path, data: bytes, pause: float = 0.0) -> threading.Thread:
    def write() -> None:
        time.sleep(pause)
        with path.open("wb") as file:
            file.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@PIPES
@pytest.mark.parametrize("pause", [0, 0.3])
def test_a_named_pipe_gives_every_row(fifo: Path, pause: float) -> None:
    writer = write_later(fifo, CSV.encode(), pause)
    rows = [value for part in TextStream(fifo, format="csv") for value in part.values]
    writer.join()
    assert rows == [f"text number {i}" for i in range(3000)]
    writer = write_later(fifo, CSV.encode())
    assert len(read_corpus(fifo, format="csv")) == 3000
    writer.join()


@PIPES
def test_a_pipe_without_a_writer_is_not_waited_for(fifo: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "WRITER_SECONDS", 0.2)
    with raises(DataError, "is a named pipe that"):
        TextStream(fifo, format="txt")


@PIPES
def test_devices_are_refused() -> None:
    with raises(UsageError, "is a device or a"):
        read_table("/dev/zero", format="txt")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, ZSTD])
def test_packed_files_are_unpacked(tmp_path: Path, pack) -> None:
    path = tmp_path / "a.csv"  # whatever the suffix
    path.write_bytes(pack(CSV.encode()))
    stream = TextStream(path)
    for _ in range(2):
        assert sum(map(len, stream)) == 3000
    assert stream.most_rows() == 3001
    path.write_bytes(path.read_bytes()[:-200])
    with raises(DataError, "data are damaged"):
        read_corpus(path)


@pytest.mark.parametrize("word", ["ORC army", "Rar! what", "%PDF files", "PK zip", "FEA10 model"])
def test_texts_that_begin_like_other_files_are_texts(tmp_path: Path, word: str) -> None:
    (tmp_path / "a.txt").write_text(f"{word}\nmore\n")
    (tmp_path / "a.csv").write_text(f"{word},text\n1,more\n")
    assert read_corpus(tmp_path / "a.txt").texts == [word, "more"]
    assert read_corpus(tmp_path / "a.csv").table.column_names == [word, "text"]


def test_a_web_page_is_refused_unless_it_is_said_to_be_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("<HTML> tag is not closed\n")
    with raises(DataError, "a web page"):
        read_corpus(tmp_path / "a.txt")
    assert read_corpus(tmp_path / "a.txt", format="txt").texts == ["<HTML> tag is not closed"]


def test_a_format_that_the_file_has_not_is_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"text": ["one fish"]}), tmp_path / "a.csv")
    with raises(UsageError, "`format` csv", "is a Parquet file"):
        read_corpus(tmp_path / "a.csv", format="csv")
    (tmp_path / "b.parquet").write_text("text\none fish\n")
    with raises(DataError, "is not a Parquet file"):
        read_corpus(tmp_path / "b.parquet")


@pytest.mark.parametrize(
    "encoding",
    ["rot13", "zlib", "hex", "base64", "punycode", "idna", "undefined", "unicode_escape", "\0", ""],
)
def test_what_encodes_no_texts_is_refused(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    with raises(UsageError, "is not an encoding"):
        read_corpus(tmp_path / "a.csv", encoding=encoding)
    with raises(UsageError, "is not an encoding"):
        list(TextStream(tmp_path / "a.csv", encoding=encoding))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_utf_16_without_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes(CSV.encode(encoding))
    said = encoding[:6].upper()
    assert len(read_corpus(tmp_path / "a.csv", encoding=said)) == 3000
    assert sum(map(len, TextStream(tmp_path / "a.csv", encoding=said))) == 3000


def test_a_file_that_is_not_of_the_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"fine\n\x81\xff odd \xd8 ")
    for encoding in ("utf-8", "ascii", "shift_jis", "utf-7", "utf-32"):
        with raises(DataError, "The file was probably"):
            read_corpus(tmp_path / "a.txt", encoding=encoding)
    (tmp_path / "a.txt").write_text("plain text\n")
    with raises(UsageError, "this is plain text", "`encoding='utf-16'`"):
        read_corpus(tmp_path / "a.txt", encoding="utf-16")


def parquet(folder: Path, columns: list, names: list[str]) -> Path:
    table = pa.Table.from_arrays(
        [pa.array(c) if isinstance(c, list) else c for c in columns], names
    )
    pyarrow.parquet.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


FAR = 4 * 10**17  # microseconds after 1970


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_times_that_python_cannot_hold_are_kept(tmp_path: Path, suffix: str) -> None:
    from coterie.corpus import write_rows

    fine = pa.array([1_600_000_000_123_456_789, None], pa.timestamp("ns"))
    far = pa.array([FAR, 0], pa.timestamp("us"))
    day, zone = pa.array([10**7, 0], pa.date32()), pa.array([FAR, 0], pa.timestamp("us", "UTC"))
    path = parquet(
        tmp_path, [["a b", "c"], fine, far, day, zone], ["text", "fine", "far", "day", "zone"]
    )
    corpus = read_corpus(path)
    assert corpus.texts == ["a b", "c"]
    seconds, cycle = FAR // 10**6, 400  # years after which the calendar repeats
    near = datetime(1970, 1, 1) + timedelta(seconds=seconds - 30 * 146_097 * 86_400)
    moment = f"{near.year + 30 * cycle}-{near:%m-%d %H:%M:%S}.000000"
    assert read_corpus(path, text_column="far").texts[0] == moment
    write_rows(tmp_path / f"out.{suffix}", corpus.table, {"cluster": [0, 1]})
    table, _ = read_table(tmp_path / f"out.{suffix}")
    if suffix == "parquet":
        assert table.column("fine").type == pa.timestamp("ns")
        assert table.column("far").cast(pa.int64()).to_pylist() == [FAR, 0]
    else:
        assert table.to_pylist()[0] | {"cluster": 0} == {
            "text": "a b", "fine": "2020-09-13 12:26:40.123456789", "far": moment,
            "day": "29349-01-26", "zone": f"{moment}Z", "cluster": 0,
        }  # fmt: skip


def test_two_columns_of_one_name_in_parquet(tmp_path: Path) -> None:
    path = parquet(tmp_path, [["one fish"], ["two fish"]], ["text", "text"])
    corpus = read_corpus(path)
    assert corpus.table.to_pylist() == [{"text": "one fish", "text_2": "two fish"}]
    assert [part.texts for part in TextStream(path)] == [["one fish"]]
