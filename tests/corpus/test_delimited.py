"""CSV and TSV: the rows that Python's reader gives, in linear time, however blocks are cut."""

import csv
import io
import random
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from coterie.corpus import Source, TextStream, read_corpus, read_table, write_rows
from coterie.corpus import source as source_module
from coterie.corpus.corpus import unique_names
from coterie.corpus.delimited import Delimited, guess_header, name_columns
from coterie.errors import DataError
from said import raises


def read_by_python(text: str) -> tuple:
    """Names and rows, or what is broken first."""
    names, rows, blank = None, [], 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), strict=True):
            if names is None:
                names = name_columns([row], True)[0] if row else None
            elif not row:
                blank += 1
            else:
                rows += [[""] * len(names)] * blank
                if len(row) != len(names):
                    return "broken", f"row {len(rows) + 1}", f"has {len(row)} fields"
                rows.append(row)
                blank = 0
    except csv.Error:
        return "broken", "quote"
    return "read", names, rows


def read_in_blocks(path: Path) -> tuple:
    try:
        tables = list(Delimited(Source(path), "utf-8", "csv", header=True).tables())
    except DataError as error:
        return "broken", str(error)
    if not tables:
        return "read", None, []
    rows = [list(row.values()) for row in pa.concat_tables(tables).to_pylist()]
    return "read", tables[0].column_names, rows


def any_bytes(rnd: random.Random) -> str:
    signs = ["a", "b", '"', '""', ",", "\n", "\r\n", "\r", "é", " ", "x y"]
    return "".join(rnd.choices(signs, [5, 3, 3, 1, 4, 4, 1, 0.3, 1, 1, 1], k=rnd.randint(0, 25)))


def any_table(rnd: random.Random) -> str:
    signs = ["a", '"', ",", "\n", "\r", "\r\n", "é", "\ufeff"]
    weights = [8, 1, 1, 1, 0.5, 0.5, 1, 0.5]
    file, width = io.StringIO(newline=""), rnd.randint(1, 3)
    quoting = rnd.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
    writer = csv.writer(file, lineterminator=rnd.choice(["\n", "\r\n"]), quoting=quoting)
    for _ in range(rnd.randint(1, 6)):
        fields = width + (rnd.random() < 0.03)
        writer.writerow("".join(rnd.choices(signs, weights, k=3)) for _ in range(fields))
    return file.getvalue()


@pytest.mark.parametrize("make", [any_bytes, any_table])
def test_rows_are_those_of_pythons_reader(make, tmp_path: Path, monkeypatch) -> None:
    rnd, path, read = random.Random(0), tmp_path / "a.csv", 0
    for _ in range(600):
        text = make(rnd)
        path.write_text(text, "utf-8-sig", newline="")
        monkeypatch.setattr(source_module, "BLOCK", rnd.choice([1, 2, 5, 1000]))
        wanted, found = read_by_python(text), read_in_blocks(path)
        assert wanted[0] == found[0], text
        if wanted[0] == "read":
            assert wanted == found or not text.strip(), text
            read += 1
        elif "quote inside" not in found[1]:  # which is found before rows are
            assert all(part in found[1] for part in wanted[1:]), text
    assert read > 150


def test_names_that_come_again_lose_no_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,a,a,a_2,a\none fish,1,2,3,4\n")
    table, _ = read_table(tmp_path / "a.csv")
    assert table.to_pylist() == [{"text": "one fish", "a": "1", "a_3": "2", "a_2": "3", "a_4": "4"}]
    assert unique_names(["x", "x", "x"]) == ["x", "x_2", "x_3"]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_carriage_return_in_a_text_can_be_read_again(tmp_path: Path, suffix: str) -> None:
    texts = ["a\rb", "\r", "c\r\nd", 'e "f"\r', "plain"]
    write_rows(tmp_path / f"a.{suffix}", pa.table({"text": texts, "n": list("12345")}), {})
    table, _ = read_table(tmp_path / f"a.{suffix}")
    assert table.to_pydict() == {"text": texts, "n": list("12345")}
    with (tmp_path / f"a.{suffix}").open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t" if suffix == "tsv" else ",", strict=True))
    assert [row[0] for row in rows[1:]] == texts


LONG = [
    "x" * 2_000_000,
    '"' + "x" * 2_000_000 + '"',
    "x\r" * 200_000,
    '"' + 'a ""b"" c\n' * 300_000,
]


@pytest.mark.parametrize("line", [*LONG, LONG[-1] + '"'], ids=range(5))
@pytest.mark.parametrize("end", ["", ",1\n"])
def test_a_long_last_line_takes_linear_time(tmp_path: Path, monkeypatch, line: str, end) -> None:
    monkeypatch.setattr(source_module, "BLOCK", 4096)
    (tmp_path / "a.csv").write_text("text,n\nfine,1\n" + line + end, newline="")
    begun = time.process_time()
    try:
        read_corpus(tmp_path / "a.csv")
    except DataError as error:
        assert "fields" in str(error) or "line 3: a quote" in str(error)
    assert time.process_time() - begun < 5


QUOTED = 'text\tn\n"she said ""hi"""\t1\n"two\nlines"\t2\n'
OPEN = 'text\tn\nfirst\t0\n"a quote opens\t1\nnothing here\t2\nand closes"\t3\n'


def test_quotes_of_a_tsv_file_merge_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(OPEN)
    wanted = ["first", '"a quote opens', "nothing here", 'and closes"']
    for _ in range(2):
        assert read_table(path)[0].to_pydict() == {"text": wanted, "n": ["0", "1", "2", "3"]}
        path.write_text(OPEN + "\n\n")  # blank lines at the end change nothing
    assert [part.values for part in TextStream(path)] == [wanted]
    path.write_text(QUOTED)
    assert read_table(path)[0].to_pydict() == {
        "text": ['she said "hi"', "two\nlines"],
        "n": ["1", "2"],
    }
    path.write_text('text\tn\n"whole" and "more"\t1\n"open\tand\tragged"\t2\n')
    with raises(DataError, "row 2 (line 3) has 4 fields", "has 2."):
        read_table(path)


def test_a_tsv_pipe_with_an_open_quote_is_refused(monkeypatch) -> None:
    def rows(text: str) -> list:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return [row for part in TextStream("-", format="tsv") for row in part.table.to_pylist()]

    assert rows(QUOTED) == [{"text": 'she said "hi"', "n": "1"}, {"text": "two\nlines", "n": "2"}]
    with raises(DataError, "line 3: it is unclear whether"):
        rows(OPEN)


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
        ("wording,stars\nfine,5\n", 1, None),
        ("my parcel is late\n", 0, None),
    ],
)
def test_a_file_without_a_header_keeps_its_first_row(
    tmp_path: Path, content: str, texts: int, noted: str | None
) -> None:
    (tmp_path / "a.csv").write_text(content)
    table, notes = read_table(tmp_path / "a.csv")
    assert table.num_rows == texts
    said = [note.message for note in notes if note.kind == "header"]
    assert len(said) == (noted is not None)
    assert all(noted in message for message in said)
    lines = content.count("\n")
    assert read_table(tmp_path / "a.csv", header=False)[0].num_rows == lines
    assert read_table(tmp_path / "a.csv", header=True)[0].num_rows == lines - 1
    if texts:
        stream = TextStream(tmp_path / "a.csv")
        assert sum(map(len, stream)) == texts
        assert [note.message for note in stream.notes if note.kind == "header"] == said


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_line_that_tells_excel_the_delimiter_is_no_row(mark: str, tmp_path: Path) -> None:
    rows = [["text", "n"], ["a parcel, late", "1"], ["a refund", "2"]]
    lines = [mark.join(f'"{cell}"' for cell in row) for row in rows]
    (tmp_path / "a.csv").write_text("\r\n".join([f"sep={mark}", *lines]), newline="")
    found = read_corpus(tmp_path / "a.csv")
    assert found.texts == ["a parcel, late", "a refund"] and found.table.column_names == [
        "text",
        "n",
    ]
    (tmp_path / "a.csv").write_text("\n".join([f"sep={mark}", *lines, "x"]))
    with raises(DataError, "line 5"):
        read_corpus(tmp_path / "a.csv")


def test_columns_without_a_header_have_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,my parcel is late\n2,a refund please\n")
    corpus = read_corpus(tmp_path / "a.csv")
    assert corpus.table.column_names == ["column_1", "column_2"]
    assert corpus.text_column == "column_2" and len(corpus) == 2
    (tmp_path / "b.csv").write_text("late\nlost\n")
    assert read_corpus(tmp_path / "b.csv", header=False).text_column == "text"


def test_a_column_that_is_asked_for_is_a_header() -> None:
    rows = [["7", "to be or not to be"], ["1", "that is the question"]]
    assert guess_header(rows)[0] is False
    assert guess_header(rows, wanted=["7"]) == (True, None)
