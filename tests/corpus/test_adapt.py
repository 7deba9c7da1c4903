"""Texts from Python objects."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from coterie._errors import DataError, UsageError
from coterie.corpus import make_corpus, texts_from

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


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame, pa.table])
def test_tables_need_a_column_or_an_obvious_one(kind) -> None:
    table = kind({"n": [1, 2, 3], "text": ["one fish", "two fish", None], "z": list("abc")})
    assert texts_from(table) == TEXTS
    assert texts_from(table, "z") == ["a", "b", "c"]
    with pytest.raises(DataError, match="text_column"):
        texts_from(table, "zz")
    assert make_corpus(table).table.column_names == ["n", "text", "z"]


def test_numbers_become_text() -> None:
    assert texts_from([1, 2.5, True]) == ["1", "2.5", "True"]


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ("one single string", UsageError, "pass a list"),
        ({"a": 1}, UsageError, "dictionary"),
        (5, UsageError, "list of texts"),
        (np.zeros((3, 4)), UsageError, "precomputed"),
        ([[0.1, 0.2], [0.3, 0.4]], DataError, r"X\[0\] is a list.*precomputed"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(data, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        texts_from(data)


def test_make_corpus_of_a_list() -> None:
    corpus = make_corpus(["a b", "a b", None])
    assert corpus.texts == ["a b", "a b", ""]
    assert {note.kind for note in corpus.notes} == {"duplicate", "empty"}


def test_half_characters_are_replaced() -> None:
    assert texts_from(["broken \ud800 escape"]) == ["broken \ufffd escape"]


def test_emoji_are_text_and_lines_of_signs_are_not() -> None:
    emoji = ["👍", "❤️", "🇩🇪", "👨\u200d👩\u200d👧", "★★★★★", "👍🏽!"]
    assert texts_from(emoji) == emoji
    assert texts_from(["─────", "→", "©", "\ufffd", "🏽", "• ?!"]) == [""] * 6
