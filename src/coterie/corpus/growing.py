"""Tables that are written part by part: all that is there at any time can be read.

A table grows under the name ``NAME.partial.SUFFIX`` and gets its own name when it is whole. A stop
leaves the partial one behind, which says by its name what it is, and can be continued. A record
beside it says what it was made from and, after every part, how many rows and bytes there are, with
a digest of all rows read and one of all bytes written so far.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TextIO

import pyarrow as pa

from coterie._errors import DataError, UsageError
from coterie._files import is_locked, take_lock
from coterie.corpus.write import check_suffix, combine, write_stream

# Kinds of result columns; a part in which nothing has a value would leave them open.
KINDS = {
    "cluster": pa.int64(), "name": pa.string(), "confidence": pa.float64(), "margin": pa.float64(),
    "runner_up": pa.int64(), "outlier": pa.string(), "outlier_score": pa.float64(),
    "nearest_cluster": pa.int64(),
}  # fmt: skip
BLOCK = 1 << 20  # bytes read at a time

Columns = Mapping[str, Sequence[Any]]


class StreamTable:
    """A table on an open text stream, such as standard output."""

    def __init__(self, file: TextIO, format: str = "csv") -> None:
        self.file, self.format, self.rows = file, format, 0

    def write(self, table: pa.Table, extra: Columns) -> None:
        """Add rows, and hand them on at once."""
        write_stream(self.file, table, extra, self.format, header=not self.rows)
        self.rows += table.num_rows
        self.file.flush()


class GrowingTable:
    """A table in a file, by its suffix: CSV, TSV, JSON lines or Parquet.

    Used as a context: at its end the file gets its name; after an exception the rows written so
    far stay in :attr:`partial`.

    Parameters
    ----------
    path : Path
        Of the finished table.
    made_from : callable, optional
        Gives what decides the rows besides the input: the model, the settings. It is asked when
        the first rows are there, and kept in the record. Without it there is no record, and the
        table cannot be continued.
    resume : bool, default=False
        Go on behind the rows that a stopped run left; Parquet files cannot be continued.

    Attributes
    ----------
    rows : int
        Written so far.
    facts : dict of str to str
        What the footer of a Parquet file is to say; read at the end.
    """

    def __init__(
        self,
        path: Path,
        made_from: Callable[[], Mapping[str, Any]] | None = None,
        *,
        resume: bool = False,
    ) -> None:
        self.path, self.suffix = path, check_suffix(path)
        self.partial, self.record = partial_path(path), record_path(path)
        self.rows = self._end = 0
        self.facts: dict[str, str] = {}
        self._made_from, self._resume = made_from, resume
        self._known: dict[str, Any] = {}  # of the record, when a table is continued
        self._read, self._written = sha256(), sha256()
        self._skipped, self._begun = 0, False
        self._file: IO[bytes] | None = None
        self._parquet: Any = None
        if made_from is not None:
            refuse_partial(path, resume=resume)

    def __enter__(self) -> GrowingTable:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not self.partial.exists()
        if self._made_from is not None:
            self.record.touch()  # from now on the partial table is known as coterie's
        self._file = self.partial.open("x+b" if fresh else "r+b")
        try:
            if not take_lock(self._file):  # before anything of another process is touched
                raise _in_use(self.partial)
            kept = self._go_on(self._file) if self._resume else []
            self._file.truncate()
            if self._made_from is not None:
                os.truncate(self.record, sum(len(json.dumps(entry)) + 1 for entry in kept))
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._file is not None
        if self._parquet is not None:
            self._parquet.add_key_value_metadata(self.facts)
            self._parquet.close()
        self._file.close()
        if self._parquet is None:
            os.truncate(self.partial, self._end)  # an interrupted write may end within a row
        if kind is None:
            with self.partial.open("rb") as written:
                os.fsync(written.fileno())
            self.partial.replace(self.path)
            self.record.unlink(missing_ok=True)
        elif not self.rows:
            self.discard()

    def discard(self) -> None:
        """Delete what is written so far."""
        self.partial.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)

    def write(self, table: pa.Table, extra: Columns) -> None:
        """Add rows; they are in the file when this returns."""
        assert self._file is not None
        self._note_source(table)
        if self.suffix == ".parquet":
            self._write_parquet(combine(table, extra))
        else:
            text = io.StringIO(newline="")
            write_stream(text, table, extra, self.suffix[1:], header=not self.rows)
            data = text.getvalue().encode("utf-8")
            self._file.write(data)
            self._file.flush()
            self._written.update(data)
            self._end += len(data)
        self.rows += table.num_rows
        self._note()

    def skip(self, table: pa.Table) -> None:
        """Rows of the input that are labelled already; refuses others than those that were."""
        self._note_source(table)
        self._skipped += table.num_rows
        if self._skipped == self.rows and self._read.hexdigest() != self._known.get("read"):
            raise DataError(
                f"--resume: {self.partial} was made from other texts: the first {self.rows:,} "
                "rows of the input are not what they were. Delete it to start anew."
            )

    def _note_source(self, table: pa.Table) -> None:
        """Take rows of the input into the digest; before the first ones, what else decides."""
        if self._made_from is None:
            return
        if not self._begun:
            self._begin({**self._made_from(), "columns": table.column_names})
        columns = [table.column(i).to_pylist() for i in range(table.num_columns)]
        lines = json.dumps(list(zip(*columns, strict=True)), default=str)[1:-1]
        self._read.update(lines.encode("ascii") + b", ")

    def _begin(self, now: dict[str, Any]) -> None:
        """Write what the table is made from into the record, or compare with what is there."""
        self._begun = True
        if not self._known:
            self._add({"made_from": now})
            return
        before = self._known["made_from"]
        for key, value in json.loads(json.dumps(now)).items():
            if before.get(key) != value:
                there, here = (str(v)[:60] for v in (before.get(key), value))
                raise DataError(
                    f"--resume: {self.partial} was made with another {key.replace('_', ' ')} "
                    f"({there} there, {here} now). Repeat the same command, or delete the file "
                    "to start anew."
                )

    def _note(self) -> None:
        if self._made_from is not None:
            digests = {"read": self._read.hexdigest(), "written": self._written.hexdigest()}
            self._add({"rows": self.rows, "bytes": self._end, **digests})

    def _add(self, entry: dict[str, Any]) -> None:
        with self.record.open("ab") as file:
            file.write(json.dumps(entry).encode() + b"\n")

    def _go_on(self, file: IO[bytes]) -> list[dict[str, Any]]:
        """Go behind the last part that is in the file as it was written; the record up to there."""
        entries = read_record(self.record)
        kept = [entry for entry in entries if "made_from" in entry][:1]
        for entry in (entry for entry in entries if "rows" in entry):
            digest = self._written.copy()
            while block := file.read(min(BLOCK, entry["bytes"] - file.tell())):
                digest.update(block)
            if digest.hexdigest() != entry["written"]:
                if not self.rows and file.tell() == entry["bytes"]:
                    raise DataError(
                        f"--resume: {self.partial} was changed since coterie wrote it. Move it to "
                        "start anew."
                    )
                break
            self._written, self.rows, self._end = digest, entry["rows"], entry["bytes"]
            kept.append(entry)
        file.seek(self._end)
        if not self.rows:
            return []
        self._known = {**kept[0], **kept[-1]}
        return kept

    def _write_parquet(self, whole: pa.Table) -> None:
        import pyarrow.parquet

        if self._parquet is None:
            fields = [pa.field(f.name, _settled(f)) for f in whole.schema]
            self._parquet = pyarrow.parquet.ParquetWriter(self._file, pa.schema(fields))
        try:
            fitting = whole.cast(self._parquet.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise DataError(
                f"{self.path.name}: after {self.rows:,} rows a column changes its kind ({error}); "
                "write CSV or JSON lines instead."
            ) from error
        self._parquet.write_table(fitting)


def partial_path(path: Path) -> Path:
    """Where a table grows.

    Examples
    --------
    >>> partial_path(Path("out/labelled.csv")).name
    'labelled.partial.csv'
    """
    return path.with_name(f"{path.stem}.partial{path.suffix}")


def record_path(path: Path) -> Path:
    """Where the record of a table lies while that grows.

    Examples
    --------
    >>> record_path(Path("out/labelled.csv")).name
    '.labelled.partial.csv.record'
    """
    return path.with_name(f".{partial_path(path).name}.record")


def refuse_partial(path: Path, *, resume: bool) -> None:
    """Refuse to write a table where a partial one lies that would be lost.

    Parameters
    ----------
    path : Path
        Of the finished table.
    resume : bool
        Whether the partial one is to be continued.
    """
    partial, record = partial_path(path), record_path(path)
    if not partial.exists():
        return
    if is_locked(partial):
        raise _in_use(partial)
    if not record.exists():
        raise UsageError(
            f"{partial} is in the way: {path.name} would grow under that name, and there is no "
            "record that coterie wrote it. Move it, or choose another --out."
        )
    rows = max((entry.get("rows", 0) for entry in read_record(record)), default=0)
    if resume and path.suffix.lower() == ".parquet":
        raise DataError(
            f"--resume: {partial} cannot be continued, as Parquet files are closed for good; "
            "repeat the command without --resume, or write CSV."
        )
    if rows and not resume and path.suffix.lower() != ".parquet":
        raise UsageError(
            f"{partial} holds {rows:,} rows of a command that was stopped; --resume goes on behind "
            "them. Delete it to start anew."
        )


def _in_use(partial: Path) -> UsageError:
    return UsageError(
        f"another process is writing {partial}; wait until it is done, or choose another name."
    )


def read_record(record: Path) -> list[dict[str, Any]]:
    """The entries of a record; a line that a crash cut off ends it."""
    entries: list[dict[str, Any]] = []
    for line in record.read_bytes().split(b"\n") if record.exists() else []:
        try:
            entry = json.loads(line)
        except ValueError:
            break
        if not isinstance(entry, dict):
            break
        entries.append(entry)
    return entries


def _settled(field: pa.Field) -> pa.DataType:
    """The kind of a column, also where the first rows have no value in it."""
    if not pa.types.is_null(field.type):
        return field.type
    name = field.name
    while name.startswith("coterie_"):
        name = name.removeprefix("coterie_")
    return KINDS.get(name, pa.int64() if name.removeprefix("level_").isdigit() else pa.string())
