"""Every kind of input: read, with rows in their order and all of them, and clustered alike."""

import bz2
import gzip
import json
import re
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import coterie
from coterie.errors import DataError, UsageError
from coterie.texts import read_corpus
from coterie.texts.corpus import as_table
from said import raises

TEXTS = [
    *("ripe apple pie", "green apple tree", "apple juice, cold", "apple cake", None),
    *("fast car race", 'an "old" car', "slow car road", "car tyres\nare flat", "apple pie"),
    *("car seat", "red apple", "ümläut apple 苹果", "new car", "apple pie"),
]
zstd = partial(pa.compress, codec="zstd", asbytes=True)
TABLE = pa.table({"n": list(range(len(TEXTS))), "text": TEXTS})


def csv_bytes() -> bytes:
    lines = ["n,text"]
    for n, text in enumerate(TEXTS):
        quoted = (text or "").replace('"', '""')
        lines.append(f'{n},"{quoted}"')
    return "\n".join(lines).encode() + b"\n"


def save(name: str, content: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def arrow(folder: Path, make: Any = pa.ipc.new_file, name: str = "a.arrow") -> Path:
    with (folder / name).open("wb") as file, make(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=4)
    return folder / name


def feather(folder: Path) -> Path:
    pyarrow.feather.write_feather(TABLE, str(folder / "a.feather"))
    return folder / "a.feather"


def parquet(folder: Path, name: str = "a.parquet", table: pa.Table = TABLE) -> Path:
    pyarrow.parquet.write_table(table, folder / name, row_group_size=4)
    return folder / name


def workbook(folder: Path, name: str = "a.xlsx", blank: int = 0) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for _ in range(blank):
        book.active.append([])
    book.active.append(["n", "text"])
    for row in zip(range(len(TEXTS)), TEXTS, strict=True):
        book.active.append(row)
    book.create_sheet("more").append(["text"])
    book["more"].append(["one fish"])
    book.save(folder / "made.xlsx")
    (folder / "made.xlsx").rename(folder / name)
    return folder / name


def parts(folder: Path) -> Path:
    (folder / "parts").mkdir()
    for i in range(3):
        parquet(folder / "parts", f"{i}.parquet", TABLE.slice(5 * i, 5))
    return folder / "parts"


def two(folder: Path) -> list[Path]:
    first, second = parquet(folder, "b.parquet", TABLE.slice(0, 5)), folder / "a.parquet"
    pyarrow.parquet.write_table(TABLE.slice(5), second)
    return [first, second]  # in the order given, not by name


def frame(library: str, column: str | None = None) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        module = pytest.importorskip(library)
        data = module.DataFrame({"n": list(range(len(TEXTS))), "text": TEXTS})
        return data if column is None else data[column]

    return make


LINES = "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()).encode()
KINDS: dict[str, Callable[[Path], Any]] = {
    "CSV": save("a.csv", csv_bytes()),
    "CSV, gzip": save("a.csv.gz", gzip.compress(csv_bytes())),
    "CSV, bzip2": save("a.csv.bz2", bz2.compress(csv_bytes())),
    "CSV, zstd": save("a.csv.zst", zstd(csv_bytes())),
    "CSV without a header": save("a.csv", csv_bytes().partition(b"\n")[2]),
    "CSV in UTF-16": save("a.csv", csv_bytes().decode().encode("utf-16")),
    "JSON lines": save("a.jsonl", LINES),
    "JSON list": save("a.json", json.dumps(TABLE.to_pylist()).encode()),
    "Parquet": parquet,
    "Parquet, gzip": lambda f: save("a.parquet.gz", gzip.compress(parquet(f).read_bytes()))(f),
    "Parquet, zstd": lambda f: save("a.parquet.zst", zstd(parquet(f).read_bytes()))(f),
    "Feather": feather,
    "Arrow file": arrow,
    "Arrow stream": lambda f: arrow(f, pa.ipc.new_stream, "a.arrows"),
    "Excel": workbook,
    "Excel below blank rows": lambda f: workbook(f, blank=3),
    "folder of Parquet": parts,
    "pattern of Parquet": lambda f: str(parts(f) / "?.par[q]uet"),
    "several files": two,
    "Parquet named .csv": lambda f: parquet(f, "a.csv"),
    "Excel named .csv": lambda f: workbook(f, "a.csv"),
    "list of texts": lambda f: list(TEXTS),
    "list of dicts": lambda f: TABLE.to_pylist(),
    "NumPy array": lambda f: np.array(TEXTS, dtype=object),
    "Arrow table": lambda f: TABLE,
    "Arrow column": lambda f: TABLE["text"],
    "Arrow batches": lambda f: TABLE.to_reader(),
    "pandas frame": frame("pandas"),
    "pandas column": frame("pandas", "text"),
    "polars frame": frame("polars"),
    "polars column": frame("polars", "text"),
}
WITHOUT_N = ("list of texts", "NumPy array", "Arrow column", "pandas column", "polars column")


def cluster(data: Any) -> Any:
    return coterie.cluster(data, 2, method="kmeans", encoder="tfidf")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    return cluster(KINDS["CSV"](tmp_path_factory.mktemp("csv"))).labels


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_keeps_rows_and_order_and_gives_the_same_labels(
    kind: str, tmp_path: Path, expected: np.ndarray
) -> None:
    run = cluster(KINDS[kind](tmp_path))
    assert len(run.table) == len(TEXTS)
    np.testing.assert_array_equal(run.labels, expected)
    clean = [" ".join((text or "").split()) for text in TEXTS]
    assert run.texts == clean
    if kind not in WITHOUT_N:
        numbers = "column_1" if kind == "CSV without a header" else "n"
        assert list(map(int, run.state.table[numbers].to_pylist())) == list(range(len(TEXTS)))


def test_the_page_lists_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs/howto/inputs.md").read_text("utf-8")
    rows = re.findall(r"^\| (?!what you pass)[^|]+(?:\\\|[^|]+)*\| ([^|]+?) \|", page, re.M)
    tested = [*KINDS, "Hugging Face dataset", "Hugging Face splits"]  # see test_corpus.py
    assert rows == tested


def test_cells_of_a_workbook_keep_their_types(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    when, day = datetime(2026, 1, 2, 3, 4), date(2026, 1, 2)
    for row in (
        ["text", "when", "day", "x", "mixed", None],
        ["one fish", when, day, 1.5, 1],
        [None, when, None, 2, "b"],
    ):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    table = read_corpus(tmp_path / "a.xlsx").table
    assert table.to_pydict() == {
        "text": ["one fish", None],
        "when": [when, when],
        "day": [day, None],
        "x": [1.5, 2.0],
        "mixed": ["1", "b"],
    }


@pytest.mark.parametrize("cell", ["XFD1048576", "C5000"])
def test_a_cell_far_from_the_others(tmp_path: Path, cell: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(workbook(tmp_path))
    book.active[cell] = "x"
    book.save(tmp_path / "a.xlsx")
    if cell == "C5000":
        assert read_corpus(tmp_path / "a.xlsx").table.shape == (4_999, 3)
    else:
        with raises(DataError, "row 1,048,576 and column 16,384"):
            read_corpus(tmp_path / "a.xlsx")


def test_a_sheet_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path)
    assert read_corpus(f"{path}#more").texts == ["one fish"]
    notes = [note.message for note in read_corpus(path).notes if note.kind == "sheet"]
    assert len(notes) == 1 and "'Sheet'" in notes[0] and "'more'" in notes[0]
    with raises(UsageError, "there is no sheet", "'mor'", "Sheet, more"):
        read_corpus(f"{path}#mor")


def test_a_workbook_without_a_header_loses_no_row(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    texts = ["where is my parcel now", "I want a refund please", "the app does not open"]
    for i, text in enumerate(texts):
        book.active.append([i, text])
    book.save(tmp_path / "a.xlsx")
    corpus = read_corpus(tmp_path / "a.xlsx")
    assert corpus.texts == texts and "header" in {note.kind for note in corpus.notes}
    assert read_corpus(tmp_path / "a.xlsx", header=True, text_column=texts[0]).texts == texts[1:]


def test_any_object_with_an_arrow_stream_is_a_table() -> None:
    class Relation:
        columns = TABLE.column_names

        def __arrow_c_stream__(self, requested: object = None) -> object:
            return TABLE.__arrow_c_stream__(requested)

    assert as_table(Relation()).equals(TABLE)
    assert as_table(["one fish"]) is None and as_table([]) is None
