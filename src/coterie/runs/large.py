"""Tables of any size with their result columns: part by part, here or on a cluster of machines.

Rows go by in parts, in memory that does not grow with them. Where they lie in Parquet files, Ray
Data may read and hand them out; each worker holds the model and does with a part what one machine
does with all of them. The rows come back in their order, and this process counts and writes them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TextIO, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from coterie._util.progress import Progress, make_progress, working
from coterie._util.validation import check_choice, need
from coterie.describe.drift import Drift
from coterie.encoders.cache import no_cache
from coterie.errors import CoterieError, UsageError
from coterie.runs.label import DriftSample, Labeller
from coterie.runs.outputs import check_output
from coterie.runs.store import read
from coterie.runs.table import own_columns
from coterie.texts import DataNote, LargeTable, TextStream
from coterie.texts.corpus import CHUNK_ROWS, cell_values, clean_values, combine, no_words
from coterie.texts.read import ColumnOptions
from coterie.texts.source import file_of
from coterie.texts.write import (
    Sheet,
    open_table,
    result_kind,
    table_rows,
    write_stream,
    write_workbook,
)

ENGINES = ("local", "ray")
CPUS = 4  # of a worker, where nobody says how many workers; each holds a model in memory


def label(corpus: TextStream | LargeTable, labeller: Labeller) -> Iterator[pa.Table]:
    """Each part of the input with its result columns."""
    rows = 0
    for chunk in corpus:
        rows = chunk.first + len(chunk)
        kept = labeller.give(chunk.table, chunk.first, chunk.texts)
        yield with_labels(kept, labeller(chunk.texts))
    if labeller.vectors is not None:
        labeller.vectors.check_rows(rows)


def with_labels(rows: pa.Table, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Rows with result columns, which have the same kinds in every part of a table."""
    kinds = {name: pa.array(values, result_kind(name)) for name, values in columns.items()}
    return combine(rows, pa.table(kinds))


@dataclass(frozen=True)
class Engine:
    """Where rows are labelled: "local" is this process, "ray" a cluster, by so many workers."""

    name: str = "local"
    workers: int | None = None

    def __post_init__(self) -> None:
        check_choice("engine", self.name, ENGINES)
        if self.workers is not None and self.name != "ray":
            raise UsageError("`workers` needs `engine='ray'`.")

    @property
    def distributes(self) -> bool:
        """Whether other processes read and label the rows."""
        return self.name != "local"

    def files(self, stream: TextStream | None) -> list[str]:
        """The files to distribute; refuses what is no file of Parquet."""
        if stream is None or stream.format != "parquet":
            raise UsageError(
                f"`engine={self.name!r}` distributes Parquet files: name a file, a folder, a "
                "pattern or a list of such files."
            )
        return [part.name for part in stream.source.parts or [stream.source] if part.head()]


class Worker:
    """A process of the cluster: holds a model, and labels the rows that it is given."""

    def __init__(
        self,
        folder: Path,
        text_column: str,
        outlier_limit: float | None = None,
        level: int | str | None = None,
    ) -> None:
        self.labeller = Labeller.read(folder, outlier_limit, level)
        self.text_column = text_column

    def __call__(self, rows: pa.Table) -> pa.Table:
        """The rows with their result columns."""
        texts = clean_values(cell_values(rows.column(self.text_column)))
        with no_cache():
            return with_labels(rows, self.labeller(texts))


def label_by_ray(files: Sequence[str], workers: int | None, *made_from: Any) -> Iterator[pa.Table]:
    """The rows of Parquet files with their result columns, in their order.

    Parameters
    ----------
    files : sequence of str
    workers : int or None
        Default: one a GPU, or one for four CPUs.
    *made_from
        Of :class:`Worker`: folder, column of the texts, and so on.
    """
    ray = need("ray", "ray")
    need("ray.data", "ray")
    with _connected(ray), _in_order(ray):
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        most, cpus, gpus = share_out(nodes, workers)
        labelled = ray.data.read_parquet(list(files), partitioning=None).map_batches(
            Worker,
            fn_constructor_args=made_from,
            batch_size=CHUNK_ROWS,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=most),
            num_cpus=cpus,
            num_gpus=gpus,
        )
        try:
            yield from labelled.iter_batches(batch_size=None, batch_format="pyarrow")
        except ray.exceptions.RayError as error:
            last = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            raise CoterieError(
                f"`engine` ray: a worker failed ({last}). All machines need coterie, and must see "
                "the run and the files under the same paths."
            ) from error


def share_out(
    nodes: Sequence[Mapping[str, float]], workers: int | None = None
) -> tuple[int, int, int]:
    """How many workers, and the CPUs and GPUs of each, which is on one machine.

    Examples
    --------
    >>> share_out([{"CPU": 16.0}, {"CPU": 10.0}]), share_out([{"CPU": 16.0}, {"CPU": 10.0}], 3)
    ((6, 4, 0), (3, 8, 0))
    >>> share_out([{"CPU": 16.0, "GPU": 2.0}])
    (2, 1, 1)
    """
    gpus = int(sum(node.get("GPU", 0) for node in nodes))
    if gpus:
        return workers or gpus, 1, 1
    cpus = [max(1, int(node.get("CPU", 0))) for node in nodes]
    if workers is None:
        each = min(CPUS, max(cpus))
        return sum(n // each for n in cpus), each, 0
    fitting = (c for c in range(max(cpus), 1, -1) if sum(n // c for n in cpus) >= workers)
    return workers, next(fitting, 1), 0


@contextmanager
def _connected(ray: Any) -> Iterator[None]:
    """The cluster that this process is connected to, else the one that Ray finds or starts."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent unless asked for
    try:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise UsageError(f"`engine` ray: no cluster answers ({error}).") from error
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _in_order(ray: Any) -> Iterator[None]:
    """Rows come back in the order in which they were read; nothing is printed."""
    context, log = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    options = context.execution_options
    before = options.preserve_order, context.enable_progress_bars, log.level
    try:
        options.preserve_order, context.enable_progress_bars = True, False
        log.setLevel(logging.CRITICAL)
        yield
    finally:
        options.preserve_order, context.enable_progress_bars, level = before
        log.setLevel(level)


@dataclass
class Labelled:
    """What was written."""

    read: tuple[DataNote, ...] = ()  # what was guessed about the file
    notes: Sequence[str] = ()  # what Excel could not hold, in sentences
    rows: int = 0
    placed: int = 0  # rows with a text
    outliers: int | None = None  # None where none can be
    drift: Drift | None = None  # how the texts differ from those of the run, if that was asked

    def count(self, parts: Iterable[pa.Table], stream: TextStream) -> Iterator[pa.Table]:
        """The same parts of a table, counted as they go by; refuses one without a word."""
        for table in parts:
            own = own_columns(table.column_names)
            outliers = pc.sum(pc.equal(table[own["outlier"]], "yes")).as_py() or 0
            inside = pc.sum(pc.greater_equal(table[own["cluster"]], 0)).as_py() or 0
            self.rows += table.num_rows
            self.placed += inside + outliers
            if self.outliers is not None:
                self.outliers += outliers
            yield table
        if not self.placed:
            raise no_words(self.rows, str(stream.text_column))

    @property
    def sentence(self) -> str:
        """How many texts are outliers; empty where none can be."""
        if self.outliers is None:
            return ""
        share = 100 * self.outliers / max(self.placed, 1)
        return f"{self.outliers:,} of {self.placed:,} texts ({share:.1f}%) are outliers."


def predict_file(  # noqa: PLR0913 - what the command has
    folder: str | Path,
    file: str | Path,
    out: str | Path | TextIO,
    *,
    level: int | str | None = None,
    outlier_limit: float | None = None,
    drift: bool = False,
    vectors: str | Path | None = None,
    engine: str = "local",
    workers: int | None = None,
    **reading: Unpack[ColumnOptions],
) -> Labelled:
    """Put the rows of a file into the clusters of a run, in memory that does not grow with it.

    Parameters
    ----------
    folder : str or Path
        Of a run, or of a saved model.
    file : str or Path
        CSV, TSV, JSON lines, Parquet, Arrow, Excel or plain text; a folder or a pattern of such
        files; ``"-"`` is standard input.
    out : str, Path or text file
        A table to write, by its suffix; it gets its name when it is complete. An open file gets
        CSV as rows come in.
    level : int or str, optional
        Number of clusters, or the name of a level such as "broad". Default:
        the clusters that the run shows.
    outlier_limit : float, optional
        Mark texts with a higher outlier score as outliers. Default: the limit of the run.
    drift : bool, default=False
        Compare the texts with those of the run: which fit nowhere, which clusters change.
    vectors : str or Path, optional
        Column or file with the vectors of the rows, for a run that was made with vectors.
    engine : {"local", "ray"}, default="local"
        Where rows are labelled: in this process, or, if they are in Parquet files, on a cluster.
    workers : int, optional
        Of the cluster. Default: one a GPU, or one for four CPUs.
    **reading
        ``text_column``, ``id_column``, ``format``, ``encoding`` and ``header``.

    Returns
    -------
    Labelled
    """
    where = Engine(engine, workers)
    if where.distributes and (drift or vectors is not None):
        raise UsageError("`engine='ray'` works without `drift` and `vectors`.")
    if isinstance(out, (str, Path)):
        check_output(Path(out), [file_of(str(file))[0], folder])
    labeller = Labeller.read(Path(folder), outlier_limit, level)
    if vectors is not None:
        labeller.use_vectors(vectors)
    sample = DriftSample(read(Path(folder)), labeller.model) if drift else None
    if sample is not None:
        labeller.observers.append(sample)
    stream = TextStream(file, **reading)
    if where.distributes:
        column = stream.check_columns(next(stream.tables()))
        made_from = Path(folder).resolve(), column, outlier_limit, level
        parts = label_by_ray(where.files(stream), workers, *made_from)
    else:
        parts = label(stream, labeller)
    done = Labelled(outliers=None if labeller.limit is None else 0)
    done.notes = _write(out, done.count(parts, stream), stream.most_rows)
    done.read, done.drift = stream.notes, None if sample is None else sample.drift()
    return done


def _write(
    out: str | Path | TextIO, parts: Iterator[pa.Table], most_rows: Callable[[], int]
) -> list[str]:
    """Write the labelled rows part by part; returns what Excel could not hold."""
    if not isinstance(out, (str, Path)):
        for number, part in enumerate(parts):
            write_stream(out, part, {}, "csv", header=not number)
            out.flush()
        return []
    if Path(out).suffix.lower() == ".xlsx":  # its parts cannot be read one by one
        first = next(parts)
        rows = (row for part in chain([first], parts) for row in table_rows(part))
        return write_workbook(Path(out), [Sheet("texts", first.column_names, rows)])
    total = most_rows()
    progress = make_progress(1) if total > CHUNK_ROWS else Progress()
    with open_table(Path(out)) as table, working(progress, "label", total):
        for part in parts:
            table.write(part, {})
            progress.advance(table.rows)
    return []
