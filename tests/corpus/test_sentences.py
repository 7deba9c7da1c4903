"""Rows cut into sentences."""

from __future__ import annotations

import pytest

from coterie.corpus import make_corpus
from coterie.corpus.sentences import split_corpus, split_sentences

TWO = ["The parcel is late.", "Where is my refund now?"]


# Where a text is cut is marked by a bar.
CUT = [
    "no mark at all here",
    "The parcel is late. |Where is my refund now?",
    "The parcel is late.\n|Where is my refund now?",
    "the parcel is late\r\n\r\n|where is it",
    "It came, e.g. by Dr. Smith of A. Co. yesterday.",
    "Version 2.5 costs 3.99 dollars. |I want it now.",
    "Hi! The vase is broken.",
    "The vase is broken. Thanks!",
    "Ok. Fine.",
    "“It is all broken!” |Then it rang again.",
    "我的包裹还没有到，请帮我查一下。|我想要退款，谢谢你们的帮助！",
]


@pytest.mark.parametrize("text", CUT)
def test_sentences(text: str) -> None:
    wanted = [" ".join(part.split()) for part in text.split("|")]
    assert split_sentences(text.replace("|", "")) == wanted


def test_no_text_has_no_sentence() -> None:
    assert split_sentences(" \n ") == []


def test_every_row_stays_and_columns_are_repeated() -> None:
    table = {"row": [7, 8, 9], "text": [" ".join(TWO), "", "One more text here."]}
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    corpus = split_corpus(make_corpus(rows, "text"))
    column = corpus.split["column"]
    assert column == "coterie_row"  # the input has a column of that name
    assert corpus.texts == [*TWO, "", "One more text here."]
    assert corpus.table["row"].to_pylist() == [7, 7, 8, 9]
    assert corpus.table[column].to_pylist() == [1, 1, 2, 3]
