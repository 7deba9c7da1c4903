"""Rows cut into sentences, each a text of its own."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow as pa

from coterie.corpus.corpus import Corpus, build, clean_text, combine, value_to_text

# After a sentence: its last mark with closing quotes, then blanks; or a line break.
END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])|\s*[\r\n\u2028\u2029]+\s*")
# What ends with a dot, but no sentence with it.
ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|approx|no|nr|dr|mr|mrs|ms|prof|st|inc|ltd|fig"
    r"|bzw|ca|z\.b|u\.a|usw|p\.ej|sr|sra|m|mme)\.$",
    re.IGNORECASE,
)
SENTENCE_WORDS = 3  # at least; fewer belong to the sentence beside them


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, cleaned; short ones, such as a greeting, join the next.

    Examples
    --------
    >>> split_sentences("Hi! The vase broke, e.g. at the top. Can I have a refund? Thanks.")
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


def split_corpus(corpus: Corpus) -> Corpus:
    """A row for each sentence, with a new column that has the number of its row from 1."""
    texts, rows = [], []
    for row, value in enumerate(corpus.values(corpus.text_column)):
        for sentence in split_sentences(value_to_text(value) or "") or [""]:
            texts.append(sentence)
            rows.append(row)
    table = corpus.table.take(pa.array(rows))
    place = table.column_names.index(corpus.text_column)
    table = table.set_column(place, corpus.text_column, pa.array(texts, pa.string()))
    table = combine(table, {"row": [row + 1 for row in rows]})
    whole = build(table, corpus.text_column)
    split = {"rows": len(corpus), "column": table.column_names[-1]}
    return replace(whole, id_column=corpus.id_column, masked=corpus.masked, split=split)


def split_sentence(rows: int, sentences: int) -> str:
    """What the summary of a run says about its texts."""
    return (
        f"{rows:,} rows were cut into {sentences:,} sentences, which are the texts here; rows.csv "
        "has the themes of each row."
    )
