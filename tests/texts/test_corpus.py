"""Texts from Python objects."""

from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from coterie.errors import DataError, UsageError
from coterie.texts import make_corpus, texts_from
from said import raises

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

TEXTS = ["one fish", "two fish", ""]


@pytest.mark.parametrize(
    "data",
    [
        TEXTS,
        tuple(TEXTS),
        iter(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object)[:, None],
        pandas.Series(TEXTS),
        pandas.Series(["one fish", "two fish", None]),
        pandas.Series(["one fish", "two fish", float("nan")], dtype=object),
        polars.Series(["one fish", "two fish", None]),
        pa.array(["one fish", "two fish", None]),
        pa.chunked_array([["one fish"], ["two fish", None]]),
        [" one\tfish ", b"two fish", float("nan")],
        ["one fish", "two fish", np.float32("nan")],
        ["one fish", "two fish", Decimal("NaN")],
    ],
    ids=lambda data: type(data).__name__,
)
def test_all_sequences_give_the_same_texts(data) -> None:
    assert texts_from(data) == TEXTS


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        ("one single string", UsageError, "got str"),
        ({"a": 1}, UsageError, "got dict"),
        (5, UsageError, "got int"),
        (np.array("one string"), UsageError, "got ndarray"),
        (np.zeros((3, 4)), DataError, "encoder='precomputed'"),
        ([[0.1, 0.2], [0.3, 0.4]], DataError, "X[0] is a list"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(data, error: type, said: str) -> None:
    with raises(error, said):
        texts_from(data)


def test_make_corpus_of_a_list() -> None:
    corpus = make_corpus(["a b", "a b", None])
    assert corpus.texts == ["a b", "a b", ""]
    assert {note.kind for note in corpus.notes} == {"duplicate", "empty"}


def test_half_characters_are_replaced() -> None:
    assert texts_from(["broken \ud800 escape"]) == ["broken \ufffd escape"]
    rows = [{"text": "half \ud800", "key": 1}, {"key": [2]}]
    wanted = {"text": ["half \ufffd", None], "key": ["1", "[2]"]}
    assert make_corpus(rows).table.to_pydict() == wanted
    frame = pytest.importorskip("pandas").DataFrame({"text": ["half \ud800"]}, dtype=object)
    assert make_corpus(frame).texts == ["half \ufffd"]


def test_names_of_columns_that_are_no_text_and_collide() -> None:
    rows = [{"text": "a fish", "\ud800": 1, "?": 2, 3: 4, "3": 5}]
    table = make_corpus(rows).table
    assert len(set(table.column_names)) == 5 and table.column_names[0] == "text"
    assert list(table.to_pylist()[0].values()) == ["a fish", 1, 2, 4, 5]


def test_emoji_are_text_and_lines_of_signs_are_not() -> None:
    emoji = ["👍", "❤️", "🇩🇪", "👨\u200d👩\u200d👧", "★★★★★", "👍🏽!"]
    assert texts_from(emoji) == emoji
    assert texts_from(["─────", "→", "©", "\ufffd", "🏽", "• ?!"]) == [""] * 6


class Dataset:
    """What a Hugging Face dataset documents: column names, features, rows as dicts."""

    def __init__(self, **columns: list) -> None:
        self.columns, self.column_names = columns, list(columns)
        kinds = {name: "int64" if name in ("n", "label") else "string" for name in columns}
        self.features = {name: SimpleNamespace(dtype=kind) for name, kind in kinds.items()}

    def select_columns(self, names: list[str]) -> "Dataset":
        return Dataset(**{name: self.columns[name] for name in names})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, i: int) -> dict:
        if i >= len(self):
            raise IndexError(i)
        return {name: values[i] for name, values in self.columns.items()}


def dicts(**columns: list) -> list[dict]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def frame(**columns: list) -> object:
    return pandas.DataFrame(columns)


MADE = [Dataset, dicts, frame, lambda **c: polars.DataFrame(c), lambda **c: pa.table(c)]


@pytest.mark.parametrize("make", MADE)
def test_tables_of_all_kinds_give_their_text_column(make) -> None:
    other = ["x", "y", "z"]
    assert texts_from(make(label=[0, 1, 2], headline=["one fish", "two fish", None])) == TEXTS
    assert texts_from(make(key=other, text=["one fish", "two fish", None])) == TEXTS
    assert texts_from(make(key=other, body=TEXTS), "key") == other
    corpus = make_corpus(make(n=[1, 2, 3], text=TEXTS, z=other))
    assert corpus.texts == TEXTS and corpus.table.column_names == ["n", "text", "z"]
    assert texts_from(make(key=other, other=TEXTS, n=[1, 2, 3])) == TEXTS  # more words by far
    with raises(UsageError, "it is not clear"):
        texts_from(make(key=TEXTS, other=TEXTS, n=[1, 2, 3]))
    with raises(DataError, "no column contains", "n, label"):
        texts_from(make(n=[1, 2], label=[0, 0]))
    with raises(DataError, "there is no column", "'txt'"):
        texts_from(make(text=TEXTS, n=[1, 2, 3]), "txt")


def test_columns_of_one_name_all_stay() -> None:
    names, cells = ["text", "a", "a", "a_2"], [TEXTS, [1, 2, 3], [4, 5, 6], [7, 8, 9]]
    wanted = {"text": TEXTS, "a": [1, 2, 3], "a_3": [4, 5, 6], "a_2": [7, 8, 9]}
    arrow = pa.Table.from_arrays([pa.array(column) for column in cells], names)
    twice = pandas.DataFrame(dict(enumerate(cells))).set_axis(names, axis=1)
    for table in (arrow, twice):
        assert make_corpus(table).table.to_pydict() == wanted


@pytest.mark.parametrize("make", [dicts, frame])
def test_columns_of_mixed_values_are_texts(make) -> None:
    corpus = make_corpus(make(text=["one fish", 2, None], key=[1, "x", [2]]))
    assert corpus.table.to_pydict() == {
        "text": ["one fish", "2", None],
        "key": ["1", "x", "[2]"],
    }


def test_a_column_of_mixed_values_leaves_the_others_as_they_are() -> None:
    table = make_corpus(
        pandas.DataFrame(
            {
                "text": TEXTS,
                "mixed": [1, "x", [2]],
                "sure": pandas.array([True, None, False], dtype="boolean"),
                "n": pandas.array([2**60 + 1, None, 3], dtype="Int64"),
            }
        )
    ).table
    assert table["sure"].to_pylist() == [True, None, False]
    assert table["n"].to_pylist() == [2**60 + 1, None, 3]


def test_periods_are_not_bare_numbers() -> None:
    months = pandas.PeriodIndex(["2026-01", "2026-02", None], freq="M")
    table = make_corpus(pandas.DataFrame({"text": TEXTS, "month": months, "n": [1, 2, 3]})).table
    assert table["month"].to_pylist()[:2] == ["2026-01", "2026-02"]
    assert not table["month"].to_pylist()[2] and table["n"].to_pylist() == [1, 2, 3]


def test_a_generator_of_rows_is_a_table() -> None:
    rows = [{"n": i, "text": text} for i, text in enumerate(TEXTS)]
    for some in ((row for row in rows), map(dict, rows)):
        corpus = make_corpus(some)
        assert corpus.texts == TEXTS and corpus.table["n"].to_pylist() == [0, 1, 2]


@pytest.mark.parametrize(
    "value", [Path("a.csv"), {"text": "a"}, np.array([("a",)], [("text", "O")])[0]]
)
def test_what_is_no_text_is_refused(value: object) -> None:
    with raises(DataError, "X[1]", "list of dicts", "list of Path"):
        make_corpus(["one fish", value])


class Splits(dict):
    """As a Hugging Face DatasetDict."""

    @property
    def column_names(self) -> dict:
        return {name: part.column_names for name, part in self.items()}


def test_splits_of_a_dataset_come_one_behind_the_other() -> None:
    both = Splits(train=Dataset(n=[1, 2, 3], text=TEXTS), test=Dataset(n=[4], text=["three fish"]))
    corpus = make_corpus(both)
    assert corpus.texts == texts_from(both) == [*TEXTS, "three fish"]
    assert corpus.table["split"].to_pylist() == ["train"] * 3 + ["test"]
    assert corpus.table["n"].to_pylist() == [1, 2, 3, 4]
    with raises(UsageError, "have different", "train, test"):
        make_corpus(Splits(train=Dataset(text=TEXTS), test=Dataset(body=TEXTS)))
