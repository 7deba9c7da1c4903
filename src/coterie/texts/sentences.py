"""Rows cut into sentences: a table in, a table with a row for each sentence out."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from coterie.texts.corpus import (
    as_table,
    clean_text,
    combine,
    is_frame,
    make_corpus,
    value_to_text,
)

# After a sentence: its last mark with closing quotes, then blanks; or a line break.
END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])|\s*[\r\n\u2028\u2029]+\s*")
# What ends with a dot, but no sentence with it.
ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|approx|no|nr|dr|mr|mrs|ms|prof|st|inc|ltd|fig"
    r"|bzw|ca|z\.b|u\.a|usw|p\.ej|sr|sra|m|mme)\.$",
    re.IGNORECASE,
)
SENTENCE_WORDS = 3  # at least; fewer belong to the sentence beside them


def split_sentences(data: Any, text_column: str | None = None) -> Any:
    """A table with a row for each sentence.

    Parameters
    ----------
    data : list of str, DataFrame or Arrow table
    text_column : str, optional
        Default: the obvious one.

    Returns
    -------
    pandas.DataFrame or pyarrow.Table
        The columns of the input, a sentence in place of the text, and ``row``: the number of the
        input row, from 0. A row without a text stays as it is. If the input has a column ``row``,
        the new one is ``coterie_row``.

    Examples
    --------
    >>> split_sentences(["The vase is broken. Can I have a refund?", "No parcel yet"]).to_pydict()
    {'text': ['The vase is broken.', 'Can I have a refund?', 'No parcel yet'], 'row': [0, 0, 1]}
    """
    if is_frame(data):
        sentences = split_sentences(as_table(data.reset_index(drop=True)), text_column)
        return sentences.to_pandas()
    corpus = make_corpus(data, text_column)
    texts, rows = [], []
    for row, value in enumerate(corpus.values(corpus.text_column)):
        for sentence in sentences_of(value_to_text(value)) or [""]:
            texts.append(sentence)
            rows.append(row)
    table = corpus.table.take(pa.array(rows))
    place = table.column_names.index(corpus.text_column)
    table = table.set_column(place, corpus.text_column, pa.array(texts, pa.string()))
    return combine(table, {"row": rows})


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, cleaned; short ones, such as a greeting, join the next.

    Examples
    --------
    >>> sentences_of("Hi! The vase broke, e.g. at the top. Can I have a refund? Thanks.")
    ['Hi! The vase broke, e.g. at the top.', 'Can I have a refund? Thanks.']
    """
    parts: list[str] = []
    start = 0
    for end in END.finditer(text):
        before, after = text[start : end.start()], text[end.end() : end.end() + 1]
        broken = "\n" in end[0] or "\r" in end[0]
        if not broken and (ABBREVIATION.search(before) or after.islower()):
            continue
        parts.append(text[start : end.end()])
        start = end.end()
    parts.append(text[start:])
    out: list[str] = []
    waiting = ""
    for part in filter(None, map(clean_text, parts)):
        waiting = f"{waiting} {part}".strip()
        if _is_long(waiting):
            out.append(waiting)
            waiting = ""
    if waiting and out:
        out[-1] = f"{out[-1]} {waiting}"
    elif waiting:
        out.append(waiting)
    return out


def _is_long(text: str) -> bool:
    """Whether there are enough words; scripts without blanks have a word per few characters."""
    return len(text.split()) >= SENTENCE_WORDS or (
        not text.isascii() and len(text) >= 4 * SENTENCE_WORDS
    )
