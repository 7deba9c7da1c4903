"""Corpora that are too large to be fitted whole: a sample is, and all rows are assigned to it.

The file is gone through twice. The first time texts are counted and a sample of the different ones
is drawn; on that the method is fitted, and clusters are described. The second time every row is
labelled, written and counted. What is held in memory grows with the sample and by a few bytes a
row, not with the texts.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from coterie._errors import DataError, UsageError
from coterie._progress import Progress, working
from coterie.corpus import Chunk, Corpus, Note, Source, Survey, Surveyor, TextStream, read_corpus
from coterie.description.tally import ColumnLook, Kinds

LARGE = 100_000  # rows; up to that, all texts are fitted: 3.2 GB with k-means on static vectors
SAMPLE = 25_000  # different texts to fit: as many as "auto" clusters
PER_CLUSTER = 50  # of them for each cluster that is asked for
MOST = 100_000  # whatever the number of clusters
COPIES = 2  # repeats are fitted, too, up to this many times the sample


@dataclass(frozen=True)
class LargeCorpus:
    """A corpus of which a sample is in memory; what a run asks of a corpus, it answers.

    Attributes
    ----------
    stream : TextStream
        All rows.
    survey : Survey
    kinds : Kinds
        Columns worth counting.
    texts : list of str
        The sample, repeats as often as they occur.
    notes : tuple of Note
    seconds : float
        That looking through took.
    """

    stream: TextStream
    survey: Survey
    kinds: Kinds
    texts: list[str]
    notes: tuple[Note, ...]
    seconds: float = 0.0

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
        """The rows that were looked through, and no others: a log file may have grown since."""
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
        raise DataError(
            f"{self.stream.source.name} was changed while it was read: the {len(self):,} rows of "
            "the first look are not there any more. Copy the file, and run the command on the copy."
        )


def read_any(
    file: str,
    reading: dict[str, Any],
    sampling: tuple[int | None, int | None, int],
    progress: Progress,
) -> Corpus | LargeCorpus:
    """The corpus, whole if it is small enough.

    Parameters
    ----------
    file : str
    reading : dict
        Options of :func:`read_corpus`.
    sampling : tuple of int or None, int or None, and int
        ``fit_sample`` and ``clusters`` of :func:`sample_size`, and the seed of the sample.
    progress : Progress
    """
    fit_sample, clusters, seed = sampling
    size, limit = sample_size(fit_sample, clusters)
    stream = TextStream(Source(file, again=True), **reading)
    most = stream.source.most_rows(stream.format) - (stream.format in ("csv", "tsv"))  # the header
    if limit is not None and most > limit:
        large = _look_through(stream, size, seed, (progress, most))
        if len(large) > limit:
            return large
    return read_corpus(stream.source, **reading | {"format": stream.format})


def sample_size(fit_sample: int | None, clusters: int | None) -> tuple[int, int | None]:
    """How many texts to fit, and from how many rows on; None is never.

    Parameters
    ----------
    fit_sample : int or None
        Different texts to fit if there are more rows; 0 fits all; None decides by itself.
    clusters : int or None
        As asked for; None if their number is to be found.

    Examples
    --------
    >>> sample_size(None, None), sample_size(None, 1000), sample_size(500, 8)
    ((25000, 100000), (50000, 100000), (500, 500))
    """
    if fit_sample is None:
        return max(SAMPLE, min(PER_CLUSTER * (clusters or 0), MOST)), LARGE
    if fit_sample < 0:
        raise UsageError(f"--fit-sample should be a number of texts, or 0 for all; {fit_sample}.")
    return fit_sample, fit_sample or None


def refuse_whole(corpus: Corpus | LargeCorpus, **given: Any) -> None:
    """Refuse options that need all texts at once, when a sample is fitted."""
    if isinstance(corpus, Corpus):
        return
    for option, value in given.items():
        if value:
            raise UsageError(
                f"--{option} needs all texts at once, but of these {len(corpus):,} rows a sample "
                f"of {len(corpus.survey.texts):,} texts is fitted; leave it out, or fit all with "
                "--fit-sample 0."
            )


def _look_through(
    stream: TextStream, size: int, seed: int, shown: tuple[Progress, int]
) -> LargeCorpus:
    surveyor, look, begun = Surveyor(size, seed), None, time.perf_counter()
    progress, most = shown
    with working(progress, "read", most):
        for chunk in stream:
            surveyor.add(chunk)
            look = look or ColumnLook(str(stream.text_column), stream.id_column)
            look.add(chunk.table)
            progress.advance(chunk.first + len(chunk))
    assert look is not None  # an empty file is refused by the stream
    found = surveyor.done(str(stream.text_column))
    texts = found.repeated(COPIES * size)
    notes = (*stream.notes, *found.notes)
    return LargeCorpus(stream, found, look.done(), texts, notes, time.perf_counter() - begun)


def expected(corpus: LargeCorpus, model: Any, clusters: int | None) -> str:
    """What the run will take, in a sentence."""
    from coterie.cli.estimate import make_job, probe, sentence

    found = corpus.survey
    job = make_job(model, found.rows, len(found.texts), clusters)
    speeds = probe(model, found.texts, corpus.seconds / found.rows)
    return sentence(job, speeds, model.name)
