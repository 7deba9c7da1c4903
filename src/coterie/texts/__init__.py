"""Texts in: files and Python objects become a :class:`Corpus`, with nothing silently dropped."""

from coterie.texts.corpus import (
    Chunk,
    CleanTexts,
    Corpus,
    DataNote,
    LargeTable,
    Survey,
    clean_text,
    has_words,
    make_corpus,
    texts_from,
)
from coterie.texts.read import FORMATS, TextStream, read_corpus, read_table, sample
from coterie.texts.source import Source
from coterie.texts.survey import StreamSampler, survey
from coterie.texts.write import write_rows

__all__ = [
    "FORMATS",
    "Chunk",
    "CleanTexts",
    "Corpus",
    "DataNote",
    "LargeTable",
    "Source",
    "StreamSampler",
    "Survey",
    "TextStream",
    "clean_text",
    "has_words",
    "make_corpus",
    "read_corpus",
    "read_table",
    "sample",
    "survey",
    "texts_from",
    "write_rows",
]
