"""The texts of a run: read whole, or, where there are too many rows, by a sample.

A large file is read twice. The first time texts are counted and a sample of the different ones is
drawn; the method is fitted on that, and clusters are described by it. The second time every row is
labelled, written and counted. Memory grows with the sample and by a few bytes per row, not with the
texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie._progress import make_progress, working
from coterie.corpus import (
    Chunk,
    CleanTexts,
    Corpus,
    Note,
    Source,
    StreamSampler,
    Survey,
    TextStream,
    make_corpus,
    read_corpus,
)
from coterie.corpus.corpus import cell_values, check_column, make_note
from coterie.corpus.read import ROWS
from coterie.corpus.source import file_of, longest, too_long
from coterie.corpus.vectors import VectorRows
from coterie.description.tally import ColumnLook, Kinds
from coterie.encoders import GivenVectors
from coterie.errors import DataError, UsageError
from coterie.options import Options
from coterie.runs.masked import MaskedStream, make_masker, mask_corpus, masking_note

LARGE = 100_000  # rows; up to that, all texts are fitted: 3.2 GB with k-means on static vectors
SAMPLE = 25_000  # different texts to fit
PER_CLUSTER = 50  # of them for each cluster that is asked for
MOST = 100_000  # whatever the number of clusters
COPIES = 2  # repeats are fitted, too, up to this many times the sample


class TableStream:
    """The rows of a corpus in memory, in chunks, as ``TextStream`` has those of a file."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.text_column, self.id_column = (
            corpus,
            corpus.text_column,
            corpus.id_column,
        )
        self.notes: tuple[Note, ...] = ()  # the survey notes the same things
        self.name = "the table"

    def __iter__(self) -> Iterator[Chunk]:
        corpus = self.corpus
        for first in range(0, len(corpus), ROWS):
            table = corpus.table.slice(first, ROWS)
            values = cell_values(table.column(corpus.text_column))
            yield Chunk(first, table, CleanTexts(corpus.texts[first : first + ROWS]), values)


@dataclass(frozen=True)
class SampledCorpus:
    """A corpus of which a sample is fitted; it answers what a run asks of a :class:`Corpus`."""

    stream: TextStream | TableStream | MaskedStream  # all rows
    survey: Survey
    kinds: Kinds  # columns worth counting
    schema: pa.Schema  # of the first rows
    texts: list[str]  # the sample, repeats as often as they occur
    notes: tuple[Note, ...]

    @property
    def text_column(self) -> str:
        """Column of the texts."""
        return str(self.stream.text_column)

    @property
    def id_column(self) -> str | None:
        """Column that names the rows."""
        return self.stream.id_column

    @property
    def sha256(self) -> str:
        """Digest of all texts."""
        return self.survey.sha256

    def __len__(self) -> int:
        return self.survey.rows

    def __iter__(self) -> Iterator[Chunk]:
        """The rows of the first reading, and no others: a log file may have grown since."""
        digest, rows = hashlib.sha256(), 0
        for chunk in self.stream:
            chunk = chunk.part(0, len(self) - rows)
            rows += len(chunk)
            digest.update(b"".join(text.encode("utf-8") + b"\0" for text in chunk.texts))
            if rows == len(self) and digest.hexdigest() != self.sha256:
                break
            yield chunk
            if rows == len(self):
                return
        stream = self.stream
        name = stream.source.name if isinstance(stream, TextStream) else stream.name
        raise DataError(
            f"{name} was changed while it was read: the {len(self):,} rows of the first pass are "
            "gone. Copy the file, and run the command on the copy."
        )


AnyCorpus = Corpus | SampledCorpus


def read_texts(data: Any, options: Options) -> AnyCorpus:
    """The texts of a file, a table or a list; whole if there are few enough.

    A string or path names a file, ``"-"`` standard input, and ``"sample"`` the messages that come
    with coterie.
    """
    size, limit = sample_size(options.fit_sample, options.wanted)
    masker = make_masker(options.mask_names) if options.masks else None
    if not files_of(data):
        corpus = _table_corpus(data, options)
        corpus = corpus if masker is None else mask_corpus(corpus, masker)
        if limit is None or len(corpus) <= limit:
            return corpus
        return _survey(TableStream(corpus), size, options, len(corpus))
    named = bundled(str(data)) if isinstance(data, (str, Path)) else data
    stream = TextStream(Source(named, again=True), **options.reading)
    most = stream.most_rows() - (stream.format in ("csv", "tsv"))  # the header
    if limit is not None and most > limit:
        rows = stream if masker is None else MaskedStream(stream, masker)
        sampled = _survey(rows, size, options, most)
        if len(sampled) > limit:
            return sampled
    corpus = read_corpus(stream.source, **options.reading | {"format": stream.format})
    return corpus if masker is None else mask_corpus(corpus, masker)


def files_of(data: Any) -> list[Path]:
    """The files that are named, by a string or a path or by a list of paths; else none."""
    several = data if isinstance(data, (list, tuple)) else [data]
    named = isinstance(data, str) or (several and all(isinstance(p, Path) for p in several))
    return [file_of(bundled(str(file)))[0] for file in several] if named else []


def bundled(file: str) -> str:
    """The word "sample" stands for the bundled messages, unless there is a file of that name."""
    if file != "sample" or Path(file).is_file():
        return file
    return str(resources.files("coterie") / "sample" / "support.csv")


def sample_size(fit_sample: int | None, clusters: int | None) -> tuple[int, int | None]:
    """How many texts to fit, and from how many rows on; None is never.

    ``clusters`` are those asked for; None if their number is to be found.

    Examples
    --------
    >>> sample_size(None, None), sample_size(None, 1000), sample_size(500, 8)
    ((25000, 100000), (50000, 100000), (500, 500))
    """
    if fit_sample is None:
        return max(SAMPLE, min(PER_CLUSTER * (clusters or 0), MOST)), LARGE
    return fit_sample, fit_sample or None


def refuse_long_rows(table: pa.Table) -> None:
    """Refuse a row that is too long for the table of a run, before anything is fitted."""
    total = np.zeros(len(table), dtype=np.int64)
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            for size in (pc.binary_length(column), pc.count_substring(column, '"')):
                total += pc.fill_null(size, 0).to_numpy()  # a quote is written twice
    if len(total) and total.max() > longest():
        raise too_long("the texts", f"row {total.argmax() + 1:,}")


def refuse_sampled(corpus: AnyCorpus, options: Options) -> None:
    """Reject options that need all texts at once, when a sample is fitted."""
    if isinstance(corpus, Corpus):
        return
    needed = {
        "`keep`": options.keep,
        "`views`": options.views,
        "`vectors`": options.vectors is not None,
        "`split`": options.split,
        **{f"`{name}`": True for name in options.steered},
        "`write` xlsx": "xlsx" in options.write,
    }
    for name, value in needed.items():
        if value:
            raise UsageError(
                f"{name} needs all texts at once, but of these {len(corpus):,} rows a sample of "
                f"{len(corpus.survey.texts):,} texts is fitted; leave it out, or fit all with "
                "`fit_sample=0`."
            )


def take_vectors(corpus: Corpus, said: Any) -> tuple[Corpus, GivenVectors]:
    """The corpus without a column of vectors, and an encoder that has the vectors of its texts."""
    rows = VectorRows(said)
    rows.check_rows(len(corpus))
    encoder = GivenVectors()
    other = encoder.give(corpus.texts, rows.take(corpus.table, 0, corpus.texts))
    note = make_note("vectors", len(other), [row + 1 for row in other])
    notes = (*corpus.notes, note) if note else corpus.notes
    return replace(corpus, table=rows.without(corpus.table), notes=notes), encoder


def _table_corpus(data: Any, options: Options) -> Corpus:
    corpus = make_corpus(data, options.text_column)
    if options.id_column is None:
        return corpus
    return replace(corpus, id_column=check_column(corpus.table, options.id_column, "id_column"))


def _survey(
    stream: TextStream | TableStream | MaskedStream, size: int, options: Options, most: int
) -> SampledCorpus:
    sampler, look = StreamSampler(size, options.seed), None
    schema: pa.Schema | None = None
    progress = make_progress(options.verbose)
    with working(progress, "read", most):
        for chunk in stream:
            sampler.add(chunk)
            look = look or ColumnLook(str(stream.text_column), stream.id_column)
            schema = schema or chunk.table.schema
            look.add(chunk.table)
            progress.advance(chunk.first + len(chunk))
    assert look is not None  # an empty file is rejected by the stream
    found = sampler.done(str(stream.text_column))
    texts = CleanTexts(found.repeated(COPIES * size))
    notes = (*stream.notes, *found.notes)
    if isinstance(stream, MaskedStream):
        notes = (*notes, masking_note(stream.masker.counts))
    return SampledCorpus(stream, found, look.done(), schema, texts, notes)
