"""Putting texts into the clusters of a model, a part at a time, as columns of a table."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TextIO, Unpack

import numpy as np
import pyarrow as pa

from coterie._files import sha256_file
from coterie._folders import one_state
from coterie._progress import Progress, make_progress, working
from coterie._random import numpy_generator
from coterie._types import Floats, Ints
from coterie.base import TextClusterer
from coterie.base.edited import edited
from coterie.base.outliers import Assessed
from coterie.corpus import DataNote, LargeTable, TextStream
from coterie.corpus.corpus import CHUNK_ROWS, combine, no_words
from coterie.corpus.read import ColumnOptions
from coterie.corpus.source import file_of
from coterie.corpus.vectors import VectorRows
from coterie.corpus.write import (
    Sheet,
    open_table,
    table_rows,
    write_stream,
    write_workbook,
)
from coterie.description import Cluster, describe, names_by_number
from coterie.drift import Drift, find_drift
from coterie.encoders.given import given_vectors
from coterie.errors import UsageError
from coterie.hierarchy import Hierarchy
from coterie.methods import load
from coterie.novelty import place_new
from coterie.outliers import OutlierLimit, choose_rows
from coterie.run_files import (
    RunFiles,
    model_folder,
    read_clusters,
    read_levels,
    result_columns,
)
from coterie.runs.added import held_out
from coterie.runs.outputs import check_output, is_labelled
from coterie.tree import Tree, TreeRows, need_tree

DRIFT_TEXTS = 20_000  # texts that are compared with those of the run


@dataclass(frozen=True)
class Labelled:
    """What was written."""

    rows: int
    notes: list[str]  # what Excel could not hold, in sentences
    read: tuple[DataNote, ...]  # what was guessed about the file
    sentence: str  # how many texts are outliers; empty where none can be
    drift: Drift | None = None  # how the texts differ from those of the run, if that was asked


class Observer(Protocol):
    """What a labeller shows the texts to, with their clusters and vectors."""

    def add(self, texts: Sequence[str], labels: Ints, vectors: Floats) -> None:
        """Look at the next texts."""


class DriftSample:
    """A random choice of the texts that were labelled, to compare them with those of a run.

    Parameters
    ----------
    run : RunFiles
    model : TextClusterer
    """

    def __init__(self, run: RunFiles, model: TextClusterer) -> None:
        run.check()
        self.run, self.model = run, model
        self.seen = 0
        self.rows: list[tuple[str, int, Floats]] = []  # text, cluster, vector
        self._random = numpy_generator(0, "drift")

    def add(self, texts: Sequence[str], labels: Ints, vectors: Floats) -> None:
        """Take texts in; of more than 20,000 each has the same chance to stay."""
        for i in np.flatnonzero(labels >= 0).tolist():
            self.seen += 1
            row = texts[i], int(labels[i]), vectors[i]
            if len(self.rows) < DRIFT_TEXTS:
                self.rows.append(row)
            elif (place := int(self._random.integers(self.seen))) < DRIFT_TEXTS:
                self.rows[place] = row

    def drift(self) -> Drift:
        """How the texts differ from those of the run."""
        known = self.model._outlier_index().vectors
        old = np.asarray(self.model.assigner_.logits(known).argmax(axis=1), dtype=np.int64)
        names = {cluster.id: cluster.name for cluster in self.run.clusters}
        texts = [text for text, _, _ in self.rows]
        labels = np.array([label for _, label, _ in self.rows], dtype=np.int64)
        strange, alarm = np.zeros(len(labels), dtype=bool), False
        if self.rows:
            different = {text: vector for text, _, vector in reversed(self.rows)}
            order = {text: i for i, text in enumerate(dict.fromkeys(texts))}
            new = np.array([different[text] for text in order], dtype=np.float32)
            placed = place_new(known, old, new, max([*names, int(old.max())]) + 1)
            places = [order[text] for text in texts]
            found, strange, alarm = placed.labels[places], placed.nowhere[places], placed.alarm
            inside = np.isin(found, placed.new)
            labels[inside] = found[inside]
            for cluster in placed.new:
                members = [t for t, c in zip(texts, labels, strict=True) if c == cluster]
                names[cluster] = describe(members, [0] * len(members))[0].name
        some = choose_rows(len(self.run.texts), None, DRIFT_TEXTS, 0)
        earlier, before = [self.run.texts[i] for i in some], self.run.labels[some]
        unseen = held_out(known, old)
        return find_drift(earlier, before, texts, labels, names, int(strange.sum()), alarm, unseen)


class Repeats:
    """What a model said about the texts of a file, so that it reads a repeated one once.

    Beyond a number of bytes all is forgotten, and it begins anew.

    Parameters
    ----------
    assess : callable
        What the model says about texts.
    most : int, default=256 MB
    """

    def __init__(self, assess: Callable[[Sequence[str]], Assessed], most: int = 256 << 20) -> None:
        self.assess, self.most = assess, most
        self._parts: list[Assessed] = []
        self._places: dict[str, tuple[int, int]] = {}  # part and row of each text

    def __call__(self, texts: Sequence[str]) -> Assessed:
        """What the model says about texts, some of which it may have seen."""
        if not any(texts):
            return self.assess(texts)
        if sum(part.nbytes for part in self._parts) > self.most:
            self._parts, self._places = [], {}
        new = [text for text in dict.fromkeys(texts) if text and text not in self._places]
        if new:
            new = new if self._parts else ["", *new]
            self._places |= {text: (len(self._parts), i) for i, text in enumerate(new)}
            self._parts.append(self.assess(new))
        where = np.array([self._places[text] for text in texts])
        return Assessed.gather(self._parts, *where.T)


class Labeller:
    """A model with what its clusters are called; those without a name by their number.

    The outlier limit is by default that of the model. ``tree`` is the merge tree of the run, and
    ``level`` the name or the number of clusters of a cut of it; default: the one that is shown.
    """

    def __init__(
        self,
        model: TextClusterer,
        clusters: Sequence[Cluster] | None = None,
        hierarchy: Hierarchy | None = None,
        outlier_limit: float | None = None,
        tree: Tree | None = None,
        level: int | str | None = None,
    ) -> None:
        if outlier_limit is not None and not 0 <= outlier_limit <= 1:
            raise UsageError(f"`outlier_limit` should be between 0 and 1, got {outlier_limit}.")
        if level is not None:
            tree = need_tree(tree).at_level(level)
            model = copy.copy(model)
            model.assigner_ = replace(edited(model.assigner_, model.n_clusters_), cut=tree.cut())
            model.n_clusters_, hierarchy = tree.at, tree.above()
            clusters = hierarchy.parented([tree.nodes[i] for i in tree.shown()])
        self.tree = tree
        self.model, self.clusters, self.hierarchy = model, clusters, hierarchy
        given = None if outlier_limit is None else OutlierLimit(outlier_limit)
        self.limit = given or model.outlier_limit_
        self.digest = ""  # of all that labels and names come from, if it was read from a folder
        self.marked = self.placed = 0  # outliers and texts with a cluster so far
        self.observers: list[Observer] = []
        self.vectors: VectorRows | None = None
        self._width: int | None = None

    @classmethod
    def read(
        cls,
        folder: Path,
        outlier_limit: float | None = None,
        level: int | str | None = None,
    ) -> Labeller:
        """The model and the names of a run folder, or of the folder of a model alone."""

        def read() -> Labeller:
            model = load(model_folder(folder))
            clusters, tree = None, None
            if (folder / "clusters.json").exists():
                clusters, tree = read_clusters(folder)
            hierarchy = read_levels(folder, tree)
            found = cls(model, clusters, hierarchy, outlier_limit, tree, level)
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

    def __call__(
        self, texts: Sequence[str], assess: Callable[[Sequence[str]], Assessed] | None = None
    ) -> dict[str, list[Any]]:
        """The columns cluster, name, confidence and so on of some texts."""
        seen = (assess or self.assess)(texts)
        for observer in self.observers:
            observer.add(texts, seen.labels, seen.vectors)
        return self.columns(seen)

    def columns(self, seen: Assessed) -> dict[str, list[Any]]:
        """The columns cluster, name, confidence and so on of what :meth:`assess` found."""
        width = seen.probabilities.shape[1]
        names: list[Any] = [f"Cluster {i}" for i in range(width)]
        if self.clusters is not None:
            names = names_by_number(self.clusters, width)
        marked = None if self.limit is None else seen.outliers(self.limit)
        self.placed += int((seen.labels >= 0).sum())
        self.marked += 0 if marked is None else int(marked.sum())
        levels: Hierarchy | TreeRows | None = self.hierarchy
        if self.tree is not None:
            levels = TreeRows(self.tree, seen.labels if seen.finest is None else seen.finest)
        return result_columns(seen.labels, seen.probabilities, names, seen.scores, marked, levels)

    @property
    def sentence(self) -> str:
        """How many were outliers; empty where none could be."""
        return "" if self.limit is None else outlier_sentence(self.marked, self.placed)

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
        none = np.full(n, -1, dtype=np.int64)
        zeros = np.zeros((n, self._width)), nothing, np.zeros((n, 0)), np.zeros(n, dtype=bool)
        return Assessed(*zeros, finest=none)


def outlier_sentence(outliers: int, placed: int) -> str:
    """How many of the texts that were put into clusters are outliers."""
    share = 100 * outliers / max(placed, 1)
    return f"{outliers:,} of {placed:,} texts ({share:.1f}%) are outliers."


def made_from(
    model: str,
    text_column: str | None,
    outlier_limit: float | None,
    level: int | str | None = None,
) -> dict[str, Any]:
    """What decides labelled rows besides the input; only a table of the same is continued."""
    settings = {"model": model, "text_column": text_column, "outlier_limit": outlier_limit}
    return settings if level is None else {**settings, "level": str(level)}


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
) -> Iterator[tuple[pa.Table, dict[str, list[Any]]]]:
    """Each part of the input with its new columns."""
    rows = 0
    for chunk in corpus:
        rows = chunk.first + len(chunk)
        yield labeller.give(chunk.table, chunk.first, chunk.texts), labeller(chunk.texts)
    if labeller.vectors is not None:
        labeller.vectors.check_rows(rows)
    if not labeller.placed:
        raise no_words(rows, str(corpus.text_column))


def predict_file(  # noqa: PLR0913 - what the command has
    folder: str | Path,
    file: str | Path,
    out: str | Path | TextIO,
    *,
    level: int | str | None = None,
    outlier_limit: float | None = None,
    drift: bool = False,
    vectors: str | Path | None = None,
    **reading: Unpack[ColumnOptions],
) -> Labelled:
    """Put the rows of a file into the clusters of a run, in memory that does not grow with it.

    Parameters
    ----------
    folder : str or Path
        Of a run, or of a saved model.
    file : str or Path
        CSV, TSV, JSON lines, Parquet, Arrow, Excel or plain text; ``"-"`` is standard input.
    out : str, Path or text file
        A table to write, by its suffix; it gets its name when it is complete. An open file gets
        CSV as rows come in.
    level : int or str, optional
        Of a run with a merge tree: number of clusters, or "broad", "medium" or "fine". Default:
        the clusters that the run shows.
    outlier_limit : float, optional
        Mark texts with a higher outlier score as outliers. Default: the limit of the run.
    drift : bool, default=False
        Compare the texts with those of the run: which fit nowhere, which clusters change.
    vectors : str or Path, optional
        Column or file with the vectors of the rows, for a run that was made with vectors.
    **reading
        ``text_column``, ``id_column``, ``format``, ``encoding`` and ``header``.

    Returns
    -------
    Labelled
    """
    target = Path(out) if isinstance(out, (str, Path)) else None
    workbook = target is not None and target.suffix.lower() == ".xlsx"
    if target is not None:
        check_output(target, [file_of(str(file))[0], folder], wrote=is_labelled)
    labeller = Labeller.read(Path(folder), outlier_limit, level)
    if vectors is not None:
        labeller.use_vectors(vectors)
    sample = DriftSample(RunFiles(folder), labeller.model) if drift else None
    if sample is not None:
        labeller.observers.append(sample)
    stream = TextStream(file, **reading)
    rows, notes = 0, list[str]()
    if not isinstance(out, (str, Path)):
        for part, columns in label(stream, labeller):
            write_stream(out, part, columns, "csv", header=not rows)
            out.flush()
            rows += part.num_rows
    elif workbook:
        rows, notes = _to_workbook(Path(out), label(stream, labeller))
    else:
        rows = _to_file(Path(out), stream, labeller)
    told = None if sample is None else sample.drift()
    return Labelled(rows, notes, stream.notes, labeller.sentence, told)


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


def _to_file(out: Path, stream: TextStream, labeller: Labeller) -> int:
    """Write the labelled rows part by part; returns how many they are."""
    total = stream.most_rows()
    progress = make_progress(1) if total > CHUNK_ROWS else Progress()
    with open_table(out) as table, working(progress, "label", total):
        for rows, columns in label(stream, labeller):
            table.write(rows, columns)
            progress.advance(table.rows)
    return table.rows
