"""Reading files: every format, every kind of damage, and what the errors say."""

import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from coterie._errors import DataError, UsageError
from coterie.corpus import Corpus, read_corpus


@pytest.fixture
def write(tmp_path: Path):
    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def kinds(corpus: Corpus) -> dict[str, int]:
    return {note.kind: note.count for note in corpus.notes}


CSV = 'id,text,stars\n1,"late, again",2\n007,thanks a lot,5\n'


def test_csv_keeps_all_columns_as_they_are(write) -> None:
    corpus = read_corpus(write("a.csv", CSV))
    assert corpus.texts == ["late, again", "thanks a lot"]
    assert corpus.table.to_pydict()["id"] == ["1", "007"]  # no number has lost its zeros
    assert corpus.table.column_names == ["id", "text", "stars"]


def test_tsv(write) -> None:
    corpus = read_corpus(write("a.tsv", "text\tn\none, two\t1\n"))
    assert corpus.texts == ["one, two"]


def test_tsv_with_stray_quotes_is_read_without_quoting(write) -> None:
    corpus = read_corpus(write("a.tsv", 'text\tn\n5" screen\t1\n"odd\t2\n'))
    assert corpus.texts == ['5" screen', '"odd']


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_csv_with_another_delimiter_is_recognised_and_said(write, mark: str) -> None:
    corpus = read_corpus(write("a.csv", f"text{mark}n\none, two{mark}1\n"))
    assert corpus.texts == ["one, two"]
    assert "delimiter" in kinds(corpus)


def test_jsonl_of_objects_and_of_texts(write) -> None:
    lines = [{"body": "one", "n": 1}, {"body": "two", "n": None, "more": True}]
    corpus = read_corpus(write("a.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n"))
    assert corpus.texts == ["one", "two"]
    assert corpus.table.to_pydict()["more"] == [None, True]
    assert read_corpus(write("b.jsonl", '"one"\n"two"\n')).texts == ["one", "two"]


def test_json_array(write) -> None:
    assert read_corpus(write("a.json", '[{"text": "one"}, {"text": "two"}]')).texts == [
        "one",
        "two",
    ]


def test_jsonl_with_mixed_types_comes_back_as_text(write) -> None:
    corpus = read_corpus(write("a.jsonl", '{"text": "a", "x": 1}\n{"text": "b", "x": "no"}\n'))
    assert corpus.table.to_pydict()["x"] == ["1", "no"]


def test_parquet_keeps_types(tmp_path: Path) -> None:
    table = pa.table({"text": ["one", None], "when": pa.array([1, 2], pa.date32())})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    corpus = read_corpus(tmp_path / "a.parquet")
    assert corpus.texts == ["one", ""]
    assert corpus.table.schema.field("when").type == pa.date32()


def test_plain_text_is_one_text_a_line(write) -> None:
    corpus = read_corpus(write("a.txt", "one\r\n\r\nthree, and four"))
    assert corpus.texts == ["one", "", "three, and four"]
    assert corpus.text_column == "text"


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


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_recognised(write, encoding: str) -> None:
    corpus = read_corpus(write("a.csv", "text,n\nÜbung 你好,1\n".encode(encoding)))
    assert corpus.texts == ["Übung 你好"]
    assert corpus.text_column == "text"


def test_wrong_encoding_names_line_byte_and_remedy(write) -> None:
    path = write("a.csv", "text\nfine\ncaf\xe9\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"line 3: the byte 0xe9.*--encoding cp1252"):
        read_corpus(path)
    assert read_corpus(path, encoding="cp1252").texts == ["fine", "café"]
    with pytest.raises(UsageError, match="klingon"):
        read_corpus(path, encoding="klingon")


def test_missing_column_is_refused_with_a_suggestion(write) -> None:
    path = write("a.csv", "Message,n\none,1\n")
    with pytest.raises(DataError, match=r"no column 'mesage'.*Did you mean 'Message'\?"):
        read_corpus(path, text_column="mesage")
    with pytest.raises(DataError, match="--id-column"):
        read_corpus(path, id_column="key")


def test_ragged_rows_name_row_line_and_remedy(write) -> None:
    path = write("a.csv", 'text,n\n"two\nlines",1\noops, unquoted,2\nand, again,3\n')
    with pytest.raises(DataError, match=r"row 2 \(line 4\) has 3 fields.*1 more.*--format txt"):
        read_corpus(path)


def test_an_open_quote_names_its_line(write) -> None:
    path = write("a.csv", 'text,n\nfine,1\n"never closed,2\nmore,3\n')
    with pytest.raises(DataError, match="line 3"):
        read_corpus(path)


def test_blank_lines_at_the_end_are_no_rows_but_others_are(write) -> None:
    assert read_corpus(write("a.csv", "text,n\none,1\n\n\n")).texts == ["one"]
    corpus = read_corpus(write("b.csv", "text,n\none,1\n\ntwo,2\n"))
    assert corpus.texts == ["one", "", "two"]


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xef\xbb\xbf\r\n"]
)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "txt", "parquet"])
def test_nothing_but_a_byte_order_mark_is_nothing(
    suffix: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / f"a.{suffix}").write_bytes(content)
    broken = suffix == "parquet" and content.strip()
    with pytest.raises(DataError, match="Parquet" if broken else "is empty"):
        read_corpus(tmp_path / f"a.{suffix}")


def test_double_and_empty_column_names_become_unique(write) -> None:
    corpus = read_corpus(write("a.csv", "text,text,\none,two,three\n"))
    assert corpus.table.column_names == ["text", "text_2", "column_3"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "a"}\nnot json\n', "line 2"),
        ("a.jsonl", "[1, 2]\n", "expected an object or a text, got 1"),
        ("a.parquet", b"PAR1 nonsense", "not a Parquet file"),
        ("a.csv", "", "empty"),
        ("a.csv", " \n ", "empty"),
        ("a.csv", "text,n\n", "no rows"),
        ("a.csv", "text,n\n,1\n--,2\n", "all 2 rows .* are empty"),
    ],
)
def test_bad_content_is_refused(write, name: str, content, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_corpus(write(name, content))


@pytest.mark.parametrize(
    ("name", "message"), [("a.xlsx", "save it as CSV"), ("a.weird", "--format")]
)
def test_unknown_files_say_what_to_do(write, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_corpus(write(name, "text\none\n"))


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        read_corpus(tmp_path / "nothing.csv")
    with pytest.raises(UsageError, match="is a folder"):
        read_corpus(tmp_path)


def test_the_text_column_is_found_by_name_or_by_length(write) -> None:
    by_name = write("a.csv", "long,comment\n" + "x" * 99 + ",short\n")
    assert read_corpus(by_name).text_column == "comment"
    by_length = write("b.csv", "key,wording,n\nk1,a rather long wording,1\n")
    assert read_corpus(by_length).text_column == "wording"


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


def test_a_text_of_ten_megabytes(write) -> None:
    huge = "word " * 2_000_000
    corpus = read_corpus(write("a.csv", f'text,n\n"{huge}",1\nshort,2\n'))
    assert len(corpus.texts[0]) == 10_000_000 - 1
    assert kinds(corpus) == {"long": 1}


def test_scripts_of_all_directions_come_through(write) -> None:
    texts = ["أين طلبي؟", "הזמנה לא הגיעה", "我的包裹在哪里", "荷物が届かない", "👍🏽 ok"]
    corpus = read_corpus(write("a.txt", "\n".join(texts)))
    assert corpus.texts == texts


def test_the_digest_depends_on_texts_and_order(write) -> None:
    digests = {read_corpus(write(f"{i}.txt", c)).sha256 for i, c in enumerate(["a\nb", "b\na"])}
    assert len(digests) == 2
    assert read_corpus(write("x.txt", "a\nb\n")).sha256 in digests
