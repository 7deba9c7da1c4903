"""The texts of a run: read whole, or, where there are too many rows, by a sample.

A large file is read twice. The first time texts are counted and a sample of the different ones is
drawn; the method is fitted on that, and clusters are described by it. The second time every row is
labelled, written and counted. Memory grows with the sample and by a few bytes per row, not with the
texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from coterie._util.progress import make_progress, working
from coterie.describe.tally import ColumnLook
from coterie.encoders import GivenVectors
from coterie.errors import UsageError
from coterie.options import ClusterOptions
from coterie.runs.large import Engine
from coterie.texts import (
    CleanTexts,
    Corpus,
    DataNote,
    LargeTable,
    Source,
    StreamSampler,
    TextStream,
    make_corpus,
    read_corpus,
)
from coterie.texts.corpus import make_note
from coterie.texts.source import file_of
from coterie.texts.vectors import VectorRows

LARGE = 100_000  # rows; up to that, all texts are fitted: 3.2 GB with k-means on static vectors
SAMPLE = 25_000  # different texts to fit
PER_CLUSTER = 50  # of them for each cluster that is asked for
LARGEST_SAMPLE = 100_000  # whatever the number of clusters
COPIES = 2  # repeats are fitted, too, up to this many times the sample


def read_texts(data: Any, options: ClusterOptions) -> tuple[Corpus, GivenVectors | None]:
    """The texts of a run, and its encoder where the user gives vectors.

    A string or path names a file, ``"-"`` standard input, and ``"sample"`` the messages that come
    with coterie. If there are too many rows, the corpus is a sample.
    """
    corpus = _read(data, options)
    _check(corpus, options)
    encoder = None
    if options.vectors is not None:
        corpus, encoder = take_vectors(corpus, options.vectors)
    return corpus, encoder


def _read(data: Any, options: ClusterOptions) -> Corpus:
    size, limit = sample_size(options.fit_sample, options.wanted)
    engine = Engine(options.engine, options.workers)
    if not files_of(data):
        if engine.distributes:
            engine.files(None)
        corpus = make_corpus(data, options.text_column, options.id_column)
        if limit is None or len(corpus) <= limit:
            return corpus
        return draw_sample(corpus, size, options, len(corpus))
    where = bundled(str(data)) if isinstance(data, (str, Path)) else data
    stream = TextStream(Source(where), **options.reading)
    files = engine.files(stream) if engine.distributes else []
    most = stream.most_rows() - (stream.format in ("csv", "tsv"))  # the header
    if limit is not None and most > limit:
        sampled = draw_sample(stream, size, options, most, files)
        if len(sampled) > limit:
            return sampled
    return read_corpus(stream.source, **options.reading | {"format": stream.format})


def files_of(data: Any) -> list[Path]:
    """The files that are named, by a string or a path or by a list of paths; else none."""
    several = data if isinstance(data, (list, tuple)) else [data]
    named = isinstance(data, str) or (several and all(isinstance(p, Path) for p in several))
    return [file_of(bundled(str(file)))[0] for file in several] if named else []


def bundled(file: str) -> str:
    """The word "sample" stands for the bundled messages, unless there is a file of that name."""
    if file != "sample" or Path(file).is_file():
        return file
    return str(resources.files("coterie.texts") / "sample" / "support.csv")


def sample_size(fit_sample: int | None, clusters: int | None) -> tuple[int, int | None]:
    """How many texts to fit, and from how many rows on; None is never.

    ``clusters`` are those asked for; None if their number is to be found.

    Examples
    --------
    >>> sample_size(None, None), sample_size(None, 1000), sample_size(500, 8)
    ((25000, 100000), (50000, 100000), (500, 500))
    """
    if fit_sample is None:
        return max(SAMPLE, min(PER_CLUSTER * (clusters or 0), LARGEST_SAMPLE)), LARGE
    return fit_sample, fit_sample or None


def draw_sample(
    table: TextStream | Corpus,
    size: int,
    options: ClusterOptions,
    most: int,
    files: Sequence[str] = (),
) -> Corpus:
    """A corpus of ``size`` different texts, and all rows to go through again.

    ``most`` are no fewer than the rows, for the progress; ``files`` are those that a cluster reads.
    """
    sampler, columns, empty = StreamSampler(size, options.seed), None, None
    progress = make_progress(options.verbose)
    with working(progress, "read", most):
        for chunk in table.chunks():
            sampler.add(chunk)
            columns = columns or ColumnLook(str(table.text_column), table.id_column)
            columns.add(chunk.table)
            empty = chunk.table.slice(0, 0) if empty is None else empty
            progress.advance(chunk.first + len(chunk))
    assert columns is not None  # an empty file is rejected by the stream
    column = str(table.text_column)
    found = sampler.done(column)
    if isinstance(table, Corpus):
        name, notes = "the table", found.notes
    else:
        name, notes = table.source.name, (*table.notes, *found.notes)
    large = LargeTable(name, column, table.chunks, found, columns.done(), files)
    texts = CleanTexts(found.repeated(COPIES * size))
    return Corpus(texts, empty, column, table.id_column, notes, large)


def _check(corpus: Corpus, options: ClusterOptions) -> None:
    """Refuse what cannot work, before anything is fitted."""
    if corpus.large is None:
        return
    needed = {
        "`keep`": options.keep,
        "`views`": options.views,
        "`vectors`": options.vectors is not None,
        **{f"`{name}`": True for name in options.steered},
        "`write` xlsx": "xlsx" in options.write,
    }
    for name, value in needed.items():
        if value:
            raise UsageError(
                f"{name} needs all texts at once, but of these {len(corpus):,} rows a sample of "
                f"{len(corpus.large.survey.texts):,} texts is fitted; leave it out, or fit all "
                "with `fit_sample=0`."
            )


def take_vectors(corpus: Corpus, said: Any) -> tuple[Corpus, GivenVectors]:
    """The corpus without a column of vectors, and an encoder that has the vectors of its texts."""
    rows = VectorRows(said)
    rows.check_rows(len(corpus))
    encoder = GivenVectors()
    other = encoder.give(corpus.texts, rows.take(corpus.table, 0, corpus.texts))
    note = make_note("vectors", len(other), [row + 1 for row in other])
    notes: tuple[DataNote, ...] = (*corpus.notes, note) if note else corpus.notes
    return replace(corpus, table=rows.without(corpus.table), notes=notes), encoder
