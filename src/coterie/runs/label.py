"""Putting texts into the clusters of a model, a part at a time, as columns of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import pyarrow as pa

from coterie._files import sha256_file
from coterie._folders import one_state
from coterie._progress import Silent, make_progress, say, working
from coterie._random import numpy_generator
from coterie._types import Bools, Floats, Ints
from coterie.base import TextClusterer
from coterie.base.outliers import Assessed
from coterie.corpus import LargeTable, Note, TextStream
from coterie.corpus.corpus import CHUNK_ROWS, combine, no_words
from coterie.corpus.read import ColumnOptions
from coterie.corpus.source import file_of
from coterie.corpus.vectors import VectorRows
from coterie.corpus.write import (
    GrowingTable,
    Sheet,
    table_rows,
    write_stream,
    write_workbook,
)
from coterie.description import Cluster, describe, names_by_number
from coterie.drift import Drift, find_drift
from coterie.encoders.given import given_vectors
from coterie.errors import DataError, UsageError
from coterie.hierarchy import Hierarchy
from coterie.methods import load
from coterie.novelty import place_new
from coterie.outliers import OutlierLimit, choose_rows
from coterie.run_files import RunFiles, model_folder, read_clusters, read_levels, result_columns
from coterie.runs.masked import masker_of
from coterie.runs.outputs import check_output, is_labelled

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from coterie.runs.places import RowPlaces

WATCHED = 20_000  # texts that are compared with those of the run


@dataclass(frozen=True)
class Labelled:
    """What was written."""

    rows: int
    notes: list[str]  # what Excel could not hold, in sentences
    read: tuple[Note, ...]  # what was guessed about the file
    sentence: str  # how many texts are outliers; empty where none can be
    drift: Drift | None = None  # how the texts differ from those of the run, if that was asked
    masked: dict[str, int] | None = None  # how often each kind of personal data was masked


class Watch:
    """Keeps a random choice of the texts that were labelled, to compare them with those of a run.

    Parameters
    ----------
    run : RunFiles
    model : TextClusterer
    """

    def __init__(self, run: RunFiles, model: TextClusterer) -> None:
        if model._neighbor_index is None:
            raise UsageError(
                f"{run.folder}: its model was saved by a version that kept no texts to compare "
                "with; cluster again."
            )
        run.check()
        self.run, self.model = run, model
        self.seen = 0
        self.texts: list[str] = []
        self.labels: list[int] = []
        self.vectors: list[Floats] = []
        self._random = numpy_generator(0, "drift")

    def add(self, texts: Sequence[str], labels: Ints, vectors: Floats) -> None:
        """Take texts in; of more than 20,000 each has the same chance to stay."""
        for i in np.flatnonzero(labels >= 0).tolist():
            self.seen += 1
            place = len(self.texts)
            if place == WATCHED:
                place = int(self._random.integers(self.seen))
                if place >= WATCHED:
                    continue
                self.texts[place], self.labels[place] = texts[i], int(labels[i])
                self.vectors[place] = vectors[i]
                continue
            self.texts.append(texts[i])
            self.labels.append(int(labels[i]))
            self.vectors.append(vectors[i])

    def drift(self) -> Drift:
        """How the texts differ from those of the run."""
        known = self.model._outlier_index().vectors
        old = np.asarray(self.model.assigner_.logits(known).argmax(axis=1), dtype=np.int64)
        labels = np.array(self.labels, dtype=np.int64)
        names = {cluster.id: cluster.name for cluster in self.run.clusters}
        strange, alarm = np.zeros(len(labels), dtype=bool), False
        first = {text: i for i, text in reversed(list(enumerate(self.texts)))}
        rows = np.array(sorted(first.values()), dtype=np.int64)
        if len(rows):
            next_id = max([*names, int(old.max())]) + 1
            new = np.array([self.vectors[i] for i in rows], dtype=np.float32)
            placed = place_new(known, old, new, next_id)
            place = {self.texts[row]: i for i, row in enumerate(rows)}
            places = [place[text] for text in self.texts]
            found, strange, alarm = placed.labels[places], placed.nowhere[places], placed.alarm
            inside = np.isin(found, placed.new)
            labels[inside] = found[inside]
            for cluster in placed.new:
                members = [t for t, c in zip(self.texts, labels, strict=True) if c == cluster]
                names[cluster] = describe(members, [0] * len(members))[0].name
        some = choose_rows(len(self.run.texts), None, WATCHED, 0)
        texts, before = [self.run.texts[i] for i in some], self.run.labels[some]
        return find_drift(texts, before, self.texts, labels, names, int(strange.sum()), alarm)


class Labeller:
    """A model with what its clusters are called; those without a name by their number.

    The outlier limit is by default that of the model.
    """

    def __init__(
        self,
        model: TextClusterer,
        clusters: Sequence[Cluster] | None = None,
        hierarchy: Hierarchy | None = None,
        outlier_limit: float | None = None,
    ) -> None:
        self.model, self.hierarchy, self.outlier_limit = model, hierarchy, outlier_limit
        self.clusters = clusters
        self.digest = ""  # of all that labels and names come from, if it was read from a folder
        self.marked = self.placed = 0  # outliers and texts with a cluster so far
        self.watch: Watch | None = None
        self.vectors: VectorRows | None = None
        self.places: RowPlaces | None = None
        self._width: int | None = None

    @classmethod
    def read(cls, folder: Path, outlier_limit: float | None = None) -> Labeller:
        """The model and the names of a run folder, or of the folder of a model alone."""

        def read() -> Labeller:
            model = load(model_folder(folder))
            clusters = read_clusters(folder) if (folder / "clusters.json").exists() else None
            found = cls(model, clusters, read_levels(folder), outlier_limit)
            found.digest = model_digest(folder)
            return found

        return one_state([folder], read)

    def use_vectors(self, said: object) -> None:
        """Take vectors of the user's own for the texts to come."""
        if given_vectors(self.model.encoder_) is None:
            raise UsageError("`vectors`: the model has an encoder and needs none; leave them out.")
        self.vectors = VectorRows(said)

    def give(self, table: pa.Table, first: int, texts: list[str]) -> pa.Table:
        """Take the vectors of some rows in; returns the rows without them."""
        encoder = given_vectors(self.model.encoder_)
        if self.vectors is None or encoder is None:
            return table
        encoder.give(texts, self.vectors.take(table, first, texts))
        return self.vectors.without(table)

    def __call__(self, texts: Sequence[str]) -> dict[str, list[Any]]:
        """The columns cluster, name, confidence and so on of some texts."""
        seen = self.assess(texts)
        if self.watch is not None:
            self.watch.add(texts, seen.labels, seen.vectors)
        if self.places is not None:
            self.places.add(texts, seen.labels, seen.vectors)
        return self.columns(seen)

    def columns(self, seen: Assessed) -> dict[str, list[Any]]:
        """The columns cluster, name, confidence and so on of what :meth:`assess` found."""
        width = seen.probabilities.shape[1]
        names: list[Any] = [f"Cluster {i}" for i in range(width)]
        if self.clusters is not None:
            names = names_by_number(self.clusters, width)
        marked = self._mark(seen)
        self.placed += int((seen.labels >= 0).sum())
        self.marked += 0 if marked is None else int(marked.sum())
        return result_columns(
            seen.labels, seen.probabilities, names, seen.scores, marked, self.hierarchy
        )

    @property
    def sentence(self) -> str:
        """How many were outliers; empty where none could be."""
        if self.outlier_limit is None and self.model.outlier_limit_ is None:
            return ""
        share = 100 * self.marked / max(self.placed, 1)
        return f"{self.marked:,} of {self.placed:,} texts ({share:.1f}%) are outliers."

    def _mark(self, seen: Assessed) -> Bools | None:
        """Which texts are outliers; None where the model has no limit and none is given."""
        known, limit = self.model.outlier_limit_, self.outlier_limit
        if limit is not None:
            if not 0 <= limit <= 1:
                raise UsageError(f"`outlier_limit` should be between 0 and 1, got {limit}.")
            known = OutlierLimit(limit)
        return None if known is None else seen.outliers(known)

    def assess(self, texts: Sequence[str]) -> Assessed:
        """What the model says; nothing about a part in which no row has a text."""
        if any(texts):
            found: Assessed = self.model.assess(texts)
            self._width = found.probabilities.shape[1]
            return found
        if self._width is None:
            self._width = self.model.assess(["0"]).probabilities.shape[1]
        n = len(texts)
        nothing = np.full(n, np.nan)
        return Assessed(
            np.zeros((n, self._width)), nothing, np.zeros((n, 0)), np.zeros(n, dtype=bool)
        )


def model_digest(folder: Path) -> str:
    """Of everything that labels and names come from."""
    root = model_folder(folder)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    if root != folder:
        named = (folder / name for name in ("clusters.json", "levels.json"))
        files += [path for path in named if path.exists()]
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(folder).as_posix()} {sha256_file(path)}\n".encode())
    return digest.hexdigest()


def label(
    corpus: TextStream | LargeTable,
    labeller: Labeller,
    table: GrowingTable | None = None,
) -> Iterator[tuple[pa.Table, dict[str, list[Any]]]]:
    """Each part of the input with its new columns.

    Rows that the table has already are left out; they must be those that it was made from.
    """
    done = 0 if table is None else table.rows
    rows = 0
    for chunk in corpus:
        rows = chunk.first + len(chunk)
        old = min(max(done - chunk.first, 0), len(chunk))
        if old and table is not None:
            table.skip(chunk.part(0, old).table)
        if old < len(chunk):
            new = chunk.part(old, len(chunk))
            kept = labeller.give(new.table, new.first, new.texts)
            yield kept, labeller(new.texts)
    if labeller.vectors is not None:
        labeller.vectors.check_rows(rows)
    if rows < done:
        raise DataError(f"`resume`: {done:,} rows are labelled, but only {rows:,} can be read.")
    if not labeller.placed and not done:
        raise no_words(rows, str(corpus.text_column))


def predict_file(  # noqa: PLR0913 - what the command has
    folder: str | Path,
    file: str | Path,
    out: str | Path | TextIO,
    *,
    outlier_limit: float | None = None,
    resume: bool = False,
    drift: bool = False,
    vectors: str | Path | None = None,
    mask: bool | None = None,
    mask_names: str | Path | Sequence[str] | None = None,
    **reading: Unpack[ColumnOptions],
) -> Labelled:
    """Put the rows of a file into the clusters of a run, in memory that does not grow with it.

    Parameters
    ----------
    folder : str or Path
        Of a run, or of a saved model.
    file : str or Path
        CSV, TSV, JSON lines, Parquet, Arrow or plain text; ``"-"`` is standard input.
    out : str, Path or text file
        A table to write, by its suffix; it stands in NAME.partial.SUFFIX until it is whole. An open
        file gets CSV as rows come in.
    outlier_limit : float, optional
        Mark texts with a higher outlier score as outliers. Default: the limit of the run.
    resume : bool, default=False
        Go on behind the rows that a stopped call has written.
    drift : bool, default=False
        Compare the texts with those of the run: which fit nowhere, which clusters change.
    vectors : str or Path, optional
        Column or file with the vectors of the rows, for a run that was made with vectors.
    mask : bool, optional
        Mask personal data in what is written, before the texts are encoded. Default: if that of the
        run is masked.
    mask_names : str, Path or sequence of str, optional
        List of names to mask, too, or a file of them; needed if the run was masked by one.
    **reading
        ``text_column``, ``id_column``, ``format``, ``encoding`` and ``header``.

    Returns
    -------
    Labelled
    """
    target = Path(out) if isinstance(out, (str, Path)) else None
    workbook = target is not None and target.suffix.lower() == ".xlsx"
    if resume and (target is None or workbook or str(file) == "-"):
        raise UsageError("`resume` needs a file to read and a CSV, TSV or JSONL file as `out`.")
    if target is not None:
        check_output(
            target,
            [file_of(str(file))[0], folder],
            wrote=is_labelled,
            grows=not workbook,
            resume=resume,
        )
    masker = masker_of(Path(folder), mask, mask_names)
    labeller = Labeller.read(Path(folder), outlier_limit)
    if vectors is not None:
        labeller.use_vectors(vectors)
    if drift:
        labeller.watch = Watch(RunFiles(folder), labeller.model)
    stream = TextStream(file, **reading, masker=masker)
    if resume and stream.source.is_pipe:
        raise UsageError("`resume` needs a file to read and a CSV, TSV or JSONL file as `out`.")
    rows, notes = 0, list[str]()
    if not isinstance(out, (str, Path)):
        for part, columns in label(stream, labeller):
            write_stream(out, part, columns, "csv", header=not rows)
            out.flush()
            rows += part.num_rows
    elif workbook:
        rows, notes = _to_workbook(Path(out), label(stream, labeller))
    else:
        rows = _to_file(Path(out), stream, labeller, resume=resume)
    told = None if labeller.watch is None else labeller.watch.drift()
    masked = None if masker is None else dict(sorted(masker.counts.items()))
    return Labelled(rows, notes, stream.notes, labeller.sentence, told, masked)


def _to_workbook(
    out: Path, labelled: Iterator[tuple[pa.Table, dict[str, list[Any]]]]
) -> tuple[int, list[str]]:
    """A workbook, which is whole or not there: its parts cannot be read one by one."""
    first, rows = combine(*next(labelled)), 0

    def each() -> Iterator[Any]:
        nonlocal rows
        for table in chain([first], (combine(*part) for part in labelled)):
            rows += table.num_rows
            yield from table_rows(table)

    notes = write_workbook(out, [Sheet("texts", first.column_names, each())])
    return rows, notes


def _to_file(out: Path, stream: TextStream, labeller: Labeller, *, resume: bool) -> int:
    """A table that grows; Ctrl-C leaves what is there, and says how to go on."""
    total = 0 if stream.source.is_pipe else stream.most_rows()
    progress = make_progress(1) if total > CHUNK_ROWS else Silent()

    def made_from() -> dict[str, Any]:
        """What decides the rows besides the input."""
        return {
            "model": labeller.digest,
            "text_column": stream.text_column,
            "outlier_limit": labeller.outlier_limit,
            **({"masked": True} if stream.masker is not None else {}),
        }

    table = GrowingTable(out, made_from, resume=resume)
    try:
        with table, working(progress, "label", total, table.rows):
            for rows, columns in label(stream, labeller, table):
                table.write(rows, columns)
                progress.advance(table.rows)
    except DataError:
        if not labeller.placed and not resume:
            table.discard()  # rows without a word are nothing to keep
        raise
    except KeyboardInterrupt:
        if table.rows:
            said = f"\n{table.rows:,} rows are in {table.partial}"
            resumable = out.suffix.lower() != ".parquet"  # such a file cannot be continued
            say(f"{said}; --resume continues after them." if resumable else f"{said}.")
        raise
    return table.rows
