"""The texts of a run: read whole, or, where there are too many rows, by a sample.

A large file is read twice. The first time texts are counted and a sample of the different ones is
drawn; the method is fitted on that, and clusters are described by it. The second time every row is
labelled, written and counted. Memory grows with the sample and by a few bytes per row, not with the
texts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from coterie._progress import make_progress, working
from coterie.corpus import (
    CleanTexts,
    Corpus,
    DataNote,
    LargeTable,
    Source,
    StreamSampler,
    Survey,
    TextStream,
    make_corpus,
    read_corpus,
)
from coterie.corpus.corpus import make_note
from coterie.corpus.source import file_of
from coterie.corpus.vectors import VectorRows
from coterie.description.tally import ColumnLook, Kinds
from coterie.encoders import GivenVectors
from coterie.errors import UsageError
from coterie.options import Options
from coterie.runs.engine import Engine, failures
from coterie.runs.shards import Shard, check_same_columns, read_shard, shards_from

LARGE = 100_000  # rows; up to that, all texts are fitted: 3.2 GB with k-means on static vectors
SAMPLE = 25_000  # different texts to fit
PER_CLUSTER = 50  # of them for each cluster that is asked for
LARGEST_SAMPLE = 100_000  # whatever the number of clusters
COPIES = 2  # repeats are fitted, too, up to this many times the sample

Seen: TypeAlias = "tuple[StreamSampler, ColumnLook]"  # of a file


def read_texts(
    data: Any, options: Options, engine: Engine | None = None
) -> tuple[Corpus, GivenVectors | None]:
    """The texts of a run, and its encoder where the user gives vectors.

    A string or path names a file, ``"-"`` standard input, and ``"sample"`` the messages that come
    with coterie. If there are too many rows, the corpus is a sample. ``engine`` reads many files.
    """
    corpus = _read(data, options, engine or Engine())
    _check(corpus, options)
    encoder = None
    if options.vectors is not None:
        corpus, encoder = take_vectors(corpus, options.vectors)
    return corpus, encoder


def _read(data: Any, options: Options, engine: Engine) -> Corpus:
    size, limit = sample_size(options.fit_sample, options.wanted)
    named = files_of(data)
    if engine.name != "local" and not named:
        raise _no_shards(engine)
    if not named:
        corpus = make_corpus(data, options.text_column, options.id_column)
        if limit is None or len(corpus) <= limit:
            return corpus
        return draw_sample(corpus, size, options, len(corpus))
    where = bundled(str(data)) if isinstance(data, (str, Path)) else data
    stream = TextStream(Source(where), **options.reading)
    if stream.source.parts and stream.format == "parquet":
        shards = shards_from([part.name for part in stream.source.parts if part.head()])
        if limit is not None and sum(shard.rows for shard in shards) > limit:
            return draw_from_shards(stream, shards, size, options, engine)
        return read_corpus(stream.source, **options.reading)
    if engine.name != "local":
        raise _no_shards(engine)
    most = stream.most_rows() - (stream.format in ("csv", "tsv"))  # the header
    if limit is not None and most > limit:
        sampled = draw_sample(stream, size, options, most)
        if len(sampled) > limit:
            return sampled
    return read_corpus(stream.source, **options.reading | {"format": stream.format})


def _no_shards(engine: Engine) -> UsageError:
    return UsageError(
        f"`engine={engine.name!r}` distributes files: name a folder, a pattern or a list of "
        "Parquet files."
    )


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
        return max(SAMPLE, min(PER_CLUSTER * (clusters or 0), LARGEST_SAMPLE)), LARGE
    return fit_sample, fit_sample or None


@dataclass(frozen=True)
class Looking:
    """What the first pass over each of many files does: makes a sampler and looks at columns."""

    size: int  # of the sample
    seed: int
    columns: ColumnLook  # that has begun
    id_column: str | None

    def __call__(self) -> Callable[[Shard], Seen]:
        return self.look

    def look(self, shard: Shard) -> Seen:
        """Go through a file."""
        sampler, columns = StreamSampler(self.size, self.seed), copy.deepcopy(self.columns)
        stream = read_shard(shard, columns.text_column, self.id_column)
        for chunk in stream:
            sampler.add(replace(chunk, first=shard.first + chunk.first))
            columns.add(chunk.table)
        sampler.finish()
        return sampler, columns


def draw_from_shards(
    stream: TextStream, shards: Sequence[Shard], size: int, options: Options, engine: Engine
) -> Corpus:
    """The same from many Parquet files, which workers may read."""
    check_same_columns(shards)
    filled = [shard for shard in shards if shard.rows]
    first = read_shard(filled[0], stream.text_column, stream.id_column)
    begin = next(iter(first))
    columns = ColumnLook(str(first.text_column), stream.id_column)
    columns.begin(begin.table)
    looking = Looking(size, options.seed, columns, stream.id_column)
    found, kinds = survey_shards(shards, looking, engine, options.verbose)
    column = columns.text_column
    large = LargeTable(stream.source.name, column, stream.chunks, found, kinds, shards)
    return Corpus(
        CleanTexts(found.repeated(COPIES * size)),
        begin.table.slice(0, 0),
        column,
        stream.id_column,
        (*stream.notes, *found.notes),
        large,
    )


def survey_shards(
    shards: Sequence[Shard], looking: Looking, engine: Engine, verbose: int
) -> tuple[Survey, Kinds]:
    """A first pass over many files: the sample, and columns worth counting.

    The sample is that of one file with all rows, by whichever workers it is drawn.
    """
    sampler, columns = StreamSampler(looking.size, looking.seed), copy.deepcopy(looking.columns)
    progress, rows, failed = make_progress(verbose), 0, dict[str, str]()
    results = engine.each(looking, [shard for shard in shards if shard.rows])
    with closing(results), working(progress, "read", shards[-1].first + shards[-1].rows):
        for done in results:
            if done.found is None:
                failed[done.item.name] = done.error
                continue
            sampler.merge(done.found[0])
            columns.merge(done.found[1])
            rows += done.item.rows
            progress.advance(rows)
    if failed:
        raise failures(failed, len(shards), "read; repair or remove them")
    return sampler.done(columns.text_column), columns.done()


def draw_sample(table: TextStream | Corpus, size: int, options: Options, most: int) -> Corpus:
    """A corpus of ``size`` different texts, and all rows to go through again.

    ``most`` are no fewer than the rows, for the progress.
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
    large = LargeTable(name, column, table.chunks, found, columns.done())
    texts = CleanTexts(found.repeated(COPIES * size))
    return Corpus(texts, empty, column, table.id_column, notes, large)


def _check(corpus: Corpus, options: Options) -> None:
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
